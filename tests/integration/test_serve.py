# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests loadgen serve and --peer: a receiver for other machines, and programs that speak another protocol."""

import contextlib
import errno
import hmac
import json
import os
import re
import signal
import socket
import struct
import subprocess
import threading

import pytest

from conftest import LOADGEN, PATIENCE_S, check, eventually, line_of, needs_bpf, only, processes, records, run

pytestmark = pytest.mark.usefixtures("untouched")

MESSAGE = struct.Struct(">4sHHIIIi7Q64s32s")
SIGNED = MESSAGE.size - 32
CPU_TIME, MARK, STATE = range(1, 4)
CONTROL, PROOF, DATA = range(16, 19)
REPLY = 1 << 31
CHALLENGE, ACCEPTED, REFUSED = CONTROL | REPLY, PROOF | REPLY, REPLY
VERSION = 7


def signature(secret, data):
    return hmac.digest(secret, data, "sha256")


def pack(kind, number=0, slot=1, err=0, values=(), text=b"", secret=b"", sign=None, version=VERSION,
         magic=b"SPLG"):
    """Packs a message, and signs it if `sign` is a secret."""
    packed = MESSAGE.pack(magic, version, 0, kind, number, slot, err, *values,
                          *[0] * (7 - len(values)), text, secret)
    return packed[:SIGNED] + signature(sign, packed[:SIGNED]) if sign else packed


def hello(kind, slot=1, size=1024, flags=0, fields=0, picked_from=0, connection=0, **kwargs):
    """Packs a message that begins a connection, or the answer to it."""
    return pack(kind, slot=slot, err=-errno.ECONNREFUSED if kind == REFUSED else 0,
                values=(connection,) if kind == DATA else (size, flags, fields, picked_from), **kwargs)


def kind_of(data):
    """Returns a message's type. An accepting reply to PROOF or DATA is ACCEPTED, a refusing reply REFUSED, and anything
    but exactly one message None."""
    if len(data) != MESSAGE.size or data[:4] != b"SPLG":
        return None
    kind, err = MESSAGE.unpack(data)[3], MESSAGE.unpack(data)[6]
    return REFUSED if err else ACCEPTED if kind & REPLY and kind & ~REPLY > CONTROL else kind


def accepted(data, **kwargs):
    """Returns the reply that accepts a message."""
    _, _, _, kind, number, slot, err, *values, text, _ = MESSAGE.unpack(data)
    return pack(kind | REPLY, number, slot, err, values, text, **kwargs)


def answer(s):
    """Reads an answer; returns its kind, secret and text. Raises an error at the end of the connection."""
    data = s.recv(MESSAGE.size, socket.MSG_WAITALL)
    *_, text, secret = MESSAGE.unpack(data)
    return kind_of(data), secret, text.rstrip(b"\0").decode()


def begin(s, key=b"", **kwargs):
    """Begins a session with this load. Returns the kind of the answer, the session's secret, and the answer's text."""
    control = hello(CONTROL, **kwargs)
    s.sendall(control)
    secret = signature(key, control + s.recv(MESSAGE.size, socket.MSG_WAITALL))
    s.sendall(hello(PROOF, sign=secret, **kwargs))
    kind, _, text = answer(s)
    return kind, secret, text


def message(secret, kind, number=1, slot=0, value=0, more=(0,) * 6, err=0):
    return pack(kind, number, slot, err, (value, *more), sign=secret)


def received(s):
    """Reads a message; returns its numbers, whoever signed it. Raises an error at the end of the connection."""
    return MESSAGE.unpack(s.recv(MESSAGE.size, socket.MSG_WAITALL))[3:-2]


class Serve:
    """Runs loadgen serve on a free port."""

    def __init__(self, *args, program=(LOADGEN, "serve"), stderr=subprocess.PIPE):
        self.process = subprocess.Popen([*program, *args], stdout=subprocess.PIPE, stderr=stderr,
                                        text=True)
        line = line_of(self.process.stdout)
        self.peer = line.rpartition(" ")[2].strip()
        self.address, self.port = re.match(r"\[?(.*?)\]?:(\d+)$", self.peer).groups()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        _, self.log = self.process.communicate(timeout=PATIENCE_S)

    def receives(self):
        """Returns whether a sender's data flow: the control connection of a session carries much less than this."""
        listed = run("ss", "-Htin", f"sport = :{self.port}").stdout
        return any(int(count) > 1 << 20 for count in re.findall(r"bytes_received:(\d+)", listed))

    def connect(self):
        s = socket.create_connection((self.address, int(self.port)))
        s.settimeout(PATIENCE_S)
        return s


