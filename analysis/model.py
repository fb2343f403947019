# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A run record as types: what is read of it, under its own names (docs/run-record.md).

A key that is absent is None, one that is not named here is ignored. What follows from several
keys is a property beside them.
"""

import datetime
import functools
import ipaddress
import shlex
from typing import Annotated, Any

from msgspec import Meta, Struct, defstruct

Text = str | None
Truth = bool | None
Real = Annotated[float, Meta(gt=-1e300, lt=1e300)] | None
# One that was scaled, because its counter ran for a part of the time, has a fraction.
_WITHIN = Meta(ge=-2**62, le=2**62)
Count = Annotated[int, _WITHIN] | Annotated[float, _WITHIN] | None
Time = Annotated[datetime.datetime, Meta(tz=True)] | None
MEMORY_OPTIONS = (("huge_pages", "--huge-pages"), ("registered", "--registered"),
                  ("reuse_early", "--reuse-early"))
INTERRUPTED = {"interrupted", "load_failed"}


class BadRecord(ValueError):
    """The message says what is wrong with a record."""


def add(values):
    """The sum of counts; None if one of them is."""
    if None in values:
        return None
    if abs(sum(values)) >= 1 << 62:
        raise BadRecord("counts are too large")
    return sum(values)


def ratio(top, bottom, scale=1.0):
    """top / bottom x scale; None without either, or where there is nothing to divide by."""
    return None if top is None or not bottom else top / bottom * scale


def _of(kind, name, *keys, base=Struct):
    """A type whose keys have values of one kind."""
    return defstruct(name, [(key, kind, None) for key in keys], bases=(base,))


class Histogram(_of(Count, "Percentiles", "count", "p50", "p90", "p99", "p999")):
    span: Text = None
    sum: Real = None
    buckets: list[tuple[float, float, float]] | None = None

    @property
    def mean(self):
        return ratio(self.sum, self.count)


Name = _of(Count, "Name", "repeat", "seed", base=_of(Text, "NameTexts", "id", "command", "cell"))
Tool = _of(Text, "Tool", "version")


class RunName(Name):
    steal_share: Real = None
    stolen_share: Real = None  # in sendpath.run/1

    @property
    def steal(self):
        return self.stolen_share if self.steal_share is None else self.steal_share


Noise = _of(Real, "Noise", "others_share", "irq_share", "pressure_share", "sender_waited_share",
            "receiver_waited_share", "throttled", "slowdown", base=_of(Text, "NoiseTexts", "too_much"))


class Device(_of(Text, "DeviceTexts", "name", "driver")):
    mtu_bytes: int | None = None
    speed_mbit: int | None = None
    scatter_gather: Truth = None
    checksum: Truth = None
    segmentation: Truth = None

    def __str__(self):
        words = [self.driver or "no driver", f"MTU {self.mtu_bytes}" if self.mtu_bytes else "",
                 f"{self.speed_mbit} Mbit/s" if self.speed_mbit else "",
                 *(word for word in ("scatter_gather", "checksum", "segmentation")
                   if getattr(self, word))]
        return f"{self.name}={' '.join(filter(None, words))}"


class Host(_of(Text, "HostTexts", "name", "kernel", "arch", "cpu", "governor", "pmu")):
    nproc: Count = None
    virtualized: Truth = None
    debug_kernel: Truth = None
    settings: dict[str, str] | None = None
    devices: list[Device] | None = None

    @property
    def settings_text(self):
        """name=value of the kernel's settings, joined by ;"""
        return None if self.settings is None else ";".join(
            f"{name}={value.replace(';', ',')}" for name, value in sorted(self.settings.items()))

    @property
    def devices_text(self):
        """name=driver, MTU, speed, offloads; joined by ;"""
        return None if self.devices is None else ";".join(sorted(map(str, self.devices)))


Hook = _of(Text, "Hook", "name", "mechanism", "status", "reason")
Unmeasured = _of(Text, "Unmeasured", "key", "reason")
Pinning = _of(Any, "Pinning", "sender")


