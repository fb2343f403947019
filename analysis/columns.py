# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Defines the columns of the tidy table, each by its name, kind, unit, meaning and a function that reads it.

A column for a key of the record is defined by its name alone; analysis/tables/keys.py has the rest, and analysis/model.py
the types of lists and blocks. A value that a record lacks is null, never 0. METRICS of analysis/result_sets.py has the
columns that are compared, analysis/compare/settings.py those that must be equal for that.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

from analysis import words
from analysis.model import ratio
from analysis.records import Record
from analysis.tables.keys import RECORD

TEXT, WHOLE, REAL, TRUTH, TIME = "text", "whole", "real", "truth", "time"
KINDS = {"string": TEXT, "integer": WHOLE, "number": REAL, "boolean": TRUTH}
# The endings of keys that have a unit.
UNITS = {"_per_s": "1/s", "_per_thread": "1/s", "_s": "s", "bytes": "bytes", "_bps": "bit/s"}


@dataclasses.dataclass(frozen=True)
class Column:
    """A column. unit: "" if there is none. read returns the value of a Record, or raises BadRecord if it is invalid."""
    name: str
    kind: str
    unit: str
    description: str
    read: Callable[[Record], Any]


def read_at(path):
    """Returns a function that returns the value at a path of a run record; None if the value is absent."""
    keys = path.split(".")

    def get(record):
        value = record.data
        for key in keys:
            if value is None:
                return None
            value = getattr(value, key)
        return value
    return get


def key(path, name, description=""):
    """Returns the column of a key. description: replaces the meaning that tables/keys.py gives the key."""
    block = RECORD
    for part in path.split("."):
        found = block.key(part)
        block = found.kind
    unit = next((unit for end, unit in UNITS.items() if name.endswith(end)), "")
    return Column(name, KINDS[found.kind.plain], unit, description or found.meaning, read_at(path))


def keys(block, names, prefix=""):
    """Returns the columns of these keys of a block. The name of a column is prefix + key."""
    return (key(f"{block}.{name}", prefix + name) for name in names.split())


def _ratio(top, bottom, scale=1.0):
    return lambda record: ratio(top(record), bottom(record), scale)


def _counter(event, side):
    return lambda record: record.data.counted.get((event, side))


def percentiles(prefix, path, what, names=("p50", "p90", "p99", "p999")):
    return (Column(f"{prefix}_{name}_ns", WHOLE, "ns", f"{PERCENTILES[name]} of {what}", read_at(f"{path}.{name}"))
            for name in names)


PERCENTILES = {"p50": "median", "p90": "90th percentile", "p99": "99th percentile", "p999": "99.9th percentile"}

RUN = (
    Column("source", TEXT, "", "the PATH that had the record, as given to the program", lambda r: r.source),
    Column("source_file", TEXT, "", "the file of the record", lambda r: r.file),
    Column("source_line", WHOLE, "", "the line of the record in this file", lambda r: r.line),
    key("run.id", "run_id", "unique id of the run"),
    Column("started", TIME, "UTC", "start of the window", read_at("started")),
    *keys("run", "command cell"),
    key("run.repeat", "repeat", "number of the repeat, from 1"),
    *keys("run", "seed first_look"),
    key("tool.version", "tool_version"),
    key("run.steal_share", "steal_share"),
    *keys("noise", "others_share irq_share pressure_share sender_waited_share receiver_waited_share throttled "
          "slowdown disturbed"),
    Column("complete", TRUTH, "", "false: the run was interrupted, failed or skipped", read_at("whole")),
    Column("outcome", TEXT, "", "failed or skipped, for a run without a result; else null", read_at("outcome")),
    Column("error", TEXT, "", "why a run failed", read_at("failure")),
    Column("warnings", TEXT, "", "codes of the record's warnings, joined by ;", read_at("codes")),
)

HOST = (
    key("host.name", "host"),
    key("host.kernel", "kernel", "Linux release"),
    key("host.arch", "arch"),
    key("host.nproc", "cpus"),
    key("host.cpu", "cpu_model"),
    key("host.virtualized", "virtual"),
    *keys("host", "debug_kernel governor pmu"),
    Column("settings", TEXT, "", "kernel settings, name=value, joined by ;", read_at("host.settings_text")),
    Column("devices", TEXT, "", "network devices: name=driver, MTU, speed, offloads that are on; joined by ;",
           read_at("host.devices_text")),
    key("plan.tier", "tier"),
)

