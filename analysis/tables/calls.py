# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The syscalls and io_uring's operations that send. analysis/tables/generate.py makes C of them."""

from typing import NamedTuple


class Call(NamedTuple):
    symbol: str  # of C: CALL_...
    name: str    # in the run record
    once: bool   # one such syscall is always exactly one send


# Their order is their numbers in the kernel programs.
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
    # SEND_ZC and SENDMSG_ZC, whose completions io_uring reports, not an error queue.
    Call("IO_URING_ZC", "io_uring", False),
)

# The operations of io_uring that send: symbols of C (URING_...), and names in the run record. The last two request
# zero-copy.
URING_OPERATIONS = ("SEND", "SENDMSG", "SEND_ZC", "SENDMSG_ZC")
URING_ZEROCOPY = URING_OPERATIONS[2:]
