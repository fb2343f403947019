/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Started by sudo, the program continues as the user who called it, with the few capabilities that
 * measuring needs: that user owns the files and runs the load. Started by root without sudo, it
 * stays root, with the same few.
 */
#pragma once

#include "common/program.h"

#include <json-c/json.h>
#include <stdbool.h>
#include <sys/types.h>

/* What is missing for loading BPF programs, and the remedy; NULL: nothing. */
const char *privilege__lacking(void);

/* The user who called sudo; otherwise the user who started this program. */
uid_t privilege__caller(void);

/*
 * Becomes the user who called sudo, if there is one. 0, perhaps with a warning for the user as the
 * text, or -errno.
 */
int privilege__become_user(struct failure *f);

/*
 * Keeps only CAP_BPF and CAP_PERFMON, and CAP_SYS_ADMIN if cost is counted or perf events need it
 * here. 0 or -errno.
 */
int privilege__reduce(bool cost, struct failure *f);

/* After the last attachment: keeps only CAP_BPF, which reading maps needs before 6.0. */
int privilege__drop_attach(struct failure *f);

/* Drops every capability, for this process and whatever it executes, also as root. 0 or -errno. */
int privilege__drop_all(struct failure *f);

/*
 * Before 5.11 the kernel charges maps to RLIMIT_MEMLOCK (commit d5299b67dd59), which libbpf then
 * raises in this process. Noted at the start; a child restores it before it executes a program.
 */
void privilege__note_limits(void);
void privilege__restore_limits(void);

/* The record's block "privilege": of the load generator and of this process. */
json_object *privilege__json(void);
