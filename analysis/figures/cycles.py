# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a byte costs the processor: cycles, and where there is no PMU, CPU time."""

import polars as pl

from analysis.figures.base import Data, Drawn, Figure, NotDrawn
from analysis.figures.over import SIZE, Metric, draw_over

TITLE = "Cycles per byte by message size"
CYCLES = [Metric("sender_cycles_per_byte", "sender (cycles/byte)"),
          Metric("receiver_cycles_per_byte", "receiver (cycles/byte)")]
CPU_TITLE = "CPU time per GiB by message size"
CPU = [Metric("sender_cpu_s_per_gib", "sender (CPU s/GiB)"),
       Metric("receiver_cpu_s_per_gib", "receiver (CPU s/GiB)")]


def draw(data: Data) -> Drawn | NotDrawn:
    if data.sending.select(pl.col("sender_cycles_per_byte").count()).item():
        return draw_over(data, SIZE, TITLE, CYCLES, "")
    return draw_over(data, SIZE, CPU_TITLE, CPU,
                     "neither cycles nor CPU time of a run of a send variant were measured")


FIGURE = Figure("cycles", TITLE, draw)
