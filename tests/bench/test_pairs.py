# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests the statistics of pairs and of added cost, and that the benchmark itself runs."""

import itertools
import json
import os
import pathlib
import random
import signal
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

import instructions
import limit
import pairs
import programs
import printing
import undisturbed

pytestmark = pytest.mark.slow

HERE = pathlib.Path(__file__).resolve().parent
ANALYZE = HERE.parents[1] / "analyze"
NUMBERS = st.floats(min_value=-1e9, max_value=1e9)
SAMPLES = st.lists(NUMBERS, min_size=1, max_size=40)


def bench(*options):
    return subprocess.Popen([sys.executable, HERE / "bench.py", *options], text=True,
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)


@given(SAMPLES)
def test_interval_contains_the_median_and_range_contains_both(values):
    s = pairs.summarise(values)
    assert s.n == len(values)
    assert s.minimum <= s.median <= s.maximum
    if s.n > 1:
        assert s.minimum <= s.low <= s.median <= s.high <= s.maximum
    else:
        assert (s.low, s.high, s.level) == (None, None, 0)


@given(SAMPLES, st.randoms(use_true_random=False))
def test_order_does_not_matter(values, rng):
    shuffled = list(values)
    rng.shuffle(shuffled)
    assert pairs.summarise(shuffled) == pairs.summarise(values)


@given(st.lists(st.floats(min_value=0.1, max_value=1e12), min_size=1))
def test_ratio_to_itself_is_one(values):
    assert pairs.summarise(pairs.ratios(values, values))[0] == 1
    assert set(pairs.differences(values, values)) == {0}


def test_level_is_exact():
    """Compares with an enumeration of all ways in which n values lie below and above the median."""
    for n in range(2, 15):
        k, reached = pairs.interval_rank(n)
        held = sum(k <= sum(below) <= n - k for below in itertools.product((0, 1), repeat=n))
        assert reached == held / 2 ** n


@pytest.mark.parametrize(("n", "k", "level"), [
    (1, 1, 0), (2, 1, 0.5), (5, 1, 0.9375), (6, 1, 0.96875), (7, 1, 0.984375),
    (8, 1, 0.9921875), (9, 2, 0.9609375), (15, 4, 0.96484375)])
def test_rank_by_the_tables(n, k, level):
    assert pairs.interval_rank(n) == (k, level)


@given(st.integers(min_value=6, max_value=500), st.sampled_from((0.5, 0.8, 0.95)))
def test_level_is_reached_from_six_values_on(n, level):
    k, reached = pairs.interval_rank(n, level)
    assert 1 <= k <= (n + 1) // 2
    assert reached >= level - 1e-9 or k == 1


def test_coverage_on_skewed_data():
    """The interval contains the true median as often as it claims, or a little more often."""
    rng, trials, held = random.Random(1), 4000, 0
    for _ in range(trials):
        s = pairs.summarise([rng.lognormvariate(0, 1) for _ in range(9)])  # the true median is 1
        held += s.low <= 1 <= s.high
    error = (s.level * (1 - s.level) / trials) ** 0.5
    assert abs(held / trials - s.level) < 4 * error


def test_pairs_alternate():
    order = []
    for number in range(4):
        result = pairs.run_pair(number, lambda: order.append("a") or 1, lambda: order.append("b") or 2)
        assert result == (1, 2)
    assert "".join(order) == "abbaabba"


def test_each_of_three_runs_begins_once():
    order = []
    runs = [lambda name=name: order.append(name) or name for name in "abc"]
    assert [pairs.run_pair(number, *runs) for number in range(3)] == [("a", "b", "c")] * 3
    assert "".join(order) == "abcbcacab"


class Thief:
    """Simulates a hypervisor: pair i lasts a second, and takes[i] seconds of each CPU go to others."""

    def __init__(self, *takes):
        self.takes, self.stolen, self.time = list(takes), 0.0, 0.0

    def pair(self):
        self.time += 1
        self.stolen += self.takes.pop(0) * os.cpu_count()
        return self.time

    def guard(self):
        return undisturbed.Undisturbed(lambda: self.stolen, lambda: self.time)


@pytest.mark.parametrize(("takes", "again", "disturbed"), [
    ((0,), 0, 0), ((0.5, 0), 1, 0), ((0.5, 0.5, 0.5, 0.01), 3, 0), ((0.5,) * 4, 3, 1)])
