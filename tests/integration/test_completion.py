# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests the cost of zero-copy after a send has returned: the record must equal the programs' own counts."""

import json
import os
import sys

import pytest

from conftest import CALLS, MECHANISMS, analyze, check, hook, needs_bpf, only, reason, records

pytestmark = [needs_bpf, pytest.mark.usefixtures("untouched")]

PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable

# A sender independent of the load generator. It prints its notifications and its sends.
PROGRAM = """
import array, errno, fcntl, json, os, resource, select, socket, struct, sys, threading

ZEROCOPY, PACING = 60, 47
MSG_ZEROCOPY, MSG_ERRQUEUE, MSG_DONTWAIT = 0x4000000, 0x2000, 0x40
SIOCOUTQ = 0x5411

def sink(listener):
    connection, _ = listener.accept()
    while connection.recv(1 << 20):
        pass

listener = socket.create_server(("127.0.0.1", 0))
reader = threading.Thread(target=sink, args=(listener,))
reader.start()
s = socket.create_connection(listener.getsockname())
s.setsockopt(socket.SOL_SOCKET, ZEROCOPY, 1)
seen = {"sends": 0, "records": 0, "completions": 0, "copied": 0, "reads": 0, "empty": 0}
payload = b"x" * int(sys.argv[2])

def send():
    s.sendmsg([payload], [], MSG_ZEROCOPY)
    seen["sends"] += 1

def settle():
    # All is acknowledged: its completions are there, or about to come.
    left = array.array("i", [1])
    while left[0]:
        fcntl.ioctl(s, SIOCOUTQ, left)

def read_all():
    while True:
        try:
            _, ancillary, _, _ = s.recvmsg(0, 512, MSG_ERRQUEUE | MSG_DONTWAIT)
        except BlockingIOError:
            seen["empty"] += 1
            return
        seen["reads"] += 1
        for _, _, data in ancillary:
            _, origin, _, code, _, low, high = struct.unpack("IBBBBII", data[:16])
            if origin == 5:
                seen["records"] += 1
                seen["completions"] += high - low + 1
                seen["copied"] += (high - low + 1) * (code & 1)

def drain():
    read_all()
    waiting = select.poll()
    waiting.register(s, 0) # POLLERR comes unasked
    while seen["completions"] < seen["sends"]:
        waiting.poll()
        read_all()

def hold():
    # From its tenth segment on a connection is paced: what follows waits.
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for _ in range(12):
        s.send(b"w")
        settle()
    s.setsockopt(socket.SOL_SOCKET, PACING, 100000)
    s.send(b"w" * 100000)

def release():
    s.setsockopt(socket.SOL_SOCKET, PACING, 1 << 30)
    settle()

def never(count):
    for _ in range(count):
        send()
    settle()
    s.shutdown(socket.SHUT_WR)
    reader.join()

def batches(count):
    for i in range(count):
        send()
        if i % 20 == 19:
            settle()
            drain()

def threads(count):
    each = [threading.Thread(target=lambda: [send() for _ in range(count // 4)]) for _ in range(4)]
    for t in each:
        t.start()
    for t in each:
        t.join()
    settle()
    drain()

def deep(count):
    hold()
    for _ in range(count):
        send()
    release()
    drain()

def refused(count):
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
    page = resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_MEMLOCK, (100 * page, 100 * page))
    hold()
    try:
        for _ in range(count):
            send()
    except OSError as error:
        seen["refused"] = errno.errorcode[error.errno]
    release()
    drain()

{"never": never, "batches": batches, "threads": threads, "deep": deep,
 "refused": refused}[sys.argv[1]](int(sys.argv[3]))
s.close()
reader.join()
print(json.dumps(seen))
"""


def observed(*command, mechanism=None):
    """Observes a program. Returns the record, and the program's own report."""
    result = analyze("--json", "-", *(["--mechanism", mechanism] if mechanism else []), "--", *command)
    assert result.returncode == 0, result.stderr
    theirs, ours = result.stdout.splitlines()
    return check(json.loads(ours)), json.loads(theirs)


def attached(record, *names):
    """Returns whether these hooks are attached, and can miss nothing."""
    return all(hook(record, name)["status"] == "attached" and not reason(record, name)
               for name in names)


def reported_as(record, read, reported, copied):
    """Asserts that the record has the notifications that the application read from the error queue."""
    seen = record["zerocopy"]["notifications"]
    if hook(record, "error queue")["status"] != "attached":
        assert seen["read"] is seen["reported"] is seen["unread"] is None
        return
    if not attached(record, "error queue"):
        assert seen["reported"] <= reported and seen["read"] <= read
        return
    assert (seen["read"], seen["reported"], seen["reported_copied"]) == (read, reported, copied)
    assert seen["sends_per_notification"] == (pytest.approx(reported / read) if reported else None)
    if attached(record, "completion"):
        assert seen["unread"] == record["zerocopy"]["completions"] - reported


def timed(record):
    """Asserts that every completion was timed, or is counted as untimed."""
    seen = record["zerocopy"]
    latency = seen["completion_ns"]
    if "attached" != hook(record, "completion")["status"] or \
            "attached" != hook(record, "send id")["status"]:
        assert latency is seen["completions_untimed"] is seen["pinned"] is None
        return
    assert latency["count"] == seen["completions"] - seen["completions_untimed"]
    assert sum(count for _, _, count in latency["buckets"]) == latency["count"]
    assert latency["span"].endswith("..completion")
    if attached(record, "send", "send id", "completion"):
        assert seen["completions_untimed"] == 0
        assert latency["min"] <= latency["p50"] <= latency["max"]


