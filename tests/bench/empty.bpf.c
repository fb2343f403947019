// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Programs that do nothing, on the analyzer's hooks: they show the cost of tracing itself. */
#include "vmlinux.h"

#include <bpf/bpf_helpers.h>

SEC("fentry/tcp_sendmsg")
int entered(void *ctx)
{
	return 0;
}

SEC("fexit/tcp_sendmsg")
int left(void *ctx)
{
	return 0;
}

/* Runs at the raw tracepoints that empty's arguments name. */
SEC("raw_tp")
int passed(void *ctx)
{
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
