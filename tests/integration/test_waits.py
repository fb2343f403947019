# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests the record's waits for completions, by each mechanism: of programs that wait, and of programs that do not."""

import contextlib
import json
import socket
import sys
import threading

import pytest

from conftest import PROGRAMS, ROOT, SEND_MECHANISMS, analyze, check, completes, needs_bpf, run

pytestmark = [needs_bpf, pytest.mark.usefixtures("untouched")]

CASES = ROOT / "tests/cases/sends.py"
SENDS = 40
needs_uring = pytest.mark.skipif(run(PROGRAMS / "uring", "--probe").returncode != 0, reason="no SEND_ZC here")
# Runs a command in a new network namespace, which has a server, and in which a round trip takes 20 ms.
DELAYED = """ip link set lo up
tc qdisc add dev lo root netem delay 10ms 2>/dev/null || exit 77
/usr/bin/python3 "$1" serves 23400 40000 >/dev/null &
until ss -Hltn | grep -q :23400; do :; done
shift
exec "$@" --port 23400"""


@pytest.fixture(name="mechanism", params=SEND_MECHANISMS)
def _mechanism(request):
    if not completes(request.param):
        pytest.skip("zero-copy sends are not followed by this mechanism here")
    return request.param


def answer(listener, size):
    """Answers each `size` bytes with one byte, so that acknowledgements of fewer bytes are delayed."""
    connection, _ = listener.accept()
    received = 0
    with connection, contextlib.suppress(ConnectionError):  # the programs close without reading the answers
        while data := connection.recv(1 << 16):
            received += len(data)
            connection.send(bytes(received // size))
            received %= size


@pytest.fixture(name="port")
def _port():
    """Returns the port of a server that answers each second message of 13 bytes."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=answer, args=(listener, 26), daemon=True).start()
        yield listener.getsockname()[1]


def observe(mechanism, *command):
    """Returns the program's own counts, and the record's block of zero-copy sends."""
    done = analyze("--json", "-", "--mechanism", mechanism, "--", *command)
    if done.returncode == 77:
        pytest.skip("this kernel has no netem")
    assert done.returncode == 0, done.stderr
    own, record = done.stdout.splitlines()
    return json.loads(own), check(json.loads(record))["zerocopy"]


def assert_waits(waits, requests, reason, most):
    """Asserts that up to `most` waits have this reason; in an emulator, a program may wake too late to wait."""
    awaited = {row["reason"]: row["sends"] for row in waits["awaited"]}
    assert sum(row["sends"] for row in waits["in_flight"]) == requests == waits["intervals"] + 1
    assert waits["wait_ns"]["count"] == sum(awaited.values())
    assert waits["wait_ns"]["sum"] == sum(row["ns"] for row in waits["awaited"]) <= waits["interval_ns"]
    assert most / 4 <= awaited.get(reason, 0) <= most, waits


def test_a_delayed_acknowledgement_is_awaited(port, mechanism):
    own, zerocopy = observe(mechanism, PROGRAMS / "peer", "--port", port, "--sends", SENDS, "--by", "send", "--size", 13,
                            "--inflight", 1)
    assert_waits(zerocopy["waits"], own["sends"], "delayed_ack", SENDS / 2)
    assert zerocopy["waits"]["in_flight"] == [{"from": 0, "sends": SENDS}]
    assert zerocopy["waits"]["wait_ns"]["p99"] >= 38e6


def test_a_round_trip_is_awaited(mechanism):
    own, zerocopy = observe(mechanism, "unshare", "-n", "sh", "-c", DELAYED, "sh", CASES, PROGRAMS / "peer", "--sends",
                            SENDS, "--by", "send", "--size", 20_000, "--inflight", 1)
    assert_waits(zerocopy["waits"], own["sends"], "round_trip", SENDS - 1)
    assert 19e6 <= zerocopy["waits"]["wait_ns"]["p50"] <= 38e6


def test_several_in_flight_are_not_awaited(port, mechanism):
    own, zerocopy = observe(mechanism, PROGRAMS / "peer", "--port", port, "--sends", 10 * SENDS, "--by", "send",
                            "--size", 13, "--inflight", 8)
    assert_waits(zerocopy["waits"], own["sends"], "none", 0)
    assert max(row["from"] for row in zerocopy["waits"]["in_flight"]) < 8
    # One acknowledgement may complete all eight; then every eighth send follows a wait. That is no finding.
    assert sum(row["sends"] for row in zerocopy["waits"]["awaited"]) <= own["sends"] / 5


@pytest.mark.parametrize("case", ["ping_pong", "paced"])
def test_other_waits_are_none(case, mechanism):
    own, zerocopy = observe(mechanism, sys.executable, CASES, case)
    assert_waits(zerocopy["waits"], own["sent"], "none", 0)
    assert sum(row["sends"] for row in zerocopy["waits"]["awaited"]) <= own["sent"] / 10


@needs_uring
def test_a_notification_of_io_uring_is_awaited(port, mechanism):
    own, zerocopy = observe(mechanism, PROGRAMS / "uring", "--port", port, "--sends", SENDS, "--size", 13, "--depth", 1)
    waits = zerocopy["io_uring"]["waits"]
    assert_waits(waits, own["sends"], "delayed_ack", SENDS / 2)
    assert waits["in_flight"] == [{"from": 0, "sends": SENDS}]
    assert zerocopy["waits"]["intervals"] == 0
