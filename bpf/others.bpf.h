/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Sends that are not TCP's, and are not measured: those by MPTCP, whose subflows are TCP sockets
 * that tcp_sendmsg does not see, and zero-copy sends by any further protocol. Counted so that
 * nobody takes their absence for a finding.
 */
#pragma once

#include "syscalls.bpf.h"

#define AF_UNIX	      1
#define IPPROTO_MPTCP 262

static __always_inline void count_other(struct sock *sk, int ret)
{
	__u16 family = BPF_CORE_READ(sk, __sk_common.skc_family);
	struct totals *t = totals__get();

	if (!t || family == AF_UNIX)
		return;
	if (BPF_CORE_READ(sk, sk_protocol) != IPPROTO_MPTCP) {
		if (call_flags(current_call(), call_regs()) & MSG_ZEROCOPY)
			t->other_requests++;
		return;
	}
	t->mptcp_sends++;
	if (ret > 0)
		t->mptcp_bytes += ret;
}
