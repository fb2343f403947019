// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* All programs as one object, so that the maps and functions of each header exist once. */
#include "threads.bpf.c"

#include "calls.bpf.c"
#include "completions.bpf.c"
#include "copies.bpf.c"
#include "errqueue.bpf.c"
#include "path.bpf.c"
#include "profile.bpf.c"
#include "receiver.bpf.c"
#include "spans.bpf.c"
#include "stages.bpf.c"
#include "uring.bpf.c"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
