# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Makes the block profile: sampled stacks of kernel functions by syscall, context and stage."""

import re

from analysis.tables.calls import CALLS
from analysis.tables.profile import (CONTEXTS, ERROR_QUEUE, LOCK, MEASURING, NETWORK_SOFTIRQ, PREEMPTED, RECEIVE, RELEASE, SEND,
                            SOFTIRQ, WAITED)
from analysis.tables.stages import STAGES

KEPT = {context.name for context in CONTEXTS if context.functions}


class Stages:
    """Finds the stage of a stack. The innermost function at which a stage begins, by the table of hooks, decides."""

    def __init__(self, hooks):
        self.of = {**dict.fromkeys(LOCK, "lock"), **dict.fromkeys(RELEASE, "release")}
        for stage in STAGES:
            if stage.hook and stage.on_cpu and stage.name not in ("lock", "release", "loop"):
                self.of.update(dict.fromkeys(hooks.get(stage.hook, {}).get("functions", ()), stage.name))

    def stage(self, functions, zerocopy):
        """Returns the stage of a stack, whose innermost function is the first."""
        network = False
        for name in functions:
            found = self.of.get(name)
            if found:
                return "loop" if found == "copy" and zerocopy else found
            network = network or name in NETWORK_SOFTIRQ
            if name in SOFTIRQ:
                return "softirq" if network else "interrupt"
        return "unaccounted"


def context_of(in_send, names, completing):
    """Returns the name of a stack's context. names: its functions, a set. completing: those that complete sends."""
    if in_send or names & SEND:
        return "softirq" if names & SOFTIRQ else "send"
    if not names:
        return "program"
    for context, known in ("error_queue", ERROR_QUEUE), ("completion", completing), ("receive", RECEIVE):
        if names & known:
            return context
    return "kernel"


def profile_block(run):
    """Returns the block profile; None without --profile, or if nothing was measured."""
    raw = run.raw.get("profile")
    if not raw:
        return None
    # The hash in the name of a BPF program differs from build to build.
    names = [re.sub("^bpf_prog_[0-9a-f]{16}_", "bpf_prog_", name) for name in raw["functions"]]
    rows, waits, stages = {}, {}, Stages(run.hooks)
    completing = set(run.hooks["completion time"]["functions"])
    for stack in raw["stacks"]:
        slot, functions = stack["slot"], [names[i] for i in stack["frames"]]
        syscall, zerocopy = (CALLS[(slot - 1) // 2].name, bool((slot - 1) & 1)) if slot else (None, None)
        if stack["role"] & (WAITED | PREEMPTED):
            while functions and functions[0].startswith(MEASURING):  # the programs that recorded the wait
                functions.pop(0)
            why = "preempted" if stack["role"] & PREEMPTED else "lock_wait" if LOCK & set(functions) else "blocked"
            key = syscall, zerocopy, why, tuple(functions[::-1])
            waits[key] = waits.get(key, 0) + stack["samples"]
            continue
        context = context_of(slot > 0, set(functions), completing)
        stage = stages.stage(functions, zerocopy) if context in ("send", "softirq") else None
        key = syscall, zerocopy, context, stage, tuple(functions[::-1]) if context in KEPT else ()
        rows[key] = rows.get(key, 0) + stack["samples"]
    return {"event": raw["event"], "hz": raw["hz"], "samples": sum(rows.values()), "lost": raw["lost"],
            "stacks": [{"syscall": syscall, "zerocopy": zerocopy, "context": context, "stage": stage,
                        "functions": list(functions), "samples": samples}
                       for (syscall, zerocopy, context, stage, functions), samples in
                       sorted(rows.items(), key=lambda row: (-row[1], str(row[0])))],
            "waits": [{"syscall": syscall, "zerocopy": zerocopy, "stage": stage, "functions": list(functions), "ns": ns}
                      for (syscall, zerocopy, stage, functions), ns in
                      sorted(waits.items(), key=lambda row: (-row[1], str(row[0])))]}
