# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Compares the hosts of a fleet: sums the runs of each pair of hosts, and finds outliers.

There may be more runs than fit into memory. They are read as a stream, and divided into parts by a hash of the
run's id, so that copies of a run are in the same part and count once. Only the sums of a part are kept. The figures
and questions about hosts are in analysis/figures/hosts.py and analysis/report/questions/hosts.py.
"""

import dataclasses
import statistics

import polars as pl

from analysis.compare import settings
from analysis.stats import outliers

# Columns that must be equal for times and rates of two hosts to be compared.
CONFIGURATION = [*settings.ACROSS, "tier"]
PAIR = ["host", "receiver"]
# Two records with these values equal are copies of one run.
IDENTITY = ["run_id", "cell", "repeat", "started", "kernel"]
# A fact about a host is reported as a possible cause of an outlier if less than half of the hosts share its value.
FACTS = {"kernel": "Linux {}", "cpu_model": "{}", "governor": "frequency governor {}",
         "congestion": "congestion control {}"}
LOST = ("lost_calls", "lost_completions", "lost_flags", "lost_groups", "lost_stacks")
ROWS_OF_A_PART = 50_000
HERE = "itself"


@dataclasses.dataclass(frozen=True)
class Fleet:
    """Tables about the hosts. sums: a row per pair and configuration. causes: pair, cause, device, sends. facts: a row
    per host. totals: one row with the numbers of runs and complete runs, and for each column of LOST its sum and
    (_runs) the number of runs above 0."""
    sums: pl.DataFrame
    causes: pl.DataFrame
    facts: pl.DataFrame
    totals: pl.DataFrame

    @property
    def hosts(self) -> list[str]:
        return sorted(self.facts["host"].to_list())


def gather(runs: pl.LazyFrame, rows: int) -> Fleet:
    """Returns the Fleet of runs. runs: rows of the table; if they fit into one part, they must have no copies. rows:
    their approximate number."""
    parts = -(-rows // ROWS_OF_A_PART) or 1
    found: dict[str, list[pl.DataFrame]] = {}
    for number in range(parts):
        part = runs
        if parts > 1:
            part = runs.filter(pl.col("run_id").fill_null("").hash() % parts == number)
            part = part.select(*IDENTITY, *sorted(_NEEDED - set(IDENTITY))).unique(IDENTITY, keep="any")
            part = part.collect(engine="streaming").lazy()
        for name, query in _queries(part).items():
            found.setdefault(name, []).append(query.collect(engine="streaming"))
    merged = {name: pl.concat(frames) for name, frames in found.items()}
    return Fleet(
        merged["sums"].group_by([*PAIR, *CONFIGURATION]).agg(_SUMS).sort(PAIR),
        merged["causes"].group_by([*PAIR, "cause", "device"]).agg(pl.col("sends").sum()).sort(PAIR),
        merged["facts"].group_by("host").agg(pl.col(FACTS).min()).sort("host"),
        merged["totals"].sum())


_SUMS = pl.exclude([*PAIR, *CONFIGURATION]).sum()
_NEEDED = {"host", "peer", "complete", "disturbed", "zc_completions", "zc_copied", "zc_unflagged",
           "fallback_causes", "send_mean_ns", "sends", "throughput_bps", "elapsed_s", *CONFIGURATION,
           *FACTS, *LOST}


def sum_causes(runs: pl.LazyFrame, *keys: str) -> pl.LazyFrame:
    """Returns the columns keys, cause, device and sends. sends is the sum over the runs' fallback_causes."""
    pattern = r"^([^@;]*)@(.*):(\d+)$"
    return runs.select(*keys, pl.col("fallback_causes").str.split(";").alias("cause_at")).explode("cause_at").select(
        *keys, *(pl.col("cause_at").str.extract(pattern, i).alias(part)
                 for i, part in enumerate(("cause", "device"), 1)),
        pl.col("cause_at").str.extract(pattern, 3).cast(pl.Float64, strict=False).alias("sends")).filter(
        pl.col("cause").is_not_null()).group_by([*keys, "cause", "device"]).agg(pl.col("sends").sum())


def _queries(runs):
    whole = runs.filter(pl.col("complete").fill_null(True), pl.col("host").is_not_null(),
                        pl.col("workload").is_not_null()).with_columns(
        pl.col("peer").str.replace(r":\d+$", "").str.strip_chars("[]").fill_null(HERE).alias("receiver"))
    calm = pl.col("disturbed").is_null()
    counted = (pl.col("zc_completions") > 0) & pl.col("zc_copied").is_not_null()
    timed = calm & (pl.col("sends") > 0) & pl.col("send_mean_ns").is_not_null()
    paced = calm & (pl.col("elapsed_s") > 0) & pl.col("throughput_bps").is_not_null()

    def total(expression, when, name):
        # Any program may have written the records, so the sum of their counts may exceed 64 bits.
        return pl.when(when).then(expression.cast(pl.Float64)).sum().alias(name)

    return {
        "sums": whole.group_by([*PAIR, *CONFIGURATION]).agg(
            pl.len().cast(pl.Int64).alias("runs"),
            (~calm).sum().cast(pl.Int64).alias("disturbed"),
            total(pl.col("zc_completions"), counted, "completions"),
            total(pl.col("zc_copied"), counted, "copied"),
            (counted & pl.col("zc_unflagged").is_null()).sum().cast(pl.Int64).alias("unseen"),
            total(pl.col("send_mean_ns") * pl.col("sends"), timed, "ns"),
            total(pl.col("sends"), timed, "timed"),
            total(pl.col("throughput_bps") * pl.col("elapsed_s"), paced, "bits"),
            total(pl.col("elapsed_s"), paced, "seconds")),
        "causes": sum_causes(whole.filter(counted), *PAIR),
        "facts": whole.group_by("host").agg(pl.col(FACTS).min()),
        "totals": runs.select(
            pl.len().cast(pl.Int64).alias("runs"),
            pl.col("complete").fill_null(True).sum().cast(pl.Int64).alias("complete"),
            *(pl.col(name).cast(pl.Float64).sum() for name in LOST),
            *((pl.col(name) > 0).fill_null(False).sum().cast(pl.Int64).alias(f"{name}_runs")
              for name in LOST))}


