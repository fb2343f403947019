# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Messages of more and more records of one size: throughput and memory traffic, dips marked."""

import polars as pl

from analysis import sweeps
from analysis.figures import labels, style
from analysis.figures.base import Data, Drawn, Figure, NotDrawn
from analysis.figures.cells import with_setting
from analysis.figures.over import Metric, Over, draw_over, threads_text

TITLE = "Messages of records by their number"
THROUGHPUT = "throughput_bps"
MEMORY = "memory_bytes_per_byte"
# Fewer numbers of records make no course.
FEWEST = 3


def runs_of(data: Data) -> pl.DataFrame:
    """The runs whose messages are of several numbers of records of one size.

    With the columns record, its size in words, and sent_by, the variant with what was copied.
    """
    runs = data.sending.filter(pl.col("fields").n_unique().over(
        "field_size_bytes", "variant", "threads", "workload", "link") >= FEWEST)
    # The size of a record is a line here, and the number of them lies along the axis.
    runs = with_setting(runs.drop("setting"), beside=("fields", "field_size_bytes"))
    named = labels.variants(runs) if runs.height else {}
    return runs.with_columns(
        pl.format("{} bytes", pl.col("field_size_bytes").map_elements(
            style.size_text, return_dtype=pl.String)).alias("record"),
        pl.col("variant").replace(named).alias("sent_by"))


def shown_again(data: Data, metric: str) -> str:
    """Why a figure of a metric over message size has nothing to add to this one; "" if it has."""
    shown, measured = runs_of(data)[metric].count(), data.sending[metric].count()
    return f'all of it is in the figure "{TITLE}"' if 0 < measured == shown else ""


def _dips(found: pl.DataFrame, runs: pl.DataFrame, metric: str) -> pl.Series:
    """Of each cell of found, whether throughput dips there."""
    keys = ["sent_by", "setting", "threads", "record"]
    bottoms = set()
    for course in sweeps.courses(runs, THROUGHPUT, "fields", counters=()):
        mine = runs.filter(pl.all_horizontal([
            pl.col(key).eq_missing(pl.lit(value)) for key, value in course.conditions.items()]))
        bottoms |= {(*mine.select(keys).row(0), dip.bottom) for dip in course.dips}
    marked = [metric == THROUGHPUT and row in bottoms
              for row in found.select(*keys, "fields").iter_rows()]
    return pl.Series("dip", marked, dtype=pl.Boolean)


RECORDS = Over("fields", lambda counts: style.linear_axis(counts, "records of a message"),
               lambda counts: f"{min(counts)} to {max(counts)} records a message",
               "record", "size of a record", runs_of, ["sent_by", "setting", "threads"],
               [pl.col("sent_by"), threads_text(), pl.col("setting")], dips=_dips, apart=0)


def draw(data: Data) -> Drawn | NotDrawn:
    estimated = data.sending["memory_is_estimate"].fill_null(False)
    memory = Metric(MEMORY, "memory bytes per byte sent")
    if estimated.all() and estimated.len():
        memory = Metric(MEMORY, f"{memory.title} (estimate)")
    elif estimated.any():
        # Counted and estimated values do not stand on one axis.
        data = Data(data.runs.with_columns(pl.when(
            ~pl.col("memory_is_estimate").fill_null(False)).then(MEMORY).alias(MEMORY)))
    throughput = Metric(THROUGHPUT, "throughput (Gbit/s)", 1e-9)
    return draw_over(data, RECORDS, TITLE, [throughput, memory],
                     "no run sent messages of several numbers of records of one size")


FIGURE = Figure("records", TITLE, draw)
