# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests many zero-copy sockets: thousands at once, a million one after the other in the same memory, tens of thousands
of sends in flight, a socket shared by two processes. The counts equal the programs' own, or the record has the number
that it lost."""

import contextlib
import json
import os
import signal
import subprocess
import sys

import pytest

from conftest import (ANALYZE, CALLS, MECHANISMS, NOTHING_LOST, NOTIFICATIONS, PATIENCE_S, PROGRAMS, Child, Receiver,
                      adds_up, analyze, check, hook, line_of, losses, lossy, needs_bpf, only, sockets_kept)
from test_completion import reported_as
from test_scale import many_files, step, stepped  # noqa: F401 (a fixture)
from test_window import groups_add_up

pytestmark = [needs_bpf, pytest.mark.usefixtures("untouched")]

PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
# The numbers of processes with open sockets, and of sends per socket.
PROCESSES, SENDS_EACH = 8, 5


@contextlib.contextmanager
def observing(*options):
    """Observes while the block runs; appends the record to the list afterwards."""
    record = []
    with Child([ANALYZE, "--json", "-", "--interval", "0.1", *map(str, options)],
               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as analyzer:
        line_of(analyzer.stderr)  # the first line: the window is open
        yield record
        analyzer.send_signal(signal.SIGINT)
        out, err = analyzer.communicate(timeout=PATIENCE_S)
        assert analyzer.returncode in (0, -signal.SIGINT), err
    record.append(check(json.loads(out)))


def counted(record, sends, copied, before=0):
    """Asserts that every send, completion and copy is counted, or counted as lost."""
    adds_up(record)
    groups_add_up(record)
    seen, lost = record["zerocopy"], record["lost"]
    assert sum(c["sends"] for c in record["calls"]) == seen["requests"] == sends - lost["calls"]
    assert (seen["ignored"], seen["refused"]) == (0, [])
    if seen["completions"] is None or lossy(record):
        return
    assert seen["completions_before"] <= before
    assert seen["outstanding"] == lost["completions"]
    assert seen["completions"] == sends - lost["completions"] - lost["calls"]
    # A completion whose flag was missed is counted with its neighbour's flag, and without a cause.
    unknown = sum(losses(record).values())
    assert copied - unknown <= seen["flagged"] <= copied + lost["flags"]
    if not unknown:
        assert sum(c["count"] for c in seen["causes"]) == seen["copied"] == copied
        assert seen["unexplained"] in (None, sends - copied)


def nothing_lost(record, few=64):
    """Asserts that nothing was lost; a tracepoint may lose a few flags where two CPUs complete sends of one
    socket."""
    assert {**losses(record), "flags": 0} == NOTHING_LOST
    assert record["lost"]["flags"] <= (few if hook(record, "completion")["mechanism"] == "tracepoint" else 0)


# The largest number exceeds the number of sockets whose state is kept on any kernel.
@pytest.mark.parametrize("sockets", [min(2000, CALLS), *(pytest.param(n, marks=pytest.mark.slow)
                                                         for n in (10_000, 66_000))])
def test_many_sockets_open_at_once(sockets, many_files):  # noqa: F811
    """No socket is closed while the window is open, so no state is freed. Each process has its own receiver: a
    single one would run out of files, or of ports."""
    each = sockets // PROCESSES
    sends = each * SENDS_EACH
    with contextlib.ExitStack() as running:
        started = [running.enter_context(stepped(running.enter_context(Receiver()).sender(
            "--steps", "--connections", each, "--size", 100)))[0] for _ in range(PROCESSES)]
        with observing("--pid", ",".join(str(p.pid) for p in started)) as records:
            for program in started:
                step(program, f"send {sends}")
            own = [step(program, "drain") for program in started]
    record, total = only(records), PROCESSES * sends
    assert [(o["sends"], o["failed"], o["completions"]) for o in own] == \
        [(sends, 0, sends)] * PROCESSES
    counted(record, total, sum(o["copied"] for o in own))
    if PROCESSES * each <= sockets_kept():
        nothing_lost(record)
    if not record["lost"]["completions"]:
        reported_as(record, sum(o["notifications"] for o in own), total, total)


@pytest.fixture(scope="module", params=[(mechanism, *n) for mechanism in MECHANISMS
                                        for n in ((1, min(20_000, CALLS)), (4, CALLS))],
                ids=lambda of: "-".join(map(str, of)))
def churn(request):
    """Opens and closes sockets. Returns the program's own counts, and the record."""
    mechanism, threads, sockets = request.param
    result = analyze("--json", "-", "--mechanism", mechanism, "--", PROGRAMS / "churn", "--sockets", sockets,
                     "--threads", threads, timeout=600)
    assert result.returncode == 0, result.stderr
    own, record = map(json.loads, result.stdout.splitlines())
    assert own["sends"] == sockets // threads * threads * 3
    return own, check(record)


def test_sockets_that_come_and_go(churn):
    """The kernel reuses the sockets' memory at once, mostly while completions are in progress."""
    own, record = churn
    counted(record, own["sends"], own["sends"] - own["unsent"])
    nothing_lost(record)


def test_reads_of_their_error_queues_are_counted(churn):
    own, record = churn
    reported_as(record, own["notifications"], own["completions"], own["copied"])


