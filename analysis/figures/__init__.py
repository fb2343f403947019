# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The figures, each a file of its own and a row here, in the order in which they are shown."""

from analysis.figures import (cache_misses, cycles, distributions, fallback, functions, hosts, kernel_time,
                              latency, memory, records, servers, throughput)
from analysis.figures.base import Data, Drawn, NotDrawn

FIGURES = (
    throughput.FIGURE,
    latency.FIGURE,
    distributions.FIGURE,
    fallback.FIGURE,
    kernel_time.FIGURE,
    functions.FIGURE,
    functions.FIGURE_COMPARED,
    cycles.FIGURE,
    cache_misses.FIGURE,
    memory.FIGURE,
    records.FIGURE,
    servers.FIGURE,
    hosts.FIGURE,
)


def draw_all(data: Data, names: set[str] | None = None) -> dict[str, Drawn | NotDrawn]:
    """Every figure, or those of these names, by its name: drawn, or why not."""
    return {figure.name: figure.draw(data) for figure in FIGURES
            if names is None or figure.name in names}
