# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Other tools that time sends, as their users run them: for all processes, with a histogram or a sum at the end.
Each has its command, and a test of whether it is attached.
"""

import collections
import contextlib
import pathlib

import programs

Tool = collections.namedtuple("Tool", "command ready")  # ready(program) -> bool
START_S = 240  # bcc compiles its programs; in a guest, the compiler is emulated

# Does what funclatency does, as a user of bpftrace would write it. bpftrace attaches the last probe first.
HISTOGRAM = """
interval:s:1 { printf("attached\\n"); }
kprobe:tcp_sendmsg { @begun[tid] = nsecs; }
kretprobe:tcp_sendmsg /@begun[tid]/ { @ns = hist(nsecs - @begun[tid]); delete(@begun[tid]); }
"""
# Does the same for the syscall, for kernels that refuse kprobes.
SYSCALLS = """
interval:s:1 { printf("attached\\n"); }
tracepoint:syscalls:sys_enter_sendto { @begun[tid] = nsecs; }
tracepoint:syscalls:sys_exit_sendto /@begun[tid]/ {
	@ns = hist(nsecs - @begun[tid]); delete(@begun[tid]);
}
"""


def prints(word):
    return lambda program: word in program.text(program.output) + program.text(program.errors)


def has_ring_buffers(program):
    return "perf_event" in pathlib.Path(f"/proc/{program.child.pid}/maps").read_text()


@contextlib.contextmanager
def attached(tool):
    with programs.Program(tool.command) as program:
        program.wait_until(lambda: tool.ready(program), START_S)
        yield


TOOLS = {
    "bcc funclatency": Tool(("funclatency-bpfcc", "tcp_sendmsg"), prints("Tracing")),
    "bpftrace, tcp_sendmsg": Tool(("bpftrace", "-B", "none", "-e", HISTOGRAM), prints("attached")),
    "bpftrace, sendto": Tool(("bpftrace", "-B", "none", "-e", SYSCALLS), prints("attached")),
    "perf trace, sendto": Tool(("perf", "trace", "-s", "-a", "-e", "sendto"), has_ring_buffers),
}
