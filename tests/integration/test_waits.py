# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests waits for completions by each mechanism: of programs that wait, and of programs that do not."""

import contextlib
import json
import socket
import sys
import threading

import pytest

from conftest import PROGRAMS, ROOT, SEND_MECHANISMS, analyze, check, completes, needs_bpf, run

pytestmark = [needs_bpf, pytest.mark.usefixtures("untouched")]

CASES = ROOT / "tests/cases/sends.py"
MSG_ZEROCOPY = 0x4000000
SENDS = 40
needs_uring = pytest.mark.skipif(run(PROGRAMS / "uring", "--probe").returncode != 0, reason="no SEND_ZC here")
# Enters a network namespace of its own, in which a round trip takes 20 ms.
DELAYED = "ip link set lo up; tc qdisc add dev lo root netem delay 10ms 2>/dev/null || exit 77; exec \"$@\""


@pytest.fixture(name="mechanism", params=SEND_MECHANISMS)
def _mechanism(request):
    if not completes(request.param):
        pytest.skip("zero-copy sends are not followed by this mechanism here")
    return request.param


def observe(mechanism, *command):
    """Returns the program's own counts, and the record's block of zero-copy sends."""
    done = analyze("--json", "-", "--mechanism", mechanism, "--", *command)
    if done.returncode == 77:
        pytest.skip("this kernel has no netem")
    assert done.returncode == 0, done.stderr
    own, record = done.stdout.splitlines()
    return json.loads(own), check(json.loads(record))["zerocopy"]


def awaited(waits):
    return {row["reason"]: row["sends"] for row in waits["awaited"]}


def assert_arithmetic(waits, requests):
    assert sum(row["sends"] for row in waits["in_flight"]) == requests == waits["intervals"] + 1
    assert waits["wait_ns"]["count"] == sum(awaited(waits).values())
    assert waits["wait_ns"]["sum"] == sum(row["ns"] for row in waits["awaited"]) <= waits["interval_ns"]


def test_a_delayed_acknowledgement_is_awaited(mechanism):
    own, zerocopy = observe(mechanism, sys.executable, CASES, "awaits_each")
    waits = zerocopy["waits"]
    assert_arithmetic(waits, own["sent"])
    assert waits["in_flight"] == [{"from": 0, "sends": own["sent"]}]
    assert own["waits"] / 2 <= awaited(waits)["delayed_ack"] <= own["waits"]
    assert waits["wait_ns"]["p50"] >= 38e6


def test_a_round_trip_is_awaited(mechanism):
    own, zerocopy = observe(mechanism, "unshare", "-n", "sh", "-c", DELAYED, "sh", sys.executable, CASES, "awaits_each",
                            MSG_ZEROCOPY, 20_000)
    assert_arithmetic(zerocopy["waits"], own["sent"])
    assert own["waits"] / 4 <= awaited(zerocopy["waits"])["round_trip"] <= own["waits"]
    assert 19e6 <= zerocopy["waits"]["wait_ns"]["p50"] <= 38e6


@pytest.mark.parametrize("case", ["ping_pong", "paced"])
def test_other_waits_are_none(case, mechanism):
    own, zerocopy = observe(mechanism, sys.executable, CASES, case)
    assert_arithmetic(zerocopy["waits"], own["sent"])
    assert sum(awaited(zerocopy["waits"]).values()) <= own["sent"] / 10


def answer(listener, size):
    """Answers each `size` bytes by one, so that acknowledgements of less are delayed."""
    connection, _ = listener.accept()
    received = 0
    with connection, contextlib.suppress(ConnectionError):  # the program does not read the answers
        while data := connection.recv(1 << 16):
            received += len(data)
            connection.send(bytes(received // size))
            received %= size


@needs_uring
def test_a_notification_of_io_uring_is_awaited(mechanism):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=answer, args=(listener, 26), daemon=True).start()
        own, zerocopy = observe(mechanism, PROGRAMS / "uring", "--address", "127.0.0.1", "--port",
                                listener.getsockname()[1], "--sends", SENDS, "--size", 13, "--depth", 1)
    waits = zerocopy["io_uring"]["waits"]
    assert_arithmetic(waits, own["sends"])
    assert waits["in_flight"] == [{"from": 0, "sends": own["sends"]}]
    assert SENDS / 4 <= awaited(waits)["delayed_ack"] <= SENDS / 2
    assert zerocopy["waits"]["intervals"] == 0