def send(peer, *args, **kwargs):
    return run(LOADGEN, "--peer", peer, *args, **kwargs)


def measure(peer, *args):
    result = send(peer, "--json", "-", *args)
    if result.returncode == 3 and "io_uring" in result.stderr:
        pytest.skip(result.stderr.strip())
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize("variant", ["twocopy", "onecopy", "zerocopy", "write", "writev", "uring",
                                     "uring_zc"])
def test_every_byte_arrives(variant):
    with Serve() as there:
        for _ in range(2):
            app = measure(there.peer, "--variant", variant, "--threads", 3, "--messages", 200,
                          "--verify")
            assert app["bytes"] == app["received_bytes"] == 600 * 16384
            assert app["verify"] == {"bytes_checked": 600 * 16384, "bad_bytes": 0, "first": None}
            assert "Linux" in app["peer"] and app["receiver"]["user_s"] >= 0
            assert app["pinning"] is None
    assert there.process.returncode == -signal.SIGTERM


@pytest.mark.parametrize("mark", [[], ["--rcvlowat", "1"], ["--rcvlowat", "64K"]])
@pytest.mark.parametrize("size", [64, 1 << 20])
def test_a_receiver_wakes_at_the_requested_bytes(mark, size):
    with Serve() as there:
        app = measure(there.peer, "--variant", "onecopy", "--size", size, "--messages", 40, *mark)
    assert app["received_bytes"] == 40 * size


@pytest.mark.parametrize("pick", [[], ["--pick", "random", "--seed", 7]])
def test_the_receiver_computes_which_fields_were_picked(pick):
    with Serve() as there:
        app = measure(there.peer, "--working-set", "1M", *pick, "--threads", 2, "--messages", 500,
                      "--verify")
    assert app["verify"] == {"bytes_checked": 1000 * 16384, "bad_bytes": 0, "first": None}


def test_a_fixed_rate_and_socket_options_go_with_a_peer():
    with Serve() as there:
        app = measure(there.peer, "--rate", 1000, "--socket", "nodelay,sndbuf=64K", "--messages", 50,
                      "--warmup", 0)
    assert app["messages"] == app["rate"]["due"] == 50
    assert app["message_latency_ns"]["span"] == "message_due"


def test_ipv6():
    try:
        socket.socket(socket.AF_INET6).bind(("::1", 0))
    except OSError as why:
        pytest.skip(f"no IPv6 loopback: {why}")
    with Serve("--address", "::1") as there:
        assert there.peer.startswith("[::1]:")
        assert measure(there.peer, "--messages", 50)["messages"] == 50


