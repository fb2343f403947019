# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The time of a message over threads, half of all and the slowest hundredth."""

import polars as pl

from analysis.figures.base import Data, Drawn, Figure, NotDrawn
from analysis.figures.over import SIZE, THREADS, Metric, draw_over

TITLE = "Time of a message by sending threads"
BY_SIZE = "Time of a message by message size"
METRICS = [Metric("message_p50_ns", "p50 of a message (µs)", 1e-3),
           Metric("message_p99_ns", "p99 of a message (µs)", 1e-3)]


def draw(data: Data) -> Drawn | NotDrawn:
    runs = data.sending
    if runs.filter(pl.col("message_p50_ns").is_not_null())["threads"].n_unique() == 1:
        return draw_over(data, SIZE, BY_SIZE, METRICS, "")
    return draw_over(data, THREADS, TITLE, METRICS, "no run of a send variant timed its messages")


FIGURE = Figure("latency", TITLE, draw)