@dataclasses.dataclass(frozen=True)
class Outlier:
    """A host whose metric differs from the others'. value: of this host. middle: the median of the hosts. Both are
    shares for copied sends, otherwise ratios to the median. causes: in words; (): unknown."""
    host: str
    metric: str
    value: float
    middle: float
    causes: tuple[str, ...]


COPIED, TIME, RATE = "fallback", "time", "rate"
WORDS = {COPIED: "copied zero-copy sends", TIME: "kernel time of a send", RATE: "throughput"}
# The two sums whose quotient is the metric.
METRICS = {TIME: ("ns", "timed"), RATE: ("bits", "seconds")}
LEAST_SHARE, LEAST_FACTOR = 0.05, 1.25


def rates(fleet: Fleet) -> pl.DataFrame:
    """Returns the columns PAIR, runs, completions, fallback, time and rate. time and rate are medians, over the
    configurations, of the ratio to the median of the hosts with the same configuration. Null: not measured."""
    sums = fleet.sums
    for metric, (top, bottom) in METRICS.items():
        sums = sums.with_columns(pl.when(pl.col(bottom) > 0).then(pl.col(top) / pl.col(bottom)).alias(metric))
        # A configuration of only one host has no median to compare with.
        several = pl.col("host").filter(pl.col(metric).is_not_null()).n_unique().over(CONFIGURATION) > 1
        middle = pl.col(metric).median().over(CONFIGURATION)
        ratio = pl.col(metric) / middle
        sums = sums.with_columns(pl.when(several & (middle > 0) & ratio.is_finite()).then(ratio).alias(metric))
    return sums.group_by(PAIR).agg(
        pl.col("runs", "disturbed", "completions", "copied", "unseen").sum(),
        pl.col(*METRICS).median()).with_columns(
        pl.when(pl.col("completions") > 0).then(pl.col("copied") / pl.col("completions")).alias(
            COPIED)).sort(PAIR)


def shares(fleet: Fleet) -> pl.DataFrame:
    """Returns the columns host, cause, device (with most sends) and share (of the host's completed zero-copy sends)."""
    completed = fleet.sums.group_by("host").agg(pl.col("completions").sum())
    return fleet.causes.sort("sends", "device", descending=[True, False]).group_by(
        "host", "cause", maintain_order=True).agg(
        pl.col("device").first(), pl.col("sends").sum()).join(completed, on="host").select(
        "host", "cause", "device", (pl.col("sends") / pl.col("completions")).alias("share")).sort(
        "share", "host", "cause", descending=[True, False, False])


def find_outliers(fleet: Fleet) -> list[Outlier]:
    """Returns the outliers among the sending hosts, in order of their names."""
    found = _of_copies(fleet)
    known = {host: tuple(one.causes[0] for one in found if one.host == host and one.causes) for host in fleet.hosts}
    of_pairs = rates(fleet)
    for metric in METRICS:
        of = of_pairs.filter(pl.col(metric) > 0).group_by("host").agg(pl.col(metric).median())
        found += _outliers_by(metric, dict(of.iter_rows()), lambda host: known[host] or _differs(fleet, host),
                              LEAST_FACTOR, as_ratios=True)
    return sorted(found, key=lambda one: one.host)


def _outliers_by(metric, values, why, least, as_ratios=False):
    """Returns the Outliers of a metric. values: {host: value}. why(host) returns the causes, or None."""
    return [Outlier(host, metric, values[host], statistics.median(values.values()), why(host) or ())
            for host in outliers.names_of(values, least, as_ratios)]


def _of_copies(fleet):
    """Returns Outliers: the hosts that copied a larger share than the others, by one cause, or else in total."""
    completed = fleet.sums.group_by("host").agg(pl.col("completions", "copied").sum()).filter(
        pl.col("completions") > 0)
    none, found = dict.fromkeys(completed["host"], 0.0), []
    for (cause,), rows in shares(fleet).group_by("cause", maintain_order=True):
        why = {host: (cause_text(cause, device),) for host, device in rows.select("host", "device").iter_rows()}
        found += _outliers_by(COPIED, none | dict(rows.select("host", "share").iter_rows()), why.get, LEAST_SHARE)
    explained = {one.host for one in found if one.value > one.middle}
    in_all = dict(completed.select("host", pl.col("copied") / pl.col("completions")).iter_rows())
    found += [one for one in _outliers_by(COPIED, in_all, lambda host: (), LEAST_SHARE) if one.host not in explained]
    return [one for one in found if one.value > one.middle]


def _differs(fleet, host):
    """Returns, in words, the FACTS of this host that less than half of the hosts share."""
    parts = []
    for fact, say in FACTS.items():
        values = dict(fleet.facts.select("host", fact).iter_rows())
        mine = values[host]
        if mine is not None and 2 * list(values.values()).count(mine) < len(values):
            parts.append(f"it has {say.format(mine)}, as less than half of the hosts have")
    return tuple(parts)


def cause_text(cause: str, device: str | None) -> str:
    """Returns a cause in words, such as "packet tap on eth0"."""
    words = cause.replace("_", " ")
    return words if device in (None, "", "-") else f"{words} on {device}"
