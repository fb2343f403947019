# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The columns of the tidy table, as data: one row a column.

A column is its name, what kind of value it has, its unit, what it means, and how it is read
from a run record. To add one, add a row. What a record does not have is null, never 0.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

from analysis import derived as d
from analysis import extract as x
from analysis.records import Record

TEXT, WHOLE, REAL, TRUTH, TIME = "text", "whole", "real", "truth", "time"


@dataclasses.dataclass(frozen=True)
class Column:
    """unit is "" for what has none. read takes a Record; BadRecord where a value is unusable."""
    name: str
    kind: str
    unit: str
    description: str
    read: Callable[[Record], Any]


def _histogram(prefix, path, what):
    """The columns of a time that the record has a histogram of."""
    return (
        Column(f"{prefix}_span", TEXT, "", f"what {what} covers; only equal spans compare",
               x.text(f"{path}.span")),
        Column(f"{prefix}_mean_ns", REAL, "ns", f"mean of {what}", x.mean(path)),
        *(Column(f"{prefix}_{key}_ns", WHOLE, "ns", f"{words} of {what}",
                 x.whole(f"{path}.{key}")) for key, words in PERCENTILES))


PERCENTILES = (("p50", "median"), ("p90", "90th percentile"), ("p99", "99th percentile"),
               ("p999", "99.9th percentile"))

RUN = (
    Column("source", TEXT, "", "the file or folder as it was named to the program",
           lambda r: r.source),
    Column("source_file", TEXT, "", "the file that the record stood in", lambda r: r.file),
    Column("source_line", WHOLE, "", "and its line there", lambda r: r.line),
    Column("run_id", TEXT, "", "name of the run", x.text("run.id")),
    Column("started", TIME, "UTC", "start of the measured window", x.time("started")),
    Column("cell", TEXT, "", "the same for all repeats of one load", x.text("run.cell")),
    Column("repeat", WHOLE, "", "which repeat of its cell, from 1", x.whole("run.repeat")),
    Column("seed", WHOLE, "", "of the order in which the runs were made", x.whole("run.seed")),
    Column("tool_version", TEXT, "", "version of the program that measured",
           x.text("tool.version")),
    Column("stolen_share", REAL, "", "of the CPUs' time, what the hypervisor gave to others "
           "meanwhile", x.real("run.stolen_share")),
    Column("complete", TRUTH, "", "false: the run was interrupted or failed, or was not begun",
           d.complete),
    Column("outcome", TEXT, "", "of a planned run that came to nothing: failed or skipped",
           x.text("outcome")),
    Column("error", TEXT, "", "why a run failed", d.error),
    Column("warnings", TEXT, "", "codes of the record's warnings, joined by ;", d.warnings),
)

HOST = (
    Column("host", TEXT, "", "name of the machine", x.text("host.name")),
    Column("kernel", TEXT, "", "Linux release", x.text("host.kernel")),
    Column("arch", TEXT, "", "machine type", x.text("host.arch")),
    Column("cpus", WHOLE, "", "CPUs that could be used", x.whole("host.nproc")),
    Column("cpu_model", TEXT, "", "the CPU's own name", x.text("host.cpu")),
    Column("virtual", TRUTH, "", "a virtual machine", x.truth("host.virtualized")),
    Column("debug_kernel", TRUTH, "", "a kernel with checks that slow it down",
           x.truth("host.debug_kernel")),
    Column("governor", TEXT, "", "CPU frequency governor", x.text("host.governor")),
    Column("pmu", TEXT, "", "hardware performance counters; null: none", x.text("host.pmu")),
    Column("settings", TEXT, "", "kernel settings, name=value, joined by ;", d.settings),
    Column("devices", TEXT, "", "network devices: name=driver, MTU, speed, offloads that are "
           "on; joined by ;", d.devices),
    Column("tier", TEXT, "", "mechanism that timed the calls", x.text("plan.tier")),
)

