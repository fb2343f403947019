# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Compares two result sets. Pure.

Runs of the two sets are not paired, because they were made at different times or on different machines.
Configurations are matched only by the load, because the machine or kernel may be the difference that is measured.
"""

import dataclasses

import polars as pl

from analysis import summary
from analysis.compare import judge
from analysis.compare.settings import ACROSS, values_by_name
from analysis.stats.interval import Estimate, median

# Settings that may differ between two sets. Differences are listed.
SETTINGS = ("host", "kernel", "arch", "cpus", "cpu_model", "virtual", "debug_kernel", "governor",
            "pmu", "tier", "tool_version", "device", "peer", "rcvlowat_bytes", "pinned",
            "message_span", "send_span", "memory_source", "findings", "warnings")
# Each of these is also such a setting if each set has only one value of it, for example link: loopback and a network.
EITHER = ("link", "address_family", "socket_options", "memory_options", "duration_s")


@dataclasses.dataclass(frozen=True)
class Metric:
    """A compared column. words: its name. short: its name in a narrow table. better: 1 if more is better, -1 if less is
    better. span: the column that must be equal for two values to be comparable, or None. share: whether values are
    shares, which may be 0, and are compared by their difference. bucket_width: see judge.Sample."""
    column: str
    words: str
    short: str
    better: int
    span: str | None = None
    share: bool = False
    bucket_width: float = 0.0


METRICS = (
    Metric("throughput_bps", "throughput", "throughput", +1),
    Metric("answers_per_s", "answers a second", "answers/s", +1),
    Metric("message_p99_ns", "99th percentile of a message's time", "p99", -1, "message_span",
           bucket_width=judge.BUCKET),
    Metric("sender_cpu_s_per_gib", "sender's CPU time a GiB", "CPU/GiB", -1),
    Metric("memory_bytes_per_byte", "memory bytes for a byte sent", "memory/byte", -1, "memory_source"),
    Metric("fallback_rate", "zero-copy sends copied", "copied", -1, share=True),
)


@dataclasses.dataclass(frozen=True)
class Change:
    """A setting whose values differ between A and B, in the loads that both sets have."""
    setting: str
    a: tuple
    b: tuple


@dataclasses.dataclass(frozen=True)
class Difference:
    """A metric of one configuration. a, b: the medians of A and B. change: B / A, or B - A for shares. fallback: the
    shares of zero-copy sends that were copied in A and B."""
    configuration: dict
    metric: Metric
    a: Estimate
    b: Estimate
    change: judge.Judgment
    fallback: tuple[float | None, float | None]

    @property
    def verdict(self) -> str:
        return self.change.verdict


@dataclasses.dataclass(frozen=True)
class Comparison:
    """only_a, only_b: configurations that the other set lacks. failed: the numbers of runs of A and B that are left out
    because they were interrupted or failed. disturbed: the same because the machine was busy; why: the reason for the
    last of these. zeros: the numbers of values that are left out because they have no ratio."""
    changes: list[Change]
    differences: list[Difference]
    only_a: list[dict]
    only_b: list[dict]
    failed: tuple[int, int]
    disturbed: tuple[int, int]
    why: str | None
    zeros: tuple[int, int]
    threshold: float

    def of(self, verdict: str) -> list[Difference]:
        return [d for d in self.differences if d.verdict == verdict]


def compare(a: pl.DataFrame, b: pl.DataFrame, threshold: float = judge.MARGIN, metrics=METRICS) -> Comparison:
    """Compares two tables of runs. threshold: the margin of the rule, as a share. All comparisons are one family."""
    loads = [frame.filter(pl.col("complete") & pl.col("workload").is_not_null()) for frame in (a, b)]
    either = [column for column in EITHER if all(frame[column].n_unique() == 1 for frame in loads)]
    # The default of inflight depends on the size, by a rule that may differ between versions of the program.
    if all(map(summary.inflight_follows_size, loads)):
        either.append("inflight")
    keys = [column for column in ACROSS if column not in either]
    found = [(metric, row) for metric in metrics for row in _pairs(a, b, metric, keys)]
    judged = judge.judge([judge.unpaired(row["values_b"], row["values"], metric.better, metric.bucket_width,
                                         metric.share) for metric, row in found], threshold)
    differences = [Difference({key: row[key] for key in keys}, metric, median(row["values"]),
                              median(row["values_b"]), change, (row["copied"], row["copied_b"]))
                   for (metric, row), change in zip(found, judged)]
    cells = [load.select(keys).unique().sort(keys, nulls_last=True).to_dicts() for load in loads]
    busy = [frame.filter("complete")["disturbed"].drop_nulls() for frame in (a, b)]
    common = [one.join(other.select(keys).unique(), on=keys, how="semi", nulls_equal=True)
              for one, other in ((a, b), (b, a))]
    return Comparison(_changes(*common, [*SETTINGS, *either]), differences,
                      [cell for cell in cells[0] if cell not in cells[1]],
                      [cell for cell in cells[1] if cell not in cells[0]],
                      tuple(frame.filter(~pl.col("complete")).height for frame in (a, b)),
                      tuple(map(len, busy)), next(iter([*busy[1][-1:], *busy[0][-1:]]), None),
                      tuple(sum(_zeros(frame, metric) for metric in metrics) for frame in (a, b)), threshold)


def _changes(a, b, settings):
    changes = [*_within(values_by_name(a, "settings"), values_by_name(b, "settings")),
               *_within(values_by_name(a, "devices", "device "), values_by_name(b, "devices", "device "))]
    for setting in settings:
        values = [tuple(sorted(frame[setting].unique().to_list(), key=str)) for frame in (a, b)]
        if values[0] != values[1]:
            changes.append(Change(setting, *values))
    return changes


def _within(a, b):
    """Returns a Change for each name whose values differ; [] if one side has no values. a, b: {name: values}."""
    return [Change(name, *(tuple(sorted(side.get(name, ()))) for side in (a, b)))
            for name in sorted(a.keys() | b.keys()) if a and b and a.get(name) != b.get(name)]


def _pairs(a, b, metric, keys):
    """Yields a dict for each configuration of both sets: keys; of A values and copied; of B values_b and copied_b."""
    with_span = keys + ([metric.span] if metric.span else [])
    sides = [_values(frame, metric, with_span) for frame in (a, b)]
    both = sides[0].join(sides[1], on=with_span, how="inner", nulls_equal=True, suffix="_b")
    return both.sort(with_span, nulls_last=True).iter_rows(named=True)


def _known(frame, metric):
    return summary.comparable(summary.usable(frame, metric.column))


def _zeros(frame, metric):
    return 0 if metric.share else _known(frame, metric).filter(pl.col(metric.column) <= 0).height


def _values(frame, metric, keys):
    known = _known(frame, metric)
    if not metric.share:
        known = known.filter(pl.col(metric.column) > 0)
    return known.group_by(keys).agg(pl.col(metric.column).alias("values"),
                                    pl.col("fallback_rate").median().alias("copied"))
