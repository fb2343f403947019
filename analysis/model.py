# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Defines the types of a run record. Plain values of its blocks have their types from analysis/tables/keys.py; other
members are named here.

An absent key is None; unknown keys are ignored. Values that are computed from several keys are properties.
"""

import datetime
import functools
from typing import Annotated, Any

from msgspec import Meta, Struct, defstruct

from analysis.compare import settings
from analysis.tables import keys

Text = str | None
Truth = bool | None
Real = Annotated[float, Meta(gt=-1e300, lt=1e300)] | None
# A count is scaled, and may have a fraction, if its counter ran only for a part of the time.
_WITHIN = Meta(ge=-2**62, le=2**62)
Count = Annotated[int, _WITHIN] | Annotated[float, _WITHIN] | None
Time = Annotated[datetime.datetime, Meta(tz=True)] | None
INTERRUPTED = {"interrupted", "load_failed"}


class BadRecord(ValueError):
    """A record is invalid; the message has the reason."""


def add(values):
    """Returns the sum of counts; None if a count is None. Raises BadRecord if the sum is too large."""
    if None in values:
        return None
    if abs(sum(values)) >= 1 << 62:
        raise BadRecord("counts are too large")
    return sum(values)


def ratio(top, bottom, scale=1.0):
    """Returns top / bottom x scale; None if top is None, or bottom is None or 0."""
    return None if top is None or not bottom else top / bottom * scale


_TYPES = {"string": Text, "boolean": Truth, "integer": Count, "number": Real}


def _read(block, base=Struct, **others):
    """Returns a type with the plain values of a block as members, and with the members `others`: {name: type}."""
    plain = {key.name: _TYPES[key.kind.plain] for key in block.keys if key.kind.plain in _TYPES}
    known = {name: kind for name, kind in (plain | others).items() if name not in base.__struct_fields__}
    return defstruct("Keys", [(name, kind, None) for name, kind in known.items()], bases=(base,))


class Histogram(_read(keys.HISTOGRAM, buckets=list[tuple[float, float, float]] | None)):
    @property
    def mean(self):
        return ratio(self.sum, self.count)


class Device(_read(keys.HOST.key("devices").kind)):
    def __str__(self):
        words = [self.driver or "no driver", f"MTU {self.mtu_bytes}" if self.mtu_bytes else "",
                 f"{self.speed_mbit} Mbit/s" if self.speed_mbit else "",
                 *(word for word in ("scatter_gather", "checksum", "segmentation") if getattr(self, word))]
        return f"{self.name}={' '.join(filter(None, words))}"


class Host(_read(keys.HOST, settings=dict[str, str] | None, devices=list[Device] | None)):
    @property
    def settings_text(self):
        """The kernel's settings as name=value, joined by ;"""
        return None if self.settings is None else ";".join(
            f"{name}={value.replace(';', ',')}" for name, value in sorted(self.settings.items()))

    @property
    def devices_text(self):
        """The devices as name=driver, MTU, speed, offloads; joined by ;"""
        return None if self.devices is None else ";".join(sorted(map(str, self.devices)))


Plan = _read(keys.PLAN, hooks=list[_read(keys.PLAN.key("hooks").kind)] | None)
Pinning = _read(keys.LOAD.key("pinning").kind, sender=Any)


class Load(_read(keys.LOAD, socket=dict[str, bool | int | float | str | None] | None, pinning=Pinning | None)):
    @property
    def field_size(self):
        size, fields = self.message_bytes, self.fields
        return size // fields if size and fields and size % fields == 0 else None

    @property
    def address_family(self):
        return settings.address_family(self.address)

    @property
    def socket_options(self):
        return settings.socket_options(self.socket)

    @property
    def memory_options(self):
        return settings.memory_options(functools.partial(getattr, self))

    @property
    def pinned(self):
        return self.pinning is not None and bool(self.pinning.sender)


class Side(_read(keys.APP.key("receiver").kind)):
    @property
    def cpu_s(self):
        return add([self.user_s, self.system_s])


class App(_read(keys.APP, base=Side, message_latency_ns=Histogram | None, receiver=Side | None)):
    @property
    def messages_per_s(self):
        return ratio(self.messages, self.elapsed_s)