LOAD = (
    Column("workload", TEXT, "", "stream, request or procinfo; null: a program was observed",
           x.text("load.workload")),
    Column("variant", TEXT, "", "how messages were sent", x.text("load.variant")),
    Column("server_model", TEXT, "", "how connections were served", x.text("load.server_model")),
    Column("client_model", TEXT, "", "how they were made", x.text("load.client_model")),
    Column("connections", WHOLE, "", "connections under way at once",
           x.whole("load.connections")),
    Column("backlog", WHOLE, "", "length of the listen queue", x.whole("load.backlog")),
    Column("fields", WHOLE, "", "fields of a message", x.whole("load.fields")),
    Column("field_size_bytes", WHOLE, "bytes", "bytes of a field", d.field_size),
    Column("message_bytes", WHOLE, "bytes", "bytes of a message", x.whole("load.message_bytes")),
    Column("threads", WHOLE, "", "sending threads", x.whole("load.threads")),
    Column("inflight", WHOLE, "", "zero-copy messages that might wait for their completion",
           x.whole("load.inflight")),
    Column("rcvlowat_bytes", WHOLE, "bytes", "what must wait before the receiver wakes",
           x.whole("load.rcvlowat")),
    Column("working_set_bytes", WHOLE, "bytes", "data that the fields were taken from",
           x.whole("load.working_set_bytes")),
    Column("pick", TEXT, "", "how they were taken from it", x.text("load.pick")),
    Column("rate_per_thread", WHOLE, "1/s", "messages due a second; null: as fast as it goes",
           x.whole("load.rate_per_thread")),
    Column("link", TEXT, "", "loopback or veth; null: another way", x.text("load.link")),
    Column("device", TEXT, "", "network device of the sender", x.text("load.device")),
    Column("peer", TEXT, "", "receiver on another machine", x.text("load.peer")),
    Column("address_family", TEXT, "", "IPv4 or IPv6", d.address_family),
    Column("socket_options", TEXT, "", "what was asked for of the socket, as --socket takes it",
           d.socket_options),
    Column("memory_options", TEXT, "", "what was asked for of a message's memory: alignment, huge "
           "pages, registered buffers, a file, reuse before completion", d.memory_options),
    Column("pinned", TRUTH, "", "sender and receiver were given CPUs of their own", d.pinned),
    Column("duration_s", REAL, "s", "length of the measured window that was asked for",
           x.real("load.duration_s")),
)

RESULT = (
    Column("elapsed_s", REAL, "s", "length of the measured window", x.real("app.elapsed_s")),
    Column("messages", WHOLE, "", "messages sent, or connections answered",
           x.whole("app.messages")),
    Column("bytes", WHOLE, "bytes", "bytes sent", x.whole("app.bytes")),
    Column("received_bytes", WHOLE, "bytes", "bytes that arrived",
           x.whole("app.received_bytes")),
    Column("throughput_bps", REAL, "bit/s", "payload received", x.real("app.throughput_bps")),
    Column("messages_per_s", REAL, "1/s", "messages / elapsed_s",
           x.ratio(x.whole("app.messages"), x.real("app.elapsed_s"))),
    *_histogram("message", "app.message_latency_ns", "the time of a whole message"),
    Column("sends", WHOLE, "", "calls of the kernel that send, failed ones too", d.sends),
    Column("send_calls", TEXT, "", "the syscalls that they came by, joined by ;", d.send_calls),
    Column("send_span", TEXT, "", "what the kernel time of a send covers; only equal spans "
           "compare", d.send("span")),
    Column("send_mean_ns", REAL, "ns", "mean kernel time of a send", d.send_mean),
    *(Column(f"send_{key}_ns", WHOLE, "ns", f"{words} of it; null with several kinds of call",
             d.send(key)) for key, words in PERCENTILES),
)

