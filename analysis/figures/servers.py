# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Server models over the number of connections at once."""

import polars as pl

from analysis.figures.base import Data, Drawn, Figure, NotDrawn
from analysis.figures.over import CONNECTIONS, Metric, draw_over

TITLE = "Server models by connections"
METRICS = [Metric("messages_per_s", "answers per second (1/s)"),
           Metric("message_p50_ns", "p50, connect to answer (ms)", 1e-6),
           Metric("message_p99_ns", "p99, connect to answer (ms)", 1e-6),
           Metric("server_cpu_ms_per_answer", "server (CPU ms/answer)")]


def with_cpu_per_answer(runs: pl.DataFrame) -> pl.DataFrame:
    """The runs with server_cpu_ms_per_answer: the sender's CPU time over answers."""
    return runs.with_columns(
        (pl.when(pl.col("messages") > 0).then(pl.col("sender_cpu_s") * 1e3 / pl.col("messages")))
        .alias("server_cpu_ms_per_answer"))


def draw(data: Data) -> Drawn | NotDrawn:
    return draw_over(Data(with_cpu_per_answer(data.runs), data.details), CONNECTIONS, TITLE,
                     METRICS, "no run served many connections by a server model")


FIGURE = Figure("servers", TITLE, draw)
