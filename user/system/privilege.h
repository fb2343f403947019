/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Drops privileges. Started by sudo, the program continues as the user who called sudo, with the
 * few capabilities that measuring needs: that user owns the files and runs the load. Started by
 * root without sudo, it stays root, with the same few.
 */
#pragma once

#include "common/program.h"

#include <json-c/json.h>
#include <stdbool.h>
#include <sys/types.h>

/* Returns the capability that loading BPF programs lacks, and the remedy; NULL: none. */
const char *privilege__lacking(void);

/* Returns the user who called sudo; otherwise the user who started this program. */
uid_t privilege__caller(void);

/*
 * Becomes the user who called sudo, if there is one. 0, perhaps with a warning in f->text; or
 * -errno.
 */
int privilege__become_user(struct failure *f);

/*
 * Keeps only CAP_BPF and CAP_PERFMON, and CAP_SYS_ADMIN if cost is counted or perf events need it
 * here. 0 or -errno.
 */
int privilege__reduce(bool cost, struct failure *f);

/* Keeps only CAP_BPF, after the last attachment: reading maps needs it before 6.0. */
int privilege__drop_attach(struct failure *f);

/* Drops every capability, for this process and whatever it executes, also as root. 0 or -errno. */
int privilege__drop_all(struct failure *f);

/*
 * Keep RLIMIT_MEMLOCK as of the start, for programs that a child executes. Before 5.11 the kernel
 * charges maps to it (commit d5299b67dd59), and libbpf raises it in this process.
 */
void privilege__note_limits(void);
void privilege__restore_limits(void);

/* Returns the record's block "privilege", for this process and the load generator. */
json_object *privilege__json(void);
