# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests which sends a window over a running program counts: those that begin in it, each followed to its completion."""

import json
import os
import pathlib
import random
import shutil
import signal
import subprocess

import pytest

from conftest import (CALLS, MECHANISMS, NOTHING_LOST, NOTIFICATIONS, PROGRAMS, Child, Receiver, adds_up, analyze,
                      check, completes, eventually, hook, line_of, losses, lossy, needs_bpf, only, reason)
from test_observe import PYTHON

pytestmark = needs_bpf

# In an emulator, a sender that never waits leaves the analyzer little of two CPUs.
IN_LAB = "SENDPATH_LAB" in os.environ
WINDOWS, THREADS = (2, 1) if IN_LAB else (5, 2)

# Sends by zero-copy over loopback to a thread of its own; prints its counts.
PROGRAM = NOTIFICATIONS + """
import errno, json, sys, threading

ZEROCOPY, FASTOPEN = 0x4000000, 0x20000000
completions = copied = sends = sent = 0

def read_notifications(s):
    global completions, copied
    for first, last, code in notifications(s):
        completions += last - first + 1
        copied += (last - first + 1) * code

def zerocopy_socket():
    s = socket.socket()
    s.setsockopt(socket.SOL_SOCKET, 60, 1)
    return s

def drain(listener, may_read):
    with listener.accept()[0] as connection:
        may_read.wait()
        try:
            while connection.recv(1 << 16):
                pass
        except ConnectionResetError:
            pass

listener = socket.create_server(("127.0.0.1", 0), backlog=64)
buffer = bytearray(8192)
mode, count = sys.argv[1], int(sys.argv[2])
if mode == "paused":
    print("ready", flush=True)
    sys.stdin.readline()
for _ in range(count):
    may_read = threading.Event()
    reader = threading.Thread(target=drain, args=(listener, may_read))
    reader.start()
    s = zerocopy_socket()
    if mode == "fastopen":
        sent += s.sendto(buffer[:400], FASTOPEN | ZEROCOPY, listener.getsockname())
        sends += 1
        may_read.set()
        while completions < sends:
            read_notifications(s)
    elif mode == "paused":
        s.connect(listener.getsockname())
        may_read.set()
        for _ in range(5):
            sent += s.send(buffer, ZEROCOPY)
            sends += 1
        while completions < sends:
            read_notifications(s)
    else:
        s.connect(listener.getsockname())
        if mode == "reset":
            s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        try:
            while True:
                sent += s.send(buffer, ZEROCOPY | socket.MSG_DONTWAIT)
                sends += 1
        except OSError as e:
            assert e.errno in (errno.EAGAIN, errno.ENOBUFS), e
    s.close()
    may_read.set()
    reader.join()
print(json.dumps({"sends": sends, "bytes": sent, "completions": completions, "copied": copied}), flush=True)
if mode == "paused":
    sys.stdin.readline()
"""


def command(program, mode, mechanism, *prefix, count=20):
    """Observes the program as a command. Returns its own counts, and the record."""
    record = str(program.parent / "record")
    result = subprocess.run([*prefix, analyze.program, "--json", record, "--mechanism", mechanism, "--",
                             PYTHON, str(program), mode, str(count)], text=True,
                            capture_output=True, check=False, timeout=300)
    assert result.returncode == 0, result.stderr
    with open(record, encoding="utf-8") as lines:
        return json.loads(result.stdout), check(json.loads(only(lines.readlines())))


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_window_over_a_running_program_adds_up(mechanism, untouched):
    """Sends that began before the window complete in it, and others begin while it closes."""
    earlier = 0
    with Child([PROGRAMS / "plain", "--size", "16384", "--threads", str(THREADS), "--seconds", "600",
                "--warmup", "0", "--buffers", "32"], stdout=subprocess.PIPE) as sender:
        for _ in range(WINDOWS):
            result = analyze("--pid", sender.pid, "--duration", "0.3", "--json", "-", "--mechanism",
                             mechanism)
            assert result.returncode == 0, result.stderr
            record = check(json.loads(result.stdout))
            adds_up(record)
            assert record["zerocopy"]["requests"] > 0
            earlier += record["zerocopy"].get("completions_before") or 0
        sender.terminate()
    assert earlier > 0 or not completes(mechanism)