LOAD = (
    key("load.workload", "workload", "stream, request or procinfo; null: a program was observed"),
    *keys("load", "variant server_model"),
    key("load.client_model", "client_model", "how the client handles connections"),
    *keys("load", "connections backlog fields"),
    Column("field_size_bytes", WHOLE, "bytes", "bytes of a field", read_at("load.field_size")),
    *keys("load", "message_bytes threads inflight"),
    key("load.rcvlowat", "rcvlowat_bytes", "bytes that wake the receiver (SO_RCVLOWAT)"),
    *keys("load", "working_set_bytes pick rate_per_thread"),
    key("load.link", "link", "loopback or veth; null: another path"),
    *keys("load", "device peer"),
    Column("address_family", TEXT, "", "IPv4 or IPv6", read_at("load.address_family")),
    Column("socket_options", TEXT, "", "options of the socket, as given to --socket", read_at("load.socket_options")),
    Column("memory_options", TEXT, "", "options of a message's memory: alignment, huge pages, "
           "registered buffers, a file, reuse before completion", read_at("load.memory_options")),
    Column("pinned", TRUTH, "", "true: sender and receiver ran on different CPUs", read_at("load.pinned")),
    key("load.duration_s", "duration_s", "requested length of the window"),
)

RESULT = (
    key("app.elapsed_s", "elapsed_s", "actual length of the window"),
    key("app.messages", "messages", "messages sent, or connections answered"),
    *keys("app", "bytes received_bytes throughput_bps"),
    Column("messages_per_s", REAL, "1/s", "messages / elapsed_s", read_at("app.messages_per_s")),
    Column("message_span", TEXT, "", "what the time of a whole message covers; compare only times with the same span",
           read_at("app.message_latency_ns.span")),
    Column("message_mean_ns", REAL, "ns", "mean of the time of a whole message",
           read_at("app.message_latency_ns.mean")),
    *percentiles("message", "app.message_latency_ns", "the time of a whole message"),
    Column("sends", WHOLE, "", "sends (calls of tcp_sendmsg), including failed ones", read_at("sends")),
    Column("send_calls", TEXT, "", "syscalls of these sends, joined by ;", read_at("send_calls")),
    Column("send_span", TEXT, "", "what the kernel time of a send covers; compare only times with the same span",
           read_at("send_ns.span")),
    Column("send_mean_ns", REAL, "ns", "mean kernel time of a send", read_at("send_mean_ns")),
    Column("send_cpu_ns", REAL, "ns", "mean time on the CPU in a send; with --stages", read_at("send_cpu_ns")),
    *percentiles("send", "send_ns", "the kernel time of a send; null with several syscalls"),
)

ZEROCOPY = (
    Column("zc_requests", WHOLE, "", "zero-copy sends, including io_uring's", read_at("zerocopy.all_requests")),
    Column("zc_completions", WHOLE, "", "zero-copy sends that completed", read_at("zerocopy.all_completions")),
    Column("zc_copied", WHOLE, "", "completed sends that the kernel copied; a lower bound if zc_unflagged is null",
           read_at("zerocopy.all_copied")),
    Column("zc_flagged", WHOLE, "", "copied sends that the kernel flagged as copied", read_at("zerocopy.own.flagged")),
    Column("zc_unflagged", WHOLE, "", "copied sends without a flag", read_at("zerocopy.own.unflagged")),
    key("zerocopy.errqueue_copied", "zc_errqueue_copied"),
    Column("zc_refused", WHOLE, "", "zero-copy sends that failed before any data were copied",
           read_at("zerocopy.all_refused")),
    Column("zc_ignored", WHOLE, "", "sends whose MSG_ZEROCOPY had no effect", read_at("zerocopy.all_ignored")),
    Column("fallback_rate", REAL, "", "zc_copied / zc_completions, 0 to 1", read_at("zerocopy.copied_share")),
    Column("fallback_causes", TEXT, "", "causes of copies: cause@device:sends, joined by ;",
           read_at("zerocopy.causes_text")),
    Column("findings", TEXT, "", "codes of the record's findings, worst first, joined by ;: [findings.md](findings.md)",
           read_at("finding_codes")),
    Column("completion_span", TEXT, "", "what the time to completion covers", read_at("zerocopy.completion_ns.span")),
    *percentiles("completion", "zerocopy.completion_ns", "the time from the beginning of a send to its completion"),
    Column("pinned_bytes_max", WHOLE, "bytes", "most memory pinned at once", read_at("zerocopy.pinned.bytes_max")),
    Column("error_queue_ns_per_send", REAL, "ns", "kernel time of reading the error queue, per send",
           read_at("zerocopy.error_queue.ns_per_send")),
)

