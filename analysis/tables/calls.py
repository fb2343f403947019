# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The syscalls and io_uring's operations that send. analysis/tables/generate.py generates C from them;
bpf/syscalls.bpf.h has the numbers of the syscalls.
"""

from typing import NamedTuple


class Call(NamedTuple):
    symbol: str  # CALL_... in C
    name: str    # in the run record
    once: bool   # whether one such syscall is always exactly one send


# A call's place in this list is its number in the kernel programs.
CALLS = (
    Call("OTHER", "other", False),
    Call("SENDTO", "sendto", True),
    Call("SENDMSG", "sendmsg", True),
    Call("SENDMMSG", "sendmmsg", False),
    Call("WRITE", "write", True),
    Call("WRITEV", "writev", True),
    Call("SENDFILE", "sendfile", False),
    Call("SPLICE", "splice", False),
    Call("IO_URING", "io_uring", False),
    # SEND_ZC and SENDMSG_ZC: io_uring reports their completions, instead of an error queue.
    Call("IO_URING_ZC", "io_uring", False),
)

# The operations of io_uring that send, by their names in the run record (in C: URING_...). The last two request
# zero-copy.
URING_OPERATIONS = ("SEND", "SENDMSG", "SEND_ZC", "SENDMSG_ZC")
URING_ZEROCOPY = URING_OPERATIONS[2:]
