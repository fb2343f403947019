# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Makes the block calls: a row for each syscall, with and without MSG_ZEROCOPY, that occurred."""

from analysis.tables.stages import NUMBERS, STAGES

from .hist import Hist
from .run import URING_SLOT, error_name

MAY_COST = "only with --stages, which slows sends"
WHOLE, ON_CPU = len(NUMBERS), len(NUMBERS) + 1  # the sum of all stages, and the sum of the stages on the CPU


def sizes(call):
    """Returns rows [low, high, sends, bytes] by size; low and high are inclusive."""
    return [[(1 << index) >> 1, (1 << index) - 1, size["sends"], size["bytes"]]
            for index, size in sorted(call.sizes.items())]


def counters(run, call):
    """Returns the counters' sums over the sends that stayed on their CPU; None without --call-counters."""
    events = run["setup"]["call_counters"]
    if not events:
        return None
    return {"sends": call.raw["counted"], "left_out": call.raw["left_out"],
            "events": [{"event": event, "sum": call.raw["counters"].get(str(i), 0)}
                       for i, event in enumerate(events)]}


def entry_hook(call):
    return f"entry of {call.syscall}" if call.once else None


def unseen(run, call, name, hook):
    """Returns why no hook sees a stage; None: a hook sees it, or none is needed."""
    if name == "entry":
        hook = entry_hook(call)
        if not hook:
            return "the beginning is hooked only for sendto, sendmsg, write and writev"
    return None if not hook or run.hooked(hook) else run.hooks[hook]["reason"]


def without_span(hist):
    block = hist.json(None)
    del block["span"]
    return block


def part(run, call, stage):
    number, why = NUMBERS.index(stage.name), unseen(run, call, stage.name, stage.hook)
    if why:
        run.missing(f"calls.stages.{stage.name}", why)
    events = () if why else run["setup"]["call_counters"]
    return {"stage": stage.name, "on_cpu": stage.on_cpu,
            "ns": None if why else without_span(run.stage(call.slot, 0, number)),
            "counters": [{**without_span(run.stage(call.slot, i, number)), "event": event}
                         for i, event in enumerate(events, 1)]}


def stages(run, call):
    """Returns the values of the keys cpu_ns and stages; (None, None): the time was not divided into stages."""
    raw = run.stage_slot(call.slot)
    whole = run.stage(call.slot, 0, WHOLE)
    if not raw or not whole.count:
        return None, None
    entry = entry_hook(call)
    span = ("syscall..tcp_sendmsg" if entry and run.hooked(entry) else run.hooks["send"]["span"])
    parts = [part(run, call, stage) for stage in STAGES if not stage.zerocopy or call.zerocopy or
             run.stage(call.slot, 0, NUMBERS.index(stage.name)).count]
    return (run.stage(call.slot, 0, ON_CPU).json(span),
            {"span": span, "one_in": run["setup"]["sample"], "sends": whole.count,
             "bytes": raw["bytes"], "wall_ns": whole.json(span), "parts": parts})


def call_row(run, call):
    if not call.once:
        run.missing(f"calls.{call.syscall}.syscalls",
                    "one call of sendfile, splice or sendmmsg can be several sends, and calls are not traced")
    wall = Hist(call.raw["wall"])
    cpu_ns, parts = stages(run, call)
    notified_by = ("io_uring" if call.slot == URING_SLOT else "error queue") if call.zerocopy else None
    return {"syscall": call.syscall, "zerocopy": call.zerocopy, "notified_by": notified_by,
            "sends": call.sends, "syscalls": call.sends if call.once else None, "bytes": call.bytes,
            "sizes": sizes(call),
            "errors": {error_name(error): count for error, count in sorted(call.errors.items())},
            "timed_one_in": run["setup"]["sample"],
            "wall_ns": wall.json(run.hooks["send"].get("span")) if wall.count else None,
            "cpu_ns": cpu_ns, "stages": parts, "counters": counters(run, call)}


def calls_block(run):
    if not run.hooked("send", "calls"):
        return None
    rows = [call_row(run, call) for call in run.calls if call.sends]
    if not run["setup"]["call_counters"]:
        run.missing("calls.counters", "only with --call-counters, which slows sends")
    if not run["setup"]["stages"]:
        run.missing("calls.cpu_ns", MAY_COST)
        run.missing("calls.stages", MAY_COST)
    return rows
