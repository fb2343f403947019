// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The groups of sends: their maps, and what found no room in them. */
#include "groups.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

const volatile __u32 group_by = 0;
struct group_map groups SEC(".maps");
struct group_map peers SEC(".maps");
struct group groups_rest, peers_rest;
