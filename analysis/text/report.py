# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What a report has, in order: the answer, one table, histograms side by side, warnings, what was not
measured; with --details all that is known."""

from . import comparison, serving
from .answer import answer
from .calls import failures, observed, sizes
from .counters import counters
from .groups import groups
from .head import headline, losses
from .histogram import histograms, side_by_side, stage_histograms
from .memory import memory
from .notes import all_warnings, notes, unmeasured, warnings
from .overhead import overhead
from .profile import profile
from .record import at
from .stages import stages
from .table import DETAILED_MAX
from .tcp import skbs, tcp
from .timeline import timeline
from .zerocopy import zerocopy

# SUMMARY: the answer and the table.
REPORT, DETAILS, SUMMARY = "report", "details", "summary"


def sections(cells, extent):
    """The functions that give lines of cells, in order."""
    yield from (losses, headline, answer, timeline)
    loaded = at(cells.record, "load") is not None
    kind = serving if cells.serving else comparison
    if extent == DETAILS:
        yield (serving.serving if cells.serving else comparison.comparison) if loaded else observed
        yield from (failures, sizes, groups, zerocopy, stages, profile, histograms, stage_histograms,
                    counters, tcp, memory, overhead, all_warnings, notes)
        return
    yield kind.brief if loaded else observed
    if extent == SUMMARY:
        yield memory
        return
    yield from (failures, groups, stages, profile)
    if len(cells) <= DETAILED_MAX:
        yield from (side_by_side, skbs)
    yield from (memory, overhead, warnings, unmeasured)


def report(cells, extent=REPORT):
    """The text of Cells, its lines unbroken; "" of none. A line to be bold begins with layout.BOLD."""
    if not len(cells):
        return ""
    cells.name()
    return "".join(f"{line}\n" for section in sections(cells, extent) for line in section(cells))
