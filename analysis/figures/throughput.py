# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Throughput over message size, a panel for each number of threads."""

from analysis.figures import records
from analysis.figures.base import Data, Drawn, Figure, NotDrawn
from analysis.figures.over import SIZE, Metric, draw_over

TITLE = "Throughput by message size"
METRICS = [Metric("throughput_bps", "throughput (Gbit/s)", 1e-9)]


def draw(data: Data) -> Drawn | NotDrawn:
    again = records.shown_again(data, METRICS[0].column)
    if again:
        return NotDrawn(TITLE, again)
    return draw_over(data, SIZE, TITLE, METRICS, "no run sent messages of a size and counted them")


FIGURE = Figure("throughput", TITLE, draw)
