# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What .ci/run makes of suites that fail or take long, with a make and a clock of the test's own."""

import pathlib
import re
import subprocess

import pytest

RUN = pathlib.Path(__file__).resolve().parents[2] / ".ci/run"
LINE = re.compile(r" *(\d+) s  (.*\S) +(passed|FAILED|left out)")
MAKE = """#!/bin/sh
echo $(($(cat "$CLOCK") + SECONDS_EACH)) >"$CLOCK"
case " $* " in *" $FAILS "*) exit 2 ;; esac
"""


@pytest.fixture(name="ci")
def _ci(tmp_path):
    """Runs it: its status, and its last lines as (seconds, suite, end)."""
    clock = tmp_path / "clock"
    clock.write_text("1000\n")
    for name, text in (("make", MAKE), ("date", '#!/bin/sh\ncat "$CLOCK"\n')):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)

    def run(seconds_each, fails="none"):
        done = subprocess.run([RUN], capture_output=True, text=True, timeout=60, check=False,
                              env={"PATH": f"{tmp_path}:/usr/bin:/bin", "CLOCK": clock, "FAILS": fails,
                                   "SECONDS_EACH": str(seconds_each)})
        *suites, total = done.stdout.splitlines()
        assert "goal" in total and not done.stderr
        return done.returncode, [(int(seconds), suite, end) for seconds, suite, end in
                                 (LINE.fullmatch(line).groups() for line in suites)]
    return run


def test_all_run_after_one_fails(ci):
    status, suites = ci(300, fails="check")
    assert status == 1
    assert [(name, end) for _, name, end in suites if end != "passed"] == [("make check", "FAILED")]
    assert len(suites) > 5 and {seconds for seconds, _, _ in suites} == {300}


def test_after_seventy_minutes_no_suite_starts(ci):
    status, suites = ci(1400)
    assert status == 0
    assert [end for _, _, end in suites[:4]] == ["passed", "passed", "passed", "left out"]
    assert {(seconds, end) for seconds, _, end in suites[3:]} == {(0, "left out")}


def test_what_failed_fails_though_others_were_left_out(ci):
    status, suites = ci(4200, fails="check-load")
    assert status == 1
    assert [end for _, _, end in suites[:2]] == ["FAILED", "left out"]
