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
# Below these there is no empty line.
REMARKS = skbs, warnings, unmeasured, all_warnings, notes


def sections(cells, extent):
    """The functions that give lines of cells, in order."""
    kind = serving if cells.serving else comparison
    brief, detailed = kind.brief, kind.detailed
    if at(cells.record, "load") is None:
        brief = detailed = observed
    first = losses, headline, answer, timeline
    if extent == DETAILS:
        return (*first, detailed, failures, sizes, groups, zerocopy, stages, profile, histograms,
                stage_histograms, counters, tcp, memory, overhead, all_warnings, notes)
    if extent == SUMMARY:
        return *first, brief, memory
    sends = (side_by_side, skbs) if len(cells) <= DETAILED_MAX else ()
    return *first, brief, failures, groups, stages, profile, *sends, memory, overhead, warnings, unmeasured


def report(cells, extent=REPORT):
    """The text of Cells, its lines unbroken; "" of none. A line to be bold begins with layout.BOLD."""
    if not len(cells):
        return ""
    cells.name()
    lines = []
    for section in sections(cells, extent):
        found = list(section(cells))
        lines += found + ([""] if found and found[-1] and section not in REMARKS else [])
    return "".join(f"{line}\n" for line in lines)
