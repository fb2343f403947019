# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Helpers of the tests of analysis/: records as the program writes them, with changes."""

import contextlib
import copy
import io
import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from analysis.command_line import main  # noqa: E402 (it needs the path)
from analysis.records import Record, parse  # noqa: E402

# Records that the program wrote, one of each kind.
SAMPLES = pathlib.Path(__file__).parent / "samples.jsonl"


def samples():
    return [json.loads(line) for line in SAMPLES.read_text().splitlines()]


def changed(record, **changes):
    """Returns a copy of a record in which each named path has another value: a__b=1 sets record["a"]["b"]."""
    record = copy.deepcopy(record)
    for path, value in changes.items():
        *way, last = path.split("__")
        place = record
        for key in way:
            place = place[key]
        place[last] = value
    return record


def record_of(data, line=1):
    """Returns the Record that reading this data from a file would give."""
    return Record("here", "file", line, parse(json.dumps(data).encode()))


def write(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)


def analysis(*arguments, stdout=None):
    """Returns the same result as program(), but runs in this process, because importing the libraries takes a second.
    The path /dev/stdout means the standard output of the tests.
    """
    arguments = [str(argument) for argument in arguments]
    with contextlib.redirect_stdout(stdout or io.StringIO()) as out, \
            contextlib.redirect_stderr(io.StringIO()) as errors:
        status = main(arguments)
    return subprocess.CompletedProcess(arguments, status, None if stdout else out.getvalue(), errors.getvalue())


def program(*arguments, stdout=subprocess.PIPE):
    """Runs a command line of ./analyze with this Python, and captures the output as text."""
    return subprocess.run([sys.executable, ROOT / "analysis/__main__.py", *map(str, arguments)],
                          stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE, text=True,
                          timeout=120, check=False)


@pytest.fixture
def folder(tmp_path):
    return tmp_path


@pytest.fixture
def only_figures(monkeypatch):
    """Makes reports of this process draw only the named figures, because drawing takes most of the time."""
    from analysis.report import build  # imports the drawing library, which takes a second

    def only(*names):
        monkeypatch.setattr(build, "FIGURES", [figure for figure in build.FIGURES if figure.name in names])
    return only


@pytest.fixture(scope="session")
def whole():
    """Returns data for all figures and questions."""
    import planted  # imports the same library
    return planted.all_data()
