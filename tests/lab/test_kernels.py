# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs the integration tests inside real kernels; matrix.tsv lists which suites run in which kernel.

By default, runs the suites of make check; with SENDPATH_KERNELS=1, those of make check-kernels; with SENDPATH_FULL=1 in
addition, also those of make check-full.
"""

import os
import re
import subprocess
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from support import rows

pytest_plugins = ["guests"]

LAB = Path(__file__).resolve().parent / "lab"
SKIP = 77
# These statuses are the lab's own, not the command's.
LAB_FAILED = (121, 122, 124)
SECONDS_PER_SUITE = 900

KERNELS = [row["name"] for row in rows("kernels.tsv")]
SUITES = {row["suite"]: row for row in rows("matrix.tsv")}
WHEN = ("change", "must", "check", "full", "-")
if not os.environ.get("SENDPATH_KERNELS"):
    WANTED = WHEN[:1]
else:
    WANTED = WHEN[1:4] if os.environ.get("SENDPATH_FULL") else WHEN[1:3]


class Guest(NamedTuple):
    """A guest that is booted once."""
    kernel: str
    topology: str
    options: str


class Case(NamedTuple):
    kernel: str
    suite: str

    def guest(self):
        return Guest(self.kernel, SUITES[self.suite]["topology"], SUITES[self.suite]["options"])

    def must_not_be_skipped(self):
        return bool(os.environ.get("CI")) and SUITES[self.suite][self.kernel] in WHEN[:2]


def cases(wanted):
    return [Case(kernel, name) for kernel in KERNELS for name, row in SUITES.items()
            if row[kernel] in wanted]


# One process runs all suites: see suites.py.
PYTEST = f"""export PYTEST_DISABLE_PLUGIN_AUTOLOAD=1
exec {{output}}>&1
coproc SUITES {{ /usr/bin/python3 tests/lab/suites.py {SECONDS_PER_SUITE} 3 3>&1 >&"$output"; }}
exec {{requests}}>&"${{SUITES[1]}}" {{answer}}<&"${{SUITES[0]}}"
pytest() {{
	{{ printf '%s\\0' "$@" ''; env -0; printf '\\0'; }} >&"$requests"
	read -r -u "$answer" status && return "$status"
}}
some() {{ test -n "$SENDPATH_FULL" || export SENDPATH_MECHANISMS="$*"; }}
pick() {{ test -n "$SENDPATH_FULL" && echo "$1" || echo "$2"; }}"""


def script(suites):
    """Returns a script that prints each suite's output between two lines with its name; the second has its status."""
    lines = [PYTEST]
    for name in suites:
        lines += [f"echo '== {name}'", f"({SUITES[name]['command']})", f"echo '== {name}:' $?"]
    return "\n".join(lines)


def boot(guest, suites):
    options = [] if guest.options == "-" else guest.options.split()
    return subprocess.run(
        [LAB, "--kernel", guest.kernel, "--topology", guest.topology, "--timeout",
         str(SECONDS_PER_SUITE * (len(suites) + 1)), *options, "--", "bash", "-c", script(suites)],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False)


def part(output, name):
    """Returns output and exit status of one suite; None if the suite did not end."""
    found = re.search(rf"^== {name}\n(.*?)^== {name}: (\d+)$", output, re.M | re.S)
    return found and (found[1], int(found[2]))


def boots(items, _):
    """Boots each guest once for all suites that use it. Guests with the most suites are first."""
    suites = {}
    for item in items:
        case = item.callspec.params["case"]
        suites.setdefault(case.guest(), []).append(case.suite)
    return {guest: partial(boot, guest, suites[guest])
            for guest in sorted(suites, key=lambda guest: -len(suites[guest]))}


@pytest.mark.parametrize("case", cases(WANTED), ids="-".join)
def test_kernel(case, guests, took):
    result = guests.result(case.guest())
    if result.returncode == SKIP:
        reason = result.stdout.strip().splitlines()[-1]
        assert not case.must_not_be_skipped(), reason
        pytest.skip(reason)
    took("-".join(case), (part(result.stdout, case.suite) or [""])[0])
    judge(case, result)


