# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""counters, memory and lost: what was counted beside the calls, and what escaped."""

from .groups import SUMS
from .run import sum_of
from .zerocopy import FULL_COUNTER, counter

ESTIMATED = "LLC-load-misses"
LINE = 64  # bytes that a memory controller moves at once
IO = (("io_read_misses", "io_read_misses", LINE), ("io_write_misses", "io_write_misses", LINE),
      ("io_own_misses", "io_own_misses", LINE), ("io_in_bytes", "io_in", 1),
      ("io_out_bytes", "io_out", 1))


def rounded(value):
    return int(value + 0.5)


def block(run):
    target = run["setup"]["target"]
    if target and target["by"] != "command":
        run.missing("counters", "counters of programs that run already are not opened")
        return None
    rows = []
    for raw in run["counters"]:
        counted = raw["status"] == "counted"
        row = {**raw, "value": rounded(raw["value"]) if counted else None,
               "unit": raw["unit"] or "count"}
        if counted:
            del row["reason"]
        rows.append(row)
    return rows


class Amount:
    """What of a quantity was counted, or why it is not known."""

    def __init__(self, memory, quantity):
        events = [event for event in memory["events"] if event["quantity"] == quantity]
        self.reason = ("not supported: this machine shows no such counter" if not events
                       else memory["reason"] if not memory["counted"]
                       else memory["io_reason"] if memory["io_reason"] and
                       quantity.startswith("io_")
                       else "not counted, events tells which")
        self.value = None
        if events and memory["counted"] and all(e["status"] == "counted" for e in events):
            self.value = sum(event["bytes"] for event in events)


class Traffic:
    """Read, written and both; where nothing counts them, an estimate."""

    def __init__(self, run, memory):
        source = memory["source"]
        self.read, self.write, self.both = (Amount(memory, quantity) for quantity in
                                            ("read", "write", "read_and_write"))
        self.source, self.estimate, self.ends_only = None, False, False
        if None not in (self.read.value, self.write.value):
            self.both.value = self.read.value + self.write.value
        if self.both.value is None and source and source["counts"] != "read_and_write":
            self.both.reason = (self.read.reason if self.read.value is None
                                else self.write.reason)
        if any(a.value is not None for a in (self.read, self.write, self.both)):
            self.source, self.estimate = source["name"], source["estimate"]
        else:
            self._estimate(run, memory)

    def _estimate(self, run, memory):
        """A lower bound: prefetches, write-backs and everybody else are not in it."""
        misses = [c for c in run["counters"] if c["event"] == ESTIMATED]
        if not memory["line"] or not misses or any(c["status"] != "counted" for c in misses):
            if not memory["source"]:
                for amount in (self.both, self.read, self.write):
                    amount.reason = ("not supported: this machine shows no counters of its memory "
                                     "controllers, and no LLC misses to estimate from")
            return
        self.source, self.estimate, self.ends_only = ESTIMATED + " x line size", True, True
        self.read.value = self.both.value = sum(c["value"] for c in misses) * memory["line"]


def event(raw):
    counted = raw["status"] == "counted"
    return {"event": raw["event"], "quantity": raw["quantity"],
            "value": raw["value"] if counted else None, "unit": raw["unit"] or "count",
            "bytes": rounded(raw["bytes"]) if counted else None,
            "running": raw["running"] if counted else None, "status": raw["status"]}


def memory(run):
    """None where --memory does not ask for it."""
    raw = run["memory"]
    if raw is None:
        return None
    app = run.app or {}
    traffic = Traffic(run, raw)
    out = {"scope": "sender and receiver" if traffic.ends_only else "system",
           "source": traffic.source,
           "is_estimate": traffic.estimate if traffic.source else None}

    def count(key, value, reason):
        out[key] = run.known("memory", key, None if value is None else rounded(value), reason)

    def ratio(key, amount, by, reason):
        known = amount.value is not None
        out[key] = run.known("memory", key, amount.value / by if known and by and by > 0 else None,
                             reason if known else amount.reason)
    count("read_bytes", traffic.read.value, traffic.read.reason)
    count("write_bytes", traffic.write.value, traffic.write.reason)
    count("bytes", traffic.both.value, traffic.both.reason)
    no_time = "the load did not say how long it took"
    ratio("read_bytes_per_s", traffic.read, app.get("elapsed_s"), no_time)
    ratio("write_bytes_per_s", traffic.write, app.get("elapsed_s"), no_time)
    ratio("bytes_per_byte", traffic.both, app.get("bytes"), "nothing was sent")
    amounts = {quantity: Amount(raw, quantity) for _, quantity, _ in IO}
    for key, quantity, unit in IO:
        value = amounts[quantity].value
        count(key, None if value is None else value / unit, amounts[quantity].reason)
    own, read = amounts["io_own_misses"], amounts["io_read_misses"]
    count("io_miss_read_bytes", None if None in (own.value, read.value)
          else own.value + read.value, own.reason)
    out["events"] = [event(e) for e in raw["events"]] if raw["counted"] else []
    return out


def lost_returns(run, may_miss):
    """Of the sends that were not seen to return, those whose return was skipped."""
    if run.hooks["send"]["missed_unknown"]:
        return run.under_way if may_miss else 0
    return min(run["missed_ends"], run.under_way)


def lost_calls(run):
    """An upper bound: the kernel may have skipped a program for a process that is not measured."""
    totals, send = run.totals, run.hooks["send"]
    lost = totals["lost_threads"] + totals["lost_processes"]
    if send["counts_at_end"]:
        # The return counts a send without its start, but takes a thread's first for an older one.
        return lost + run["missed_ends"] + min(run["missed_begins"], totals["returned_first"])
    return lost + run["missed_begins"] + lost_returns(run, send["reason"])


def lost_completions(run):
    """A missed completion shows as a send without one. The next notification of its socket makes up
    for it, the last one of a window cannot. Of kprobes' programs older kernels do not tell which
    were skipped: a window closes with all sends completed, so what is outstanding was missed.
    """
    totals, completion = run.totals, run.hooks["completion"]
    lost = totals["lost_completions"] + totals["lost_notifications"]
    skipped = (completion["missed"] or 0) > run["missed_coalesced"]
    drained = not run["observed_s"]  # a load's window closes so; a program's does not
    if run.hooked("completion") and drained and (skipped or completion["mechanism"] == "kprobe"):
        return lost + run.outstanding
    return lost + totals["untracked"]


def lost(run):
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
