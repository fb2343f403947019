// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The maps and variables that the concerns share, and when a socket is forgotten. */
#include "state.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct thread_map threads SEC(".maps");
struct thread_id_map threads_by_id SEC(".maps");
struct target_map targets SEC(".maps");
struct socket_map sockets SEC(".maps");
struct totals_map totals SEC(".maps");
volatile __u32 gate;

/*
 * A closed socket's memory is soon another's. An orderly close comes after the
 * last completion; after a reset, tcp_reset() purges the queue before this.
 */
SEC("raw_tp/inet_sock_set_state")
int socket_closed(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 key = ctx->args[0];

	if ((int)ctx->args[2] == TCP_CLOSE)
		bpf_map_delete_elem(&sockets, &key);
	return 0;
}

/* Task storage goes with its task; without it, an id is soon another thread's. */
SEC("raw_tp/sched_process_exit")
int thread_gone(struct bpf_raw_tracepoint_args *ctx)
{
	__u32 tid = bpf_get_current_pid_tgid();

	bpf_map_delete_elem(&threads_by_id, &tid);
	return 0;
}
