# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The figures, a row each, in the order in which they are shown. The first stands beside the answers."""

from analysis.figures import functions, hosts, kernel_time, over, ratio, timeline

FIGURES = (*ratio.RATIOS, *ratio.HEATS, *over.FIGURES, kernel_time.FIGURE, functions.FIGURE,
           functions.FIGURE_COMPARED, timeline.FIGURE, hosts.FIGURE)
