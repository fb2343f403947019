/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Started with sudo, the program goes on as the user who called it, with the few
 * capabilities that measuring needs: files and the load generator belong to that
 * user. Started as root without sudo, it stays root, with the same few.
 */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* What is lacking for loading BPF programs, and the remedy; NULL: nothing is. */
const char *privilege__lacking(void);

/* Who called sudo; else whoever started this. */
uid_t privilege__caller(void);

/*
 * Becomes the user who called sudo, if any did. 0, with a warning for the user in reason or "", or
 * -errno with the reason in words.
 */
int privilege__become_user(char *reason, size_t size);

/*
 * Keeps only CAP_BPF and CAP_PERFMON; and CAP_SYS_ADMIN if cost is to be counted or
 * perf events need it here. 0 or -errno with the reason in words.
 */
int privilege__reduce(bool cost, char *reason, size_t size);

/* After the last attach: keeps CAP_BPF only, which reading maps needs before 6.0. */
int privilege__drop_attach(void);

/*
 * Gives up every capability, for this process and whatever it executes, root's too. 0 or
 * -errno with the reason in words.
 */
int privilege__drop_all(char *reason, size_t size);

/* The record's "privilege" block: of the load generator and of this process. */
json_object *privilege__json(void);
