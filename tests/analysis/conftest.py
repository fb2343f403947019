# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the tests of analysis/ share: records as the program writes them, made to measure."""

import copy
import json
import pathlib
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from analysis.records import Record, parse  # noqa: E402

# Written by the program itself, one of each kind.
SAMPLES = pathlib.Path(__file__).parent / "samples.jsonl"


def samples():
    return [json.loads(line) for line in SAMPLES.read_text().splitlines()]


def changed(record, **changes):
    """A copy with other values at paths, whose dots are written as two underscores."""
    record = copy.deepcopy(record)
    for path, value in changes.items():
        *way, last = path.split("__")
        place = record
        for key in way:
            place = place[key]
        place[last] = value
    return record


def record_of(data, line=1):
    """The record that this would be read as."""
    return Record("here", "file", line, parse(json.dumps(data).encode()))


def write(path, records):
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    return str(path)


def analysis(*arguments, stdout=subprocess.PIPE, **kwargs):
    """The command line, by this Python; text output captured."""
    return subprocess.run([sys.executable, "-m", "analysis", *map(str, arguments)], cwd=ROOT,
                          stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE, text=True,
                          timeout=120, check=False, **kwargs)


@pytest.fixture
def folder(tmp_path):
    return tmp_path


@pytest.fixture(scope="session")
def whole():
    """Data with all that figures and questions ask for."""
    import planted  # what draws takes a second to import
    return planted.all_data()
