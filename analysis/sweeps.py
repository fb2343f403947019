# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Finds falls and dips along an axis of a sweep.

The axis is a column: message_bytes, fields or threads. Within a series, all other conditions are equal.
"""

import dataclasses

import numpy as np
import polars as pl

from analysis import summary
from analysis.columns import EVENTS, SIDES
from analysis.stats import steps

# Counters that are compared per message and per second: see steps.moved_with().
COUNTERS = tuple(f"{side}_{name}" for side, *_ in SIDES for _, name, *_ in EVENTS
                 if name not in ("branches", "task_clock_ns")) + (
    "retransmits", "syn_retransmits", "timeouts", "listen_overflows", "listen_drops",
    "zero_windows", "out_segments", "sends", "zc_copied", "memory_read_bytes",
    "memory_write_bytes", "memory_bytes", "memory_io_read_misses", "memory_io_write_misses",
    "memory_io_own_misses", "memory_io_in_bytes", "memory_io_out_bytes")


@dataclasses.dataclass(frozen=True)
class Course:
    """A metric along an axis. moved: the counters that changed at the same place as a fall, by the fall's (before,
    after); correlation shows no cause."""
    conditions: dict
    axis: tuple
    steps: list[steps.Step]
    dips: list[steps.Dip]
    moved: dict[tuple, list[steps.Moved]]

    @property
    def falls(self) -> list[steps.Step]:
        return [step for step in self.steps if step.direction < 0]


def courses(frame, metric, axis="message_bytes", counters=COUNTERS) -> list[Course]:
    """Returns a Course, with falls and dips of a metric, for each series of two or more values of the axis."""
    # 1 is added to counts, because 0 has no logarithm.
    wanted = {metric: pl.col(metric), **{
        (name, per): (pl.col(name) + 1) / pl.col(per) for name in counters
        if name != metric and frame[name].sum()  # a counter that is always 0 cannot change
        for per in ("messages", "elapsed_s")}}
    runs = summary.comparable(summary.usable(frame, metric)).filter(pl.col(metric) > 0, pl.col(axis).is_not_null())
    keys = _keys_beside(axis, runs)
    runs = runs.filter(pl.col(axis).n_unique().over(keys) > 1)
    names = {name: f"_of_{name}" for name in wanted}
    runs = runs.with_columns(wanted[name].cast(pl.Float64).log().fill_null(np.nan).alias(column)
                             for name, column in names.items())
    return [_course(dict(zip(keys, key)), *_logs(part, axis, names), metric)
            for key, part in runs.sort(keys, nulls_last=True).group_by(keys, maintain_order=True)]


def _keys_beside(axis, frame):
    """Returns the columns that must be equal within a series. They exclude columns that change with the axis: a stream
    has a connection per thread, and more fields of one size make a larger message, on which the default of inflight
    depends."""
    bound = {"threads": {"threads", "connections"}, "fields": {"fields", "message_bytes"}}
    keys = [key for key in summary.CONFIGURATION if key not in bound.get(axis, {axis})]
    if axis in ("fields", "message_bytes") and summary.inflight_follows_size(frame):
        keys.remove("inflight")
    return keys + (["field_size_bytes"] if axis == "fields" else [])


def _logs(part, axis, names):
    """Returns the rising values of the axis, and {name: logarithms}, each blocks x values; NaN: there is no value."""
    values = sorted(part[axis].unique())
    blocks = sorted(part[summary.BLOCK].unique())
    rows = np.searchsorted(blocks, part[summary.BLOCK].to_list())
    columns = np.searchsorted(values, part[axis].to_numpy())
    logs = {name: np.full((len(blocks), len(values)), np.nan) for name in names}
    for log, column in zip(logs.values(), part.select(names.values()).to_numpy().T):
        log[rows, columns] = column
    return tuple(values), logs


def _course(conditions, axis, found, metric):
    logs = found[metric]
    others = {key[0]: (values, found[key[0], "elapsed_s"])
              for key, values in found.items() if key != metric and key[1] == "messages"}
    taken = steps.along(axis, logs)
    with_falls = {(step.before, step.after): steps.moved_with(logs, others, j, j + 1)
                  for j, step in enumerate(taken) if step.direction < 0}
    return Course(conditions, axis, taken, steps.dips(axis, logs, taken), with_falls)
