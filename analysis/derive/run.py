# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Gives names to the parts of a raw line, and computes the sums that several blocks of a record need."""

import collections
import errno
import functools

from analysis.tables.calls import CALLS
from analysis.tables.sums import SUMS

from .hist import COARSE, Hist

URING_SLOT = 2 * len(CALLS) - 1  # the slot of io_uring's zero-copy operations
SPANS = ("completion", "read", "read_empty", "wake_up", "copy_out", "notification", "wait", "uring_wait")
ERRNO_RESTART = 134
_PARTS = {name: parts for name, *parts in SUMS}


def error_name(error):
    if error == ERRNO_RESTART:
        return "ERESTARTSYS"
    if error == errno.EOPNOTSUPP:
        return "EOPNOTSUPP"  # Python names this errno ENOTSUP
    return errno.errorcode.get(error, "other") if error else "other"


def difference(whole, part):
    """Returns whole - part; 0 if part is greater, because counts are not read at the same time."""
    return max(whole - part, 0)


def sum_of(name, counts):
    """Returns the sum that analysis/tables/sums.py defines by this name."""
    return difference(*(sum(counts[member] for member in part) for part in _PARTS[name]))


def quotient(top, bottom):
    return top / bottom if bottom else None


class Call:
    """The sends of one slot. Each syscall has two: sends with MSG_ZEROCOPY, and sends without."""

    def __init__(self, slot, raw):
        self.slot, self.zerocopy = slot, bool(slot & 1)
        self.syscall, self.once = CALLS[slot // 2][1:]
        self.raw = raw
        self.errors = {int(error): count for error, count in raw["errors"].items()}
        self.sizes = {int(index): size for index, size in raw["sizes"].items()}
        self.accepted = sum(size["sends"] for size in self.sizes.values())
        self.bytes = sum(size["bytes"] for size in self.sizes.values())
        self.sends = self.accepted + raw["failed"]


class ZerocopySums:
    """Sums of the sends that requested zero-copy."""

    def __init__(self, calls):
        self.requests = sum(call.sends for call in calls)
        self.failed = sum(call.raw["failed"] for call in calls)
        self.ignored = sum(call.raw["ignored"] for call in calls)
        self.empty = sum(call.sizes.get(0, {"sends": 0})["sends"] for call in calls)
        self.bytes = sum(call.bytes for call in calls)
        self.errors = collections.Counter()
        for call in calls:
            self.errors.update(call.errors)

    @property
    def accepted(self):
        return difference(self.requests, self.failed + self.ignored)


class Run:
    """A run. raw: its line of schema sendpath.raw/3, as json.loads returns it."""

    def __init__(self, raw):
        self.raw = raw
        self.app = None if raw["app"] is None else dict(raw["app"])
        self.hooks = {hook["name"]: hook for hook in raw["plan"]}
        self.maps = raw["maps"] or {}
        self.totals = self.maps.get("totals") or collections.defaultdict(int)
        self.observed = raw["setup"]["target"] is not None
        self.unmeasured = []

    def __getitem__(self, key):
        return self.raw[key]

    def missing(self, key, reason):
        """Notes why a key is null."""
        self.unmeasured.append({"key": key, "reason": reason})

    def hooked(self, name, key=None):
        """Returns whether the hook is attached. If it is not, notes its reason for the key."""
        attached = self.hooks[name]["status"] == "attached"
        if key and not attached:
            self.missing(key, self.hooks[name]["reason"])
        return attached

    def known(self, block, key, value, reason):
        """Returns the value; if it is None, notes the reason."""
        if value is None:
            self.missing(f"{block}.{key}", reason)
        return value

    @functools.cached_property
    def calls(self):
        return [Call(int(slot), raw)
                for slot, raw in sorted(self.maps.get("calls", {}).items(), key=lambda c: int(c[0]))]

    @functools.cached_property
    def msg_zerocopy(self):
        """The sums of sends with MSG_ZEROCOPY. They include sends whose completion was counted although the window
        closed before their return was seen.
        """
        sums = ZerocopySums([c for c in self.calls if c.zerocopy and c.slot != URING_SLOT])
        sums.requests += min(difference(self.totals["completions"], sums.accepted), self.in_progress)
        return sums

    @functools.cached_property
    def uring(self):
        return ZerocopySums([c for c in self.calls if c.slot == URING_SLOT])

    @functools.cached_property
    def paths(self):
        """The values of the map group_paths, by the text of their keys. A group has the same key."""
        return {str(key): found for key, found in self.maps.get("group_paths", [])}

    @property
    def in_progress(self):
        """The number of sends whose start was seen and whose return was not."""
        return self.totals["unreturned"] + self.maps.get("in_sends", 0)

    @property
    def outstanding(self):
        return difference(self.msg_zerocopy.accepted, self.totals["completions"])

    def span(self, name):
        return Hist(self.maps.get("spans", {}).get(str(SPANS.index(name))))

    def stage(self, slot, metric, stage):
        part = self.stage_slot(slot, metric)
        return Hist(part and part["of"].get(str(stage)), COARSE)

    def stage_slot(self, slot, metric=0):
        return self.maps.get("stage_slots", {}).get(str(metric * 2 * len(CALLS) + slot))

    @property
    def blind(self):
        """The reason why copies without a flag are not seen; None: they are seen."""
        if not self.hooked("skb copy"):
            return self.hooks["skb copy"]["reason"]
        if self.hooks["skb copy"]["by_path"]:
            return None
        return next((self.hooks[name]["reason"] for name in ("skb segment", "skb pull", "skb duplicate")
                     if not self.hooked(name)), None)
