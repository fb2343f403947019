# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests the machine's activity between two readings of the kernel's counters."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from analysis.derive.noise import TICKS, busy_threads, changes, others_share  # noqa: E402

NOTHING = {"stat": None, "pressure": None, "throttled": None, "khz": None, "sender": None,
           "receiver": None, "time_s": 0.0}


def stat(steal, all_):
    return {**NOTHING, "stat": f"cpu  {all_ // 2} 0 0 {all_ - all_ // 2 - steal} 0 0 0 {steal} 9 9"}


@pytest.mark.parametrize("steal, all_, share", [
    (0, TICKS, 0), (TICKS, 4 * TICKS, 0.25), (TICKS, TICKS, 1),
    (TICKS + 1, TICKS, 1),  # another counter ran backwards
    (-1, TICKS, 0),  # the steal counter ran backwards
    (1, TICKS - 1, None), (0, -1, None)])
def test_steal_share_is_of_all_time(steal, all_, share):
    assert changes(stat(1000, 30000), stat(1000 + steal, 30000 + all_), 100)["steal_share"] == share


def test_ticks_have_eight_kinds():
    """Only the first eight kinds are summed, because user time includes guest time."""
    found = changes({**NOTHING, "stat": "cpu 0 0 0 0 0 0 0 0"}, {**NOTHING, "stat": "cpu  1 2 3 4 5 6 7 8 9 10"}, 1)
    assert (found["all_s"], found["busy_s"], found["irq_share"], found["steal_share"]) == (36, 6, 13 / 36, 8 / 36)
    assert changes({**NOTHING, "stat": "cpu 0 0"}, {**NOTHING, "stat": "cpu 90 90"}, 1)["all_s"] is None


def test_what_is_not_reported_is_unknown():
    assert set(changes(NOTHING, NOTHING, 100).values()) == {None}
    assert set(changes(None, None, 100).values()) == {None}
    assert set(changes({**NOTHING, "throttled": 0.0}, NOTHING, 100).values()) == {None}


def test_waiting_is_of_what_could_run():
    opened = {**NOTHING, "time_s": 7.0, "pressure": "some avg10=0.00 total=1000000", "khz": 2e6, "throttled": 4.0,
              "sender": [10 ** 9, 0], "receiver": [5, 0]}
    closed = {**NOTHING, "time_s": 9.0, "pressure": "some avg10=0.00 total=1500000", "khz": 1.5e6, "throttled": 4.0,
              "sender": [2500000000, 500000000], "receiver": [4, 0]}  # some of the receiver's threads ended
    found = changes(opened, closed, 100)
    assert (found["pressure_share"], found["slowdown"], found["throttled"]) == (0.25, 0.25, 0)
    assert (found["sender_waited_share"], found["receiver_waited_share"]) == (0.25, None)


@pytest.mark.parametrize("peer, device, others, busy", [
    (None, "eth0", 0.1, 4), ("10.0.0.2", "lo", 0.1, 4), ("10.0.0.2", "eth0", 0.3, 2)])
def test_a_receiver_elsewhere_takes_no_cpu_of_this_machine(peer, device, others, busy):
    raw = {"noise": {"busy_s": 1.4, "all_s": 2.0}, "load": {"peer": peer, "device": device, "threads": 2,
                                                            "variant": "zerocopy", "workload": "stream"}}
    app = {"user_s": 0.3, "system_s": 0.5, "receiver": {"user_s": 0.2, "system_s": 0.2}}
    run = type("Run", (dict,), {"app": app})(raw)
    assert others_share(run) == pytest.approx(others)
    assert busy_threads(raw["load"]) == busy
