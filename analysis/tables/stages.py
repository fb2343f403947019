# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The stages of a send, into which --stages divides its time.

analysis/tables/generate.py generates C from them. A stage has a number in the kernel programs: see NUMBERS. A
new one needs its STAGE in bpf/stages.bpf.c, its hook in user/kernel/hooks.c, and a paragraph in docs/stages.md.
"""

from typing import NamedTuple, Optional


class Stage(NamedTuple):
    name: str            # in the run record; STAGE_NAME in C
    letter: str          # in bars; " " for stages off the CPU
    words: str           # for people
    hook: Optional[str]  # the hook that sees the stage, by its name in the run record; None: no hook is needed
    zerocopy: bool       # whether only zero-copy sends have this stage
    color: str           # in figures
    on_cpu: bool = True


# Stages on the CPU, in the order of a send and with "unaccounted" as the last, and then stages off the CPU.
STAGES = (
    Stage("entry", "E", "syscall entry", "entry of sendto", False, "#c7c7c7"),
    Stage("lock", "L", "taking the socket lock", "user copy", False, "#7f7f7f"),
    Stage("request", "Z", "zero-copy bookkeeping", "zero-copy request", True, "#dbdb8d"),
    Stage("alloc", "A", "skb allocation", "skb allocation", False, "#8c6d31"),
    Stage("fragment", "F", "pages for copied data", "page fragment", False, "#c6dbef"),
    Stage("copy", "C", "copying user data", "user copy", False, "#6baed6"),
    Stage("pin", "P", "pinning user pages", "page pin", True, "#fdae6b"),
    Stage("loop", "O", "send loop", "user copy", True, "#d8b365"),
    Stage("transmit", "T", "TCP transmit to driver", "transmit", False, "#a1d99b"),
    Stage("deep_copy", "D", "deep copy", "deep copy", True, "#ef6548"),
    Stage("completion", "N", "zero-copy completion", "completion time", True, "#fa9fb5"),
    Stage("release", "R", "socket release, ACKs", "user copy", False, "#9e9ac8"),
    Stage("softirq", "S", "network softirqs", "softirq", False, "#bcbddc"),
    Stage("interrupt", "I", "other softirqs", "softirq", False, "#807dba"),
    Stage("wait", "W", "going to sleep, waking", "memory wait", False, "#d9d9d9"),
    Stage("unaccounted", "?", "unaccounted", None, False, "#969696"),
    Stage("blocked", " ", "blocked", "switch", False, "#f7f7f7", False),
    Stage("lock_wait", " ", "waiting for the lock", "user copy", False, "#e8e8e8", False),
    Stage("preempted", " ", "waiting for a CPU", "switch", False, "#f0f0f0", False),
)
OF_NAME = {stage.name: stage for stage in STAGES}
# The stages in the order of their numbers: "unaccounted", the other stages on the CPU, the stages off the CPU.
NUMBERS = ("unaccounted", *(s.name for s in STAGES if s.on_cpu and s.name != "unaccounted"),
           *(s.name for s in STAGES if not s.on_cpu))
