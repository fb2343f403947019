/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Performance counters of a CPU, read when a send begins and when it ends. The send counts only if
 * its thread stayed on that CPU without another thread in between. Interrupts are included.
 */
#pragma once

#include "state.bpf.h"

/* The number of requested counters. If it is 0, the loader removes this code. */
const volatile __u32 call_counters = 0;

/*
 * Counter i of a CPU is element cpu * CALL_COUNTERS_MAX + i. The analyzer sizes and fills the map.
 */
MAP(call_events, PERF_EVENT_ARRAY, 0, CALL_COUNTERS_MAX, __u32, __u32);

static __always_inline __u64 times_switched(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();

	return READ(task, nvcsw) + READ(task, nivcsw);
}

static __always_inline bool counter__read(__u32 cpu, __u32 i, __u64 *value)
{
	struct bpf_perf_event_value read;

	if (bpf_perf_event_read_value(&call_events, cpu * CALL_COUNTERS_MAX + i, &read,
				      sizeof(read)))
		return false;
	*value = read.counter;
	return true;
}

static __always_inline void counters__begin(struct thread *thread)
{
	__u32 i;

	if (!call_counters)
		return;
	thread->counters.cpu = bpf_get_smp_processor_id();
	thread->counters.switches = times_switched();
	thread->counters.read = true;
	for (i = 0; i < CALL_COUNTERS_MAX; i++)
		if (i < call_counters &&
		    !counter__read(thread->counters.cpu, i, &thread->counters.values[i]))
			thread->counters.read = false;
}

/* Stores the counts of the send in the thread's state. */
static __always_inline void counters__end(struct thread *thread)
{
	__u64 value;
	__u32 i;

	if (!call_counters)
		return;
	if (thread->counters.cpu != bpf_get_smp_processor_id() ||
	    thread->counters.switches != times_switched())
		thread->counters.read = false;
	for (i = 0; i < CALL_COUNTERS_MAX && thread->counters.read; i++) {
		if (i >= call_counters)
			break;
		thread->counters.read = counter__read(thread->counters.cpu, i, &value);
		thread->counters.values[i] = value - thread->counters.values[i];
	}
}

static __always_inline void counters__add(struct call_slot *slot, const struct thread *thread)
{
	__u32 i;

	if (!call_counters)
		return;
	if (!thread->counters.read) {
		slot->left_out++;
		return;
	}
	slot->counted++;
	for (i = 0; i < CALL_COUNTERS_MAX; i++)
		if (i < call_counters)
			slot->counters[i] += thread->counters.values[i];
}
