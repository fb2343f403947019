// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/kernel/stages.h"

#include <string.h>

/* clang-format off */
const struct stage_row stage_rows[STAGES] = {
	{STAGE_ENTRY, "entry", "syscall entry", 'E', HOOK_ENTRY_SENDTO, false},
	{STAGE_LOCK, "lock", "taking the socket lock", 'L', HOOK_STAGE_COPY, false},
	{STAGE_REQUEST, "request", "zero-copy bookkeeping", 'Z', HOOK_STAGE_REQUEST, true},
	{STAGE_ALLOC, "alloc", "skb allocation", 'A', HOOK_STAGE_ALLOC, false},
	{STAGE_FRAGMENT, "fragment", "pages for copied data", 'F', HOOK_STAGE_FRAGMENT, false},
	{STAGE_COPY, "copy", "copying user data", 'C', HOOK_STAGE_COPY, false},
	{STAGE_PIN, "pin", "pinning user pages", 'P', HOOK_STAGE_PIN, true},
	{STAGE_LOOP, "loop", "send loop", 'O', HOOK_STAGE_COPY, true},
	{STAGE_TRANSMIT, "transmit", "TCP transmit to driver", 'T', HOOK_STAGE_TRANSMIT, false},
	{STAGE_DEEP_COPY, "deep_copy", "deep copy", 'D', HOOK_STAGE_DEEP_COPY, true},
	{STAGE_COMPLETION, "completion", "zero-copy completion", 'N', HOOK_STAGE_COMPLETION, true},
	{STAGE_RELEASE, "release", "socket release, ACKs", 'R', HOOK_STAGE_COPY, false},
	{STAGE_SOFTIRQ, "softirq", "network softirqs", 'S', HOOK_SOFTIRQ, false},
	{STAGE_INTERRUPT, "interrupt", "other softirqs", 'I', HOOK_SOFTIRQ, false},
	{STAGE_WAIT, "wait", "going to sleep, waking", 'W', HOOK_STAGE_WAIT, false},
	{STAGE_UNACCOUNTED, "unaccounted", "unaccounted", '?', HOOK_COUNT, false},
	{STAGE_BLOCKED, "blocked", "blocked", ' ', HOOK_SWITCH, false},
	{STAGE_LOCK_WAIT, "lock_wait", "waiting for the lock", ' ', HOOK_STAGE_COPY, false},
	{STAGE_PREEMPTED, "preempted", "waiting for a CPU", ' ', HOOK_SWITCH, false},
};
/* clang-format on */

const char *stage__words(const char *name)
{
	size_t i;

	for (i = 0; i < STAGES; i++)
		if (!strcmp(stage_rows[i].name, name))
			return stage_rows[i].words;
	return name;
}

enum hook_id stage__entry_hook(enum call_kind kind)
{
	switch (kind) {
	case CALL_SENDTO:
		return HOOK_ENTRY_SENDTO;
	case CALL_SENDMSG:
		return HOOK_ENTRY_SENDMSG;
	case CALL_WRITE:
		return HOOK_ENTRY_WRITE;
	case CALL_WRITEV:
		return HOOK_ENTRY_WRITEV;
	default:
		return HOOK_COUNT;
	}
}