class Plan(Struct):
    tier: Text = None
    hooks: list[Hook] | None = None


class Load(_of(Count, "LoadCounts", "connections", "backlog", "fields", "message_bytes", "threads",
               "inflight", "rcvlowat", "working_set_bytes", "rate_per_thread", "align_bytes",
               base=_of(Text, "LoadTexts", "workload", "variant", "server_model", "client_model",
                        "pick", "link", "device", "peer", "address", "file_dir",
                        base=_of(Truth, "LoadTruths", *dict(MEMORY_OPTIONS))))):
    duration_s: Real = None
    socket: dict[str, bool | int | float | str | None] | None = None
    pinning: Pinning | None = None

    @property
    def field_size(self):
        size, fields = self.message_bytes, self.fields
        return size // fields if size and fields and size % fields == 0 else None

    @property
    def address_family(self):
        for candidate in (self.address, (self.address or "").rpartition(":")[0].strip("[]")):
            try:
                return f"IPv{ipaddress.ip_address(candidate or '').version}"
            except ValueError:
                continue
        return None

    @property
    def socket_options(self):
        words = [key if value is True else f"{key}={value}"
                 for key, value in sorted((self.socket or {}).items())
                 if value not in (None, False)]
        return ",".join(words) or None

    @property
    def memory_options(self):
        """The options by which a message's memory was asked for; null: as usual."""
        words = ["--align", str(self.align_bytes)] if self.align_bytes is not None else []
        words += [option for key, option in MEMORY_OPTIONS if getattr(self, key)]
        words += ["--file-dir", self.file_dir] if self.file_dir else []
        return shlex.join(words) or None

    @property
    def pinned(self):
        return self.pinning is not None and bool(self.pinning.sender)


class Side(_of(Real, "SideTimes", "user_s", "system_s")):
    @property
    def cpu_s(self):
        return add([self.user_s, self.system_s])


class App(Side):
    messages: Count = None
    bytes: Count = None
    received_bytes: Count = None
    throughput_bps: Real = None
    elapsed_s: Real = None
    message_latency_ns: Histogram | None = None
    receiver: Side | None = None
    error: Text = None

    @property
    def messages_per_s(self):
        return ratio(self.messages, self.elapsed_s)


class StagePart(Struct):
    stage: Text = None
    ns: _of(Real, "StageTime", "sum") | None = None


class Stages(_of(Count, "StageCounts", "sends", "bytes")):
    parts: list[StagePart] | None = None


class Call(Struct):
    syscall: Text = None
    sends: Count = None
    wall_ns: Histogram | None = None
    cpu_ns: Histogram | None = None
    stages: Stages | None = None


class Cause(_of(Text, "CauseTexts", "cause", "device")):
    count: int | None = None


class Sums(_of(Count, "SumsCounts", "requests", "completions", "copied", "ignored")):
    """Of zero-copy sends."""
    refused: list[_of(Count, "Refused", "count")] | None = None


def _all(key):
    """A sum over sends with an error queue and those of io_uring; None if either is unknown."""
    return property(lambda self: add([getattr(part, key) for part in self.parts]))


class Zerocopy(Sums):
    copied_flagged: Count = None
    copied_silent: Count = None
    app_told_copied: Count = None
    io_uring: Sums | None = None
    causes: list[Cause] | None = None
    completion_ns: Histogram | None = None
    pinned: _of(Count, "Pinned", "bytes_max") | None = None
    error_queue: _of(Real, "ErrorQueue", "ns_per_send") | None = None

    all_requests, all_completions, all_copied, all_ignored = map(
        _all, ("requests", "completions", "copied", "ignored"))

    @property
    def own(self):
        """Of sends with an error queue; without any, where io_uring's stand apart, they say 0."""
        return self if self.io_uring is None or self.requests else None

    @property
    def parts(self):
        return [part for part in (self.own, self.io_uring) if part is not None]

    @property
    def all_refused(self):
        return add([row.count or 0 for part in (self, self.io_uring) if part
                    for row in part.refused or ()])

    @property
    def copied_share(self):
        return ratio(self.all_copied, self.all_completions)

    @property
    def causes_text(self):
        return None if self.causes is None else ";".join(
            f"{one.cause}@{one.device or '-'}:{one.count}" for one in self.causes)


