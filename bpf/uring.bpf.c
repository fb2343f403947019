// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Counts completions of io_uring's zero-copy sends when io_uring posts them. Copies are known
 * because the kernel reports them to the notification. Without a hook of that report, they are
 * known from the path of the packets, or from io_uring if the program requested a report. The same
 * program counts the ends of requests (requests.bpf.h).
 */
#include "uring.bpf.h"
#include "functions.bpf.h"
#include "requests.bpf.h"
#include "syscalls.bpf.h"
#include "timeline.bpf.h"

static __always_inline void count_copied(const struct notification *n)
{
	struct cause_counter *cause = cause_counter__get(n->counter);

	COUNT(uring_copied, n->sends);
	if (cause)
		__sync_fetch_and_add(&cause->uring, n->sends);
}

#define IORING_SETUP_COOP_TASKRUN  (1U << 8)
#define IORING_SETUP_DEFER_TASKRUN (1U << 13)

/*
 * Returns whether the program may wait for what is posted now. With these flags, io_uring posts
 * when the program enters the kernel for any reason. The program waits only in io_uring_enter().
 */
static __always_inline bool is_posted_for_waiter(struct io_ring_ctx *ring)
{
	struct pt_regs *regs;

	if (!(READ(ring, flags) & (IORING_SETUP_COOP_TASKRUN | IORING_SETUP_DEFER_TASKRUN)))
		return true;
	regs = call_regs();
	return regs && READ(regs, SYSCALL_MEMBER) == NR_IO_URING_ENTER;
}

/* A notification has ended. intact: its memory has the report. awaited: see uring_socket__end(). */
GLOBAL int notification__complete(__u64 key, __u32 intact, __u32 awaited)
{
	struct io_notif_data *data = (void *)key;
	struct notification *found, n;
	bool reports;

	found = bpf_map_lookup_elem(&notifications, &key);
	if (!found)
		return 0;
	n = *found;
	if (bpf_map_delete_elem(&notifications, &key))
		return 0;
	pinned__free(&uring_pinned, n.bytes);
	if (n.sock)
		uring_socket__end(n.sock, awaited);
	if (n.start)
		completion_took(SPAN_NOTIFICATION, bpf_ktime_get_ns() - n.start);
	reports = intact && bpf_core_field_exists(data->zc_report) && READ(data, zc_report);
	/*
	 * io_uring reports this as a copy, too: if no packet gave the pages back, no packet had
	 * them.
	 */
	if (reports)
		n.copied = READ(data, zc_copied) || !READ(data, zc_used);
	timeline__posted(n.sock, key, n.copied ? 1 : reports ? 0 : COPIES_UNKNOWN);
	if (!n.sends) /* the head counts them */
		return 0;
	if (!reports && !n.copied) {
		COUNT(uring_unknown, n.sends);
		groups__add(&n.owner, __builtin_offsetof(struct group, unknown), n.sends);
	}
	COUNT(uring_completions, n.sends);
	if (n.copied)
		count_copied(&n);
	groups__count_completions(&n.owner, n.sends, n.copied ? n.sends : 0);
	return 0;
}

/* A notification is posted once, in the context of its task or of a worker. */
SEC("raw_tp/io_uring_complete")
int BPF_PROG(uring_completed, struct io_ring_ctx *ring, __u64 key)
{
	request__end((void *)key);
	if (gate && notifications_seen && bpf_map_lookup_elem(&notifications, &key))
		notification__complete(key, true, is_posted_for_waiter(ring));
	return 0;
}

#define IORING_OP_NOP 0 /* the operation of notifications */

/* Another request may have the notification's memory by now. */
static long notification__check(void *map, __u64 *key, struct notification *n, void *unused)
{
	bool intact = READ((struct io_kiocb *)*key, opcode) == IORING_OP_NOP;
	struct io_notif_data *head = (void *)notification__head(*key);

	if (!intact || !READ(head, uarg.refcnt.refs.counter))
		notification__complete(*key, intact, false);
	return 0;
}

/*
 * The analyzer runs this program before it reads counts; the tracepoint does not. It ends
 * notifications without references, which the kernel has posted, or is about to post.
 */
PROGRAM("raw_tp/io_uring_complete", BPF_PROG, notifications_checked,
	bpf_for_each_map_elem(&notifications, notification__check, NULL, 0))

/* A process ends. The memory of its rings still exists, with the reference counts. */
PROGRAM("raw_tp/sched_process_exit", BPF_PROG, notifications_left,
	if (gate && notifications_seen && !is_bystander() &&
	    !READ((struct task_struct *)bpf_get_current_task(), signal, live.counter))
		bpf_for_each_map_elem(&notifications, notification__check, NULL, 0))

static __always_inline void released(void *uarg, __u64 success)
{
	struct notification *n;

	if (!gate || !notifications_seen || success & 0xff)
		return;
	n = notification__find(uarg);
	if (n)
		n->copied = SEEN_COPIED;
}

/* Only eight bits of a bool argument are defined. */
ON_ENTRY(uring_copied, "io_tx_ubuf_complete", released(uarg, success), struct sk_buff *skb,
	 void *uarg, __u64 success)
