/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Emits the events of single sends: of the first sends of the socket that sends first in the
 * window, or of all sends. In the latter case the analyzer keeps the slow sends.
 */
#pragma once

#include "state.bpf.h"

#define BPF_RB_NO_WAKEUP 1

/* Set by the loader. If it is false, the verifier removes all code of the timeline. */
const volatile bool timeline = false;
/* The number of sends whose events are emitted; 0: all. */
const volatile __u32 timeline_sends = 0;
/* Set by the analyzer when it has enough events. */
volatile __u32 timeline_done;

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, TIMELINE_RING);
} timeline_ring SEC(".maps");

/* Events for which there was no room, so far. */
PERCPU_ARRAY(timeline_lost, 1, __u64);

/* The chosen socket. The insertion decides which socket is the first. */
HASH(timeline_chosen, 1, __u32, __u64);

struct timeline_part timeline_part;

/*
 * Emits an event with the current thread, CPU and time. ids: the first id and, in the upper half,
 * the number of sends.
 */
GLOBAL int timeline__emit(__u32 kind, __u64 sock, __u64 ids, __s64 bytes, __u32 detail)
{
	__u64 now = bpf_ktime_get_ns(), *lost;
	struct timeline_event *e;

	lost = timeline ? FIRST_OF(timeline_lost) : NULL;
	if (!lost)
		return 0;
	/* The analyzer polls every few milliseconds. To wake it would cost more than the event. */
	e = bpf_ringbuf_reserve(&timeline_ring, sizeof(*e), 0);
	if (!e) {
		(*lost)++;
		return 0;
	}
	e->time = now;
	e->sock = sock;
	e->bytes = bytes;
	e->tid = current_ids();
	e->id = ids;
	e->sends = ids >> 32;
	e->detail = detail;
	e->lost = *lost;
	e->cpu = bpf_get_smp_processor_id();
	e->kind = kind;
	bpf_get_current_comm(e->comm, sizeof(e->comm));
	bpf_ringbuf_submit(e, BPF_RB_NO_WAKEUP);
	return 0;
}

static __always_inline bool timeline__is_full(void)
{
	return timeline_sends && *(volatile __u32 *)&timeline_part.sends >= timeline_sends;
}

/* Returns the sender's port and the receiver's port, in the same order at both ends. */
static __always_inline __u32 timeline__ports(struct sock *sk, bool sends)
{
	__u32 here = own_port(sk);
	__u32 there = peer_port(sk);

	return sends ? here << 16 | there : there << 16 | here;
}

/* A value that is no socket's address. */
#define TIMELINE_GONE 1

static __always_inline bool timeline__chooses(struct sock *sk, __u32 ports)
{
	__u64 sock = (__u64)sk;
	__u32 zero = 0;

	if (!timeline_sends)
		return !timeline_done;
	if (timeline__is_full())
		return false;
	if (!timeline_part.sock &&
	    !bpf_map_update_elem(&timeline_chosen, &zero, &sock, BPF_NOEXIST)) {
		timeline_part.ports = ports;
		*(volatile __u64 *)&timeline_part.sock = sock;
	}
	if (timeline_part.sock != sock)
		return false;
	if (timeline_part.ports == ports)
		return true;
	/* Another socket has the memory of the chosen one. */
	*(volatile __u64 *)&timeline_part.sock = TIMELINE_GONE;
	return false;
}

/* A send begins. size: its bytes. */
static __always_inline void timeline__begin(struct thread *thread, struct sock *sk, __u64 size)
{
	__u32 ports, seq;

	if (!timeline)
		return;
	ports = timeline__ports(sk, true);
	thread->send.in_timeline = timeline__chooses(sk, ports);
	if (!thread->send.in_timeline)
		return;
	seq = READ((struct tcp_sock *)sk, write_seq);
	__sync_fetch_and_add(&timeline_part.sends, 1);
	timeline_part.end_seq = seq + size;
	timeline__emit(EVENT_SEND, thread->send.sock, ports, size, seq);
}

