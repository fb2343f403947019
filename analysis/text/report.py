# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The order of the report: the answer first, then what it rests on, then detail."""

from .calls import failures, observed, sizes
from .comparison import comparison
from .counters import counters
from .facts import DETAILED_MAX, verdicts
from .groups import groups
from .head import headline, losses
from .histogram import histograms, stage_histograms
from .memory import memory
from .notes import notes
from .overhead import overhead
from .profile import profile
from .record import at
from .serving import serving
from .stages import stages
from .tcp import tcp
from .zerocopy import zerocopy

# HISTOGRAMS: those of any number of configurations. SUMMARY: the answer and the table.
REPORT, HISTOGRAMS, SUMMARY = "report", "histograms", "summary"


def sections(cells, extent):
    """The functions that give lines of cells, in order."""
    detailed = len(cells) <= DETAILED_MAX
    yield from (losses, headline, verdicts)
    yield serving if cells.serving else comparison if at(cells.record, "load") is not None else observed
    if extent == SUMMARY:
        yield memory
        return
    every = True
    for section, wanted in (
            (failures, every), (sizes, detailed), (groups, every), (zerocopy, detailed), (stages, every), (profile, every),
            (histograms, detailed or extent == HISTOGRAMS), (stage_histograms, extent == HISTOGRAMS),
            (counters, detailed or cells.serving), (tcp, detailed), (memory, every), (overhead, every),
            (notes, every)):
        if wanted:
            yield section


def report(cells, extent=REPORT):
    """The text of Cells, its lines unbroken; "" of none. A line to be bold begins with layout.BOLD."""
    if not len(cells):
        return ""
    cells.name()
    return "".join(f"{line}\n" for section in sections(cells, extent) for line in section(cells))
