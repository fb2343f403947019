# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Misses of the first-level data cache and of the last level, over message size."""

import polars as pl

from analysis.figures.base import Data, Drawn, Figure, NotDrawn
from analysis.figures.over import SIZE, Metric, draw_over

TITLE = "Cache misses by message size"
LEVELS = {"l1d": "L1 data cache", "llc": "last-level cache"}
METRICS = [Metric("sender_l1d_misses_per_kib", "L1 load misses of sender (1/KiB)"),
           Metric("sender_llc_misses_per_kib", "LLC load misses of sender (1/KiB)")]


def with_misses_per_kib(runs: pl.DataFrame) -> pl.DataFrame:
    """The runs with SIDE_LEVEL_misses_per_kib: load misses for each KiB of payload received."""
    kib = pl.when(pl.col("bytes") > 0).then(pl.col("bytes") / 1024)
    return runs.with_columns([
        (pl.col(f"{side}_{level}_misses").cast(pl.Float64) / kib)
        .alias(f"{side}_{level}_misses_per_kib")
        for side in ("sender", "receiver") for level in LEVELS])


def draw(data: Data) -> Drawn | NotDrawn:
    return draw_over(Data(with_misses_per_kib(data.runs), data.details), SIZE, TITLE, METRICS,
                     "no run counted misses of the L1 data cache or of the last-level cache")


FIGURE = Figure("cache-misses", TITLE, draw)
