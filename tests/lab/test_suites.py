# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests several suites in one process: each has its own environment, end and status."""

import os
import subprocess
from pathlib import Path

import pytest

SUITES = Path(__file__).with_name("suites.py")
FILES = {
    "test_environment.py": "import os\ndef test(): assert os.environ['WORD'] == 'a=b'\n",
    "test_alone.py": "import os\ndef test(): assert 'WORD' not in os.environ\n",
    "test_hangs.py": "import time\ndef test(): time.sleep(60)\n",
    "test_dies.py": "import os\ndef test(): os.kill(os.getpid(), 9)\n",
    "test_input.py": "import sys\ndef test(): assert not sys.__stdin__.read()\n"}


@pytest.fixture(name="run")
def _run(tmp_path):
    """Returns a function that runs suites, (arguments, variables), in turn, and returns their statuses and output."""
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)

    def run(*suites, seconds=60):
        base = {"PATH": os.environ["PATH"], "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        text = "".join("".join(part + "\0" for part in [*arguments, "", *(
            f"{name}={value}" for name, value in {**base, **variables}.items()), ""])
            for arguments, variables in suites)
        ours, theirs = os.pipe()
        done = subprocess.run(["/usr/bin/python3", SUITES, str(seconds), str(theirs)],
                              cwd=tmp_path, pass_fds=[theirs], input=text, capture_output=True,
                              text=True, timeout=120, check=False)
        os.close(theirs)
        with os.fdopen(ours) as answers:
            return answers.read().split(), done.stdout + done.stderr
    return run


def test_each_has_its_environment_and_nothing_of_the_one_before(run):
    statuses, output = run((["test_environment.py"], {"WORD": "a=b"}), (["test_alone.py"], {}),
                           (["test_environment.py"], {"WORD": "c"}))
    assert statuses == ["0", "0", "1"], output
    assert output.count("1 passed") == 2 and output.count("1 failed") == 1


def test_options_are_pytests(run):
    statuses, output = run((["-k", "one and two", "test_alone.py"], {}), (["no_such_file"], {}))
    assert statuses == ["5", "4"] and "1 deselected" in output and "no_such_file" in output


def test_one_that_hangs_is_interrupted_where_it_is(run):
    statuses, output = run((["test_hangs.py"], {}), seconds=8)  # on a busy machine pytest takes seconds to start
    assert statuses == ["2"]
    assert "KeyboardInterrupt" in output and "test_hangs.py:2" in output


def test_one_that_dies_has_its_status_and_others_go_on(run):
    statuses, output = run((["test_dies.py"], {}), (["test_input.py", "-s"], {}))
    assert statuses == ["137", "0"], output
