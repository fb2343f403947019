# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The columns of the tidy table, as data: one row a column.

A column is its name, what kind of value it has, its unit, what it means, and how it is read
from a run record. To add one, add a row. What a record does not have is null, never 0.
"""

import dataclasses
from collections.abc import Callable
from typing import Any

from analysis.model import ratio
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


def at(path):
    """Reads what stands at a path of a run record; None where there is nothing."""
    keys = path.split(".")

    def get(record):
        value = record.data
        for key in keys:
            if value is None:
                return None
            value = getattr(value, key)
        return value
    return get


def _ratio(top, bottom, scale=1.0):
    return lambda record: ratio(top(record), bottom(record), scale)


def _counter(event, side):
    return lambda record: record.data.counted.get((event, side))


def _histogram(prefix, path, what):
    """The columns of a time that the record has a histogram of."""
    return (
        Column(f"{prefix}_span", TEXT, "", f"what {what} covers; compare only equal spans",
               at(f"{path}.span")),
        Column(f"{prefix}_mean_ns", REAL, "ns", f"mean of {what}", at(f"{path}.mean")),
        *(Column(f"{prefix}_{key}_ns", WHOLE, "ns", f"{words} of {what}",
                 at(f"{path}.{key}")) for key, words in PERCENTILES))


PERCENTILES = (("p50", "median"), ("p90", "90th percentile"), ("p99", "99th percentile"),
               ("p999", "99.9th percentile"))

RUN = (
    Column("source", TEXT, "", "the file or folder as it was named to the program",
           lambda r: r.source),
    Column("source_file", TEXT, "", "the file that the record stood in", lambda r: r.file),
    Column("source_line", WHOLE, "", "and its line there", lambda r: r.line),
    Column("run_id", TEXT, "", "name of the run", at("run.id")),
    Column("started", TIME, "UTC", "start of the measured window", at("started")),
    Column("command", TEXT, "", "the command line that made it", at("run.command")),
    Column("cell", TEXT, "", "the same for all repeats of one load", at("run.cell")),
    Column("repeat", WHOLE, "", "which repeat of its cell, from 1", at("run.repeat")),
    Column("seed", WHOLE, "", "of the order in which the runs were made", at("run.seed")),
    Column("first_look", WHOLE, "", "of sweep --decide: after so many repeats it looked first",
           at("run.first_look")),
    Column("tool_version", TEXT, "", "version of the program that measured",
           at("tool.version")),
    Column("steal_share", REAL, "", "of the CPUs' time, what the hypervisor gave to others "
           "meanwhile", at("run.steal_share")),
    Column("others_share", REAL, "", "and what other programs used", at("noise.others_share")),
    Column("irq_share", REAL, "", "and interrupts, soft ones too", at("noise.irq_share")),
    Column("pressure_share", REAL, "", "of the window, when something waited for a CPU",
           at("noise.pressure_share")),
    Column("sender_waited_share", REAL, "", "of the time in which the sender's threads could run, "
           "what they waited for a CPU", at("noise.sender_waited_share")),
    Column("receiver_waited_share", REAL, "", "and the receiver's",
           at("noise.receiver_waited_share")),
    Column("throttled", REAL, "", "times that CPUs were slowed down for their heat",
           at("noise.throttled")),
    Column("slowdown", REAL, "", "share by which the CPUs' frequency fell in the window",
           at("noise.slowdown")),
    Column("disturbed", TEXT, "", "why the run must not be compared with others; null: it may",
           at("noise.disturbed")),
    Column("complete", TRUTH, "", "false: the run was interrupted or failed, or was not begun",
           at("whole")),
    Column("outcome", TEXT, "", "of a planned run that came to nothing: failed or skipped",
           at("outcome")),
    Column("error", TEXT, "", "why a run failed", at("failure")),
    Column("warnings", TEXT, "", "codes of the record's warnings, joined by ;", at("codes")),
)

HOST = (
    Column("host", TEXT, "", "name of the machine", at("host.name")),
    Column("kernel", TEXT, "", "Linux release", at("host.kernel")),
    Column("arch", TEXT, "", "machine type", at("host.arch")),
    Column("cpus", WHOLE, "", "CPUs that could be used", at("host.nproc")),
    Column("cpu_model", TEXT, "", "the CPU's own name", at("host.cpu")),
    Column("virtual", TRUTH, "", "a virtual machine", at("host.virtualized")),
    Column("debug_kernel", TRUTH, "", "a kernel with checks that slow it down",
           at("host.debug_kernel")),
    Column("governor", TEXT, "", "CPU frequency governor", at("host.governor")),
    Column("pmu", TEXT, "", "hardware performance counters; null: none", at("host.pmu")),
    Column("settings", TEXT, "", "kernel settings, name=value, joined by ;", at("host.settings_text")),
    Column("devices", TEXT, "", "network devices: name=driver, MTU, speed, offloads that are "
           "on; joined by ;", at("host.devices_text")),
    Column("tier", TEXT, "", "mechanism that timed the calls", at("plan.tier")),
)

LOAD = (
    Column("workload", TEXT, "", "stream, request or procinfo; null: a program was observed",
           at("load.workload")),
    Column("variant", TEXT, "", "how messages were sent", at("load.variant")),
    Column("server_model", TEXT, "", "how connections were served", at("load.server_model")),
    Column("client_model", TEXT, "", "how they were made", at("load.client_model")),
    Column("connections", WHOLE, "", "connections under way at once",
           at("load.connections")),
    Column("backlog", WHOLE, "", "length of the listen queue", at("load.backlog")),
    Column("fields", WHOLE, "", "fields of a message", at("load.fields")),
    Column("field_size_bytes", WHOLE, "bytes", "bytes of a field", at("load.field_size")),
    Column("message_bytes", WHOLE, "bytes", "bytes of a message", at("load.message_bytes")),
    Column("threads", WHOLE, "", "sending threads", at("load.threads")),
    Column("inflight", WHOLE, "", "zero-copy messages that might wait for their completion",
           at("load.inflight")),
    Column("rcvlowat_bytes", WHOLE, "bytes", "what must wait before the receiver wakes",
           at("load.rcvlowat")),
    Column("working_set_bytes", WHOLE, "bytes", "data that the fields were taken from",
           at("load.working_set_bytes")),
    Column("pick", TEXT, "", "how they were taken from it", at("load.pick")),
    Column("rate_per_thread", WHOLE, "1/s", "messages due a second; null: as fast as it goes",
           at("load.rate_per_thread")),
    Column("link", TEXT, "", "loopback or veth; null: another way", at("load.link")),
    Column("device", TEXT, "", "network device of the sender", at("load.device")),
    Column("peer", TEXT, "", "receiver on another machine", at("load.peer")),
    Column("address_family", TEXT, "", "IPv4 or IPv6", at("load.address_family")),
    Column("socket_options", TEXT, "", "what was asked for of the socket, as --socket takes it",
           at("load.socket_options")),
    Column("memory_options", TEXT, "", "what was asked for of a message's memory: alignment, huge "
           "pages, registered buffers, a file, reuse before completion", at("load.memory_options")),
    Column("pinned", TRUTH, "", "sender and receiver were given CPUs of their own", at("load.pinned")),
    Column("duration_s", REAL, "s", "length of the measured window that was asked for",
           at("load.duration_s")),
)

RESULT = (
    Column("elapsed_s", REAL, "s", "length of the measured window", at("app.elapsed_s")),
    Column("messages", WHOLE, "", "messages sent, or connections answered",
           at("app.messages")),
    Column("bytes", WHOLE, "bytes", "bytes sent", at("app.bytes")),
    Column("received_bytes", WHOLE, "bytes", "bytes that arrived",
           at("app.received_bytes")),
    Column("throughput_bps", REAL, "bit/s", "payload received", at("app.throughput_bps")),
    Column("messages_per_s", REAL, "1/s", "messages / elapsed_s",
           at("app.messages_per_s")),
    *_histogram("message", "app.message_latency_ns", "the time of a whole message"),
    Column("sends", WHOLE, "", "calls of the kernel that send, failed ones too", at("sends")),
    Column("send_calls", TEXT, "", "the syscalls that they came by, joined by ;", at("send_calls")),
    Column("send_span", TEXT, "", "what the kernel time of a send covers; compare only equal "
           "spans", at("send_ns.span")),
    Column("send_mean_ns", REAL, "ns", "mean kernel time of a send", at("send_mean_ns")),
    Column("send_cpu_ns", REAL, "ns", "mean time on the CPU in a send; with --stages",
           at("send_cpu_ns")),
    *(Column(f"send_{key}_ns", WHOLE, "ns", f"{words} of it; null with several kinds of call",
             at(f"send_ns.{key}")) for key, words in PERCENTILES),
)

ZEROCOPY = (
    Column("zc_requests", WHOLE, "", "sends that asked for zero-copy, io_uring's too",
           at("zerocopy.all_requests")),
    Column("zc_completions", WHOLE, "", "of them completed", at("zerocopy.all_completions")),
    Column("zc_copied", WHOLE, "", "of these copied by the kernel after all; where "
           "zc_unflagged is null, a lower bound", at("zerocopy.all_copied")),
    Column("zc_flagged", WHOLE, "", "copied, and flagged by the kernel as copied",
           at("zerocopy.own.flagged")),
    Column("zc_unflagged", WHOLE, "", "copied without a flag", at("zerocopy.own.unflagged")),
    Column("zc_told_copied", WHOLE, "", "what the application was told was copied",
           at("zerocopy.errqueue_copied")),
    Column("zc_refused", WHOLE, "", "refused before anything was copied", at("zerocopy.all_refused")),
    Column("zc_ignored", WHOLE, "", "accepted without zero-copy", at("zerocopy.all_ignored")),
    Column("fallback_rate", REAL, "", "zc_copied / zc_completions, 0 to 1", at("zerocopy.copied_share")),
    Column("fallback_causes", TEXT, "", "why: cause@device:sends, joined by ;", at("zerocopy.causes_text")),
    Column("completion_span", TEXT, "", "what the time to completion covers",
           at("zerocopy.completion_ns.span")),
    *(Column(f"completion_{key}_ns", WHOLE, "ns", f"{words} of the time from the beginning of "
             "a send to its completion", at(f"zerocopy.completion_ns.{key}"))
      for key, words in PERCENTILES),
    Column("pinned_bytes_max", WHOLE, "bytes", "most memory that was the kernel's at once",
           at("zerocopy.pinned.bytes_max")),
    Column("error_queue_ns_per_send", REAL, "ns", "kernel time of reading completions, a send",
           at("zerocopy.error_queue.ns_per_send")),
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
    user, system = at(f"{path}.user_s"), at(f"{path}.system_s")
    cpu = at(f"{path}.cpu_s")
    count = {event: _counter(event, side) for event, *_ in EVENTS}
    return (
        Column(f"{side}_user_s", REAL, "s", f"CPU time in user mode of {words}", user),
        Column(f"{side}_system_s", REAL, "s", "and in the kernel", system),
        Column(f"{side}_cpu_s", REAL, "s", "both together", cpu),
        Column(f"{side}_cpu_s_per_gib", REAL, "s/GiB", "the same for a GiB received",
               _ratio(cpu, at("app.received_bytes"), 1 << 30)),
        *(Column(f"{side}_{name}", WHOLE, unit, f"{what} of {words}", count[event])
          for event, name, unit, what in EVENTS),
        Column(f"{side}_cpus_utilised", REAL, "", "task clock / window",
               _ratio(count["task-clock"], at("app.elapsed_s"), 1e-9)),
        Column(f"{side}_ipc", REAL, "", "instructions a cycle",
               _ratio(count["instructions"], count["cycles"])),
        Column(f"{side}_cycles_per_byte", REAL, "1/byte", "cycles for a byte received",
               _ratio(count["cycles"], at("app.received_bytes"))),
        Column(f"{side}_branch_miss_rate", REAL, "", "branch misses / branches, 0 to 1",
               _ratio(count["branch-misses"], count["branches"])))


TCP = tuple(
    Column(name, WHOLE, "", what, at(f"tcp.{name}")) for name, what in (
        ("retransmits", "retransmitted segments"),
        ("syn_retransmits", "retransmitted SYNs and SYN-ACKs"),
        ("timeouts", "retransmission time-outs"),
        ("listen_overflows", "times that a listener's queue was full"),
        ("listen_drops", "connections that listeners turned away"),
        ("syn_cookies", "SYNs answered by a cookie"),
        ("zero_windows", "zero receive windows"),
        ("out_segments", "segments sent"))) + (
    Column("congestion", TEXT, "", "congestion control of the sockets that sent",
           at("tcp.sending.congestion")),
    Column("skbs_per_send", REAL, "", "packets (skbs) that a send became",
           at("tcp.skbs_per_send")),
    Column("frags_per_skb", REAL, "", "page fragments of such an skb",
           at("tcp.frags_per_skb")))

SERVING = (
    Column("answered", WHOLE, "", "connections answered (procinfo)", at("serving.answered")),
    Column("unanswered", WHOLE, "", "given up for want of an answer",
           at("serving.unanswered")),
    Column("answers_per_s", REAL, "1/s", "connections answered a second",
           at("serving.answers_per_s")),
    *(Column(f"{key}_{percentile}_ns", WHOLE, "ns", f"{words} of {what}",
             at(f"serving.{key}_ns.{percentile}"))
      for key, what in (("connect", "connecting"), ("accept", "waiting to be accepted"),
                        ("work", "waiting for the server and its work"),
                        ("answer", "the time from connecting to the answer"))
      for percentile, words in (PERCENTILES[0], PERCENTILES[2])),
)

MEMORY = (
    Column("memory_scope", TEXT, "", "whose: system, or sender and receiver",
           at("memory.scope")),
    Column("memory_source", TEXT, "", "which counters told", at("memory.source")),
    Column("memory_is_estimate", TRUTH, "", "they count something near it, as LLC misses",
           at("memory.is_estimate")),
    Column("memory_read_bytes", WHOLE, "bytes", "read from memory", at("memory.read_bytes")),
    Column("memory_write_bytes", WHOLE, "bytes", "written to it", at("memory.write_bytes")),
    Column("memory_bytes", WHOLE, "bytes", "both", at("memory.bytes")),
    Column("memory_bytes_per_byte", REAL, "", "both, for each byte sent",
           at("memory.bytes_per_byte")),
    *(Column(f"memory_{name}", WHOLE, unit, what, at(f"memory.{name}"))
      for name, unit, what in (
          ("io_read_misses", "", "lines that devices read and the last-level cache had not"),
          ("io_write_misses", "", "lines that devices wrote whole and it had not"),
          ("io_own_misses", "", "lines that devices wrote in part and it had not"),
          ("io_miss_read_bytes", "bytes", "read from memory for the first and the last of these"),
          ("io_in_bytes", "bytes", "moved to the machine by PCIe devices"),
          ("io_out_bytes", "bytes", "moved from it"))),
)

OVERHEAD = (
    *(Column(f"lost_{name}", WHOLE, "", what, at(f"lost.{name}")) for name, what in (
        ("calls", "calls that could not be followed"),
        ("completions", "completions that could not be followed"),
        ("flags", "completions whose flag was not read: a neighbouring one's is counted"),
        ("groups", "sends for whose group there was no room; all totals count them"),
        ("stacks", "copied packets for whose cause there was no room"))),
    Column("observer_cpu_share", REAL, "", "CPU time of the measuring programs, of both sides'",
           at("overhead.cpu_share")),
)

COLUMNS = (*RUN, *HOST, *LOAD, *RESULT, *ZEROCOPY,
           *(column for side in SIDES for column in _side(*side)), *TCP, *SERVING, *MEMORY,
           *OVERHEAD)
NAMES = tuple(column.name for column in COLUMNS)
