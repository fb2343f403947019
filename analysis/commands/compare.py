# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""analyze compare: finds the differences between two result sets, and which of them are significant."""

import argparse
import json
import sys

from analysis import result_sets, result_sets_text, table
from analysis.compare import judge
from analysis.details import Collector
from analysis.faults import FAILED, Fault
from analysis.notes import print_note, show
from analysis.tables.options import COMPARE, add_options

DESCRIPTION = """Compares the runs of B with those of A, load by load. Lists which settings changed
(kernel, CPU, device and others) and which metrics differ, with intervals. A metric is better or worse
if its whole interval, corrected for the number of comparisons, is beyond the threshold, and the same
if the interval is within. Exit status: 0 nothing is worse in B, 4 something is worse, 5 with --strict
nothing is worse but something is inconclusive, 1 failed, 2 wrong usage."""

REGRESSION, UNKNOWN = 4, 5


def share(text):
    value = float(text.removesuffix("%")) / 100
    if not 0 < value <= 10:
        raise ValueError
    return value


def picture(name):
    if name.rpartition(".")[2] not in ("html", "svg", "png"):
        raise argparse.ArgumentTypeError(f"{name}: give a name that ends in .html, .svg or .png")
    return name


def add_arguments(parser):
    parser.add_argument("a", metavar="A", help="file or folder of run records, or a table")
    parser.add_argument("b", metavar="B", help="another")
    add_options(parser, COMPARE, flame={"type": picture}, threshold={"type": share, "default": judge.MARGIN},
                metric={"action": "append", "choices": [metric.column for metric in result_sets.METRICS]})


def run(options):
    collectors = Collector(), Collector()
    sets = [table.load_some([path], **({"watch": collector.watch} if options.flame else {}))
            for path, collector in zip((options.a, options.b), collectors)]
    for loaded in sets:
        for note in loaded.notes():
            print_note(note)
    if options.flame:  # the flame graphs include disturbed runs, which all other comparisons leave out
        draw_flame(options.flame, *((loaded.frame, collector.details())
                              for loaded, collector in zip(sets, collectors)))
    metrics = [m for m in result_sets.METRICS if not options.metric or m.column in options.metric]
    found = result_sets.compare(*(loaded.frame for loaded in sets), options.threshold, metrics)
    if not found.differences:
        none = (f"load in common on a quiet machine: {result_sets_text.left_out(found)}: measure again"
                if any(found.disturbed) else
                f"load in common: {result_sets_text.zeros(found) if any(found.zeros) else 'nothing is compared'}")
        raise Fault(f"{options.a} and {options.b} have no {none}", FAILED)
    if options.json != "-":
        heads = [result_sets_text.describe(name, path, loaded.frame) for name, path, loaded in
                 zip("AB", (options.a, options.b), sets)]
        more = result_sets_text.zerocopy_tables(sets[0].frame, sets[1].frame)
        show(result_sets_text.text(found, options.details, more, heads))
    as_json = json.dumps(result_sets_text.as_json(found)) + "\n"
    if options.json == "-":
        sys.stdout.write(as_json)
    elif options.json:
        table.write(options.json, lambda file: file.write(as_json.encode()))
    if found.of(judge.WORSE):
        return REGRESSION
    return UNKNOWN if options.strict and found.of(judge.INCONCLUSIVE) else 0


def draw_flame(path, a, b):
    """Draws how the kernel functions of B's sends differ from those of A. Raises Fault."""
    from analysis.figures import base, functions, save  # importing these takes half a second
    def drawn(width):
        found = functions.draw_sets(base.Data(*a), base.Data(*b), width)
        if isinstance(found, base.NotDrawn):
            raise Fault(f"--flame {path}: {found.reason}", FAILED)
        return found
    wide, form = drawn(base.WIDE), path.rpartition(".")[2]
    made = (save.FORMATS[form](save.spec(wide.chart)) if form != "html" else
            save.html(wide.title, save.spec(wide.chart), save.spec(drawn(base.NARROW).chart)))
    table.write(path, lambda file: file.write(made))
