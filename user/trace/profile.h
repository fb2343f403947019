/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Samples of all CPUs, of which the kernel programs keep those of measured threads. */
#pragma once

#include "user/kernel/features.h"

#include <bpf/libbpf.h>
#include <json-c/json.h>
#include <stddef.h>

struct profile;

/*
 * Has the program sample each CPU, hz times a second of its CPU time: by cycles where the machine
 * counts them, else by its clock. 0 and *out; or -errno with the reason in words.
 */
int profile__attach(struct profile **out, const struct bpf_program *program, unsigned int hz,
		    char *reason, size_t size);
/* NULL is fine. */
void profile__detach(struct profile *p);

/*
 * The stacks that the map has, their functions by name, innermost first; lost: samples without
 * room. NULL: the map cannot be read, or memory is short.
 */
json_object *profile__json(const struct profile *p, const struct bpf_map *stacks, __u64 lost,
			   const struct features *features);
