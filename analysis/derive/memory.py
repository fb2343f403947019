# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Makes the block memory: converts uncore events that perf counted to bytes, or records why a value is null."""

import math
import re

from analysis.tables.memory import EVENTS, LINE, QUANTITIES, SOURCES

from .counters import rounded

ESTIMATED = "LLC-load-misses"
ESTIMATE = f"{ESTIMATED} x line size"
IO = (("io_read_misses", "io_read_misses", LINE), ("io_write_misses", "io_write_misses", LINE),
      ("io_own_misses", "io_own_misses", LINE), ("io_in_bytes", "io_in", 1),
      ("io_out_bytes", "io_out", 1))
UNITS = {"Bytes": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "KB": 1e3, "MB": 1e6, "GB": 1e9}


class Count:
    """A requested event, by its name for perf's -e, and the sums over the boxes (the PMU's units) that count it."""

    def __init__(self, perf_name):
        self.perf_name, self.event = perf_name, EVENTS[perf_name]
        self.status, self.unit = None, ""
        self.value = self.bytes = 0.0
        self.running = 1.0  # the least share of the time in which a box counted
        # Some versions of perf print a line for each box, and add letters: "uncore_imc_3/cas_count_read/u"
        # belongs to uncore_imc. A name of perf's own is printed without a box, or as "amd_umc_0/NAME/".
        name = re.escape(self.event.name)
        self.pattern = (re.compile(rf"{self.event.pmu}(_[0-9]+)?/{name}/") if self.event.pmu
                        else re.compile(rf"([^/]*/)?{name}(/|$)", re.IGNORECASE))

    def _worsen(self, status):
        """Sets a status of failure: an event is counted only if all its boxes are counted."""
        if self.status in (None, "counted"):
            self.status = status

    def add(self, value, unit, running):
        """Adds a line of perf: the value, unit and share of the time in percent, as texts."""
        if value == "<not supported>":
            self._worsen("not supported")
            return
        number, share = _number(value), _number(running)
        size = UNITS.get(unit, 0) if unit else self.event.size
        if number is None or not size:
            self._worsen("not counted")
            return
        self.status = self.status or "counted"
        self.unit = unit
        self.running = min(self.running, (share or 0) / 100)
        self.value += number
        self.bytes += number * size

    def row(self):
        counted = self.status == "counted"
        return {"event": self.perf_name, "quantity": self.event.quantity,
                "value": self.value if counted else None, "unit": self.unit or "count",
                "bytes": rounded(self.bytes) if counted else None,
                "running": self.running if counted else None, "status": self.status or "not counted"}


def _number(text):
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


def counts(perf_names, text):
    """Returns the Counts of the requested events, from the output of "perf stat -x;"."""
    found = [Count(name) for name in perf_names]
    for line in text.splitlines():
        fields = line.split(";")
        of = [count for count in found if len(fields) > 4 and count.pattern.match(fields[2])]
        if of:
            of[0].add(fields[0], fields[1], fields[4])
    return found


def source_of(perf_names):
    """Returns the source of memory traffic to which these events belong; None: there is none."""
    return next((source for source in SOURCES
                 if source.kind == "memory" and source.events[0].perf_name in perf_names), None)


class Amount:
    """The value of a quantity, or the reason why it is unknown."""

    def __init__(self, memory, found, quantity):
        events = [count for count in found if count.event.quantity == quantity]
        self.reason = ("not supported: this machine shows no such counter" if not events
                       else memory["reason"] if not memory["counted"]
                       else memory["io_reason"] if memory["io_reason"] and
                       quantity.startswith("io_")
                       else "not counted: memory.events has the status of each event")
        self.value = None
        if events and memory["counted"] and all(e.status == "counted" for e in events):
            self.value = sum(event.bytes for event in events)


def traffic(run, memory, read, write, both):
    """Sets the Amount both to the sum of read and write, or estimates all three from cache misses if no event counts
    them. Returns the name of their source, and whether they are estimates; None and None without a source.
    """
    source = source_of(memory["asked"])
    if None not in (read.value, write.value):
        both.value = read.value + write.value
    if both.value is None and source and source.events[0].quantity != "read_and_write":
        both.reason = read.reason if read.value is None else write.reason
    if any(amount.value is not None for amount in (read, write, both)):
        return source.name, source.estimate
    misses = [c for c in run["counters"] if c["event"] == ESTIMATED]
    if memory["line"] and misses and all(c["status"] == "counted" for c in misses):
        # This is a lower bound: it lacks prefetches, write-backs and the misses of other programs.
        read.value = both.value = sum(c["value"] for c in misses) * memory["line"]
        return ESTIMATE, True
    if not source:
        both.reason = read.reason = write.reason = (
            "not supported: this machine shows no counters of its memory controllers, and no LLC misses to "
            "estimate from")
    return None, None


def memory_block(run):
    """Returns the block memory; None without --memory."""
    raw = run["memory"]
    if raw is None:
        return None
    app = run.app or {}
    found = counts(raw["asked"], raw["text"])
    amounts = {quantity: Amount(raw, found, quantity) for quantity in QUANTITIES}
    read, write, both = (amounts[quantity] for quantity in ("read", "write", "read_and_write"))
    source, is_estimate = traffic(run, raw, read, write, both)
    out = {"scope": "sender and receiver" if source == ESTIMATE else "system", "source": source,
           "is_estimate": is_estimate}

    def count(key, value, reason):
        out[key] = run.known("memory", key, None if value is None else rounded(value), reason)

    def ratio(key, amount, by, reason):
        known = amount.value is not None
        out[key] = run.known("memory", key, amount.value / by if known and by and by > 0 else None,
                             reason if known else amount.reason)
    count("read_bytes", read.value, read.reason)
    count("write_bytes", write.value, write.reason)
    count("bytes", both.value, both.reason)
    no_time = "the load did not report how long it took"
    ratio("read_bytes_per_s", read, app.get("elapsed_s"), no_time)
    ratio("write_bytes_per_s", write, app.get("elapsed_s"), no_time)
    ratio("bytes_per_byte", both, app.get("bytes"), "nothing was sent")
    for key, quantity, unit in IO:
        value = amounts[quantity].value
        count(key, None if value is None else value / unit, amounts[quantity].reason)
    own, whole = amounts["io_own_misses"], amounts["io_read_misses"]
    count("io_miss_read_bytes", None if None in (own.value, whole.value)
          else own.value + whole.value, own.reason)
    out["events"] = [count.row() for count in found] if raw["counted"] else []
    return out
