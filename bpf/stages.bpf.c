// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The hooks of the stages of a send. stages.bpf.h describes what they do. */
#include "stages.bpf.h"
#include "functions.bpf.h"

/* The programs of a stage that is one function. */
#define STAGE(name, function, stage)                                                               \
	ON_ENTRY(name, function, timeline__in_send(EVENT_STAGE_BEGIN, stage); stage__begin(stage)) \
	ON_EXIT(name, function, stage__end(stage); timeline__in_send(EVENT_STAGE_END, stage))

STAGE(stage_request, "msg_zerocopy_realloc", STAGE_REQUEST)
STAGE(stage_alloc, "tcp_stream_alloc_skb", STAGE_ALLOC)
STAGE(stage_fragment, "sk_page_frag_refill", STAGE_FRAGMENT)
STAGE(stage_copy, PROTO_SEND_LOCKED, STAGE_COPY)
STAGE(stage_pin, "skb_zerocopy_iter_stream", STAGE_PIN)
STAGE(stage_transmit, "tcp_write_xmit", STAGE_TRANSMIT)
STAGE(stage_deep_copy, "skb_copy_ubufs", STAGE_DEEP_COPY)
STAGE(stage_completion, "msg_zerocopy_complete", STAGE_COMPLETION)
STAGE(stage_wait, "sk_stream_wait_memory", STAGE_WAIT)

/* A syscall that may send begins. */
static __always_inline void entered(void)
{
	struct account *a = gate == GATE_OPEN ? account__peek() : NULL;

	if (a)
		a->entered = bpf_ktime_get_ns();
}

ON_ENTRY(entry_sendto, "__x64_sys_sendto", entered())
ON_ENTRY(entry_sendmsg, "__x64_sys_sendmsg", entered())
ON_ENTRY(entry_write, "__x64_sys_write", entered())
ON_ENTRY(entry_writev, "__x64_sys_writev", entered())

#define NET_TX_SOFTIRQ 2
#define NET_RX_SOFTIRQ 3

SEC("raw_tp/softirq_entry")
int BPF_PROG(softirq_begins, __u32 vector)
{
	struct account *a = account__in_progress();

	timeline__in_send(EVENT_SOFTIRQ_BEGIN, vector);
	if (!a)
		return 0;
	metrics__read(a->left);
	stack__clear(&a->softirq,
		     vector == NET_TX_SOFTIRQ || vector == NET_RX_SOFTIRQ ? STAGE_SOFTIRQ
									  : STAGE_INTERRUPT,
		     a->left);
	a->in_softirq = 1;
	return 0;
}

SEC("raw_tp/softirq_exit")
int BPF_PROG(softirq_ends)
{
	struct account *a = account__in_progress();

	timeline__in_send(EVENT_SOFTIRQ_END, 0);
	if (!a || !a->in_softirq)
		return 0;
	metrics__read(a->softirq.now);
	account__charge(a, &a->softirq);
	a->in_softirq = 0;
	account__return(a, 0);
	return 0;
}

/* Returns the stage in which a thread leaves its CPU. */
static __always_inline enum stage why_off(struct account *a, bool preempted)
{
	if (preempted)
		return STAGE_PREEMPTED;
	return !a->own.depth && a->own.stages[0] == STAGE_LOCK ? STAGE_LOCK_WAIT : STAGE_BLOCKED;
}

/*
 * A preempted thread, also one in cond_resched(), could continue. A thread that is not preempted
 * waits for something. Only Linux 5.18 had another argument after the first.
 */
SEC("raw_tp/sched_switch")
int BPF_PROG(thread_switched, __u64 preempted, struct task_struct *from, struct task_struct *to)
{
	__u32 next = READ(to, pid);
	struct account *a;

	timeline__switch(preempted & 0xff, to);
	a = account__in_progress();
	if (a && !a->off) {
		metrics__read(a->left);
		a->off = why_off(a, preempted & 0xff);
	}
	a = bpf_map_lookup_elem(&accounts, &next);
	cpu__set_dividing(a && a->active);
	if (a && a->active)
		account__resume(a);
	return 0;
}
