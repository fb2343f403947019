# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The hosts of a fleet beside one another: sums of each pair of hosts, and which are outliers.

Runs may be more than memory holds: they are read as a stream, in parts by the name of the run,
so that copies of a run meet in one part and count once. Sums are what is left of a part.
"""

import dataclasses
import statistics

import polars as pl

from analysis.compare import settings
from analysis.stats import outliers

# What must be equal for times and rates of two hosts to be compared.
CONFIGURATION = [*settings.ACROSS, "tier"]
PAIR = ["host", "receiver"]
# What makes two records the same run, wherever their files were copied to.
IDENTITY = ["run_id", "cell", "repeat", "started", "kernel"]
# By which hosts may differ; what a fleet mostly has is no cause of an outlier.
FACTS = {"kernel": "Linux {}", "cpu_model": "{}", "governor": "frequency governor {}",
         "congestion": "congestion control {}"}
LOST = ("lost_calls", "lost_completions", "lost_flags", "lost_groups", "lost_stacks")
ROWS_OF_A_PART = 50_000
HERE = "itself"


@dataclasses.dataclass(frozen=True)
class Fleet:
    """sums: a row a pair and configuration. causes: pair, cause, device, sends. facts: a row a
    host. totals: one row: runs, complete ones, and of each of LOST the sum and, _runs, in how many."""
    sums: pl.DataFrame
    causes: pl.DataFrame
    facts: pl.DataFrame
    totals: pl.DataFrame

    @property
    def hosts(self) -> list[str]:
        return sorted(self.facts["host"].to_list())


def gather(runs: pl.LazyFrame, rows: int) -> Fleet:
    """runs: as of the table, each once if they fit into one part; rows: how many, about."""
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


def causes(runs: pl.LazyFrame, *keys: str) -> pl.LazyFrame:
    """keys, cause, device and sends: the sums of what the column fallback_causes of runs says."""
    said = r"^([^@;]*)@(.*):(\d+)$"
    return runs.select(*keys, pl.col("fallback_causes").str.split(";").alias("said")).explode("said").select(
        *keys, *(pl.col("said").str.extract(said, i).alias(part) for i, part in enumerate(("cause", "device"), 1)),
        pl.col("said").str.extract(said, 3).cast(pl.Float64, strict=False).alias("sends")).filter(
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
        # Counts of records are anybody's: their sum may be more than 64 bits hold.
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
        "causes": causes(whole.filter(counted), *PAIR),
        "facts": whole.group_by("host").agg(pl.col(FACTS).min()),
        "totals": runs.select(
            pl.len().cast(pl.Int64).alias("runs"),
            pl.col("complete").fill_null(True).sum().cast(pl.Int64).alias("complete"),
            *(pl.col(name).cast(pl.Float64).sum() for name in LOST),
            *((pl.col(name) > 0).fill_null(False).sum().cast(pl.Int64).alias(f"{name}_runs")
              for name in LOST))}


@dataclasses.dataclass(frozen=True)
class Outlier:
    """value and middle (of the hosts): a share for copied sends, else a ratio to the middle.
    causes: in words, where they are known."""
    host: str
    metric: str
    value: float
    middle: float
    causes: tuple[str, ...]


COPIED, TIME, RATE = "fallback", "time", "rate"
WORDS = {COPIED: "copied zero-copy sends", TIME: "kernel time of a send", RATE: "throughput"}
# What is summed, over what.
METRICS = {TIME: ("ns", "timed"), RATE: ("bits", "seconds")}
LEAST_SHARE, LEAST_FACTOR = 0.05, 1.25


def rates(fleet: Fleet) -> pl.DataFrame:
    """PAIR, runs, completions, fallback; time and rate as ratios to the middle of the hosts with the
    same configuration, the median over configurations. Null where nothing was measured."""
    sums = fleet.sums
    for metric, (top, bottom) in METRICS.items():
        sums = sums.with_columns(pl.when(pl.col(bottom) > 0).then(pl.col(top) / pl.col(bottom)).alias(metric))
        # Of what one host alone has there is no middle.
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
    """host, cause, device (which has most of it), share: of the host's completed zero-copy sends."""
    completed = fleet.sums.group_by("host").agg(pl.col("completions").sum())
    return fleet.causes.sort("sends", "device", descending=[True, False]).group_by(
        "host", "cause", maintain_order=True).agg(
        pl.col("device").first(), pl.col("sends").sum()).join(completed, on="host").select(
        "host", "cause", "device", (pl.col("sends") / pl.col("completions")).alias("share")).sort(
        "share", "host", "cause", descending=[True, False, False])


def find(fleet: Fleet) -> list[Outlier]:
    """The outliers among the hosts as senders, by host."""
    found = _of_copies(fleet)
    known = {host: tuple(one.causes[0] for one in found if one.host == host and one.causes) for host in fleet.hosts}
    of_pairs = rates(fleet)
    for metric in METRICS:
        of = of_pairs.filter(pl.col(metric) > 0).group_by("host").agg(pl.col(metric).median())
        found += _apart(metric, dict(of.iter_rows()), lambda host: known[host] or _differs(fleet, host), LEAST_FACTOR,
                        as_ratios=True)
    return sorted(found, key=lambda one: one.host)


def _apart(metric, values, why, least, as_ratios=False):
    """values: by host; why: takes a host, gives its causes, where they are known."""
    return [Outlier(host, metric, values[host], statistics.median(values.values()), why(host) or ())
            for host in outliers.apart(values, least, as_ratios)]


def _of_copies(fleet):
    """More copied than at the others: by a cause, else in all."""
    completed = fleet.sums.group_by("host").agg(pl.col("completions", "copied").sum()).filter(
        pl.col("completions") > 0)
    none, found = dict.fromkeys(completed["host"], 0.0), []
    for (cause,), rows in shares(fleet).group_by("cause", maintain_order=True):
        why = {host: (cause_text(cause, device),) for host, device in rows.select("host", "device").iter_rows()}
        found += _apart(COPIED, none | dict(rows.select("host", "share").iter_rows()), why.get, LEAST_SHARE)
    explained = {one.host for one in found if one.value > one.middle}
    in_all = dict(completed.select("host", pl.col("copied") / pl.col("completions")).iter_rows())
    found += [one for one in _apart(COPIED, in_all, lambda host: (), LEAST_SHARE) if one.host not in explained]
    return [one for one in found if one.value > one.middle]


def _differs(fleet, host):
    """What this host has and fewer than half of all have."""
    told = []
    for fact, say in FACTS.items():
        values = dict(fleet.facts.select("host", fact).iter_rows())
        mine = values[host]
        if mine is not None and 2 * list(values.values()).count(mine) < len(values):
            told.append(f"it has {say.format(mine)}, as less than half of the hosts have")
    return tuple(told)


def cause_text(cause: str, device: str | None) -> str:
    """packet tap on eth0"""
    words = cause.replace("_", " ")
    return words if device in (None, "", "-") else f"{words} on {device}"