def waits_for_memory(pid):
    """Returns whether the process waits in sk_stream_wait_memory, or in wait_woken, which it calls."""
    return pathlib.Path(f"/proc/{pid}/wchan").read_text() in ("sk_stream_wait_memory", "wait_woken")


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_send_that_is_blocked_is_not_lost(program, mechanism, untouched):
    """The window closes while the receiver keeps the sender waiting."""
    script = ("import socket, sys\n"
              "l = socket.create_server(('127.0.0.1', 0))\n"
              "s = socket.create_connection(l.getsockname())\n"
              "c = l.accept()[0]\n"
              "print('ready', flush=True)\n"
              "sys.stdin.readline()\n"
              "s.sendall(b'x' * (64 << 20))\n")
    with Child([PYTHON, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
               text=True) as sender:
        line_of(sender.stdout)
        watch = subprocess.Popen([analyze.program, "--pid", str(sender.pid), "--json", "-",
                                  "--mechanism", mechanism, "--interval", "0.1"],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line_of(watch.stderr)  # the first line: the window is open
        sender.stdin.write("go\n")
        sender.stdin.flush()
        assert eventually(lambda: waits_for_memory(sender.pid))
        watch.send_signal(signal.SIGINT)
        out, err = watch.communicate(timeout=120)
        sender.kill()
    assert watch.returncode == -signal.SIGINT, err
    record = check(json.loads(out))
    assert record["observed"]["in_flight"] == 1
    # If the kernel does not report skipped programs, one send may be lost.
    unknown = hook(record, "send")["missed"] is None and reason(record, "send")
    assert record["lost"]["calls"] == (1 if unknown else 0)
    adds_up(record)


def lost_flags(record):
    """Returns the number of lost flags. The kernel may skip a tracepoint's program that interrupts another one. This
    loses few flags, and they are counted."""
    flags = record["lost"]["flags"]
    assert not flags or hook(record, "completion")["mechanism"] == "tracepoint"
    assert flags <= 64
    return flags


@pytest.mark.parametrize("mode", ["close", "reset"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_sends_complete_after_their_socket_was_closed(program, mode, mechanism, untouched):
    """After the sender has closed its socket, the receiver reads, or the waiting data are discarded."""
    theirs, record = command(program, mode, mechanism)
    seen = record["zerocopy"]
    adds_up(record)
    assert seen["requests"] - sum(r["count"] for r in seen["refused"]) == theirs["sends"] > 0
    if not completes(mechanism):
        pytest.skip(f"{mechanism}: completions are not seen here")
    if not lossy(record):
        assert seen["completions"] == theirs["sends"]
        assert {**losses(record), "flags": 0} == NOTHING_LOST
        assert seen["outstanding"] == 0
        assert sum(c["count"] for c in seen["causes"]) == seen["copied"] - lost_flags(record)
        assert not seen["pinned"] or seen["pinned"]["bytes_now"] == 0


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_closed_sockets_memory_is_soon_another_programs(program, mechanism, untouched):
    """Completions and reads of the other program, which is not observed, do not count."""
    argv = ["taskset", "-c", "0", PYTHON, str(program), "paused", "20"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with Child(argv, **pipes) as target, Child(argv, **pipes) as other:
        for child in (target, other):
            line_of(child.stdout)
        with Child([analyze.program, "--pid", str(target.pid), "--json", "-", "--mechanism", mechanism,
                    "--interval", "0.1"], **pipes, stderr=subprocess.PIPE) as watch:
            line_of(watch.stderr)  # the first line: the window is open
            for child in (target, other):
                child.stdin.write("go\n")
                child.stdin.flush()
                theirs = json.loads(line_of(child.stdout))
            target.communicate()
            out, err = watch.communicate(timeout=120)
        other.communicate()
    assert watch.returncode == 0, err
    record = check(json.loads(out))
    adds_up(record)
    seen = record["zerocopy"]
    assert seen["requests"] == theirs["sends"] == 100
    if completes(mechanism) and not lossy(record):
        assert seen["completions"] == seen["notifications"]["reported"] == theirs["completions"]
        assert seen["completions_before"] == 0


def fast_open(setting):
    """A network namespace in which servers allow fast open, or do not."""
    return ["unshare", "-n", "sh", "-c",
            f"ip link set lo up && echo {setting} >/proc/sys/net/ipv4/tcp_fastopen && exec \"$@\"",
            "sh"]


@pytest.mark.skipif(not shutil.which("unshare"), reason="needs unshare of util-linux")
@pytest.mark.parametrize("setting", [3, 1])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_fast_open(program, setting, mechanism, untouched):
    """Data are in the SYN or, if the server does not allow that, follow it."""
    count = min(200, max(20, CALLS // 100))
    theirs, record = command(program, "fastopen", mechanism, *fast_open(setting), count=count)
    seen = record["zerocopy"]
    adds_up(record)
    assert theirs["sends"] == theirs["completions"] == count
    if not completes(mechanism):
        pytest.skip(f"{mechanism}: completions are not seen here")
    assert seen["requests"] == count
    if not lossy(record):
        assert seen["completions"] == seen["notifications"]["reported"] == count
        assert seen["errqueue_copied"] == theirs["copied"]
        assert losses(record) == NOTHING_LOST


# The number of windows of a storm; check-full opens a thousand.
STORM = 4 if IN_LAB else 25
STORMS = int(os.environ.get("SENDPATH_STORMS", "40" if os.environ.get("SENDPATH_FULL") else "1"))


def groups_add_up(record):
    """Asserts that the counts of all peers, and of all processes, add up to the totals."""
    seen = record["zerocopy"]
    uring = seen["io_uring"] or {}
    for key in ("completions", "copied"):
        parts = seen["peers"] + ([seen["peers_rest"]] if seen["peers_rest"] else [])
        assert sum(p[key] or 0 for p in parts) == seen[key] + (uring.get(key) or 0), key
    if record["by"]:
        rows = record["by"]["groups"] + ([record["by"]["rest"]] if record["by"]["rest"] else [])
        assert sum(g["sends"] for g in rows) == sum(c["sends"] for c in record["calls"])
        assert sum(g["bytes"] for g in rows) == sum(c["bytes"] for c in record["calls"])


def calls_add_up(record):
    for call in record["calls"]:
        failed = sum(call["errors"].values())
        assert 0 <= failed <= call["sends"]
        times = call["wall_ns"]
        assert not times or sum(count for *_, count in times["buckets"]) == times["count"]
        assert not times or times["count"] <= call["sends"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(STORMS))
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_windows_in_a_storm_add_up(mechanism, seed):
    """Windows open and close at any moment. They cover one of several processes, or all."""
    chance = random.Random(seed)
    receiver = Receiver()
    storm = subprocess.Popen([PROGRAMS / "storm", "--port", str(receiver.port), "--seed",
                              str(seed), "--threads", str(1 if IN_LAB else 1 + seed % 3)])
    try:
        for _ in range(STORM):
            target = chance.choice([["--pid", storm.pid], ["--comm", "storm"], ["--all"]])
            by = chance.choice([[], ["--by", "process,port"], ["--by", "device"]])
            result = analyze(*target, *by, "--mechanism", mechanism, "--json", "-", "--duration",
                             round(chance.uniform(0.005, 0.2), 3))
            assert result.returncode == 0, result.stderr
            record = check(json.loads(result.stdout))
            adds_up(record)
            groups_add_up(record)
            calls_add_up(record)
    finally:
        storm.kill()
        storm.wait()
        receiver.process.kill()
        receiver.process.wait()
