# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""analyze report: answers questions from run records and advice, in HTML and Markdown with figures."""

import pathlib

from analysis import advice, table, words
from analysis.details import Collector
from analysis.faults import USAGE, Fault
from analysis.figures.base import Data
from analysis.figures.save import FORMATS
from analysis.notes import clean, print_note, progress
from analysis.report.build import build
from analysis.report.write import split_next, write
from analysis.tables.options import REPORT, add_options
from analysis.text.layout import broken

DESCRIPTION = """Answers questions from run records, with intervals and figures, and names what would
answer the open ones. Writes report.html, a self-contained page, report.md and figures/. Takes the
same files as analyze table (only records have histograms and hooks), and files that advise --json
wrote, each as a section. docs/report.md explains the report."""


def add_arguments(parser):
    parser.add_argument("paths", nargs="+", metavar="PATH", help="file or folder of run records, or of advice")
    add_options(parser, REPORT, figures={"default": "svg,png"})


def formats(text: str) -> list[str]:
    """Returns the formats in a comma-separated list. Raises Fault for an unknown one."""
    names = [name for name in text.split(",") if name]
    for name in names:
        if name not in FORMATS:
            raise Fault(f"--figures {name}: not one of {', '.join(FORMATS)}", USAGE)
    return names


def _print(line):
    print(broken(line, 2))


def run(options):
    wanted = formats(options.figures)
    first = pathlib.Path(options.paths[0])
    folder = pathlib.Path(options.out or (first if first.is_dir() else first.parent) / "report")
    collector = Collector()
    notes: list[str] = []
    with progress() as show:
        show("reading the records")
        advices, of_runs = advice.read(options.paths, notes)
        streamed = table.stream_fleet(of_runs)
        loaded = table.load([] if streamed else of_runs, collector.watch)
    notes += loaded.notes()
    if loaded.frame.is_empty() and not advices and not streamed:
        raise Fault("\n".join(notes or [f"no runs in {', '.join(options.paths)}"]))
    for note in notes:
        print_note(note)
    data = Data(loaded.frame, collector.details(), streamed)
    with progress() as show:
        report = build(data, options.title, notes, options.paths, advices, show=show)
        show("writing the page")
        pages = write(report, folder, wanted)
    if report.lost:
        _print(f"dropped events: {report.lost}\n")
    for row in report.rows:
        _print(clean(row.answer.question))
        _print(f"  {clean(row.answer.answer)}")
    for one in report.open:
        text, command = split_next(clean(one.next))
        _print(one.question)
        _print(f"  {one.answer}" + (f" To answer it: {text}".rstrip() if one.next else ""))
        if command:
            print(f"    {command}")
    _print(f"\n{words.counted(len(report.all_pictures), 'figure')}; "
           f"{', '.join(clean(str(page)) for page in pages)}")
    return 0
