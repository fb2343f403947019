# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests that a run ends in time and keeps to its memory, even if a process stops or does not read."""

import contextlib
import fcntl
import json
import os
import re
import resource
import signal
import socket
import subprocess
import time

import pytest

from conftest import ANALYZE, LOADGEN, PATIENCE_S, Child, eventually, needs_bpf, only, run
from test_errors import busy, descend, one_line
from test_serving import started

pytestmark = pytest.mark.slow

AFTER_S = 30  # a run with a window of T has ended by T + AFTER_S, even on a busy machine; most windows have 60 s


@contextlib.contextmanager
def in_time(window_s):
    begin = time.monotonic()
    yield
    assert time.monotonic() - begin < window_s + AFTER_S


@pytest.mark.parametrize("variant", ["onecopy", "zerocopy", "uring_zc"])
def test_a_receiver_that_takes_little_at_a_time(variant):
    with in_time(0.1):
        result = run(LOADGEN, "--variant", variant, "--size", "1K", "--socket", "rcvbuf=4096",
                     "--duration", "0.1", "--warmup", "0")
    if result.returncode == 3:
        pytest.skip(result.stderr.strip())
    assert result.returncode in (0, 1)
    assert result.returncode == 0 or re.search(
        r"\d+ of \d+ bytes had arrived when its connections were shut down", result.stderr)


def slow():
    return Child([LOADGEN, "--variant", "zerocopy", "--size", "1K", "--socket", "rcvbuf=4096",
                  "--duration", "60", "--warmup", "0"], stdin=subprocess.DEVNULL,
                 stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def sends(pid):
    """Returns whether a socket of this process has unacknowledged or unsent data."""
    own = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            own.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
    with open("/proc/net/tcp", encoding="ascii") as file:
        rows = [line.split() for line in file.readlines()[1:]]
    return any(int(row[4].split(":")[0], 16) and f"socket:[{row[9]}]" in own for row in rows)


def test_it_ends_soon_after_a_signal():
    with slow() as job:
        assert eventually(lambda: sends(job.pid))
        with in_time(0):
            job.send_signal(signal.SIGTERM)
            job.communicate(timeout=PATIENCE_S)
    assert job.returncode == -signal.SIGTERM


def test_the_second_signal_ends_it_at_once():
    """After the first signal, the program waits for the other end, which is stopped."""
    with slow() as job:
        assert eventually(lambda: sends(job.pid))
        receiver = only(descend(job.pid, 1))
        os.kill(receiver, signal.SIGSTOP)
        job.send_signal(signal.SIGTERM)
        assert eventually(lambda: not pending(job.pid, signal.SIGTERM))
        begin = time.monotonic()
        job.send_signal(signal.SIGTERM)
        job.communicate(timeout=PATIENCE_S)
        assert time.monotonic() - begin < 1
    assert job.returncode == -signal.SIGTERM


def pending(pid, number):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        masks = re.findall(r"^(?:Sig|Shd)Pnd:\t(\w+)", file.read(), re.M)
    return any(int(mask, 16) >> number - 1 & 1 for mask in masks)


@pytest.mark.parametrize("options", [(), ("--rcvlowat", "64K", "--threads", "16")])
def test_a_receiver_that_was_stopped_ends_the_run(options):
    """The run ends in time, although each thread requests something from the stopped receiver at its end."""
    with Child([LOADGEN, "--variant", "twocopy", "--duration", "60", "--warmup", "0", *options],
               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
               text=True) as job:
        assert eventually(lambda: sends(job.pid))
        os.kill(only(descend(job.pid, 1)), signal.SIGSTOP)
        with in_time(0):
            _, err = job.communicate(timeout=PATIENCE_S)
    assert job.returncode == 1 and "receiver process was stopped by a signal" in err


def test_a_server_that_was_stopped_ends_the_run():
    job, server = started("--server-model", "epoll")
    os.kill(server, signal.SIGSTOP)
    out, err = job.communicate(timeout=PATIENCE_S)
    assert job.returncode == 1 and "server process was stopped by a signal" in err, out


@needs_bpf
def test_a_sender_that_was_stopped_ends_the_run():
    with Child([ANALYZE, "--variant", "twocopy", "--duration", "60"], stdin=subprocess.DEVNULL,
               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as job:
        assert eventually(lambda: len(descend(job.pid, 2)) == 2)
        sender = descend(job.pid, 1)[0]
        assert eventually(lambda: busy(sender))
        os.kill(sender, signal.SIGSTOP)
        _, err = job.communicate(timeout=PATIENCE_S)
        assert not os.path.exists(f"/proc/{sender}")
    assert job.returncode == 1 and "the load generator was stopped by a signal" in err


@needs_bpf
def test_unread_lines_do_not_block_it(tmp_path):
    reader, writer = os.pipe()
    size = fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    os.write(writer, b"-" * size)
    path = tmp_path / "runs"
    with open(reader, "rb") as pipe, \
            Child([ANALYZE, "--duration", "1", "--warmup", "0", "--interval", "0.1", "--json",
                   path], stdin=subprocess.DEVNULL, stdout=writer) as job:
        os.close(writer)
        with in_time(1):
            assert eventually(lambda: path.exists() and path.stat().st_size)
        assert b"zero-copy" in pipe.read()
        assert job.wait(PATIENCE_S) == 0


def test_thousands_of_connections_end_in_time():
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < 11000:
        pytest.skip("fewer than 11,000 descriptors are allowed here")
    with in_time(2):
        result = run(LOADGEN, "--workload", "procinfo", "--server-model", "epoll",
                     "--client-model", "epoll", "--connections", "10000", "--warmup", "0",
                     "--duration", "2")
    assert result.returncode in (0, 1) and "answered" in result.stdout


@pytest.mark.parametrize("more", [
    ("--align", "2M", "--threads", "16"), ("--align", "2M", "--size", "64", "--fields", "64"),
    ("--variant", "splice", "--threads", "1024", "--size", "1M")], ids=" ".join)
def test_memory_is_summed_before_it_is_taken(more):
    result = run(LOADGEN, "--inflight", "65536", "--messages", "1", *more)
    assert result.returncode == 1
    one_line(result, "GiB of memory", "--inflight", "--align")


@pytest.mark.parametrize("who", ["others", "none"])
def test_strangers_are_not_served(who):
    """A stranger's connection is closed without an answer, and counted, but not as an answer of the load."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    with Child([LOADGEN, "--workload", "procinfo", "--connections", "4", "--duration", "2",
                "--warmup", "0", "--port", str(port), "--json", "-"], stdin=subprocess.DEVNULL,
               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as job:
        came = 0
        while who == "others" and came < 20 and job.poll() is None:
            with contextlib.suppress(OSError), \
                    socket.create_connection(("127.0.0.1", port), 1) as stranger:
                came += 1
                with contextlib.suppress(ConnectionResetError):
                    assert not stranger.recv(100)
        out, err = job.communicate(timeout=PATIENCE_S)
    assert job.returncode == 0, err
    assert json.loads(out)["serving"]["turned_away"] == came
