# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests the load generator without the analyzer: exact counts, clear errors, clean ends."""

import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess

import pytest

from conftest import LOADGEN, PATIENCE_S, eventually, veth_pair
from test_errors import busy, gone, state, ticks

SENDING = ["twocopy", "onecopy", "zerocopy"]


def run(*args, timeout=PATIENCE_S, prefix=(), **kwargs):
    return subprocess.run([*prefix, LOADGEN, *map(str, args)], capture_output=True, text=True,
                          timeout=timeout, **kwargs)


def measure(*args, **kwargs):
    done = run(*args, "--json", "-", **kwargs)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1
    return json.loads(done.stdout)


def start(*args, prefix=(), **kwargs):
    return subprocess.Popen([*prefix, LOADGEN, *map(str, args)], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, **kwargs)


def child_of(pid):
    def first():
        text = pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text()
        return int(text.split()[0]) if text.split() else None
    child = eventually(first)
    assert child, "no child in time"
    return child


def alive(pid):
    return state(pid) not in "ZX"


def threads(pid):
    return len(os.listdir(f"/proc/{pid}/task"))


def workers_seconds(pid):
    """Returns the CPU time of all threads except the first."""
    used = 0
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        if task.name != str(pid):
            fields = (task / "stat").read_text().rsplit(")", 1)[1].split()
            used += int(fields[11]) + int(fields[12])
    return used / os.sysconf("SC_CLK_TCK")


def sending(process):
    """Waits until the workers send, in a run without a warm-up. Returns the receiver's pid."""
    receiver = child_of(process.pid)
    assert eventually(lambda: workers_seconds(process.pid) >= 0.03)
    return receiver


# Exact counts

@pytest.mark.parametrize("count", [1, 4])
def test_null_sends_nothing(count):
    app = measure("--variant", "null", "--threads", count, "--messages", 1000)
    assert app["messages"] == 1000 * count
    assert app["bytes"] == app["received_bytes"] == app["send_calls"] == 0
    assert app["zerocopy"] is None


@pytest.mark.parametrize("size", ["1000", "16K", "1M"])
@pytest.mark.parametrize("count", [1, 4])
def test_zerocopy_accounts_for_every_send(size, count):
    app = measure("--variant", "zerocopy", "--threads", count, "--messages", 200, "--size", size)
    z = app["zerocopy"]
    assert z["requests"] == app["send_calls"] == z["completions"] + z["enobufs"]
    assert z["enobufs"] == app["errors"].get("ENOBUFS", 0)
    assert z["copied"] == z["completions"]  # on loopback
    assert 0 < z["notifications"] <= z["completions"]


@pytest.mark.parametrize("inflight", [1, 2, 1000])
def test_any_number_in_flight(inflight):
    app = measure("--variant", "zerocopy", "--inflight", inflight, "--messages", 2500, "--verify",
                  "--size", 2000)
    assert app["zerocopy"]["completions"] == app["messages"] == 2500


def test_a_full_error_queue_refuses_and_loses_nothing():
    """The queue has room for few notifications: sends are refused repeatedly, until some are read."""
    if os.geteuid() or not shutil.which("unshare"):
        pytest.skip("needs root, for a network namespace")
    script = ("ip link set lo up; echo 3000 > /proc/sys/net/core/optmem_max || exit 77; "
              'exec "$0" "$@"')
    # Data that the receiver has no room for stay in flight, and are counted. With a smaller buffer, one lost segment
    # would leave a window smaller than a segment, and a rate of two KiB per 200 ms.
    done = run("--variant", "zerocopy", "--size", "64K", "--socket", "rcvbuf=16K",
               "--messages", 300, "--threads", 2, "--warmup", 0, "--verify", "--json", "-",
               prefix=["unshare", "-n", "sh", "-c", script])
    if done.returncode == 77:
        pytest.skip("before Linux 6.9 optmem_max is the machine's: " + done.stderr.strip())
    assert done.returncode == 0, done.stderr
    app = json.loads(done.stdout)
    assert app["zerocopy"]["completions"] == app["messages"] == 600
    assert app["errors"] == {"ENOBUFS": app["zerocopy"]["enobufs"]}
    assert app["zerocopy"]["enobufs"] > 0
    assert app["verify"]["bad_bytes"] == 0


# Contents

@pytest.mark.parametrize("fields", [1, 7, 64])
def test_any_number_of_fields(fields):
    for variant in SENDING:
        app = measure("--variant", variant, "--fields", fields, "--size", 65, "--messages", 100,
                      "--verify")
        assert app["received_bytes"] == 6500


