/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Waits for completions. A program waited if its next zero-copy send of a socket began soon after
 * the last one in flight had completed. Four cases are not waits: a program that received data in
 * between waited for the data; a program that sends again late had nothing to send; a thread that
 * was preempted and did not sleep waited for its CPU, for example while the receiver ran there; and
 * after a send that failed, a program waits until there is room.
 */
#pragma once

#include "state.bpf.h"

PERCPU_ARRAY(send_waits, SEND_SHAPES, struct send_waits);

/* The last zero-copy send of a socket. */
struct last_send {
	__u64 begun;	   /* ns; 0: there was none, or it failed */
	__u32 ended;	   /* when no send was in flight any more, in ns after begun; 0: one is */
	__u32 bytes;	   /* that the send requested */
	__u32 received_to; /* received_to() at that time */
	struct switches {
		__u16 sleeps, preemptions; /* of the send's thread until it began; the lower bits */
	} switches;
};

#define US 1000LL
#define MS 1000000LL

/* A shorter wait is the time of a wake-up. */
#define WAIT_LEAST (50 * US)
/*
 * "Soon after" means within an eighth of the wait, but at most this: on a busy machine, a thread
 * that is woken waits for its CPU.
 */
#define SOON_MOST (4 * MS)
/* Linux delays acknowledgements by TCP_DELACK_MIN, 40 ms, to which its timers add. */
#define DELAYED_FROM (38 * MS)
#define DELAYED_TO   (60 * MS)
/*
 * The assumed time of the socket's last send. A thread knows how long its own last zero-copy send
 * took, but another thread may have made the socket's last one, or this thread has sent on another
 * socket since.
 */
#define RETURNED_BY MS

static __always_inline struct switches thread_switches(void)
{
	struct task_struct *task;

	if (has_typed_task()) {
		task = bpf_get_current_task_btf();
		return (struct switches){task->nvcsw, task->nivcsw};
	}
	task = (void *)bpf_get_current_task();
	return (struct switches){READ(task, nvcsw), READ(task, nivcsw)};
}

/* Returns why the program waited. Linux delays the acknowledgement of a short last segment. */
static __always_inline enum wait_reason wait_reason(const struct last_send *p, struct sock *sk,
						    __s64 wait)
{
	__u32 segment = segment_bytes(sk);

	if (wait <= 2 * US * least_round_trip(sk) + MS)
		return WAIT_ROUND_TRIP;
	if (wait >= DELAYED_FROM && wait < DELAYED_TO && segment && p->bytes % segment)
		return WAIT_DELAYED_ACK;
	return WAIT_OTHER;
}

static __always_inline void wait__count(struct send_waits *sums, const struct last_send *p,
					struct sock *sk, __s64 wait, __u32 index)
{
	enum wait_reason reason;

	if (received_to(sk) != p->received_to)
		return;
	reason = wait_reason(p, sk, wait);
	sums->awaited[reason]++;
	sums->awaited_ns[reason] += wait;
	span__add(index == SHAPES_URING ? SPAN_URING_WAIT : SPAN_WAIT, wait);
}

static __always_inline __u32 depth_class(__s32 in_flight)
{
	__s32 most = 1 << (DEPTHS - 2);
	__u32 sends = in_flight < 0 ? 0 : in_flight > most ? most : in_flight;

	/* Hides the bound from clang, which would otherwise omit the mask for the verifier. */
	__asm__ volatile("" : "+r"(sends));
	return size_class(sends) & (DEPTHS - 1);
}

/*
 * A send begins. in_flight: how many other sends of its socket are in flight; took: how long the
 * call of the socket's last send took, in ns. A completion during that call was not awaited.
 */
static __always_inline void last_send__begin(struct last_send *p, struct sock *sk, __s32 in_flight,
					     __u64 took, __u64 start, __u32 bytes, __u32 index)
{
	struct send_waits *sums = bpf_map_lookup_elem(&send_waits, &index);
	__s64 wait = p->ended - took, gap = start - p->begun - p->ended;
	struct switches now = thread_switches();

	if (sums) {
		sums->depths[depth_class(in_flight)]++;
		if (p->begun) {
			sums->intervals++;
			sums->interval_ns += start - p->begun;
		}
		if (p->ended && in_flight <= 0 && wait >= WAIT_LEAST && gap <= SOON_MOST &&
		    gap <= wait >> 3 &&
		    (now.sleeps != p->switches.sleeps ||
		     now.preemptions == p->switches.preemptions))
			wait__count(sums, p, sk, wait, index);
	}
	p->begun = start;
	p->ended = 0;
	p->bytes = bytes;
	p->switches = now;
}

/* The send that began last failed. */
static __always_inline void last_send__fail(struct last_send *p)
{
	p->begun = 0;
}

/* No send of the socket is in flight any more. */
static __always_inline void last_send__end(struct last_send *p, struct sock *sk)
{
	__u64 ns = bpf_ktime_get_ns() - p->begun;

	p->received_to = received_to(sk);
	/* 32 bits hold 4 s. A longer time was no wait for an acknowledgement. */
	p->ended = p->begun && ns < -1U ? ns : 0;
}
