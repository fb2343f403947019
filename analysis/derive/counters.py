# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Makes the blocks counters (perf events) and lost (numbers of events that were missed)."""

from .groups import SUMS
from .run import sum_of
from .zerocopy import FULL_COUNTER, counter


def rounded(value):
    return int(value + 0.5)


def counters_block(run):
    target = run["setup"]["target"]
    if target and target["by"] != "command":
        run.missing("counters", "counters of programs that run already are not opened")
        return None
    rows = []
    for raw in run["counters"]:
        counted = raw["status"] == "counted"
        row = {**raw, "value": rounded(raw["value"]) if counted else None, "unit": raw["unit"] or "count"}
        if counted:
            del row["reason"]
        rows.append(row)
    return rows


def lost_calls(run):
    """Returns the largest possible number of missed sends: some skipped program runs may be of unmeasured processes."""
    totals, send = run.totals, run.hooks["send"]
    lost = totals["lost_threads"] + totals["lost_processes"]
    if send["counts_at_end"]:
        # The program at the return also counts a send whose start was missed, unless it is a thread's first seen send,
        # which may have started before the window.
        return lost + run["missed_ends"] + min(run["missed_begins"], totals["returned_first"])
    # The kernel may have skipped the returns of sends in progress.
    skipped = run.in_progress if send["reason"] else 0
    return lost + run["missed_begins"] + (skipped if send["missed_unknown"] else
                                          min(run["missed_ends"], run.in_progress))


def lost_completions(run):
    """Returns the number of missed completions. A completion that no program saw is counted as lost when its socket
    ends, which may be after the window. Older kernels do not count skipped kprobes. However, the window of a load
    closes when all sends have completed, so the completions of outstanding sends were missed.
    """
    totals, completion = run.totals, run.hooks["completion"]
    lost = totals["lost_completions"] + totals["untracked"]
    skipped = (completion["missed"] or 0) > run["missed_coalesced"]
    drained = not run["observed_s"]  # only a load's window closes like this
    if run.hooked("completion") and drained and (skipped or completion["mechanism"] == "kprobe"):
        lost = max(lost, run.outstanding)
    return lost + totals["lost_notifications"]


def lost_block(run):
    if not run.hooked("send", "lost"):
        return None
    totals = run.totals
    rest = [run.maps.get(name, SUMS)[sends] for name, sends in (("groups_rest", "sends"),
                                                                ("peers_rest", "requests"))]
    stacks = run.hooked("skb copy", "lost.stacks")
    return {"calls": lost_calls(run), "completions": lost_completions(run),
            "flags": sum_of("lost_flags", totals),
            "groups": sum(rest),
            "stacks": counter(run, FULL_COUNTER)["skbs"] + totals["lost_cause_bits"]
            if stacks else None}
