# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests that the sizes of sends are exactly the program's own."""

import collections
import json
import re

import pytest

from conftest import (ANALYZE, CALLS, SEND_MECHANISMS, MECHANISMS, Receiver, analyze, check, needs_bpf, only,
                      records)
from test_counts import may_lose
from test_observe import PYTHON
from test_peers import Nginx, need

pytestmark = [needs_bpf, pytest.mark.usefixtures("untouched")]

SENDS = min(5000, CALLS // 2)

# Prints what each of its calls returned, by syscall; "again" is the number of calls that failed with EAGAIN.
SENDER = """
import json, os, random, select, socket, sys

to, seed, sends, how = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
numbers = random.Random(seed)
s = socket.create_connection(("127.0.0.1", int(to)))
own = {"sendto": [], "sendmsg": [], "write": [], "again": 0}

def mixed():
    data = bytes(1 << 18)
    for _ in range(sends):
        size = numbers.choice((0, 1, numbers.randrange(2 ** numbers.randrange(1, 19))))
        call = numbers.choice(("sendto", "sendmsg", "write"))
        part = memoryview(data)[:size]
        own[call].append(s.send(part) if call == "sendto" else
                         s.sendmsg([part[:size // 2], part[size // 2:]]) if call == "sendmsg" else
                         os.write(s.fileno(), part))

def partial():
    s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 20000)
    s.setblocking(False)
    data = bytes(1 << 20)
    while len(own["sendto"]) < sends:
        try:
            own["sendto"].append(s.send(memoryview(data)[:numbers.randrange(1, len(data))]))
        except BlockingIOError:
            own["again"] += 1
            select.select([], [s], [])

mixed() if how == "mixed" else partial()
s.close()
print(json.dumps(own))
"""


def classes(sizes):
    """Returns the record's block for sends of these sizes."""
    rows = collections.defaultdict(list)
    for size in sizes:
        rows[size.bit_length()].append(size)
    return [[(1 << bits) >> 1, (1 << bits) - 1, len(found), sum(found)]
            for bits, found in sorted(rows.items())]


def sent(tmp_path, how, sends, mechanism):
    """Runs the sender. Returns its report, and the analyzer's record."""
    program = tmp_path / "sender.py"
    program.write_text(SENDER)
    with Receiver() as receiver:
        result = analyze("--json", "-", "--mechanism", mechanism, "--", PYTHON, program, receiver.port,
                         sends, sends, how)
    assert result.returncode == 0, result.stderr
    own, record = map(json.loads, result.stdout.splitlines())
    return own, check(record)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_sizes_of_a_mixed_sender(mechanism, tmp_path):
    own, record = sent(tmp_path, "mixed", SENDS, mechanism)
    again = own.pop("again")
    seen = {call["syscall"]: call["sizes"] for call in record["calls"]}
    if may_lose(record):
        assert sum(rows[2] for call in seen.values() for rows in call) <= SENDS
        return
    assert again == 0
    assert seen == {call: classes(sizes) for call, sizes in own.items()}


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_partial_send_has_the_size_that_was_accepted(mechanism, tmp_path):
    own, record = sent(tmp_path, "partial", min(SENDS, 300), mechanism)
    call = only(record["calls"])
    if may_lose(record):
        return
    assert own["again"] > 0
    assert call["errors"] == {"EAGAIN": own["again"]}
    assert call["sizes"] == classes(own["sendto"])


@pytest.mark.parametrize("mechanism", SEND_MECHANISMS)
def test_each_message_of_a_sendmmsg_has_its_size(mechanism):
    with Receiver() as receiver:
        result = analyze("--json", "-", "--mechanism", mechanism, "--", *receiver.sender(
            "--plain", "--by", "sendmmsg", "--batch", 8, "--size", 3000, "--sends", 400))
    own, record = map(json.loads, result.stdout.splitlines())
    if may_lose(check(record)):
        return
    assert own["failed"] == 0
    assert only(record["calls"])["sizes"] == classes([3000] * 400)


@pytest.mark.parametrize("mechanism", SEND_MECHANISMS)
def test_sizes_of_loads(mechanism):
    messages = min(SENDS, 500)
    for record in records("--variant", "every", "--size", "4K", "--messages", messages,
                          "--warmup", 0, "--mechanism", mechanism):
        call, variant = only(record["calls"]), record["load"]["variant"]
        if may_lose(record):
            assert call["bytes"] <= record["app"]["bytes"]
            continue
        assert call["bytes"] == record["app"]["bytes"] == messages * 4096
        if variant in ("twocopy", "onecopy", "zerocopy", "write", "writev"):
            assert call["sizes"] == classes([4096] * messages), variant


@pytest.mark.parametrize("mechanism", SEND_MECHANISMS)
@pytest.mark.parametrize("sendfile", [False, True], ids=["writev", "sendfile"])
def test_sizes_of_nginx(sendfile, mechanism, tmp_path):
    """nginx logs the bytes of each response, which is one writev, or a writev of the head and sendfiles."""
    need("nginx")
    server = Nginx(tmp_path, sendfile, [ANALYZE, "--json", "-", "--mechanism", mechanism, "--"])
    bodies = server.serve(min(100, SENDS), 7)
    record = check(json.loads(server.end()))
    logged = server.logged()
    assert len(logged) == len(bodies)
    if may_lose(record):
        return
    seen = {call["syscall"]: call for call in record["calls"]}
    assert seen["writev"]["sizes"] == classes(
        [whole - body for whole, body in zip(logged, bodies)] if sendfile else logged)
    if sendfile:
        assert seen["sendfile"]["bytes"] == sum(bodies)


def section(report):
    """Returns the rows of the report's section about sizes; [] if there is none."""
    found = re.search(r"^sizes: [^\n]*\n[^\n]*\n(.*?)^$", report, re.M | re.S)
    return found[1].splitlines() if found else []


def test_the_report_has_them_of_a_program_and_adds_up_the_rare(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("import socket, sys\n"
                       "s = socket.create_connection(('127.0.0.1', int(sys.argv[1])))\n"
                       "for size, count in (1, 1), (30, 1), (100, 600), (5000, 400):\n"
                       "    for _ in range(count):\n"
                       "        s.send(bytes(size))\n")
    with Receiver() as receiver:
        result = analyze("--details", "--", PYTHON, program.name, receiver.port, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert [re.split(" {2,}", line) for line in section(result.stderr)] == [
        ["sendto", "64-127", "600", "59.9 %", "2.91 %"],
        ["sendto", "4,096-8,191", "400", "39.9 %", "97.1 %"],
        ["others", "2", "0.2 %", "0.01 %"]]
    assert max(map(len, result.stderr.splitlines())) <= 80


def test_the_report_of_a_load_has_no_sizes_if_all_are_equal():
    result = analyze("--variant", "twocopy,onecopy", "--size", "4K", "--messages", 100)
    assert result.returncode == 0, result.stderr
    assert "variant" in result.stdout and not section(result.stdout)