ZEROCOPY = (
    Column("zc_requests", WHOLE, "", "sends that asked for zero-copy, io_uring's too",
           d.zerocopy("requests")),
    Column("zc_completions", WHOLE, "", "of them completed", d.zerocopy("completions")),
    Column("zc_copied", WHOLE, "", "of these copied by the kernel after all; where "
           "zc_copied_silent is null, a lower bound", d.zerocopy("copied")),
    Column("zc_copied_flagged", WHOLE, "", "copied, and flagged by the kernel as copied",
           d.flagged("copied_flagged")),
    Column("zc_copied_silent", WHOLE, "", "copied without a flag", d.flagged("copied_silent")),
    Column("zc_told_copied", WHOLE, "", "what the application was told was copied",
           x.whole("zerocopy.app_told_copied")),
    Column("zc_refused", WHOLE, "", "refused before anything was copied", d.refused),
    Column("zc_ignored", WHOLE, "", "accepted without zero-copy", d.zerocopy("ignored")),
    Column("fallback_rate", REAL, "", "zc_copied / zc_completions, 0 to 1", d.fallback_rate),
    Column("fallback_causes", TEXT, "", "why: cause@device:sends, joined by ;", d.causes),
    Column("completion_span", TEXT, "", "what the time to completion covers",
           x.text("zerocopy.completion_ns.span")),
    *(Column(f"completion_{key}_ns", WHOLE, "ns", f"{words} of the time from the beginning of "
             "a send to its completion", x.whole(f"zerocopy.completion_ns.{key}"))
      for key, words in PERCENTILES),
    Column("pinned_bytes_max", WHOLE, "bytes", "most memory that was the kernel's at once",
           x.whole("zerocopy.pinned.bytes_max")),
    Column("error_queue_ns_per_send", REAL, "ns", "kernel time of reading completions, a send",
           x.real("zerocopy.error_queue.ns_per_send")),
)

# event of the record -> column, unit, what it counts
EVENTS = (
    ("cycles", "cycles", "", "CPU cycles"),
    ("instructions", "instructions", "", "instructions"),
    ("branches", "branches", "", "branches"),
    ("branch-misses", "branch_misses", "", "mispredicted branches"),
    ("L1-dcache-load-misses", "l1d_misses", "", "loads that missed the L1 data cache"),
    ("LLC-load-misses", "llc_misses", "", "loads that missed the last-level cache"),
    ("stalled-cycles-frontend", "stalled_frontend_cycles", "",
     "cycles in which no instruction could be fetched"),
    ("stalled-cycles-backend", "stalled_backend_cycles", "",
     "cycles in which none could be finished"),
    ("task-clock", "task_clock_ns", "ns", "time on a CPU"),
    ("context-switches", "context_switches", "", "context switches"),
    ("cpu-migrations", "cpu_migrations", "", "moves to another CPU"),
    ("page-faults", "page_faults", "", "page faults"),
)

SIDES = (("sender", "the sender (of procinfo: the server)", "app"),
         ("receiver", "the receiver (of procinfo: the client)", "app.receiver"))


def _side(side, words, path):
    """The columns of one end of the connection."""
    user, system = x.real(f"{path}.user_s"), x.real(f"{path}.system_s")
    cpu = x.total(user, system)
    count = {event: d.counter(event, side) for event, *_ in EVENTS}
    return (
        Column(f"{side}_user_s", REAL, "s", f"CPU time in user mode of {words}", user),
        Column(f"{side}_system_s", REAL, "s", "and in the kernel", system),
        Column(f"{side}_cpu_s", REAL, "s", "both together", cpu),
        Column(f"{side}_cpu_s_per_gib", REAL, "s/GiB", "the same for a GiB received",
               x.ratio(cpu, d.gib_received)),
        *(Column(f"{side}_{name}", WHOLE, unit, f"{what} of {words}", count[event])
          for event, name, unit, what in EVENTS),
        Column(f"{side}_cpus_utilised", REAL, "", "task clock / window",
               x.ratio(count["task-clock"], x.real("app.elapsed_s"), 1e-9)),
        Column(f"{side}_ipc", REAL, "", "instructions a cycle",
               x.ratio(count["instructions"], count["cycles"])),
        Column(f"{side}_cycles_per_byte", REAL, "1/byte", "cycles for a byte received",
               x.ratio(count["cycles"], x.whole("app.received_bytes"))),
        Column(f"{side}_branch_miss_rate", REAL, "", "branch misses / branches, 0 to 1",
               x.ratio(count["branch-misses"], count["branches"])))