/* The thread's send has an id now. It may complete before it returns. */
static __always_inline void timeline__give_id(const struct thread *thread)
{
	if (timeline && thread->send.in_timeline)
		timeline_part.end_id = thread->send.id + 1;
}

/* The thread's send returns. slot: its slot in calls. */
static __always_inline void timeline__end(struct thread *thread, __u32 slot, __s64 ret)
{
	__u64 has_id = (thread->send.tracked || thread->send.notification) && ret > 0;
	__u32 id = thread->send.id;

	if (!timeline || !thread->send.in_timeline)
		return;
	if (thread->send.notification)
		id = thread->send.notification;
	thread->send.in_timeline = 0;
	timeline__emit(EVENT_RETURN, thread->send.sock, has_id << 32 | id, ret, slot);
}

/* Emits an event if the calling thread is in a send whose events are emitted. */
static __always_inline void timeline__in_send(__u32 kind, __u32 detail)
{
	struct thread *thread = timeline ? thread__peek() : NULL;

	if (thread && thread->send.sock && thread->send.in_timeline)
		timeline__emit(kind, thread->send.sock, 0, 0, detail);
}

/* The CPU switches to another thread. A thread without a slot of its own is not searched for. */
static __always_inline void timeline__switch(bool preempted, struct task_struct *to)
{
	__u32 tid = timeline ? READ(to, pid) : 0;
	struct thread *thread = &threads[tid % THREAD_SLOTS];

	timeline__in_send(EVENT_SWITCH_OUT, preempted);
	if (tid && thread->tid == tid && thread->send.sock && thread->send.in_timeline)
		timeline__emit(EVENT_SWITCH_IN, thread->send.sock, 0, 0, tid);
}

/* Emits an event of zero-copy sends, by their ids. */
static __always_inline void timeline__of_ids(__u32 kind, __u64 sock, __u32 first, __u32 sends,
					     __s64 bytes, __u32 detail)
{
	if (!timeline || (timeline_sends && timeline_part.sock != sock))
		return;
	if (!timeline__is_full() || (__s32)(first - timeline_part.end_id) < 0)
		timeline__emit(kind, number_of((void *)sock), (__u64)sends << 32 | first, bytes,
			       detail);
}

/* io_uring posted a notification. No order shows which ones belong to the first sends. */
static __always_inline void timeline__posted(__u64 sock, __u64 notification, __u32 copied)
{
	if (timeline && (!timeline_sends || timeline_part.sock == sock))
		timeline__emit(EVENT_COMPLETED, sock, 1ULL << 32 | (__u32)notification, 0, copied);
}

/* Returns whether this socket's packets have events; if all sends do, only within the sends. */
static __always_inline bool timeline__has_packets(struct sock *sk)
{
	struct thread *thread;

	if (!timeline || !gate || !sk)
		return false;
	if (timeline_sends)
		return timeline_part.sock == (__u64)sk;
	thread = thread__peek();
	return thread && thread->send.sock == (__u64)sk && thread->send.in_timeline;
}

/* Emits an event of a packet with this number of bytes from seq on. */
static __always_inline void timeline__packet(__u32 kind, struct sock *sk, __u32 seq, __s32 bytes)
{
	if (bytes > 0 && (!timeline__is_full() || (__s32)(seq - timeline_part.end_seq) < 0))
		timeline__emit(kind, number_of(sk), 0, bytes, seq);
}

/* The receiver copies data out of its socket. */
static __always_inline void timeline__receive(struct sock *sk, int bytes)
{
	__u32 ports, seq;

	if (!timeline)
		return;
	ports = timeline__ports(sk, false);
	seq = received_to(sk);
	if (timeline_sends && timeline_part.ports != ports)
		return;
	if (!timeline__is_full() || (__s32)(seq - timeline_part.end_seq) < 0)
		timeline__emit(EVENT_RECEIVED, number_of(sk), ports, bytes, seq);
}