class Tcp(_of(Count, "TcpCounts", "retransmits", "syn_retransmits", "timeouts", "listen_overflows",
              "listen_drops", "syn_cookies", "zero_windows", "out_segments")):
    sending: _of(Text, "Sending", "congestion") | None = None
    skbs_per_send: Real = None
    frags_per_skb: Real = None


class Serving(_of(Count, "ServingCounts", "answered", "unanswered",
                  base=_of(Histogram | None, "ServingTimes", "connect_ns", "accept_ns", "work_ns",
                           "answer_ns"))):
    answers_per_s: Real = None


class Memory(_of(Count, "MemoryCounts", "read_bytes", "write_bytes", "bytes", "io_read_misses",
                 "io_write_misses", "io_own_misses", "io_miss_read_bytes", "io_in_bytes",
                 "io_out_bytes", base=_of(Text, "MemoryTexts", "scope", "source"))):
    is_estimate: Truth = None
    bytes_per_byte: Real = None


class Counter(Struct):
    event: str
    scope: str
    value: Count = None


class Warned(Struct):
    code: str
    text: Text = None


class Head(Struct):
    """What says whether the rest can be read."""
    schema: Any = None


class Run(Head, dict=True, kw_only=True):
    run: RunName
    host: Host
    noise: Noise | None = None
    tool: Tool | None = None
    started: Time = None
    complete: Truth = None
    outcome: Text = None
    error: Text = None
    plan: Plan | None = None
    load: Load | None = None
    app: App | None = None
    calls: list[Call] | None = None
    zerocopy: Zerocopy | None = None
    tcp: Tcp | None = None
    serving: Serving | None = None
    memory: Memory | None = None
    counters: list[Counter] | None = None
    lost: _of(Count, "Lost", "calls", "completions", "flags", "groups", "stacks") | None = None
    observer: _of(Real, "Observer", "cpu_share") | None = None
    warnings: list[Warned] | None = None
    unmeasured: list[Unmeasured] | None = None

    @property
    def codes(self):
        return ";".join(warning.code for warning in self.warnings or ())

    @property
    def failure(self):
        said = self.error if self.error is not None else self.app and self.app.error
        if said is not None:
            return said
        return next((warning.text or "the load failed" for warning in self.warnings or ()
                     if warning.code == "load_failed"), None)

    @property
    def whole(self):
        return (self.complete is not False and self.outcome is None and self.failure is None
                and INTERRUPTED.isdisjoint(self.codes.split(";")))

    @property
    def sends(self):
        return None if self.calls is None else add([call.sends for call in self.calls])

    @property
    def send_calls(self):
        return ";".join(call.syscall or "?" for call in self.calls or ()) or None

    @property
    def _timed(self):
        return [call.wall_ns for call in self.calls or () if call.wall_ns is not None]

    @property
    def send_ns(self):
        """Kernel time of a send: medians of several kinds of call do not add up."""
        return self._timed[0] if len(self._timed) == 1 else None

    @staticmethod
    def _mean(timed):
        """Of histograms; None unless they cover the same span."""
        if len({times.span for times in timed}) != 1:
            return None
        sums, counts = ([getattr(times, key) for times in timed] for key in ("sum", "count"))
        return None if None in sums + counts else ratio(sum(sums), sum(counts))

    @property
    def send_mean_ns(self):
        return self._mean(self._timed)

    @property
    def send_cpu_ns(self):
        return self._mean([call.cpu_ns for call in self.calls or () if call.cpu_ns is not None])

    @functools.cached_property
    def counted(self):
        """By (event, scope): summed over the PMUs of a hybrid CPU; None unless each counted."""
        found = {}
        for row in self.counters or ():
            value = None if row.value is None else round(row.value)
            found.setdefault((row.event, row.scope), []).append(value)
        return {key: add(values) for key, values in found.items()}
