# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Turns a raw line into a record, block by block."""

import re
import struct
import time

from analysis.findings import rules
from analysis.tables.schemas import FAILURE_SCHEMA, SCHEMA

from . import calls, counters, groups, memory, noise, profile, requests, timeline, warnings, zerocopy
from .run import Run, quotient

RAW_SCHEMA = "sendpath.raw/3"
_PLAIN = re.compile(r"[A-Za-z0-9%+,\-./:=@_]+")
NO_LOAD = "a program was observed, no load was run"


def started(run):
    second = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(run["started_s"]))
    return f"{second}.{run['started_ns'] // 1000:06d}Z"


def command_line(words):
    """Returns a command line for a shell. words: arguments that end with NULs, or a command line, which stays."""
    if not words or "\0" not in words:
        return words
    _, *rest = words[:-1].split("\0")
    return " ".join(["analyze", *(word if _PLAIN.fullmatch(word) else "'" + word.replace("'", "'\\''") + "'"
                                  for word in rest)])


def run_block(run):
    steal = run["noise"]["steal_share"] if run["window"] else None
    if steal is None:
        run.missing("run.steal_share",
                    "too short a window, or /proc/stat does not have it" if run["window"]
                    else "no window was measured")
    return {**run["run"], "command": command_line(run["run"]["command"]), "steal_share": steal,
            "first_look": None}


def plan(run):
    keys = "name", "mechanism", "symbol", "status", "reason", "missed"
    hooks = [{key: hook[key] for key in keys} for hook in run["plan"]]
    if any(hook["missed_unknown"] for hook in run["plan"]):
        run.missing("plan.hooks.missed", "the kernel counts skipped runs of kprobes only from Linux 6.7 on")
    return {"tier": run.hooks["send"]["mechanism"], "hooks": hooks}


def load(run):
    if not run["load"]:
        return None
    if run["load"]["device"] is None:
        run.missing("load.device", "the route to the receiver is not looked up")
    return {**run["load"], "sender_pid": run["sender_pid"],
            "receiver_pid": None if run["load"]["peer"] else run["receiver_pid"],
            "pinning": (run.app or {}).get("pinning")}


def others(run):
    """Returns the counts of sends by other protocols than TCP, which are not measured; None: unknown."""
    if not run.hooked("kTLS send") and not run.hooks["send"].get("counts_at_end"):
        run.missing("observed.others", "sends by MPTCP, UDP and Unix sockets were not looked "
                    "at: no hook here is at tracepoint sock_send_length")
        return None
    totals = run.totals
    # Older raw lines lack some of these.
    counts = {f"{name}_{what}": totals.get(f"{name}_{what}", 0)
              for name in ("mptcp", "udp", "unix") for what in ("sends", "bytes")}
    return {**counts, "zerocopy_requests": totals["other_requests"]}


def observed(run):
    target = run["setup"]["target"]
    if target is None:
        return None
    return {"by": target["by"], "what": target["what"], "seconds": run["observed_s"],
            "in_flight": run["in_flight"],
            "exit_status": run["command_status"] if target["by"] == "command" else None,
            "others": others(run), "so_zerocopy_unused": run.totals.get("enabled_unused", 0)}


def tcp(run):
    block = run.app.pop("tcp", None) if run.app else None
    if block is None:
        run.missing("tcp", "the protocol's own counters are read only for a load" if run.observed
                    else "/proc/self/net/netstat could not be read" if run.app else run["error"])
        return None
    block = dict(block)
    if block.get("sending") is None:
        run.missing("tcp.sending", "each socket that sent was closed within the window")
    totals = run.totals
    why = None if totals["packets"] else "no packet with data left in the window"
    if not run.hooked("packet"):
        why = run.hooks["packet"]["reason"]
    sends = sum(call.accepted for call in run.calls)
    for key, value, reason in (
            ("skbs", totals["packets"], why), ("skb_frags", totals["packet_frags"], why),
            ("skbs_per_send", quotient(totals["packets"], sends), why or "no send was seen in the window"),
            ("frags_per_skb", quotient(totals["packet_frags"], totals["packets"]), why)):
        block[key] = run.known("tcp", key, None if why else value, reason)
    return block