def drained(record, size, most):
    """Asserts that nothing is pinned at the end, and that never more than `most` bytes were."""
    pinned = record["zerocopy"]["pinned"]
    if pinned is None:
        assert any(u["key"] == "zerocopy.pinned" for u in record["unmeasured"]) or \
            hook(record, "completion")["status"] != "attached"
        return
    if attached(record, "send", "send id", "completion"):
        assert pinned["bytes_now"] == pinned["pages_now"] == 0
        assert size <= pinned["bytes_max"] <= most
        pages = size // os.sysconf("SC_PAGESIZE") + 2
        assert pinned["pages_max"] * size == pinned["bytes_max"] * pages


def coalesced(record):
    """Asserts that there are at most as many runs as completions, and at most as many notifications as runs."""
    seen = record["zerocopy"]["notifications"]
    if attached(record, "completion") and not record["lost"]["completions"]:
        assert 0 < seen["ranges"] <= record["zerocopy"]["completions"]
        if attached(record, "error queue") and not seen["unread"]:
            assert seen["read"] <= seen["ranges"]


def reading(record, reads, empty=None):
    cost = record["zerocopy"]["error_queue"]
    if hook(record, "error queue read")["status"] != "attached":
        assert cost is None
        return
    if not attached(record, "error queue read"):
        assert cost["reads"] <= reads
        return
    assert cost["reads"] == cost["read_ns"]["count"] == reads
    assert cost["empty_reads"] == cost["empty_read_ns"]["count"]
    assert empty is None or cost["empty_reads"] == empty
    total = cost["read_ns"]["sum"] + cost["empty_read_ns"]["sum"]
    assert cost["ns_per_send"] == pytest.approx(total / cost["sends"])
    assert cost["reads_per_send"] == pytest.approx(
        (cost["reads"] + cost["empty_reads"]) / cost["sends"])


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("threads", [1, 4])
def test_a_load_that_counts_itself(threads, mechanism):
    size = 4096
    count = min(CALLS, 40000) // threads
    record = only(records("--variant", "zerocopy", "--size", size, "--threads", threads,
                          "--messages", count, "--mechanism", mechanism, timeout=600))
    app = record["app"]["zerocopy"]
    reported_as(record, app["notifications"], app["completions"], app["copied"])
    timed(record)
    drained(record, size, record["load"]["inflight"] * size * threads)
    coalesced(record)
    reading(record, app["notifications"])


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_program_that_never_reads(program, mechanism):
    record, app = observed(PYTHON, program, "never", 2000, 100, mechanism=mechanism)
    assert app["sends"] == record["zerocopy"]["requests"] == 100
    reported_as(record, 0, 0, 0)
    timed(record)
    drained(record, 2000, 100 * 2000)
    if attached(record, "completion", "error queue"):
        seen = record["zerocopy"]
        assert seen["completions"] == seen["notifications"]["unread"] == 100
        assert seen["errqueue_copied"] == 0


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_program_that_reads_in_batches(program, mechanism):
    record, app = observed(PYTHON, program, "batches", 2000, 200, mechanism=mechanism)
    assert app["completions"] == 200 and app["records"] < 200
    reported_as(record, app["records"], app["completions"], app["copied"])
    timed(record)
    drained(record, 2000, 20 * 2000)
    coalesced(record)
    reading(record, app["reads"], app["empty"])
    if attached(record, "error queue"):
        assert record["zerocopy"]["errqueue_copied"] == app["copied"]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_threads_that_share_a_socket(program, mechanism):
    """An id belongs to one send, even if other threads wait for the socket's lock."""
    record, app = observed(PYTHON, program, "threads", 3000, 240, mechanism=mechanism)
    reported_as(record, app["records"], 240, app["copied"])
    timed(record)
    drained(record, 3000, 240 * 3000)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_many_in_flight(program, mechanism):
    record, app = observed(PYTHON, program, "deep", 100, 600, mechanism=mechanism)
    reported_as(record, app["records"], 600, app["copied"])
    timed(record)
    drained(record, 100, 600 * 100)


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user: run as root")
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_pages_are_those_charged_to_locked_memory(program, mechanism):
    """Sends until locked memory is full. The send beyond the limit is refused, and its pages do not count."""
    page = os.sysconf("SC_PAGESIZE")
    record, app = observed(PYTHON, program, "refused", page, 200, mechanism=mechanism)
    assert app["refused"] == "ENOBUFS" and app["sends"] < 200
    reported_as(record, app["records"], app["sends"], app["copied"])
    if attached(record, "send", "send id", "completion"):
        pinned = record["zerocopy"]["pinned"]
        # A message is charged one page and two more: 33 messages take 99 of the 100 pages.
        assert pinned["pages_max"] == 99
        assert pinned["bytes_max"] == 33 * page
        assert pinned["pages_now"] == 0


def test_the_report_has_the_costs(program):
    result = analyze("--details", "--", PYTHON, program, "batches", 2000, 200)
    words = {"completion": "  completion     p50 ", "error queue": "  notifications  the application read",
             "error queue read": "  error queue    "}
    record, _ = observed(PYTHON, program, "batches", 2000, 200)
    for name, line in words.items():
        if attached(record, "send", "send id", "completion", name):
            assert line in result.stderr