# Opens both ends of many connections. The receiver resets them; then the error queues are read.
RESET = NOTIFICATIONS + """
import json, sys

with socket.create_server(("127.0.0.1", 0)) as listener:
    pairs = []
    for _ in range(int(sys.argv[1])):
        s = socket.create_connection(listener.getsockname())
        s.setsockopt(socket.SOL_SOCKET, 60, 1)
        s.send(bytes(1000), 0x4000000)
        pairs.append((s, listener.accept()[0]))
for _, other in pairs:
    other.close()
completions = [(last - first + 1, code) for s, _ in pairs for first, last, code in notifications(s)]
print(json.dumps({"read": len(completions), "completions": sum(n for n, _ in completions),
                  "copied": sum(n * code for n, code in completions)}))
"""


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_queues_that_are_read_after_a_reset(mechanism):
    """After the reset, the kernel has closed the connection, but the program still has the socket."""
    result = analyze("--json", "-", "--mechanism", mechanism, "--", PYTHON, "-c", RESET, 200)
    assert result.returncode == 0, result.stderr
    own, record = map(json.loads, result.stdout.splitlines())
    assert own["completions"] == 200
    counted(check(record), 200, own["copied"])
    reported_as(record, own["read"], own["completions"], own["copied"])


@contextlib.contextmanager
def held(receiver):
    """Stops the receiver, so that data beyond its receive windows stay in flight."""
    os.kill(receiver.process.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(receiver.process.pid, signal.SIGCONT)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("sockets, each, size", [(64, 1200, 1000), (8, 10_000, 100)])
def test_more_sends_in_flight_than_a_map_has_room_for(sockets, each, size, mechanism):
    with Receiver() as receiver:
        command = receiver.sender("--steps", "--now", "--by", "send", "--size", size,
                                  "--connections", sockets, "--inflight", sockets * each,
                                  "--send-buffer", 256 << 20)
        with stepped(command) as (program, _):
            with observing("--pid", program.pid, "--mechanism", mechanism) as records:
                with held(receiver):
                    step(program, f"send {sockets * each}")
                    before = step(program, "read")
                own = step(program, "drain")
    record = only(records)
    assert (own["sends"], own["failed"]) == (sockets * each, 0)
    assert own["sends"] - before["completions"] > 65536
    counted(record, own["sends"], own["copied"])
    # With more than 8192 sends in flight on a socket, some may be lost. A kernel may call no BPF program while process 1
    # runs (see docs/zerocopy.md). The record then has up to a tenth of a burst's own flags as lost.
    if each <= 8192:
        nothing_lost(record, few=own["sends"] / 10)


# Two processes share a socket, and send by turns. The send ids of a turn belong to one process.
SHARED = NOTIFICATIONS + """
import json, os, select, sys

SO_SNDBUFFORCE, SO_ZEROCOPY, MSG_ZEROCOPY = 32, 60, 0x4000000
port, sends, turn = map(int, sys.argv[1:])

def send():
    for _ in range(turn):
        s.send(buffer, MSG_ZEROCOPY)

def child():
    while os.read(mine[0], 1):
        send()
        os.write(theirs[1], b"t")

buffer = bytes(1000)
s = socket.create_connection(("127.0.0.1", port))
s.setsockopt(socket.SOL_SOCKET, SO_SNDBUFFORCE, 256 << 20)
s.setsockopt(socket.SOL_SOCKET, SO_ZEROCOPY, 1)
mine, theirs = os.pipe(), os.pipe()
pid = os.fork()
if not pid:
    os.close(mine[1])
    child()
    os._exit(0)
print(json.dumps([os.getpid(), pid]), flush=True)
sys.stdin.readline()
for _ in range(sends // turn):
    send()
    os.write(mine[1], b"t")
    os.read(theirs[0], 1)
print(json.dumps("sent"), flush=True)
sys.stdin.readline()
completed, copied = [0, 0], [0, 0]
waiting = select.poll()
waiting.register(s, 0) # POLLERR comes unasked
while sum(completed) < 2 * sends:
    for first, last, code in notifications(s):
        for sent in range(first, last + 1):
            completed[sent // turn % 2] += 1
            copied[sent // turn % 2] += code
    if sum(completed) < 2 * sends:
        waiting.poll()
print(json.dumps([completed, copied]), flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("in_flight", [False, True], ids=["", "held"])
@pytest.mark.parametrize("whose", [0, 1], ids=["parent", "child"])
@pytest.mark.parametrize("turn", [100, 1])
def test_a_socket_that_two_processes_share(turn, whose, in_flight, mechanism):
    """Observes one process: the sends of the other are not counted, even in the same ubufs. Those before the observed
    process's first send count as sends before the window."""
    sends = min(2000, CALLS)
    with Receiver() as receiver:
        command = [PYTHON, "-c", SHARED, str(receiver.port), str(sends), str(turn)]
        with stepped(command) as (program, pids):
            with observing("--pid", pids[whose], "--mechanism", mechanism) as records:
                with held(receiver) if in_flight else contextlib.nullcontext():
                    assert step(program, "go") == "sent"
                completed, copied = step(program, "drain")
    record = only(records)
    assert completed == [sends, sends]
    counted(record, sends, copied[whose], before=whose * turn)
    if turn > 1:
        nothing_lost(record)
