# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Memory traffic of the whole machine for each byte transmitted, over message size."""

import polars as pl

from analysis.figures import records
from analysis.figures.base import Data, Drawn, Figure, NotDrawn
from analysis.figures.over import SIZE, Metric, draw_over

TITLE = "Memory traffic per transmitted byte"
METRIC = Metric("memory_bytes_per_byte", "memory bytes per byte sent")


def draw(data: Data) -> Drawn | NotDrawn:
    again = records.shown_again(data, METRIC.column)
    if again:
        return NotDrawn(TITLE, again)
    runs = data.sending.filter(pl.col(METRIC.column).is_not_null())
    estimates = runs.filter(pl.col("memory_is_estimate").fill_null(False))
    if not estimates.is_empty():
        what = "estimated from last-level cache misses, which leave out what is prefetched"
        if len(estimates) < len(runs):
            # Counted and estimated values do not stand on one axis.
            data = Data(data.runs.filter(~pl.col("memory_is_estimate").fill_null(False)),
                        data.details)
        else:
            return draw_over(data, SIZE, f"{TITLE}, estimated",
                             [Metric(METRIC.column, f"{METRIC.title} (estimate)")], what)
    return draw_over(data, SIZE, TITLE, [METRIC],
                     "no run measured the machine's memory traffic")


FIGURE = Figure("memory", TITLE, draw)
