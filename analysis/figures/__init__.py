# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Lists the figures in the order of the page. The first figure is placed beside the answers."""

from analysis.figures import functions, hosts, kernel_time, over, ratio, timeline

FIGURES = (*ratio.RATIOS, *ratio.HEATS, *over.FIGURES, kernel_time.FIGURE, functions.FIGURE,
           functions.FIGURE_COMPARED, timeline.FIGURE, hosts.FIGURE)