FLIP = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/socket.h>
ssize_t recv(int fd, void *buffer, size_t length, int flags)
{
	static ssize_t (*next)(int, void *, size_t, int);
	static long long seen;
	ssize_t n;

	if (!next)
		next = (ssize_t (*)(int, void *, size_t, int))dlsym(RTLD_NEXT, "recv");
	n = next(fd, buffer, length, flags);
	if (n > 0 && seen <= 123456 && 123456 < seen + n)
		((unsigned char *)buffer)[123456 - seen] ^= 0x10;
	if (n > 0)
		seen += n;
	return n;
}
"""


def test_one_flipped_bit_on_the_way_is_found(tmp_path):
    if "san" in LOADGEN:
        pytest.skip("a sanitizer wants to be loaded first")
    (tmp_path / "flip.c").write_text(FLIP)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "flip.so", tmp_path / "flip.c",
                    "-ldl"], check=True)
    done = run("--variant", "onecopy", "--size", 1000, "--messages", 500, "--warmup", 0,
               "--verify", "--json", "-", env=dict(os.environ, LD_PRELOAD=str(tmp_path / "flip.so")))
    assert done.returncode == 1
    app = json.loads(done.stdout)
    assert app["verify"]["bad_bytes"] == 1
    first = app["verify"]["first"]
    assert (first["connection"], first["message"], first["offset"]) == (0, 123, 456)
    assert first["expected"] ^ first["got"] == 0x10
    assert "message 123, offset 456" in app["error"]


def test_ipv6():
    try:
        socket.socket(socket.AF_INET6).bind(("::1", 0))
    except OSError as why:
        pytest.skip(f"no IPv6 loopback: {why}")
    app = measure("--variant", "zerocopy", "--address", "::1", "--messages", 300, "--verify")
    assert app["zerocopy"]["completions"] == 300


def test_netns():
    with veth_pair() as (near, far, address):
        app = measure("--variant", "zerocopy", "--address", address, "--netns", far[-1], "--messages", 300,
                      "--verify", prefix=near)
    assert app["received_bytes"] == 300 * 16384


# Results

def test_result_has_its_keys_and_no_other_units():
    app = measure("--variant", "onecopy", "--duration", "0.3")
    assert set(app) >= {
        "messages", "bytes", "send_calls", "throughput_bps", "elapsed_s", "user_s", "system_s",
        "message_latency_ns", "errors", "zerocopy", "received_bytes", "receiver", "verify", "uid",
        "memlock_bytes", "pinning", "port"}
    assert 0.3 <= app["elapsed_s"] < 3  # a busy machine may end late
    assert app["verify"] is None and app["zerocopy"] is None
    assert app["uid"] == os.getuid()
    cpus = os.sched_getaffinity(0)
    if len(cpus) > 1:
        assert set(app["pinning"]["sender"]).isdisjoint(app["pinning"]["receiver"])
        assert set(app["pinning"]["sender"]) | set(app["pinning"]["receiver"]) == cpus
    assert measure("--variant", "null", "--messages", 1, "--pin", "none")["pinning"] is None


def test_summary_is_short():
    done = run("--variant", "zerocopy", "--duration", "200ms")
    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert len(lines) <= 8 and max(map(len, lines)) <= 100
    assert any(line.startswith("throughput") for line in lines)


def test_json_file_holds_one_line_and_replaces_the_old(tmp_path):
    path = tmp_path / "app.json"
    path.write_text("x" * 100000)
    assert run("--variant", "onecopy", "--messages", 10, "--json", path).returncode == 0
    assert path.read_text().count("\n") == 1
    assert json.loads(path.read_text())["messages"] == 10


def test_json_is_whole_or_not_there(tmp_path):
    """A run that fails creates no file. A limit of the file size leaves no half record. A file to which a shell appends
    keeps its content."""
    path, all_ = tmp_path / "app.json", tmp_path / "all.json"
    with socket.create_server(("127.0.0.1", 0)) as occupied:
        assert run("--port", occupied.getsockname()[1], "--json", path).returncode == 1
    assert not path.exists()
    limited = run("--messages", 10, "--json", path, prefix=["prlimit", "--fsize=100"])
    assert limited.returncode == 1 and "File too large" in limited.stderr
    assert not path.exists()
    for count in 1, 2:
        with open(all_, "ab") as file:
            subprocess.run([LOADGEN, "--messages", "10", "--json", "-"], stdin=subprocess.DEVNULL,
                           stdout=file, check=True)
        assert len([json.loads(line) for line in all_.read_text().splitlines()]) == count


# Refusals: one line that names the option, the value and the remedy

@pytest.mark.parametrize("args, words", [
    (["--variant", "threecopy"], ["--variant threecopy", "twocopy, onecopy, zerocopy, null"]),
    (["--size", "0"], ["--size 0", "64", "16M"]),
    (["--size", "9E"], ["--size 9E", "4K"]),
    (["--threads", "0"], ["--threads 0", "1 to 1024"]),
    (["--fields", "65", "--size", "64"], ["--fields 65", "64"]),
    (["--size", "4K", "--fields", "8", "--field-size", "100"], ["--size 4096", "--fields 8", "--field-size 100"]),
    (["--messages", "5", "--duration", "1"], ["--messages", "--duration", "leave one out"]),
    (["--address", "no.such"], ["--address no.such", "127.0.0.1"]),
    (["--json", "/nonexistent/file"], ["--json /nonexistent/file", "No such file"]),
    (["--size", "1K,2K"], ["--size", "one"]),
    (["--variant", "all"], ["--variant", "one"]),
    (["--bogus"], ["--bogus"]),
    (["--size"], ["--size"]),
    (["word"], ["word"]),
    (["--netns", "x"], ["--netns x", "--address"]),
    (["--variant", "splice", "--registered"], ["--registered", "uring_zc"]),
    (["--variant", "sendfile", "--huge-pages"], ["--huge-pages", "sendfile"]),
    (["--variant", "null", "--huge-pages"], ["--huge-pages", "null"]),
    (["--variant", "write", "--socket", "more"], ["--socket more", "write"]),
    (["--working-set", "1K"], ["--working-set 1024", "16384"]),
    (["--pick", "random"], ["--pick random", "--working-set"]),
    (["--align", "100"], ["--align 100", "power of two"]),
    (["--rate", "0"], ["--rate 0"]),
    (["--socket", "cork"], ["--socket cork", "nodelay"]),
    (["--variant", "every"], ["--variant", "one"]),
    (["--working-set", "1M", "--reuse-early", "--verify"], ["--reuse-early", "--working-set"]),
])
def test_wrong_usage(args, words):
    done = run(*args)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    for word in words:
        assert word in done.stderr


def test_fixed_port_is_free_again_at_once():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    for _ in range(3):
        assert measure("--port", port, "--messages", 10)["port"] == port


# Ends

@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("variant", ["onecopy", "zerocopy", "null"])
def test_interrupted(tmp_path, variant, sig):
    path = tmp_path / "app.json"
    p = start("--warmup", 0, "--variant", variant, "--threads", 2, "--duration", 20, "--json", path)
    receiver = sending(p)
    p.send_signal(sig)
    out, err = p.communicate(timeout=PATIENCE_S)
    assert p.returncode == -sig
    assert "throughput" in out and err == ""
    app = json.loads(path.read_text())
    assert app["messages"] > 0 and app["bytes"] == app["received_bytes"]
    assert not alive(receiver)


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_while_it_sets_up(sig):
    """The program is still filling this much memory when the signal arrives."""
    p = start("--working-set", "512M", "--duration", 20)
    receiver = child_of(p.pid)
    p.send_signal(sig)
    assert p.communicate(timeout=PATIENCE_S) == ("", "")
    assert p.returncode == -sig
    assert gone(receiver)


def test_receiver_that_stalls_for_good_does_not_hold_a_timed_run():
    p = start("--warmup", 0, "--variant", "onecopy", "--duration", "1", "--size", "64K")
    receiver = sending(p)
    os.kill(receiver, signal.SIGSTOP)
    _, err = p.communicate(timeout=PATIENCE_S)
    assert p.returncode == 1 and "receiver process was stopped by a signal" in err
    assert not alive(receiver)


@pytest.mark.slow
def test_a_slow_link_may_take_long_after_the_window():
    """At 8 Mbit/s, what the send buffers hold takes ten seconds."""
    slow = "ip link set lo up && tc qdisc add dev lo root tbf rate 8mbit burst 128k latency 2s || exit 77; exec \"$@\""
    done = run("--warmup", 0, "--variant", "twocopy", "--threads", 4, "--size", "64K", "--duration", 0.5, "--json", "-",
               prefix=("unshare", "-n", "sh", "-c", slow, "sh"))
    if done.returncode == 77:
        pytest.skip(f"no slow link: {done.stderr}")
    assert done.returncode == 0, done.stderr
    app = json.loads(done.stdout)
    assert app["elapsed_s"] > 6.5 and app["bytes"] == app["received_bytes"]


@pytest.mark.slow
def test_a_lost_link_ends_the_run():
    with veth_pair() as (near, far, address):
        p = start("--warmup", 0, "--variant", "twocopy", "--address", address, "--netns", far[-1], "--duration", 2,
                  prefix=near)
        receiver = sending(p)
        assert subprocess.run([*far, "ip", "link", "set", "far0", "down"], check=False).returncode == 0
        _, err = p.communicate(timeout=PATIENCE_S)
    assert p.returncode == 1 and "the receiver read nothing for 10 s after the end" in err
    assert len(err.splitlines()) == 1 and not alive(receiver)


def test_killed_sender_leaves_nothing():
    p = start("--warmup", 0, "--variant", "zerocopy", "--threads", 2, "--duration", 20)
    receiver = sending(p)
    p.kill()
    p.communicate(timeout=PATIENCE_S)
    assert gone(receiver)


# Driven

HEADER = struct.Struct("=HHIiiiH")
HELLO, START, PARKED, GO, STOP, FINISH, RESULT, ERROR = range(1, 9)


def works(pid):
    """Waits until the process has used more CPU time, which shows that data flow. Returns False if it does not."""
    before = ticks(pid)
    return eventually(lambda: busy(pid, before))


class Driver:
    def __init__(self, *args):
        self.ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.ours.settimeout(PATIENCE_S)
        self.process = start("--control", theirs.fileno(), *args, pass_fds=[theirs.fileno()])
        theirs.close()

    def send(self, kind, version=2):
        self.ours.send(HEADER.pack(version, kind, 0, 0, 0, 0, 0))

    def expect(self, kind):
        packet = self.ours.recv(1 << 17)
        (version, got, length, self.sender, self.receiver, self.status,
         self.port) = HEADER.unpack_from(packet)
        text = packet[HEADER.size:].decode()
        assert (version, got, length) == (2, kind, len(text)), text
        return text

    def leave(self):
        out, err = self.process.communicate(timeout=PATIENCE_S)
        self.ours.close()
        assert (out, err) == ("", "")
        return self.process.returncode


@pytest.mark.parametrize("variant", SENDING)
def test_driven(variant):
    d = Driver("--variant", variant, "--threads", 2, "--messages", 200)
    d.expect(HELLO)
    sender, receiver = d.sender, d.receiver
    assert sender == d.process.pid and alive(receiver)
    before = threads(sender), threads(receiver)  # one thread each, besides threads of a sanitizer
    d.send(START)
    d.expect(PARKED)
    assert (threads(sender), threads(receiver)) == (before[0] + 2, before[1] + 2)
    d.send(GO)
    d.expect(PARKED)
    assert alive(sender) and alive(receiver)
    d.send(FINISH)
    app = json.loads(d.expect(RESULT))
    assert app["messages"] == 400
    assert d.leave() == 0
    assert not alive(receiver)


def test_driven_stop_ends_the_window():
    d = Driver("--variant", "zerocopy", "--duration", 60)
    d.expect(HELLO)
    receiver = d.receiver
    d.send(START)
    d.expect(PARKED)
    d.send(GO)
    assert works(receiver)
    d.process.send_signal(signal.SIGINT)  # Ctrl-C reaches the whole group; a driven load generator ignores it
    assert works(receiver)
    d.send(STOP)
    d.expect(PARKED)
    d.send(FINISH)
    app = json.loads(d.expect(RESULT))
    assert 0.1 <= app["elapsed_s"] < 10 and "error" not in app
    assert d.leave() == 0


def test_driven_stop_ends_only_the_warm_up():
    d = Driver("--variant", "onecopy", "--messages", 100, "--warmup", 60)
    d.expect(HELLO)
    d.send(START)
    assert works(d.receiver)
    d.send(STOP)
    d.expect(PARKED)
    d.send(GO)
    d.expect(PARKED)
    d.send(FINISH)
    assert json.loads(d.expect(RESULT))["messages"] == 100
    assert d.leave() == 0


def test_driven_failure_in_the_window_comes_with_the_result():
    d = Driver("--variant", "onecopy", "--duration", 60)
    d.expect(HELLO)
    receiver = d.receiver
    d.send(START)
    d.expect(PARKED)
    d.send(GO)
    assert works(receiver)
    os.kill(receiver, signal.SIGKILL)
    d.expect(PARKED)
    d.send(FINISH)
    assert "signal 9" in json.loads(d.expect(RESULT))["error"]
    assert d.leave() == 1


def test_driven_failure_before_comes_as_an_error():
    with socket.create_server(("127.0.0.1", 0)) as occupied:
        d = Driver("--port", occupied.getsockname()[1])
        assert "--port" in d.expect(ERROR)
        assert d.status == 1
        assert d.leave() == 1


@pytest.mark.parametrize("steps", [0, 1, 2, 3])
def test_gone_driver_ends_both(steps):
    d = Driver("--variant", "zerocopy", "--duration", 60, "--warmup", "0.05")
    d.expect(HELLO)
    receiver = d.receiver
    if steps > 0:
        d.send(START)
    if steps > 1:
        d.expect(PARKED)
    if steps > 2:
        d.send(GO)
        assert works(receiver)
    d.ours.close()
    assert d.leave() == 1
    assert gone(receiver)