# event of the record -> column, unit, what it counts
EVENTS = (
    ("cycles", "cycles", "", "CPU cycles"),
    ("instructions", "instructions", "", "instructions"),
    ("branches", "branches", "", "branches"),
    ("branch-misses", "branch_misses", "", "mispredicted branches"),
    ("L1-dcache-load-misses", "l1d_misses", "", "loads that missed the L1 data cache"),
    ("LLC-load-misses", "llc_misses", "", "loads that missed the last-level cache"),
    ("stalled-cycles-frontend", "stalled_frontend_cycles", "", "cycles without a fetched instruction"),
    ("stalled-cycles-backend", "stalled_backend_cycles", "", "cycles without a retired instruction"),
    ("task-clock", "task_clock_ns", "ns", "time on a CPU"),
    ("context-switches", "context_switches", "", "context switches"),
    ("cpu-migrations", "cpu_migrations", "", "moves to another CPU"),
    ("page-faults", "page_faults", "", "page faults"),
)

SIDES = (("sender", "the sender (procinfo: the server)", "app"),
         ("receiver", "the receiver (procinfo: the client)", "app.receiver"))


def _side(side, words, path):
    """Returns the columns of one end of the connection."""
    user, system = read_at(f"{path}.user_s"), read_at(f"{path}.system_s")
    cpu = read_at(f"{path}.cpu_s")
    count = {event: _counter(event, side) for event, *_ in EVENTS}
    return (
        Column(f"{side}_user_s", REAL, "s", f"user CPU time of {words}", user),
        Column(f"{side}_system_s", REAL, "s", f"system CPU time of {words}", system),
        Column(f"{side}_cpu_s", REAL, "s", f"user and system CPU time of {words}", cpu),
        Column(f"{side}_cpu_s_per_gib", REAL, "s/GiB", "CPU time per GiB received",
               _ratio(cpu, read_at("app.received_bytes"), 1 << 30)),
        *(Column(f"{side}_{name}", WHOLE, unit, f"{words}: {what}", count[event])
          for event, name, unit, what in EVENTS),
        Column(f"{side}_cpus_utilised", REAL, "", "task clock / window",
               _ratio(count["task-clock"], read_at("app.elapsed_s"), 1e-9)),
        Column(f"{side}_ipc", REAL, "", "instructions per cycle",
               _ratio(count["instructions"], count["cycles"])),
        Column(f"{side}_cycles_per_byte", REAL, "1/byte", "cycles per byte received",
               _ratio(count["cycles"], read_at("app.received_bytes"))),
        Column(f"{side}_branch_miss_rate", REAL, "", "branch misses / branches, 0 to 1",
               _ratio(count["branch-misses"], count["branches"])))

TCP = (
    *keys("tcp", "retransmits syn_retransmits timeouts dsacks out_of_order listen_overflows listen_drops syn_cookies zero_windows "
          "out_segments"),
    key("tcp.sending.congestion", "congestion", "congestion control of the sockets that sent"),
    key("tcp.skbs_per_send", "skbs_per_send", "packets (skbs) per send"),
    key("tcp.frags_per_skb", "frags_per_skb", "page fragments per skb"),
)

SERVING = (
    *keys("serving", "answered unanswered answers_per_s"),
    *(column for prefix, what in (("connect", "connecting"), ("accept", "waiting to be accepted"),
                                  ("work", "waiting for the server's thread and its work"),
                                  ("answer", "the time from connecting to the answer"))
      for column in percentiles(prefix, f"serving.{prefix}_ns", what, ("p50", "p99"))),
)

MEMORY = (
    *keys("memory", "scope source", "memory_"),
    key("memory.is_estimate", "memory_is_estimate", "true: an estimate, such as by LLC misses"),
    *keys("memory", "read_bytes write_bytes bytes bytes_per_byte io_read_misses io_write_misses io_own_misses "
          "io_miss_read_bytes io_in_bytes io_out_bytes", "memory_"),
)

OVERHEAD = (*keys("lost", "calls completions flags groups stacks", "lost_"),
            key("overhead.cpu_share", "overhead_cpu_share",
                "CPU time of the BPF programs, as a share of both sides' CPU time"))

COLUMNS = (*RUN, *HOST, *LOAD, *RESULT, *ZEROCOPY,
           *(column for side in SIDES for column in _side(*side)), *TCP, *SERVING, *MEMORY, *OVERHEAD)
NAMES = tuple(column.name for column in COLUMNS)
# The scale and unit in which a column is printed, by its name.
SHOWN = {column.name: words.UNITS.get(column.unit, (1.0, column.unit)) for column in COLUMNS}
