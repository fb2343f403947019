# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Orders the sections of a report: the answer and its limits, one table, histograms side by side. With --details, there
are all sections, and also warnings and what was not measured. The file of a section has a row in COLUMNS for each column,
in BRIEF for those without --details; tests/fixtures/record.py --text writes the expected texts.
"""

from . import comparison, serving
from .answer import answer
from .calls import failures, observed, sizes
from .counters import counters
from .groups import groups
from .head import headline, incomplete, losses
from .histogram import histograms, side_by_side, stage_histograms
from .memory import memory
from .notes import limits, notes, remarks, warnings
from .overhead import overhead
from .profile import profile
from .record import at
from .stages import stages
from .table import DETAILED_MAX
from .tcp import skbs, tcp
from .timeline import timeline
from .zerocopy import zerocopy

# SUMMARY: the answer and the table; ANSWER: the answer alone.
REPORT, DETAILS, SUMMARY, ANSWER = "report", "details", "summary", "answer"
# No empty line follows these sections.
REMARKS = skbs, warnings, notes, remarks


def sections(cells, extent):
    """Returns the sections for these cells, in order: functions that yield lines."""
    if extent == ANSWER or not len(cells):
        return (incomplete, losses, answer, limits) if len(cells) else (incomplete,)
    kind = serving if cells.serving else comparison
    brief, detailed = kind.brief, kind.detailed
    if at(cells.record, "load") is None:
        brief = detailed = observed
    first = incomplete, losses, headline, answer, limits, timeline
    if extent == DETAILS:
        return (*first, detailed, failures, sizes, groups, zerocopy, stages, profile, histograms,
                stage_histograms, counters, tcp, memory, overhead, warnings, notes)
    if extent == SUMMARY:
        return *first, brief, memory
    sends = (side_by_side, skbs) if len(cells) <= DETAILED_MAX else ()
    return *first, brief, failures, groups, stages, profile, *sends, memory, overhead, remarks


def report(cells, extent=REPORT):
    """Returns the report of Cells as text, whose long lines are not yet broken. Bold lines begin with layout.BOLD."""
    cells.name()
    lines = []
    for section in sections(cells, extent):
        found = list(section(cells))
        lines += found + ([""] if found and found[-1] and section not in REMARKS else [])
    return "".join(f"{line}\n" for line in lines)