_STAGES = keys.CALLS.key("stages").kind
StagePart = _read(_STAGES.key("parts").kind, ns=_read(keys.DISTRIBUTION) | None)
Stages = _read(_STAGES, parts=list[StagePart] | None)
Call = _read(keys.CALLS, wall_ns=Histogram | None, cpu_ns=Histogram | None, stages=Stages | None)
Cause = _read(keys.ZEROCOPY.key("causes").kind)
Sums = _read(keys.ZEROCOPY, refused=list[_read(keys.REFUSED)] | None)  # sums of zero-copy sends


def _all(key):
    """Returns a property: the sum of a key for sends with an error queue and for sends of io_uring; None if unknown."""
    return property(lambda self: add([getattr(part, key) for part in self.parts]))


class Zerocopy(_read(keys.ZEROCOPY, base=Sums, io_uring=Sums | None, causes=list[Cause] | None,
                     completion_ns=Histogram | None, pinned=_read(keys.ZEROCOPY.key("pinned").kind) | None,
                     error_queue=_read(keys.ZEROCOPY.key("error_queue").kind) | None)):
    all_requests, all_completions, all_copied, all_ignored = map(
        _all, ("requests", "completions", "copied", "ignored"))

    @property
    def own(self):
        """The sums of sends with an error queue; None if there were none and io_uring made zero-copy sends."""
        return self if self.io_uring is None or self.requests else None

    @property
    def parts(self):
        return [part for part in (self.own, self.io_uring) if part is not None]

    @property
    def all_refused(self):
        return add([row.count or 0 for part in (self, self.io_uring) if part for row in part.refused or ()])

    @property
    def copied_share(self):
        return ratio(self.all_copied, self.all_completions)

    @property
    def causes_text(self):
        return None if self.causes is None else ";".join(
            f"{one.cause}@{one.device or '-'}:{one.count}" for one in self.causes)


Tcp = _read(keys.TCP, sending=_read(keys.TCP.key("sending").kind) | None)
Serving = _read(keys.SERVING, **dict.fromkeys(("connect_ns", "accept_ns", "work_ns", "answer_ns"), Histogram | None))
Stack = _read(keys.PROFILE.key("stacks").kind, functions=list[str] | None)
Wait = _read(keys.PROFILE.key("waits").kind, functions=list[str] | None)
Profile = _read(keys.PROFILE, stacks=list[Stack] | None, waits=list[Wait] | None)
Send = _read(keys.SEND, events=list[_read(keys.SEND.key("events").kind)] | None)
Timeline = _read(keys.TIMELINE, median=Send | None, slowest=Send | None)


class Counter(Struct):
    event: str
    scope: str
    value: Count = None


class Found(Struct):
    code: str


class Warned(Struct):
    code: str
    text: Text = None


def _codes(found):
    """Returns the codes of findings or warnings, which may be None, joined by ;."""
    return ";".join(one.code for one in found or ())


class Head(Struct):
    """The schema, which shows whether the rest can be read."""
    schema: Any = None


class Run(Head, dict=True, kw_only=True):
    run: _read(keys.RUN)
    host: Host
    noise: _read(keys.NOISE) | None = None
    tool: _read(keys.TOOL) | None = None
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
    memory: _read(keys.MEMORY) | None = None
    profile: Profile | None = None
    timeline: Timeline | None = None
    counters: list[Counter] | None = None
    lost: _read(keys.LOST) | None = None
    overhead: _read(keys.OVERHEAD) | None = None
    findings: list[Found] | None = None
    warnings: list[Warned] | None = None
    unmeasured: list[_read(keys.UNMEASURED)] | None = None

    @property
    def finding_codes(self):
        return _codes(self.findings)

    @property
    def codes(self):
        return _codes(self.warnings)

    @property
    def failure(self):
        error = self.error if self.error is not None else self.app and self.app.error
        if error is not None:
            return error
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
        """The kernel time of a send; None with several kinds of calls, because their percentiles cannot be combined."""
        return self._timed[0] if len(self._timed) == 1 else None

    @staticmethod
    def _mean(timed):
        """Returns the mean over all values of histograms; None unless all histograms have the same span."""
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
        """Counts by (event, scope), summed over the PMUs of a hybrid CPU; None if one of the PMUs did not count."""
        found = {}
        for row in self.counters or ():
            value = None if row.value is None else round(row.value)
            found.setdefault((row.event, row.scope), []).append(value)
        return {key: add(values) for key, values in found.items()}
