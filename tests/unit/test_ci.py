# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests the script of CI: which suites it starts, and how it reports failed and omitted ones."""

import os
import pathlib
import subprocess
import sys

import pytest

RUN = pathlib.Path(__file__).resolve().parents[2] / ".ci/run"


@pytest.fixture(name="ci")
def _ci(tmp_path):
    """Returns a function that runs the script with a fake `make`, which fails for the named targets, and returns
    (status, lines, targets made)."""
    def ci(*failing, last_start_s=4200):
        made = tmp_path / "made"
        (tmp_path / "make").write_text(f"""#!/bin/sh
echo "$*" >>{made}
for target in {' '.join(failing) or '-'}; do case " $* " in *" $target "*) exit 2 ;; esac; done
""")
        (tmp_path / "make").chmod(0o755)
        done = subprocess.run(["sh", RUN], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                              env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}",
                                   "LAST_START_S": str(last_start_s)})
        return done.returncode, done.stdout.splitlines(), made.read_text().splitlines() if made.exists() else []
    return ci


def test_what_fails_soonest_comes_first(ci):
    status, lines, made = ci()
    assert status == 0 and "FAILED" not in "\n".join(lines)
    assert made[:2] == ["check-load KERNEL=5.10 newest", "check"] and len(made) == len(set(made)) > 4


def test_all_run_after_one_fails_and_the_last_lines_name_it(ci):
    status, lines, made = ci("check", "check-san")
    assert status == 1 and len(made) > 4
    assert lines[-3:] == ["failed:", "  make check", "  make check-san"]
    assert [line.split()[-1] for line in lines if line.split()[2:4] == ["make", "check"]] == ["FAILED"]


def test_after_the_last_start_suites_are_left_out_and_fail_nothing(ci):
    status, lines, made = ci(last_start_s=0)
    assert (status, made) == (0, [])
    assert lines[1] == "left out after 0 s:" and "  make check" in lines


def test_the_suite_that_ci_does_not_run_can_be_collected():
    done = subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--collect-only",
                           "--confcutdir=tests/foreign", "tests/foreign"], cwd=RUN.parents[1], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
