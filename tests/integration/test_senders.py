# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests programs whose sends are easily miscounted: huge ones, a thread that execs, 32 bits, kTLS."""

import json
import os
import subprocess
import sys

import pytest

from conftest import (ANALYZE, MECHANISMS, NOTHING_LOST, NOTIFICATIONS, PATIENCE_S, PROGRAMS, SEND_MECHANISMS, Child,
                      Receiver, analyze, check, hook, line_of, losses, needs_bpf, only, printed, run)

pytestmark = [needs_bpf, pytest.mark.usefixtures("untouched")]

PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable
MAX_RW_COUNT = 0x7fffffff & -os.sysconf("SC_PAGE_SIZE")
HUGE = 3 << 30
# The memory is never touched, so no pages are allocated for it.
HUGE_SEND = f"""
import mmap, os, socket, sys
MAP_NORESERVE = 0x4000
memory = mmap.mmap(-1, {HUGE}, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | MAP_NORESERVE)
with socket.create_connection(("127.0.0.1", int(sys.argv[2]))) as s:
    if sys.argv[1] == "write":
        os.write(s.fileno(), memory)
    else:
        s.sendall(memory)
"""


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("how, sends, accepted", [("write", 1, MAX_RW_COUNT), ("sendto", 2, HUGE)])
def test_more_than_a_syscall_accepts(how, sends, accepted, mechanism):
    with Receiver() as receiver:
        result = analyze("--json", "-", "--mechanism", mechanism, "--", PYTHON, "-c", HUGE_SEND, how,
                         receiver.port)
    record = check(json.loads(result.stdout))
    row = only(record["calls"])
    assert receiver.received["bytes"] == accepted
    assert (row["syscall"], row["sends"], row["bytes"]) == (how, sends, accepted)
    assert losses(record) == NOTHING_LOST


# The kernel gives the child the chosen id (clone3() of Linux 5.5), whatever ids other programs are given meanwhile.
SEND_AS = """
import ctypes, os, signal, socket, struct, sys
pid, port, sends = map(int, sys.argv[1:])
chosen = ctypes.c_int(pid)
arguments = struct.pack("11Q", 0, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, ctypes.addressof(chosen), 1, 0)
libc = ctypes.PyDLL(None, use_errno=True)
child = libc.syscall(435, arguments, len(arguments))
if child < 0:
    sys.exit(f"clone3: {os.strerror(ctypes.get_errno())}")
if not child:
    with socket.create_connection(("127.0.0.1", port)) as s:
        for _ in range(sends):
            s.send(b"stranger")
    os._exit(os.getpid() != pid)
sys.exit(os.waitpid(child, 0)[1] != 0)
"""


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_id_of_a_thread_that_execs_goes_to_an_unobserved_process(mechanism):
    with Receiver() as receiver:
        analyzer = Child([str(ANALYZE), "--json", "-", "--mechanism", mechanism, "--",
                          str(PROGRAMS / "execs"), "--port", str(receiver.port)],
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         text=True)
        with analyzer:
            ids = json.loads(line_of(analyzer.stdout))
            assert ids["was"] != ids["is"]
            stranger = run(PYTHON, "-c", SEND_AS, ids["was"], receiver.port, 1000)
            stdout, stderr = analyzer.communicate("go on\n", timeout=PATIENCE_S)
    assert analyzer.returncode == 0, stderr
    if "not permitted" in stranger.stderr or "not implemented" in stranger.stderr:
        pytest.skip(f"no process of a chosen id can be made: {stranger.stderr}")
    assert stranger.returncode == 0, stranger.stderr
    record = check(json.loads(stdout))
    assert only(record["calls"])["sends"] == 11
    assert losses(record) == NOTHING_LOST


@pytest.mark.parametrize("mechanism", SEND_MECHANISMS)
@pytest.mark.parametrize("options", [[], ["--zerocopy", "--refused", 5]], ids=["plain", "zerocopy"])
def test_a_32_bit_program(options, mechanism):
    with Receiver() as receiver:
        result = analyze("--json", "-", "--mechanism", mechanism, "--", PROGRAMS / "compat", "--port",
                         receiver.port, "--sends", 30, *options)
    if result.returncode == 77:
        pytest.skip(result.stdout.splitlines()[0])
    own, record = map(json.loads, result.stdout.splitlines())
    row = only(check(record)["calls"])
    assert (own["sends"], own["refused"]) == (30, 5 if options else 0)
    assert (row["syscall"], row["zerocopy"]) == ("other", bool(options))
    assert (row["sends"], row["bytes"]) == (own["sends"] + own["refused"], own["bytes"])
    assert row["errors"] == ({"ENOBUFS": 5} if options else {})
    if options:
        assert record["zerocopy"]["requests"] == 35
    assert losses(record) == NOTHING_LOST


