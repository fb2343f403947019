# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""One job of the section answers, run by the Python of make analysis; times its stages.

answer.py make JSON PARQUET COPIES   writes that many copies of a file's runs, as of other kernels answer.py run
FILE                   loads, answers, draws; prints seconds of each as JSON
"""

import itertools
import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

import polars as pl  # pylint: disable=wrong-import-position

from analysis import figures, table  # pylint: disable=wrong-import-position
from analysis.figures import base, save  # pylint: disable=wrong-import-position
from analysis.report.questions import answered  # pylint: disable=wrong-import-position


def make(records, parquet, copies):
    frame = table.load_some([records]).frame
    table.write_parquet(pl.concat(
        frame.with_columns(pl.lit(f"6.{copy}").alias("kernel")) for copy in range(copies)), parquet)


def answer(frame):
    """Returns the sentences and tables of a report, with all of its statistics."""
    answered(base.Data(frame))


def draw(frame):
    """Draws all figures as SVG. Returns how many there are."""
    data = base.Data(frame)
    drawn = [one for figure in figures.FIGURES for one in (figure.draw(data, figure.width),)
             if isinstance(one, base.Drawn)]
    for one in drawn:
        save.svg(save.spec(one.chart))
    return len(drawn)


def run(file):
    moments = [time.monotonic()]
    frame = table.load_some([file]).frame
    moments.append(time.monotonic())
    answer(frame)
    moments.append(time.monotonic())
    drawn = draw(frame)
    moments.append(time.monotonic())
    seconds = [round(b - a, 3) for a, b in itertools.pairwise(moments)]
    return {"runs": frame.height, "load_s": seconds[0], "answer_s": seconds[1],
            "draw_s": seconds[2], "figures": drawn, "cpu_s": round(time.process_time(), 3)}


if __name__ == "__main__":
    if sys.argv[1] == "make":
        make(sys.argv[2], sys.argv[3], int(sys.argv[4]))
    else:
        print(json.dumps(run(sys.argv[2])))
