# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Collects data for figures and the report that the table has no columns for.

The data are copied while the records are read for the table; the records are not kept.
"""

import collections
import dataclasses
from typing import Iterable, Iterator

import polars as pl

from analysis import hosts
from analysis.columns import COLUMNS
from analysis.model import Run
from analysis.records import Record
from analysis.tables.timeline import LANES

EVENTS = {"lane": pl.String, "what": pl.String, "at_ns": pl.Float64, "took_ns": pl.Float64, "cpu": pl.Float64,
          "bytes": pl.Float64}
SCHEMAS = {
    "stages": {"run_id": pl.String, "syscall": pl.String, "stage": pl.String, "ns": pl.Float64, "sends": pl.Float64,
               "bytes": pl.Float64},
    "stacks": {"run_id": pl.String, "stage": pl.String, "functions": pl.String, "samples": pl.Float64},
    "timelines": {"run_id": pl.String, "which": pl.String, **EVENTS},
    "hooks": {"name": pl.String, "mechanism": pl.String, "status": pl.String, "reason": pl.String, "runs": pl.Int64},
    "warnings": {"code": pl.String, "text": pl.String, "runs": pl.Int64},
    "unmeasured": {"key": pl.String, "reason": pl.String, "runs": pl.Int64}}


def _empty(name):
    return dataclasses.field(default_factory=lambda: pl.DataFrame(schema=SCHEMAS[name]))


@dataclasses.dataclass(frozen=True)
class Details:
    """stages: ns in each stage, by syscall, for runs whose sends are divided into stages. Its columns sends and bytes
    are the sums of all divided sends of the run.
    stacks: sampled kernel functions of sends, outermost first, joined by semicolons; also the stacks at which threads
    left their CPU, with the time off the CPU converted to samples.
    timelines: the events, in order, of each run's median and slowest send (column which).
    hooks, warnings, unmeasured: each distinct row once, with the number of runs that have it.
    """
    stages: pl.DataFrame = _empty("stages")
    stacks: pl.DataFrame = _empty("stacks")
    timelines: pl.DataFrame = _empty("timelines")
    hooks: pl.DataFrame = _empty("hooks")
    warnings: pl.DataFrame = _empty("warnings")
    unmeasured: pl.DataFrame = _empty("unmeasured")


def stages(run: Run) -> list[tuple]:
    """Returns the rows of the table of stages, without the run's id."""
    divided = [call for call in run.calls or () if call.stages and call.stages.sends]
    sends, size = (sum(getattr(call.stages, key) or 0 for call in divided) for key in ("sends", "bytes"))
    return [(call.syscall, part.stage, part.ns.sum, sends, size) for call in divided
            for part in call.stages.parts or ()
            if part.stage and part.ns is not None and part.ns.sum is not None]


def timelines(run: Run) -> list[tuple]:
    """Returns the rows of the table of timelines, without the run's id."""
    sends = {which: getattr(run.timeline, which, None) for which in ("median", "slowest")}
    return [(which, *(getattr(event, key) for key in EVENTS)) for which, send in sends.items()
            for event in (send and send.events) or ()
            if event.lane in LANES and event.what and event.at_ns is not None]


_IDENTITY = [column.read for column in COLUMNS if column.name in hosts.IDENTITY]


class Collector:
    """Collects Details of the records that pass through watch()."""

    def __init__(self):
        self._rows: dict[str, list[tuple]] = {"stages": [], "stacks": [], "timelines": []}
        self._counts = {name: collections.Counter() for name in ("hooks", "warnings", "unmeasured")}
        self._seen: set[tuple] = set()

    def watch(self, records: Iterable[Record]) -> Iterator[Record]:
        """Yields the same records. Collects the data of each record before it yields the record."""
        for record in records:
            identity = tuple(read(record) for read in _IDENTITY)
            if identity not in self._seen:  # another file may have the same run
                self._seen.add(identity)
                self._keep(record.data)
            yield record

    def _keep(self, run: Run) -> None:
        name = run.run.id or ""
        self._rows["stages"] += [(name, *row) for row in stages(run)]
        self._rows["stacks"] += [(name, stack.stage, ";".join(stack.functions), stack.samples)
                                 for stack in (run.profile and run.profile.stacks) or ()
                                 if stack.stage and stack.functions and stack.samples]
        # Time off the CPU counts as the samples that a clock would have taken.
        self._rows["stacks"] += [(name, wait.stage, ";".join(wait.functions), wait.ns * run.profile.hz / 1e9)
                                 for wait in (run.profile and run.profile.waits) or ()
                                 if wait.stage and wait.functions and wait.ns and run.profile.hz]
        self._rows["timelines"] += [(name, *row) for row in timelines(run)]
        for counts, rows in (("hooks", run.plan and run.plan.hooks), ("warnings", run.warnings),
                           ("unmeasured", run.unmeasured)):
            *keys, _ = SCHEMAS[counts]
            # A record with the same row twice counts as one run.
            self._counts[counts].update({tuple(getattr(row, key) for key in keys): None for row in rows or ()}.keys())

    def details(self) -> Details:
        counts = {name: [(*values, runs) for values, runs in found.most_common()]
                for name, found in self._counts.items()}
        return Details(**{name: pl.DataFrame(rows, schema=SCHEMAS[name], orient="row")
                          for name, rows in (self._rows | counts).items()})
