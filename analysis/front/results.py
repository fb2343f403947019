# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Makes records and reports of runs. Importing this module takes long, so runs.py does it after it has requested the
first run, while the engine loads its programs.
"""

from analysis.derive.record import record_of
from analysis.derive.run import Run
from analysis.derive.timeline import Timeline
from analysis.front.host import completed
from analysis.front.live import Live
from analysis.text.cells import Cells
from analysis.text.layout import lay_out
from analysis.text.profile import folded
from analysis.text.report import ANSWER, DETAILS, REPORT, SUMMARY, report

__all__ = ["Cells", "DETAILS", "Live", "REPORT", "SUMMARY", "completed", "folded", "print_report", "record_of",
           "timeline_of"]


def timeline_of(raw):
    return Timeline(Run(raw))


def print_report(cells, extent, stream, more=""):
    """Writes the report of Cells, and the text `more` below it. Repeats the answer at the end if the answer in the
    report scrolls off the terminal.
    """
    text = lay_out(report(cells, extent) + more, stream.colour())
    answer = lay_out(report(cells, ANSWER), stream.colour()).rstrip("\n")
    begin = text.find(answer.partition("\n")[0])
    if answer and text.count("\n", begin) >= stream.height():
        text += f"\n{answer}\n"
    stream.write(text)
