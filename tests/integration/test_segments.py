# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests the segments of zero-copy sends: each part as the program passed it, and plain sends on the same socket."""

import json

import pytest

from conftest import PROGRAMS, SEND_MECHANISMS, Receiver, analyze, check, needs_bpf, records, run

pytestmark = [needs_bpf, pytest.mark.usefixtures("untouched")]

MECHANISMS = pytest.mark.parametrize("mechanism", SEND_MECHANISMS)
SENDS = 20
READ = 32  # the analyzer reads this many segments of a send
NOTHING = {"sends": 0, "count": 0, "unread": 0, "smallest": None, "small": 0, "small_bytes": 0, "headed": 0,
           "header_bytes": 0}
needs_uring = pytest.mark.skipif(run(PROGRAMS / "uring", "--probe").returncode != 0, reason="no SEND_ZC here")
SENDER = """
import socket, struct, threading
SO_ZEROCOPY, MSG_ZEROCOPY = 60, 0x4000000
listener = socket.create_server(("127.0.0.1", 0))
sender = socket.create_connection(listener.getsockname())
sender.setsockopt(socket.SOL_SOCKET, SO_ZEROCOPY, 1)
receiver, _ = listener.accept()

def receive():
    while receiver.recv(1 << 20):
        pass

def zerocopy(*parts):
    sender.sendmsg([bytes(part) for part in parts], (), MSG_ZEROCOPY)

"""


def observe(mechanism, *command):
    done = analyze("--json", "-", "--mechanism", mechanism, "--", *command)
    assert done.returncode == 0, done.stderr
    return check(json.loads(done.stdout.splitlines()[-1]))


def of_script(mechanism, script):
    return observe(mechanism, "/usr/bin/python3", "-c", SENDER + script)["zerocopy"]


@MECHANISMS
@pytest.mark.parametrize("parts, expected", [
    ((200, 20_000), {"count": 2, "smallest": 200, "small": 1, "small_bytes": 200, "headed": 1, "header_bytes": 200}),
    ((20_000,), {"count": 1, "smallest": 20_000}),
    ((300,), {"count": 1, "smallest": 300, "small": 1, "small_bytes": 300}),
    ((4096, 4095), {"count": 2, "smallest": 4095, "small": 1, "small_bytes": 4095}),
    ((10, 0, 20, 5000, 30, 6000), {"count": 5, "smallest": 10, "small": 3, "small_bytes": 60, "headed": 1,
                                   "header_bytes": 30}),
    ((100,) * READ, {"count": READ, "smallest": 100, "small": READ, "small_bytes": 100 * READ}),
    ((100,) * (READ + 5), {"count": READ, "unread": 5, "smallest": 100, "small": READ, "small_bytes": 100 * READ})])
def test_the_parts_of_a_message(parts, expected, mechanism):
    zerocopy = of_script(mechanism, "threading.Thread(target=receive, daemon=True).start()\n"
                                    f"for _ in range({SENDS}): zerocopy(*{parts})\n")
    expected = {**NOTHING, "sends": 1, **expected}
    assert zerocopy["segments"] == {key: value if key == "smallest" else SENDS * value
                                    for key, value in expected.items()}


@MECHANISMS
@pytest.mark.parametrize("by", ["sendmmsg", "sendmsg"])
def test_each_message_of_a_call(by, mechanism):
    with Receiver() as receiver:
        record = observe(mechanism, *receiver.sender("--sends", SENDS, "--by", by, "--batch", 5, "--size", 10_001,
                                                     "--parts", 2))
    assert record["zerocopy"]["segments"] == {**NOTHING, "sends": SENDS, "count": 2 * SENDS, "smallest": 5000}


@needs_uring
@MECHANISMS
@pytest.mark.parametrize("options, expected", [
    (("--by", "sendmsg-zc", "--header", 200), {"count": 2 * SENDS, "smallest": 200, "small": SENDS,
                                               "small_bytes": 200 * SENDS, "headed": SENDS,
                                               "header_bytes": 200 * SENDS}),
    (("--by", "sendmsg-zc"), {"count": SENDS, "smallest": 16384}),
    (("--by", "send-zc"), {"count": SENDS, "smallest": 16384})])
def test_parts_by_io_uring(options, expected, mechanism):
    with Receiver() as receiver:
        record = observe(mechanism, PROGRAMS / "uring", "--address", receiver.address, "--port", receiver.port,
                         "--sends", SENDS, *options)
    zerocopy = record["zerocopy"]
    assert zerocopy["io_uring"]["segments"] == {**NOTHING, "sends": SENDS, **expected}
    assert zerocopy["segments"] == NOTHING


@needs_uring
@MECHANISMS
def test_a_registered_buffer_is_one_part(mechanism):
    """The kernel has a segment for each page of a registered buffer, which must count as one part."""
    (record,) = records("--variant", "uring_zc", "--registered", "--fields", 1, "--size", 20_001, "--messages", SENDS,
                        "--warmup", 0, "--mechanism", mechanism)
    found = record["zerocopy"]["io_uring"]["segments"]
    assert found["sends"] >= SENDS and found["headed"] == found["unread"] == 0
    if found["sends"] == SENDS:  # the socket took each send whole
        assert (found["count"], found["smallest"]) == (SENDS, 20_001)


@MECHANISMS
@pytest.mark.parametrize("first, last, beside", [("zerocopy(50_000)", "plain()", 3), ("plain()", "zerocopy(50_000)", 0)],
                         ids=["after", "before"])
def test_plain_sends_beside_zero_copy_sends(first, last, beside, mechanism):
    """The receiver has little room, so that zero-copy sends stay in flight."""
    zerocopy = of_script(mechanism, f"""
listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
sender = socket.create_connection(listener.getsockname())
sender.setsockopt(socket.SOL_SOCKET, SO_ZEROCOPY, 1)
sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 20)
other = socket.create_connection(listener.getsockname())

def plain():
    for _ in range(3):
        sender.send(b"plain")
        other.send(b"elsewhere")

{first}
{last}
""")
    assert zerocopy["plain_beside"] == (None if zerocopy["completions"] is None else beside)
