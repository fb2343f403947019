# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Observes a running program, and divides its sends by size."""

from __future__ import annotations

import dataclasses
import os

from analysis.advise.runs import COPIED_MOST, Path
from analysis.advise.search import Answer, Crossover, crossover
from analysis.findings import facts
from analysis.findings.rules import Finding, by_severity, copied_share, small_sends
from analysis.tables.options import ADVISE_PROGRAM
from analysis.text.calls import INTERRUPTED

# Like zero-copy sends, these syscalls pass pages that the kernel need not copy.
WITHOUT_COPY = ("sendfile", "splice")


@dataclasses.dataclass
class Class:
    """Counts of sends of low to high bytes each. sends, bytes: sends whose data the kernel copies from the program.
    zerocopy_...: sends that requested zero-copy. other_...: sends by the syscalls of WITHOUT_COPY."""
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
class Program:
    """The sends of a program in a window. device: the device that sent most bytes; None: unknown. device_share: its share
    of all bytes. kernel_s: the kernel time of the sends; None: unknown. interfaces: the interfaces by which the program
    requested zero-copy. findings: as in the record. copied: the copied share of the completed zero-copy sends; None: no
    verdict. lost: the number of sends that no class has. failed: the number of failed sends by errno's name."""
    what: str
    seconds: float
    exit_status: int | None
    classes: tuple[Class, ...]
    device: str | None
    device_share: float
    kernel_s: float | None
    interfaces: tuple[str, ...]
    findings: tuple[dict, ...]
    copied: float | None
    lost: int
    failed: dict[str, int]

    @property
    def found(self) -> list[Finding]:
        return [Finding(**finding) for finding in self.findings]

    @property
    def interface(self) -> str:
        """IO_URING if the program requests zero-copy by io_uring alone, else MSG_ZEROCOPY."""
        return facts.IO_URING if self.interfaces == (facts.IO_URING,) else facts.MSG_ZEROCOPY

    def total(self, what: str, verdict: str | None = None, found: Crossover | None = None) -> int:
        """Returns the sum over all size classes, or over those with this verdict."""
        return sum(getattr(one, what) for one in self.classes
                   if verdict is None or class_verdict(one, found) == verdict)


def _classes(calls):
    found = {}
    for call in calls:
        for low, high, sends, count in call["sizes"]:
            found.setdefault(low, Class(low, high)).add(call["syscall"], call["zerocopy"], sends, count)
    return tuple(found[low] for low in sorted(found))


def _device(by):
    """Returns the device that sent most bytes, with its namespace unless that is ours, and its share of all bytes."""
    here = os.stat("/proc/self/ns/net").st_ino
    bytes_by = {}
    for group in by["groups"]:
        name = group["device"]
        if name and group["netns"] != here:
            name += f" (namespace {group['netns']})"
        bytes_by[name] = bytes_by.get(name, 0) + group["bytes"]
    most = max(bytes_by, key=bytes_by.get, default=None)
    return most, bytes_by.get(most, 0) / max(sum(bytes_by.values()), 1)


def _failed(calls):
    failed = {}
    for call in calls:
        for name, many in call["errors"].items():
            if name != INTERRUPTED:
                failed[name] = failed.get(name, 0) + many
    return failed


def parse(record: dict, what: str) -> Program:
    """Returns the Program of a run record. The record must have groups by device."""
    calls, asked = record["calls"] or [], facts.of_records([record])
    times = [call["wall_ns"] for call in calls]
    return Program(what, record["observed"]["seconds"], record["observed"]["exit_status"],
                   _classes(calls), *_device(record["by"]),
                   None if None in times else sum(time["sum"] for time in times) / 1e9,
                   tuple(f.interface for f in asked), tuple(record["findings"]),
                   copied_share([Finding(**finding) for finding in record["findings"]], asked),
                   record["lost"]["calls"], _failed(calls))


def class_verdict(one: Class, found: Crossover) -> str:
    """Returns "pays" if the smallest size of the class pays, "costs more" if the mean size of its sends does, else "not
    known"."""
    mean = one.all_bytes / max(one.all_sends, 1)
    if found.pays and one.low >= found.pays:
        return "pays"
    if found.costs and mean <= found.costs:
        return "costs more"
    return "not known"


def is_elsewhere(program: Program, path: Path | None) -> bool:
    """Returns whether the program's sends leave by another device than those of the measured path."""
    return bool(path and path.device and program.device and path.device != program.device)


def with_small_sends(program: Program, path: Path | None, answers: list[Answer]) -> Program:
    """Returns the program with the finding small_sends, if zero-copy costs more at sizes of its zero-copy sends."""
    found = crossover(answers)
    small = program.total("zerocopy_sends", "costs more", found)
    if not small or is_elsewhere(program, path) or (program.copied or 0) >= COPIED_MOST:
        return program
    finding = small_sends(program.interface, small, program.total("zerocopy_sends"), found.pays, found.costs)
    return dataclasses.replace(program, findings=tuple(
        one._asdict() for one in by_severity([*program.found, finding])))


def watch(engine, options) -> tuple[Program, bool]:
    """Observes the program that the options name; a command until it ends. Returns the Program, and whether a signal
    ended the window."""
    if options.command:
        what, seconds = f"command {options.command[0]}", 0
    else:
        name, = (option.name for option in ADVISE_PROGRAM if getattr(options, option.name))
        what, seconds = f"{name} {getattr(options, name)}", options.watch
    record, interrupted = engine.run(len(engine.cells) - 1, seconds)
    return parse(record, what), interrupted