def test_disturbed_pairs_are_repeated(takes, again, disturbed):
    thief = Thief(*takes)
    guard = thief.guard()
    assert guard.run_pair(0, thief.pair, lambda: "second") == (len(takes), "second")
    assert (guard.again, guard.disturbed, thief.takes) == (again, disturbed, [])
    assert bool(guard.text()) == bool(again)


def test_steal_time_is_read():
    before = undisturbed.steal_s()
    assert undisturbed.steal_s() >= before >= 0


def test_unequal_sides_are_refused():
    with pytest.raises(ValueError):
        pairs.ratios([1, 2], [1])


def test_added_instructions_are_those_over_the_same_round():
    more = instructions.added({"none": [3000, 3100, 3200], "fentry": [4000, 4100, 4200],
                               "failed later": [3500]})
    assert {way: s.median for way, s in more.items()} == {"fentry": 1000, "failed later": 500}
    assert more["fentry"].minimum == more["fentry"].maximum == 1000


def test_limit_is_what_is_added_over_what_empty_programs_add():
    """The median is right even if a round's noise is larger than the limit."""
    cell = limit.summarise(limit.CELLS[-1], [(1000, 1100, 1250), (1000, 990, 1200),
                                             (1000, 1200, 1010)])
    assert (cell["over_limit"].median, cell["over_untraced"].median) == (2.5, 1.2)


def test_table_aligns():
    lines = printing.table(["size", "n"], [["4K", "1"], ["64K", "1,000"]]).splitlines()
    assert lines == ["size      n", "4K        1", "64K   1,000"]
    assert [printing.size(n) for n in (100, 256, 4096, 1 << 20)] == ["100", "256", "4K", "1M"]


def test_program_that_fails_is_reported():
    with pytest.raises(programs.Failed, match="status 3: gone"):
        programs.must(["sh", "-c", "echo gone >&2; exit 3"])


def test_program_that_is_missing_is_reported():
    with pytest.raises(programs.Failed, match="^no-such-program cannot be started: "):
        programs.Program(["no-such-program"])


def test_program_is_gone_after_its_block():
    with programs.Program(["sleep", "100"]) as program:
        pid = program.child.pid
    assert not pathlib.Path("/proc", str(pid)).exists()


needs_measuring = pytest.mark.skipif(
    os.geteuid() != 0 or not ANALYZE.exists() or programs.run([ANALYZE, "doctor"]).status != 0,
    reason="sends cannot be measured here: analyze doctor shows why (or not root, not built)")


needs_empty = pytest.mark.skipif(not limit.EMPTY.exists(),
                                 reason="not built: run make test-programs")


def quick(section, path, rows):
    """Runs a section, and checks that its table has this many rows."""
    process = bench("--quick", "--only", section, "--json", path)
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, output + errors
    assert sum(line.startswith(("twocopy", "onecopy", "zerocopy"))
               for line in output.splitlines()) == rows
    data = json.loads(path.read_text())
    (result,) = data["sections"]
    assert (result["status"], data["pairs"]) == ("done", 2)
    return result["cells"]


@needs_measuring
def test_quick_cost_prints_a_table(tmp_path):
    for cell in quick("cost", tmp_path / "out.json", 9):
        assert cell["ratio"]["n"] == len(cell["attached_bps"]) == 2
        assert cell["ratio"]["minimum"] > 0


@needs_measuring
@needs_empty
def test_quick_limit_prints_a_table(tmp_path):
    for cell in quick("limit", tmp_path / "out.json", len(limit.CELLS)):
        assert cell["over_limit"]["n"] == len(cell["rounds_ns"]) == 2
        assert cell["over_untraced"]["minimum"] > 0
        assert cell["tools"] or "sock_send_length" in cell["tracepoints"]


@needs_measuring
@needs_empty
def test_empty_program_that_cannot_be_attached_is_named():
    done = programs.run([limit.EMPTY, "sock_send_length", "no_such_tracepoint"])
    assert (done.status, done.output) == (1, "")
    assert len(done.errors.splitlines()) == 1 and "no_such_tracepoint" in done.errors


@needs_measuring
def test_interrupt_prints_the_results_so_far():
    process = bench("--only", "cost", "--seconds", "30")
    assert process.stdout.readline().startswith("Linux ")
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=30)
    assert process.returncode == 130, errors
    assert "interrupted" in output


def test_soak_begins():
    """Tries the soak's imports and options, because make check does not run it."""
    done = subprocess.run([sys.executable, HERE.parent / "soak/soak.py", "--help"], text=True,
                          capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