def first_problem(output):
    """Returns a line for the summary: pytest's message about the first failed assertion, or the last line."""
    found = re.findall(r"^E +(?:AssertionError: )?(\S.*)$", output, re.M)
    return (found or output.splitlines()[-1:] or [""])[0]


def of_the_lab(output):
    """Returns the lab's message about a run that it ended, which precedes the kernel log."""
    return (re.findall(r"^lab: (kernel .*)$", output, re.M) or ["the lab failed"])[-1]


def judge(case, result):
    where = f"kernel {case.kernel}, topology {SUITES[case.suite]['topology']}: "
    assert result.returncode not in LAB_FAILED, f"{of_the_lab(result.stdout)}\n{result.stdout}"
    found = part(result.stdout, case.suite)
    assert found, where + result.stdout
    output, status = found
    print(output)
    assert status == 0, where + first_problem(output)
    if "pytest" in SUITES[case.suite]["command"]:
        summary = output.splitlines()[-1]
        assert re.match(r"\d+ passed", summary)
        assert "skipped" not in summary, "a guest lacks nothing"


def test_matrix_is_complete():
    """Every kernel has a column, every topology has a suite, and every cell has a known word."""
    assert all(row.get(kernel) in WHEN for row in SUITES.values() for kernel in KERNELS)
    topologies = {row["name"] for row in rows("topologies.tsv")}
    assert {row["topology"] for row in SUITES.values()} == topologies


def test_every_kernel_has_a_smoke_test_by_make_check_kernels():
    assert {case.kernel for case in cases(WHEN[1:3]) if case.suite == "smoke"} == set(KERNELS)
    assert all(SUITES["smoke"][kernel] == "must" for kernel in ("6.1", "6.12"))


@pytest.mark.parametrize("output,found", [
    ("== smoke\n1 passed\n== smoke: 0\n== counts\n", ("1 passed\n", 0)),
    ("== smoke\n== smokes\n== smoke: 12\n", ("== smokes\n", 12)),
    ("== smoke\nkilled", None), ("", None)])
def test_parts_are_found(output, found):
    assert part(output, "smoke") == found


@pytest.mark.parametrize("output,line", [
    ("F\n    assert a\nE   AssertionError: kernel 1.0: hook\nE   more\n1 failed",
     "kernel 1.0: hook"),
    ("E   assert 1 == 2\n1 failed", "assert 1 == 2"),
    ("crosscheck: counts DIFFERENT; medians: none\n", "crosscheck: counts DIFFERENT; medians: none"), ("", "")])
def test_a_summary_names_the_problem(output, line):
    assert first_problem(output) == line


def test_a_summary_names_the_splat():
    with pytest.raises(AssertionError, match="^kernel 6.12 reported a bug: BUG: x\n"):
        judge(Case("6.12", "smoke"), Result(121, "lab: kernel 6.12 reported a bug: BUG: x\n"
                                                 "lab: the kernel log ends:\n    BUG: x\n"))


class Result(NamedTuple):
    returncode: int
    stdout: str


@pytest.mark.parametrize("status,output", [
    (121, "== smoke\n3 passed in 1 s\n== smoke: 0\nlab: kernel 6.12 reported a bug: BUG: x"),
    (0, "== smoke\n1 failed, 3 passed in 1 s\n== smoke: 1\n"),
    (0, "== smoke\n3 passed, 1 skipped in 1 s\n== smoke: 0\n"),
    (0, "== smoke\nno tests ran in 1 s\n== smoke: 0\n"),
    (124, "== smoke\nlab: kernel 6.12: timeout")])
def test_what_fails(status, output):
    with pytest.raises(AssertionError):
        judge(Case("6.12", "smoke"), Result(status, output))


def test_what_passes():
    judge(Case("6.12", "smoke"), Result(0, "== smoke\n....\n4 passed in 1 s\n== smoke: 0\n"))
