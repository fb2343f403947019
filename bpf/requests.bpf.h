/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counts the ends of io_uring's requests to send. Many requests fail before PROTO_SEND is called:
 * for lack of lockable memory, on a socket that takes no zero-copy data from io_uring, or because a
 * request that they are linked to failed. A request ends once, even if the socket accepted it in
 * parts. The notification of a zero-copy send is a separate request, with another operation.
 */
#pragma once

#include "sends.bpf.h"

/* By operation. The last element counts requests that this kernel does not let programs read. */
PERCPU_ARRAY(uring_requests, URING_OPERATIONS + 1, struct uring_requests);

/* The numbers of operations are part of io_uring's interface: all kernels have the same. */
static __always_inline __u32 operation_of(__u8 opcode)
{
	if (opcode == IORING_OP_SEND)
		return URING_SEND;
	if (opcode == IORING_OP_SENDMSG)
		return URING_SENDMSG;
	if (opcode == IORING_OP_SEND_ZC)
		return URING_SEND_ZC;
	return opcode == IORING_OP_SENDMSG_ZC ? URING_SENDMSG_ZC : URING_OPERATIONS;
}

/* Only this function writes the counts of a CPU. */
static __noinline void request__count(__u32 operation, __s64 result)
{
	struct uring_requests *r = NULL;

	if (sender__get())
		r = bpf_map_lookup_elem(&uring_requests, &operation);
	if (!r)
		return;
	r->ended++;
	if (result < 0)
		r->errors[error_slot(result)]++;
}

/*
 * io_uring posts a result in a thread of the process that submitted the request: its task, a worker
 * or the thread that polls the ring. Therefore the test of the current process filters by sender. A
 * request of another process costs that test. If targets have no process ids (--comm, --cgroup,
 * all), it also costs a read of its operation and, if it sends, a test of its process. The result
 * is read from the request, because the tracepoint's arguments differ: (ring, request, data,
 * result, flags, ...) or, in newer kernels, (ring, request, entry). io_uring posts intermediate
 * results without a request.
 */
static __always_inline void request__end(struct io_kiocb *request)
{
	__u32 operation;

	if (gate != GATE_OPEN || !request || is_bystander())
		return;
	if (!bpf_core_field_exists(request->opcode) || !bpf_core_field_exists(request->cqe.res)) {
		request__count(URING_OPERATIONS, 0);
		return;
	}
	operation = operation_of(READ(request, opcode));
	if (operation != URING_OPERATIONS)
		request__count(operation, READ(request, cqe.res));
}
