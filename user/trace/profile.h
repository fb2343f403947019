/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Samples all CPUs; the kernel program keeps the samples of measured threads. */
#pragma once

#include "user/kernel/features.h"

#include <bpf/libbpf.h>
#include <json-c/json.h>
#include <stddef.h>

struct profile;

/*
 * Makes the program sample each CPU, hz times per second of its CPU time: by cycles if the machine
 * counts them, otherwise by its clock. 0 and *out; or -errno.
 */
int profile__attach(struct profile **out, const struct bpf_program *program, unsigned int hz,
		    struct failure *f);
/* p may be NULL. */
void profile__detach(struct profile *p);

/*
 * The stacks of the map, with function names, innermost first; lost: samples for which there was no
 * room. NULL: the map cannot be read, or memory is short.
 */
json_object *profile__json(const struct profile *p, const struct bpf_map *stacks, __u64 lost,
			   const struct features *features);
