# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The contexts of the samples of --profile, by the kernel functions of their stacks."""

from typing import NamedTuple


class Context(NamedTuple):
    name: str        # in the run record
    words: str       # for people
    functions: bool  # are the functions of its stacks kept?
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

SAMPLES_LEAST = 100  # the fewest samples in sends for a list of functions

# Bits of a stack's role: the thread left its CPU because it waited, or for another thread.
WAITED, PREEMPTED = 0x100, 0x200

# Functions by their names in kallsyms from 5.10 on. Functions with hooks are in the table of hooks.
SEND = {"tcp_sendmsg"}
SOFTIRQ = {"__do_softirq", "handle_softirqs"}
NETWORK_SOFTIRQ = {"net_rx_action", "net_tx_action"}
LOCK = {"lock_sock_nested", "__lock_sock"}
RELEASE = {"release_sock"}
# Beginnings of the names of BPF programs, and of the functions that call these.
MEASURING = "bpf_prog_", "bpf_trace_run", "bpf_trampoline_", "__bpf_prog_"
ERROR_QUEUE = {"inet_recv_error", "ip_recv_error", "ipv6_recv_error", "sock_recv_errqueue"}
RECEIVE = {"tcp_recvmsg", "tcp_recvmsg_locked"}
