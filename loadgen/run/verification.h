/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the receiver's check of every byte (--verify) comes to. */
#ifndef SENDPATH_VERIFICATION_H
#define SENDPATH_VERIFICATION_H

#include "loadgen/run/result.h"
#include "loadgen/send/slot.h"

/* Bytes checked so far, over all connections. */
uint64_t verification__checked(const struct slot *slots, unsigned int count);

/* Fills in the result's verification; bytes that arrived wrong are its failure. */
void verification__judge(const struct slot *slots, uint64_t checked_before, struct result *r);

#endif
