# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a running program sends, as `analyze` observes it, by size."""

from __future__ import annotations

import dataclasses
import os

from derive.outcome import asked
from tables.options import ADVISE_PROGRAM
from text.calls import INTERRUPTED

# These hand the kernel pages that it need not copy, as zero-copy sends do.
WITHOUT_COPY = ("sendfile", "splice")


@dataclasses.dataclass
class Class:
    """Sends of low to high bytes each: those that the kernel copies from the program, those that
    asked for zero-copy, and those that need neither."""
    low: int
    high: int
    sends: int = 0
    bytes: int = 0
    zerocopy_sends: int = 0
    zerocopy_bytes: int = 0
    other_sends: int = 0
    other_bytes: int = 0

    def add(self, syscall: str, zerocopy: bool, sends: int, count: int) -> None:
        kind = "zerocopy_" if zerocopy else "other_" if syscall in WITHOUT_COPY else ""
        for what, more in (("sends", sends), ("bytes", count)):
            setattr(self, kind + what, getattr(self, kind + what) + more)

    @property
    def all_bytes(self) -> int:
        return self.bytes + self.zerocopy_bytes + self.other_bytes

    @property
    def all_sends(self) -> int:
        return self.sends + self.zerocopy_sends + self.other_sends


@dataclasses.dataclass(frozen=True)
class Queue:
    """Of zero-copy sends: those completed, those of them that the program read from its error
    queue, and those refused because its notifications left no room. None: not known."""
    completed: int
    heard: int | None
    refused: int


@dataclasses.dataclass(frozen=True)
class Program:
    """A program in a window. device: that most bytes were sent by, a share of all of them; None
    where no route said. kernel_s: time in its sends, None: unknown. completed: of its zero-copy sends;
    copied: the share of these that the kernel copied. uring_sends: of its zero-copy sends, those by
    io_uring's own operations. lost, failed: sends that no class has. unpinned: zero-copy
    sends that failed because the memory that they would pin exceeded RLIMIT_MEMLOCK."""
    what: str
    seconds: float
    exit_status: int | None
    classes: tuple[Class, ...]
    device: str | None
    device_share: float
    kernel_s: float | None
    completed: int | None
    copied: float | None
    cause: str | None
    queue: Queue | None
    lost: int
    failed: int
    unpinned: int
    uring_sends: int

    def total(self, what: str) -> int:
        return sum(getattr(one, what) for one in self.classes)


def _classes(calls):
    found = {}
    for call in calls:
        for low, high, sends, count in call["sizes"]:
            found.setdefault(low, Class(low, high)).add(call["syscall"], call["zerocopy"], sends, count)
    return tuple(found[low] for low in sorted(found))


def _device(by):
    """Of this network namespace: elsewhere a name means another device."""
    here = os.stat("/proc/self/ns/net").st_ino
    bytes_by = {}
    for group in by["groups"]:
        name = group["device"] if group["netns"] == here else None
        bytes_by[name] = bytes_by.get(name, 0) + group["bytes"]
    most = max(bytes_by, key=bytes_by.get, default=None)
    return most, bytes_by.get(most, 0) / max(sum(bytes_by.values()), 1)


def _refused(zerocopy, *causes):
    return sum(row["count"] for row in zerocopy.get("refused") or () if row["cause"] in causes)


def _queue(zerocopy):
    told = zerocopy["notifications"] or {}
    return Queue(zerocopy["completions"], told.get("reported"), _refused(zerocopy, "optmem", "optmem_or_memlock"))


def parse(record: dict, what: str) -> Program:
    """Of a run record of an observation by device."""
    calls, zerocopy = record["calls"] or [], record["zerocopy"] or {}
    sent = asked(zerocopy) if zerocopy else {}
    done, copied = sent.get("completions"), sent.get("copied")
    causes = zerocopy.get("causes") or [{}]
    times = [call["wall_ns"] for call in calls]
    return Program(what, record["observed"]["seconds"], record["observed"]["exit_status"],
                   _classes(calls), *_device(record["by"]),
                   None if None in times else sum(time["sum"] for time in times) / 1e9,
                   done, copied / done if done and copied is not None else None, causes[0].get("cause"),
                   _queue(zerocopy) if zerocopy.get("completions") else None, record["lost"]["calls"],
                   sum(many for call in calls for name, many in call["errors"].items() if name != INTERRUPTED),
                   _refused(sent, "memlock"),
                   sum(call["sends"] for call in calls if call["notified_by"] == "io_uring"))


def watch(engine, options) -> tuple[Program, bool]:
    """The program that options name, and whether an interrupt ended it. A command runs to its end."""
    if options.command:
        what, seconds = f"command {options.command[0]}", 0
    else:
        name, = (option.name for option in ADVISE_PROGRAM if getattr(options, option.name))
        what, seconds = f"{name} {getattr(options, name)}", options.watch
    record, interrupted = engine.run(len(engine.cells) - 1, seconds)
    return parse(record, what), interrupted
