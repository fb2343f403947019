# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The contexts of the samples of --profile, by the kernel functions of their stacks."""

from typing import NamedTuple


class Context(NamedTuple):
    name: str        # in the run record
    words: str       # for people
    functions: bool  # whether the record has the functions of the context's stacks
    in_send: bool = False


# In the order of the report.
CONTEXTS = (
    Context("send", "sends", True, True),
    Context("softirq", "softirqs inside sends", True, True),
    Context("completion", "zero-copy completions", True),
    Context("error_queue", "error-queue reads", True),
    Context("receive", "receives", True),
    Context("kernel", "other kernel code", False),
    Context("program", "the programs themselves", False),
)

SAMPLES_LEAST = 100  # with fewer samples in sends, functions are not listed

# Bits of a stack's role: the thread left its CPU because it waited, or because another thread got the CPU.
WAITED, PREEMPTED = 0x100, 0x200

# The functions have these names in kallsyms of Linux 5.10 and later. Functions with hooks are in the table of hooks.
SEND = {"tcp_sendmsg"}
SOFTIRQ = {"__do_softirq", "handle_softirqs"}
NETWORK_SOFTIRQ = {"net_rx_action", "net_tx_action"}
LOCK = {"lock_sock_nested", "__lock_sock"}
RELEASE = {"release_sock"}
# Prefixes of the names of BPF programs, and of the kernel functions that call BPF programs.
MEASURING = "bpf_prog_", "bpf_trace_run", "bpf_trampoline_", "__bpf_prog_"
ERROR_QUEUE = {"inet_recv_error", "ip_recv_error", "ipv6_recv_error", "sock_recv_errqueue"}
RECEIVE = {"tcp_recvmsg", "tcp_recvmsg_locked"}