TCP = tuple(
    Column(name, WHOLE, "", what, x.whole(f"tcp.{name}")) for name, what in (
        ("retransmits", "segments sent again"),
        ("syn_retransmits", "SYNs, and answers to them, sent again"),
        ("timeouts", "retransmission time-outs"),
        ("listen_overflows", "times that a listener's queue was full"),
        ("listen_drops", "connections that listeners turned away"),
        ("syn_cookies", "SYNs answered by a cookie"),
        ("zero_windows", "windows closed by a receiver"),
        ("out_segments", "segments sent"))) + (
    Column("skbs_per_send", REAL, "", "packets (skbs) that a send became",
           x.real("tcp.skbs_per_send")),
    Column("frags_per_skb", REAL, "", "pieces of memory (fragments) of such a packet",
           x.real("tcp.frags_per_skb")))

SERVING = (
    Column("answered", WHOLE, "", "connections answered (procinfo)", x.whole("serving.answered")),
    Column("unanswered", WHOLE, "", "given up for want of an answer",
           x.whole("serving.unanswered")),
    Column("answers_per_s", REAL, "1/s", "connections answered a second",
           x.real("serving.answers_per_s")),
    *(Column(f"{key}_{percentile}_ns", WHOLE, "ns", f"{words} of {what}",
             x.whole(f"serving.{key}_ns.{percentile}"))
      for key, what in (("connect", "connecting"), ("accept", "waiting to be accepted"),
                        ("work", "waiting for the server and its work"),
                        ("answer", "the time from connecting to the answer"))
      for percentile, words in (PERCENTILES[0], PERCENTILES[2])),
)

MEMORY = (
    Column("memory_scope", TEXT, "", "whose: system, or sender and receiver",
           x.text("memory.scope")),
    Column("memory_source", TEXT, "", "which counters told", x.text("memory.source")),
    Column("memory_is_estimate", TRUTH, "", "they count something near it, as LLC misses",
           x.truth("memory.is_estimate")),
    Column("memory_read_bytes", WHOLE, "bytes", "read from memory", x.whole("memory.read_bytes")),
    Column("memory_write_bytes", WHOLE, "bytes", "written to it", x.whole("memory.write_bytes")),
    Column("memory_bytes", WHOLE, "bytes", "both", x.whole("memory.bytes")),
    Column("memory_bytes_per_byte", REAL, "", "both, for each byte sent",
           x.real("memory.bytes_per_byte")),
    *(Column(f"memory_{name}", WHOLE, unit, what, x.whole(f"memory.{name}"))
      for name, unit, what in (
          ("io_read_misses", "", "lines that devices read and the last-level cache had not"),
          ("io_write_misses", "", "lines that devices wrote whole and it had not"),
          ("io_own_misses", "", "lines that devices wrote in part and it had not"),
          ("io_miss_read_bytes", "bytes", "read from memory for the first and the last of these"),
          ("io_in_bytes", "bytes", "moved to the machine by PCIe devices"),
          ("io_out_bytes", "bytes", "moved from it"))),
)

OBSERVER = (
    *(Column(f"lost_{name}", WHOLE, "", what, x.whole(f"lost.{name}")) for name, what in (
        ("calls", "calls that could not be followed"),
        ("completions", "completions that could not be followed"),
        ("flags", "completions whose flag was not seen: a neighbour's stands for it"),
        ("groups", "sends for whose group there was no room; all totals count them"),
        ("stacks", "copied packets for whose cause there was no room"))),
    Column("observer_cpu_share", REAL, "", "CPU time of the measuring programs, of both sides'",
           x.real("observer.cpu_share")),
)

COLUMNS = (*RUN, *HOST, *LOAD, *RESULT, *ZEROCOPY,
           *(column for side in SIDES for column in _side(*side)), *TCP, *SERVING, *MEMORY,
           *OBSERVER)
NAMES = tuple(column.name for column in COLUMNS)