@pytest.mark.parametrize("mechanism", SEND_MECHANISMS)
@pytest.mark.parametrize("by,size", [("tls", 65536), ("sockmap", 4096)])
def test_ktls_and_sockmaps_bypass_tcp_sendmsg(by, size, mechanism):
    """With kTLS, TCP gets records of at most 16 KiB, which is less than a syscall sends. Sockmaps are used by service
    meshes, for the sockets of their pods."""
    if by == "tls" and run("modprobe", "tls").returncode and not os.path.isdir("/sys/module/tls"):
        pytest.skip("this kernel has no kTLS")
    with Receiver() as receiver:
        result = analyze("--json", "-", "--mechanism", mechanism, "--", PROGRAMS / "peer", "--port",
                         receiver.port, f"--{by}", "--plain", "--size", size, "--sends", 20)
    own, record = map(json.loads, result.stdout.splitlines()[-2:])
    if hook(check(record), "kTLS send")["status"] == "unavailable":
        pytest.skip("this kernel has no hook of sends that bypass tcp_sendmsg")
    row = only(record["calls"])
    assert (row["sends"], row["bytes"]) == (own["sends"], own["bytes"]) == (20, 20 * size)
    assert losses(record) == NOTHING_LOST


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_sends_that_a_mechanism_does_not_see(mechanism, tmp_path):
    """If a mechanism does not see a syscall, no sentence denies that there were sends, and a warning precedes the
    numbers."""
    path = tmp_path / "record"
    with Receiver() as receiver:
        result = analyze("--json", path, "--mechanism", mechanism, "--", PROGRAMS / "peer", "--port",
                         receiver.port, "--by", "sendmmsg", "--sends", 40)
    record = check(json.loads(path.read_text()))
    unseen = [w for w in record["warnings"] if w["code"] == "sends_unseen"]
    if mechanism in SEND_MECHANISMS:
        assert not unseen and sum(call["sends"] for call in record["calls"]) == 40
        return
    assert only(unseen) and not record["calls"]
    assert result.stderr.endswith(printed(record))


# 24 threads send on one socket at once. Most wait for its lock, and have no send id yet.
SHARED = NOTIFICATIONS + """
import errno, select, sys, threading
SO_ZEROCOPY, MSG_ZEROCOPY = 60, 0x4000000
together = threading.Barrier(24)

def drain(s):
    reported.extend(last - first + 1 for first, last, _ in notifications(s))

def transmit(s):
    together.wait()
    for _ in range(20):
        while True:
            try:
                s.send(memory, MSG_ZEROCOPY)
                break
            except OSError as e:
                if e.errno != errno.ENOBUFS:
                    raise
                refused.append(e)
            drain(s)

memory, refused, reported = bytes(1 << 17), [], []
with socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as s:
    s.setsockopt(socket.SOL_SOCKET, SO_ZEROCOPY, 1)
    threads = [threading.Thread(target=transmit, args=(s,)) for _ in range(24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    poll = select.poll()
    poll.register(s, 0)
    while sum(reported) < 24 * 20:
        poll.poll()
        drain(s)
print(len(refused))
"""


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_many_threads_send_on_one_socket(mechanism):
    with Receiver() as receiver:
        result = analyze("--json", "-", "--mechanism", mechanism, "--", PYTHON, "-c", SHARED, receiver.port)
    refused, record = map(json.loads, result.stdout.splitlines())
    zerocopy, lost = check(record)["zerocopy"], record["lost"]
    sends = sum(call["sends"] for call in record["calls"])
    assert sends + lost["calls"] == 480 + refused and zerocopy["ignored"] == 0
    if not lost["calls"]:
        assert sum(call["bytes"] for call in record["calls"]) == receiver.received["bytes"]
    if zerocopy["completions"] is not None:
        completed = zerocopy["completions"] + lost["completions"]
        assert 480 - lost["calls"] <= completed <= 480