def receiver(run):
    peer = bool(run["load"] and run["load"]["peer"])
    if peer:
        run.missing("receiver", "the receiver is on another machine")
    if peer or not run.hooked("receiver copy", "receiver"):
        return None
    timed = run.hooked("copy-out", "receiver.copy_ns")
    return {"copies": run.totals["receiver_copies"], "bytes": run.totals["receiver_bytes"],
            "copy_ns": run.span("copy_out").json("skb_copy_datagram_iter") if timed else None}


def overhead(run):
    if not run["setup"]["cost"]:
        run.missing("overhead", "only with --cost, which slows the programs")
        return None
    cpu = sum(next((c["value"] for c in run["counters"]
                    if c["event"] == "task-clock" and c["scope"] == scope), 0)
              for scope in ("sender", "receiver", "command"))
    return {"bpf_ns": run["bpf_ns"], "bpf_runs": run["bpf_runs"],
            "cpu_share": run["bpf_ns"] / cpu if cpu > 0 else None}


def host(raw):
    """Returns the block host. Keys that the raw line lacks, because it did not pass through the front, are None."""
    return {key: raw["host"].get(key) for key in (
        "name", "kernel", "arch", "cpu", "nproc", "virtualized", "debug_kernel", "governor", "pmu",
        "settings", "devices")}


def failure_of(raw):
    """Returns the record, of schema sendpath.failure/1, of a load's run that has no result."""
    return {"schema": FAILURE_SCHEMA, "tool": {"version": raw["version"]},
            "started": started(raw), "run": {**raw["run"], "command": command_line(raw["run"]["command"]), "steal_share": None},
            "host": raw["host"], "load": raw["load"], "complete": False, "outcome": raw["outcome"],
            "error": raw["error"]}


class BadRaw(ValueError):
    """A raw line is invalid; the message has the reason."""


def findings_block(record):
    """Returns the findings of a record that is complete otherwise."""
    return [{key: part for key, part in finding._asdict().items() if key != "processes" or part}
            for finding in rules.of_records([record])]


def record_of(raw):
    """Returns a record of schema SCHEMA, or of sendpath.failure/1 for a run without a result.

    raw: a line of schema sendpath.raw/3, as json.loads returns it. Raises BadRaw.
    """
    try:
        if raw["schema"] != RAW_SCHEMA:
            raise BadRaw(f"its schema is {raw['schema']!r}, not {RAW_SCHEMA}")
        raw = {**raw, "host": host(raw)}
        return failure_of(raw) if "outcome" in raw else run_of(raw)
    except (KeyError, TypeError, AttributeError, IndexError, ValueError, ArithmeticError, OSError,
            struct.error) as error:
        raise BadRaw(f"{type(error).__name__}: {error}") from error


def run_of(raw):
    run = Run({**raw, "noise": noise.changes(**raw["noise"])})
    record = {"schema": SCHEMA, "tool": {"version": raw["version"]}, "started": started(run), "run": run_block(run),
              "host": raw["host"], "privilege": raw["privilege"], "plan": plan(run), "load": load(run),
              "observed": observed(run), "serving": run.app.pop("serving", None) if run.app else None,
              "tcp": tcp(run), "app": run.app}
    if run.observed:
        run.missing("load", NO_LOAD)
    if run.app is None:
        run.missing("app", NO_LOAD if run.observed else raw["error"])
    record["noise"] = noise.noise_block(run, record)
    record.update(calls=calls.calls_block(run), io_uring=requests.requests_block(run), by=groups.groups_block(run),
                  zerocopy=zerocopy.zerocopy_block(run), receiver=receiver(run), counters=counters.counters_block(run),
                  memory=memory.memory_block(run), profile=profile.profile_block(run))
    if "timeline" in raw:
        record["timeline"] = timeline.timeline_block(run)
    record["lost"] = counters.lost_block(run)
    record["overhead"] = overhead(run)
    record["findings"] = findings_block(record)
    return {**record, "complete": not raw["interrupted"] and not raw["error"],
            "warnings": warnings.warnings_block(run, record), "unmeasured": run.unmeasured, "comparisons": None}