def test_each_address_of_a_peer_is_tried(tmp_path):
    """The resolver's first address is an IPv6 address, at which nobody listens."""
    (tmp_path / "hosts").write_text("::1 there\n127.0.0.1 there\n")
    enter = ("unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/hosts && exec "$@"', tmp_path / "hosts")
    found = run(*enter, "getent", "ahosts", "there")
    if not found.stdout.startswith("::1 "):
        pytest.skip(f"no name has two addresses here: {found.stderr or found.stdout}")
    with Serve() as there:
        done = run(*enter, LOADGEN, "--peer", f"there:{there.port}", "--messages", 50)
        assert done.returncode == 0, done.stderr
    done = run(*enter, LOADGEN, "--peer", f"there:{there.port}")
    assert done.returncode == 1 and f"--peer there:{there.port}: Connection refused" in done.stderr


def test_listens_on_loopback_by_default():
    with Serve() as there:
        listed = run("ss", "-Hltn", f"sport = :{there.port}")
        if listed.returncode:
            pytest.skip("ss is not installed")
        assert f"127.0.0.1:{there.port}" in only(listed.stdout.splitlines())


def test_port_in_use():
    with socket.create_server(("127.0.0.1", 0)) as occupied:
        port = occupied.getsockname()[1]
        result = run(LOADGEN, "serve", "--port", port)
    assert result.returncode == 1 and result.stdout == ""
    assert len(result.stderr.splitlines()) == 1 and f"127.0.0.1:{port}" in result.stderr


@pytest.mark.parametrize("args", [("--port", "x"), ("--address", "here"), ("now",),
                                  ("--variant", "onecopy")])
def test_serve_wrong_usage(args):
    result = run(LOADGEN, "serve", *args)
    assert result.returncode == 2 and len(result.stderr.splitlines()) == 1
    assert args[-1] in result.stderr or args[0] in result.stderr


# Receivers that are not loadgen serve

def ended(s, close=False):
    """Returns whether the other end closed the connection. It ends by a reset if bytes were left unread."""
    try:
        if close:
            s.shutdown(socket.SHUT_WR)
        return s.recv(1) == b""
    except OSError as why:
        return why.errno in (errno.ECONNRESET, errno.ENOTCONN)


class Listening:
    """Listens in a thread, and gives each connection to begin()."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.peer = f"127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                self.begin(self.listener.accept()[0])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()


class Impostor(Listening):
    """Answers each connection with these bytes; None: does not answer."""

    def __init__(self, answer):
        self.answer, self.kept = answer, []
        super().__init__()

    def begin(self, s):
        self.kept.append(s)
        if self.answer is not None:
            s.recv(MESSAGE.size)
            s.sendall(self.answer)
            s.shutdown(socket.SHUT_WR)

    def __exit__(self, *_):
        super().__exit__()
        for s in self.kept:
            s.close()


@pytest.mark.parametrize("answer,words", [
    (hello(ACCEPTED, version=9), f"version 9, this program {VERSION}"),
    (b"HTTP/1.1 400 Bad Request\r\n\r\n" * 9, "another program answers there"),
    (b"SSH", "closed the connection"),
    (b"", "closed the connection"),
    (None, "does not answer"),
    (hello(REFUSED, text=b"no\x1b[2J room"), "it refuses: no\\x1b[2J room"),
], ids=["version", "garbage", "short", "closed", "silence", "refusal"])
def test_a_peer_that_is_no_receiver(answer, words):
    with Impostor(answer) as there:
        result = send(there.peer)
    assert result.returncode == 1
    assert len(result.stderr.splitlines()) == 1 and words in result.stderr, result.stderr
    assert there.peer in result.stderr


@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_while_it_connects(tmp_path, sig):
    with Impostor(None) as there, sending(there.peer, "--json", tmp_path / "app.json") as job:
        assert eventually(lambda: there.kept)
        job.send_signal(sig)
        assert job.communicate(timeout=PATIENCE_S) == ("", "")
        assert job.returncode == -sig
    assert not list(tmp_path.iterdir())


def test_a_peer_where_nobody_listens():
    with socket.create_server(("127.0.0.1", 0)) as free:
        peer = f"127.0.0.1:{free.getsockname()[1]}"
    result = send(peer)
    assert result.returncode == 1
    assert len(result.stderr.splitlines()) == 1 and f"--peer {peer}: Connection refused" in result.stderr


@pytest.mark.parametrize("args", [("--peer", "nowhere"), ("--peer", "::1:5"), ("--peer", "a:0"),
                                  ("--peer", "a:5", "--port", "5"),
                                  ("--peer", "a:5", "--address", "127.0.0.1"),
                                  ("--peer", "a:5", "--workload", "request"),
                                  ("--peer", "a:5", "--workload", "procinfo")])
def test_peer_wrong_usage(args):
    result = run(LOADGEN, *args)
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1 and "--peer" in result.stderr


# Senders that are not loadgen

def test_strangers_are_refused_and_disturb_nobody():
    """A server logs at most ten lines per second, so a second server logs the silent client."""
    with Serve() as there, Serve() as quiet, there.connect() as silent, quiet.connect() as silent_there:
        for words in (b"GET / HTTP/1.1\r\n\r\n", hello(CONTROL, magic=b"SPLX"), b"SPLG"):
            with there.connect() as s:
                s.sendall(words)
                assert ended(s, close=True)
        with there.connect() as s:
            s.sendall(hello(CONTROL, version=1))
            kind, _, text = answer(s)
            assert kind == REFUSED and "version 1" in text
        for wrong in (hello(77), hello(DATA, secret=b"guessed")):
            with there.connect() as s:
                s.sendall(wrong)
                assert answer(s)[0] == REFUSED
        for load in ({"slot": 0}, {"slot": 1 << 30}, {"size": 1 << 40}, {"picked_from": 5},
                     {"picked_from": 5, "fields": 6}):
            with there.connect() as s:
                assert begin(s, **load)[0] == REFUSED
        assert measure(there.peer, "--messages", 20)["messages"] == 20
        assert ended(silent) and ended(silent_there)  # after the time limit of a pending connection
    assert "turned away: it sent nothing" in quiet.log
    assert "turned away: not a sender of ours" in there.log


def test_mark_that_was_not_announced_ends_the_session():
    """Without the announcement, the receiver blocks in recv(), and would not notice the mark."""
    with Serve() as there:
        with there.connect() as s:
            kind, secret, _ = begin(s)
            assert kind == ACCEPTED
            s.sendall(message(secret, MARK, 1, 0, 4096))
            assert ended(s)
        assert measure(there.peer, "--messages", 20)["messages"] == 20
    assert f"is done: {os.strerror(errno.EPROTO)}" in there.log


def test_garbage_after_the_hello_ends_the_session():
    with Serve() as there:
        with there.connect() as s:
            assert begin(s)[0] == ACCEPTED
            s.sendall(b"\xff" * 200)
            assert ended(s)
        assert eventually(lambda: send(there.peer, "--messages", 5).returncode == 0)


def test_one_sender_at_a_time():
    with Serve() as there:
        with there.connect() as s:
            assert begin(s)[0] == ACCEPTED
            result = send(there.peer)
            assert result.returncode == 1 and "busy with another sender" in result.stderr
        assert eventually(lambda: send(there.peer, "--messages", 5).returncode == 0)


# Ends

def sending(peer, *args):
    return subprocess.Popen([LOADGEN, "--peer", peer, "--duration", "60", *args],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_killed_receiver():
    with Serve() as there:
        with sending(there.peer, "--threads", "2") as job:
            assert eventually(there.receives)
            there.process.kill()
            _, err = job.communicate(timeout=PATIENCE_S)
        assert job.returncode == 1
        assert len(err.splitlines()) == 1 and f"--peer {there.peer}: it closed the connection" in err


def test_killed_sender_frees_the_receiver():
    with Serve() as there:
        with sending(there.peer) as job:
            assert eventually(there.receives)
            job.kill()
        assert eventually(lambda: send(there.peer, "--messages", 5).returncode == 0)
        assert eventually(lambda: len(os.listdir(f"/proc/{there.process.pid}/task")) == 1)


@pytest.mark.parametrize("variant", ["onecopy", "zerocopy"])
def test_receiver_that_stops_reading(variant):
    with Serve() as there:
        # Has no warm-up: after one, there is a pause, in which the signals could arrive.
        with sending(there.peer, "--variant", variant, "--warmup", "0") as job:
            assert eventually(there.receives)
            there.process.send_signal(signal.SIGSTOP)
            job.send_signal(signal.SIGINT)
            _, err = job.communicate(timeout=PATIENCE_S)
        there.process.send_signal(signal.SIGCONT)
    assert job.returncode == -signal.SIGINT
    assert len(err.splitlines()) == 1, err


def test_interrupted():
    with Serve() as there:
        with sending(there.peer) as job:
            assert eventually(there.receives)
            job.send_signal(signal.SIGINT)
            out, err = job.communicate(timeout=PATIENCE_S)
        assert job.returncode == -signal.SIGINT and err == ""
        assert "throughput" in out


@needs_bpf
def test_record_of_both_ends():
    with Serve() as there:
        record = check(only(records("--peer", there.peer, "--variant", "onecopy", "--messages",
                                    500)))
    assert record["load"]["peer"] == there.peer
    assert record["load"]["receiver_pid"] is None and record["load"]["link"] is None
    assert record["app"]["receiver"]["system_s"] >= 0 and record["receiver"] is None
    assert {c["scope"] for c in record["counters"]} == {"sender"}
    assert only(record["calls"])["sends"] == 500
    assert there.process.pid not in processes()
