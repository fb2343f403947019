# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Selects the runs of a figure, and computes a median with its interval for each configuration."""

import polars as pl

from analysis import words
from analysis.compare.settings import FIELD_SIZE, LOAD, MACHINE
from analysis.stats.interval import Estimate
from analysis.summary import inflight_follows_size, per_configuration

# The settings that must be equal for two runs to be compared, in addition to those on a figure's axes.
SETTINGS = {one.column: one.say for one in (*MACHINE, *LOAD, FIELD_SIZE) if not one.axis}
# The SETTINGS that a picture shows below its title.
SAID = ("host", "kernel", "workload", "link", "address_family", "fields")


def with_setting(runs: pl.DataFrame, beside: tuple[str, ...] = ()) -> pl.DataFrame:
    """Returns the runs with a column setting: the values of the SETTINGS that vary, without those in beside, as text;
    "" if none varies."""
    # The number and the size of fields determine each other. The one with fewer values distinguishes messages.
    divides = max("field_size_bytes", "fields", key=lambda name: runs[name].n_unique())
    skipped = {divides, *beside, *(["inflight"] if inflight_follows_size(runs) else [])}
    varying = [name for name in SETTINGS if name not in skipped and runs[name].n_unique() > 1]
    if not varying:
        return runs.with_columns(pl.lit("").alias("setting"))
    found = runs.select(varying).unique()
    names = [", ".join(SETTINGS[name](value) for name, value in zip(varying, row)
                       if value not in (None, "")) for row in found.iter_rows()]
    return runs.join(found.with_columns(pl.Series("setting", names, dtype=pl.String)), on=varying,
                     how="left", nulls_equal=True, maintain_order="left")


def shared_setting(runs: pl.DataFrame) -> str:
    """Returns the settings of SAID that all these runs have in common, as text below a title."""
    if runs.is_empty():
        return ""
    first = runs.row(0, named=True)
    return ", ".join(SETTINGS[name](first[name]) for name in SAID
                     if runs[name].n_unique() == 1 and first[name] not in (None, ""))


def complete(runs: pl.DataFrame) -> pl.DataFrame:
    """Returns the runs that were neither interrupted nor failed."""
    return runs.filter(pl.col("complete").fill_null(True))


def sending(runs: pl.DataFrame) -> pl.DataFrame:
    """Returns the complete runs that sent messages of a known size by a variant, with the column setting."""
    return with_setting(complete(runs).filter(
        pl.col("variant").is_not_null() & pl.col("message_bytes").is_not_null()
        & pl.col("threads").is_not_null()))


def serving(runs: pl.DataFrame) -> pl.DataFrame:
    """Returns the complete runs of server models, which answer many connections, with the column setting."""
    return with_setting(complete(runs).filter(
        (pl.col("workload") == "procinfo") & pl.col("server_model").is_not_null()
        & pl.col("connections").is_not_null()))


def spans(runs: pl.DataFrame, column: str) -> list[str]:
    """Returns the spans of times, the most frequent first. Only times with the same span are compared."""
    return runs[column].drop_nulls().value_counts(sort=True)[column].to_list()


def spread(values: list[int], most: int) -> list[int]:
    """Returns at most `most` of the values, evenly spaced, with the least and the greatest."""
    ordered = sorted(set(values))
    if len(ordered) <= most:
        return ordered
    return [ordered[round(i * (len(ordered) - 1) / (most - 1))] for i in range(most)]


def cells(runs: pl.DataFrame, keys: list[str], metric: str, scale: float = 1.0) -> pl.DataFrame:
    """Returns a row per configuration: keys, n, the median, low and high of metric x scale, the level of the interval,
    and text: the median and the interval as text.

    Leaves out runs whose metric is null. low, high and level are null without an interval.
    """
    found = per_configuration(runs.filter(pl.col(metric).is_not_null()), keys, metric, scale).drop(metric)
    texts = [words.interval(Estimate(*row)) for row in found.select("median", "n", "low", "high", "level").iter_rows()]
    return found.with_columns(text=pl.Series(texts, dtype=pl.String))
