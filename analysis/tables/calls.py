# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The syscalls that sends come by. analysis/tables/generate.py makes C of it."""

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
    # SEND_ZC and SENDMSG_ZC: completed by io_uring, not by an error queue.
    Call("IO_URING_ZC", "io_uring", False),
)
