# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests what unauthenticated clients can do to loadgen serve, and what a false receiver can to its sender."""

import contextlib
import errno
import itertools
import os
import re
import select
import socket
import struct
import threading
import time

import pytest

from conftest import LOADGEN, PATIENCE_S, eventually, run
from test_errors import rests
from test_serve import (ACCEPTED, CHALLENGE, CONTROL, CPU_TIME, DATA, MESSAGE, PROOF, REFUSED, REPLY,
                        SIGNED, STATE, Listening, Serve, accepted, answer, begin, ended, hello, kind_of,
                        measure, message, pack, received, send, signature)

pytestmark = pytest.mark.usefixtures("untouched")

SECRET = "0123456789abcdef" * 2
VERIFY = 1  # a flag of CONTROL


@pytest.fixture
def key(tmp_path):
    path = tmp_path / "key"
    path.write_text(SECRET + "\n")
    path.chmod(0o600)
    return path


def threads(there):
    return len(os.listdir(f"/proc/{there.process.pid}/task"))


def descriptors(there):
    return len(os.listdir(f"/proc/{there.process.pid}/fd"))


@contextlib.contextmanager
def session(there, **kwargs):
    """Begins a session. Yields its control connection and its secret."""
    with there.connect() as s:
        kind, secret, text = begin(s, **kwargs)
        assert kind == ACCEPTED, text
        yield s, secret


# Unauthenticated clients

def test_many_questions_make_no_threads():
    with Serve() as there:
        with session(there, slot=4) as (s, secret):
            s.sendall(b"".join(message(secret, STATE, n, n - 1, 1 << 40) for n in range(1, 5)))
            s.sendall(message(secret, CPU_TIME, 5))
            while received(s)[0] != CPU_TIME | REPLY:
                pass
            assert threads(there) == 1
            s.sendall(message(secret, STATE, 6, 0, 1 << 40))  # a second STATE for the connection
            assert ended(s)
        assert measure(there.peer, "--messages", 20)["messages"] == 20
        assert eventually(lambda: threads(there) == 1)
    assert "is done: Protocol error" in there.log


def test_many_sessions_leave_nothing():
    with Serve() as there:
        with session(there):  # during a session, the server has all descriptors that it needs
            before = descriptors(there) - 1
        for _ in range(200):
            with there.connect() as s:
                kind, secret, _ = begin(s, slot=1024)
                assert kind in (ACCEPTED, REFUSED)
                s.sendall(message(secret, STATE, 1, 3, 9))
        assert measure(there.peer, "--messages", 20)["messages"] == 20
        assert eventually(lambda: threads(there) == 1 and descriptors(there) == before)
    assert len(there.log.splitlines()) < 200  # of 400
    assert "more lines were left out" in there.log


def resident_kib(there):
    with open(f"/proc/{there.process.pid}/status", encoding="ascii") as file:
        return int(re.search(r"^VmRSS:\s*(\d+)", file.read(), re.M)[1])


@pytest.mark.slow
def test_memory_of_sessions_is_returned():
    """The sessions use 64 MiB of buffers. After them, the memory is returned."""
    with Serve() as there:
        before = resident_kib(there)
        for connections in (1, 16, 100):
            measure(there.peer, "--messages", 4, "--size", "1M", "--threads", connections)
        assert eventually(lambda: threads(there) == 1)
        assert resident_kib(there) < before + 8192


def test_a_crowd_that_sends_nothing_excludes_no_sender():
    with Serve() as there, contextlib.ExitStack() as crowd:
        for _ in range(300):
            crowd.enter_context(there.connect())
        assert measure(there.peer, "--messages", 20, "--threads", 40)["messages"] == 800
        assert eventually(lambda: descriptors(there) < 80)  # the sessions' connections close
    assert "others wait, too" in there.log


@pytest.mark.parametrize("sender", [False, True])
def test_the_number_of_pending_connections_is_limited(sender):
    with Serve() as there, contextlib.ExitStack() as opened:
        if sender:
            opened.enter_context(session(there))
        crowd = [opened.enter_context(there.connect()) for _ in range(64)]
        assert not select.select(crowd, [], [], 0.2)[0]
        opened.enter_context(there.connect())
        assert select.select(crowd, [], [], 1)[0] == crowd[:1]


@pytest.mark.slow
def test_descriptors_run_out_and_come_back():
    with Serve(program=("prlimit", "--nofile=100:100", LOADGEN, "serve")) as there:
        result = send(there.peer, "--messages", 5, "--threads", 200)
        assert result.returncode == 1 and len(result.stderr.splitlines()) == 1
        assert eventually(lambda: send(there.peer, "--messages", 5).returncode == 0)
        assert eventually(lambda: rests(there.process.pid))
    assert "Too many open files" in there.log and len(there.log.splitlines()) < 200


def test_too_few_descriptors_to_serve():
    result = run("prlimit", "--nofile=20:20", LOADGEN, "serve")
    assert result.returncode == 1 and len(result.stderr.splitlines()) == 1
    assert "the limit is 20" in result.stderr and "ulimit -Hn" in result.stderr


def test_only_the_secret_adds_a_connection():
    with Serve() as there, session(there) as (_, secret):
        for other in (bytes(32), secret[:-1] + bytes([secret[-1] ^ 1])):
            with there.connect() as s:
                s.sendall(hello(DATA, sign=other, slot=0))
                kind, _, text = answer(s)
                assert kind == REFUSED and text == "no such session"
        with there.connect() as s:
            s.sendall(hello(DATA, sign=secret, slot=0))
            assert answer(s)[0] == ACCEPTED
            with there.connect() as again:
                again.sendall(hello(DATA, sign=secret, slot=0))
                assert answer(again)[2] == "no such connection"


def test_the_result_of_checking_is_in_the_last_reply():
    """Only the last reply may have the result: while data arrive, more bytes may be checked than are counted as
    received."""
    data = bytes(1 << 20)
    with Serve() as there, session(there, flags=VERIFY, size=len(data)) as (s, secret):
        with there.connect() as sender:
            sender.sendall(hello(DATA, sign=secret, slot=0))
            assert answer(sender)[0] == ACCEPTED
            s.sendall(message(secret, STATE, 1, 0, 1 << 60))
            end = time.monotonic() + 2
            while time.monotonic() < end:
                sender.sendall(data)
        states = [received(s)]
        while not states[-1][3]:  # the reply's err: no more bytes arrive
            states.append(received(s))
    assert len(states) > 3 and not any(state[5] for state in states[:-1])
    assert states[-1][4] == states[-1][5] > len(data)


@pytest.mark.slow
def test_half_a_message_ends_the_session():
    with Serve() as there, session(there) as (s, secret):
        s.sendall(message(secret, STATE)[:30])
        assert ended(s)
    assert "is done: half a message" in there.log


@pytest.mark.slow
def test_unread_replies_end_the_session():
    with Serve() as there, session(there) as (s, secret):
        numbers = itertools.count(1)
        with pytest.raises(OSError):
            while True:
                s.sendall(b"".join(message(secret, STATE, next(numbers)) for _ in range(1000)))
    assert "is done: it reads no replies" in there.log


@pytest.mark.parametrize("option,value,words", [("--session-bytes", "1M", "--session-bytes"),
                                                ("--session-seconds", "0.5", "--session-seconds")])
def test_a_session_is_limited(option, value, words):
    with Serve(option, value) as there:
        result = send(there.peer, "--duration", 30)
        assert result.returncode == 1 and len(result.stderr.splitlines()) == 1
        assert eventually(lambda: threads(there) == 1)
    assert f"is done: it {'sent more' if 'bytes' in option else 'took longer'} than {words}" in there.log


# Keys

def test_the_same_key_is_needed(key, tmp_path):
    other = tmp_path / "other"
    other.write_text("x" * 40)
    other.chmod(0o600)
    with Serve("--key", key) as there:
        assert measure(there.peer, "--key", key, "--messages", 20, "--threads", 3)["messages"] == 60
        for options, words in (((), "it requires a key: give --key FILE"),
                               (("--key", other), "it has another --key")):
            result = send(there.peer, "--messages", 5, *options)
            assert result.returncode == 1 and len(result.stderr.splitlines()) == 1
            assert words in result.stderr
        with there.connect() as s:
            s.sendall(hello(PROOF, secret=bytes(32)))
            assert answer(s)[0] == REFUSED
        with there.connect() as s:  # a signature that another program has computed with the same key
            control = hello(CONTROL, secret=os.urandom(32))
            s.sendall(control)
            challenge = s.recv(MESSAGE.size, socket.MSG_WAITALL)
            secret = signature(SECRET.encode(), control + challenge)
            s.sendall(hello(PROOF, sign=secret))
            last = s.recv(MESSAGE.size, socket.MSG_WAITALL)
            assert (kind_of(challenge), kind_of(last)) == (CHALLENGE, ACCEPTED)
            assert last[SIGNED:] == signature(secret, last[:SIGNED])


def test_beyond_loopback_only_with_a_key_or_openly(key):
    result = run(LOADGEN, "serve", "--address", "0.0.0.0")
    assert result.returncode == 2 and result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    assert all(word in result.stderr for word in ("0.0.0.0", "--key", "--open"))
    for options in (("--key", key), ("--open",)):
        with Serve("--address", "0.0.0.0", *options) as there:
            assert there.port


@pytest.mark.parametrize("content,mode,words", [
    (None, 0, "No such file"), ("short", 0o600, "16 bytes or more"), (SECRET, 0o644, "chmod 600")])
def test_a_bad_key_is_refused(tmp_path, content, mode, words):
    path = tmp_path / "key"
    if content is not None:
        path.write_text(content)
        path.chmod(mode)
    result = run(LOADGEN, "serve", "--key", path)
    assert result.returncode == 2 and len(result.stderr.splitlines()) == 1
    assert str(path) in result.stderr and words in result.stderr


# Receivers that report impossible values

class Liar(Listening):
    """Receives a load, and answers each request with the messages that lie() returns for it."""

    def __init__(self, lie):
        self.lie = lie
        self.secret = None
        self.received = 0
        super().__init__()

    def begin(self, s):
        threading.Thread(target=self.serve, args=(s,), daemon=True).start()

    def greet(self, s):
        """Reads the first message of a connection, accepts it, and returns its kind."""
        data = s.recv(MESSAGE.size, socket.MSG_WAITALL)
        kind = kind_of(data)
        if kind == CONTROL:
            challenge = pack(CHALLENGE)
            s.sendall(challenge)
            self.secret = signature(b"", data + challenge)
            data = s.recv(MESSAGE.size, socket.MSG_WAITALL)
        s.sendall(accepted(data, sign=self.secret))
        return kind

    def serve(self, s):
        with s, contextlib.suppress(OSError, struct.error):
            kind = self.greet(s)
            while kind == DATA and (data := self.read_data(s)):
                self.received += len(data)
            while kind == CONTROL:
                got = received(s)
                for kind_, number, slot, err, value, *more in self.lie(self, *got[:3], got[4]):
                    s.sendall(message(self.secret, kind_ ^ REPLY, number, slot, value, more, err))

    def read_data(self, s):
        return s.recv(1 << 20)


def reply_message(kind, number, slot, *values):
    return (kind, number, slot, 0, *values, *[0] * (7 - len(values)))


def honest(peer, kind, number, slot, value):
    if kind != STATE:
        return [reply_message(kind, number, slot)]
    assert eventually(lambda: peer.received >= value)
    return [reply_message(kind, number, slot, value)]


def of(wanted, *values):
    """Returns a lie() that answers requests of one kind with these values, and others honestly."""
    def lie(peer, kind, number, slot, value):
        if kind != wanted:
            return honest(peer, kind, number, slot, value)
        return [reply_message(kind, number, slot, *values)]
    return lie


def too_early(peer, kind, number, slot, value):
    return [reply_message(kind, number, slot, *([0, 0] if kind == CPU_TIME else [value, 0]))]


def twice(*args):
    return honest(*args) * 2


def less(peer, kind, number, slot, value):
    honest(peer, kind, number, slot, value)
    return [reply_message(kind, number, slot, *([0, 0] if kind == CPU_TIME else [value - number, 0]))]


TIMES = iter(range(1, 1000))


def later_than_it_is(peer, kind, number, slot, value):
    if kind != CPU_TIME:
        return honest(peer, kind, number, slot, value)
    return [reply_message(kind, number, slot, next(TIMES) * 3_600_000_000, 0)]


def failing(peer, kind, number, slot, value):
    if kind != CPU_TIME:
        return honest(peer, kind, number, slot, value)
    return [(kind, number, slot, -errno.EPIPE, *[0] * 7)]


def test_an_honest_receiver_is_accepted():
    with Liar(honest) as there:
        assert measure(there.peer, "--messages", 50, "--variant", "onecopy")["received_bytes"] == 50 << 14


@pytest.mark.parametrize("lie,words", [
    (of(STATE, 2**64 - 1), "the receiver reports that it has"),
    (of(STATE, 2**63), "the receiver reports that it has"),
    (of(STATE, 1 << 40, 7), "impossible numbers"),
    (of(STATE, 1 << 20, 0, 1 << 20), "impossible numbers"),
    (later_than_it_is, "impossible processor time"),
    (failing, "impossible processor time"),
    (twice, "impossible answers"),
    (lambda *args: [(1 << 31,) * 3 + (5,) + (0,) * 7], "impossible answers"),
])
def test_numbers_are_checked(lie, words):
    with Liar(lie) as there:
        result = send(there.peer, "--messages", 50, "--variant", "onecopy", "--json", "-")
    assert result.returncode == 1
    assert len(result.stderr.splitlines()) == 1 and words in result.stderr, result.stderr


def test_bytes_that_have_not_left_are_not_there():
    """The send buffer holds megabytes, and the receiver reports at once that it has received them all."""
    def slow(self, s):
        threading.Event().wait(PATIENCE_S / 4)

    liar = type("Slow", (Liar,), {"read_data": slow})
    with liar(too_early) as there:
        there.listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        result = send(there.peer, "--messages", 30, "--variant", "onecopy", "--warmup", 0,
                      "--socket", "sndbuf=1M", "--json", "-")
    assert result.returncode == 1 and "not all of them yet" in result.stderr, result.stderr


@pytest.mark.slow
def test_a_receiver_that_grows_by_a_byte_does_not_block_the_run():
    def by_a_byte(peer, kind, number, slot, value):
        if kind == CPU_TIME:
            yield reply_message(kind, number, slot)
        for n in itertools.count(1) if kind == STATE else ():
            yield reply_message(kind, number, slot, n)
            time.sleep(0.5)

    begin = time.monotonic()
    with Liar(by_a_byte) as there:
        result = send(there.peer, "--duration", 1, "--warmup", 0, "--variant", "onecopy")
    assert result.returncode == 1
    assert re.search(r"it does not answer|\d+ of \d+ bytes had arrived when", result.stderr), result.stderr
    assert time.monotonic() - begin < 12


@pytest.mark.slow
def test_a_slow_receiver_gets_requests_in_time():
    """The receiver replies continuously. It would still give up a sender that sends nothing for long."""
    kinds = []

    def slow(peer, kind, number, slot, value):
        kinds.append(kind)
        end = time.monotonic() + 6
        while kind == STATE and time.monotonic() < end:
            yield reply_message(kind, number, slot, 1)
            time.sleep(0.2)
        yield from honest(peer, kind, number, slot, value)

    with Liar(slow) as there:
        app = measure(there.peer, "--messages", 1, "--variant", "onecopy", "--warmup", 0)
    assert app["received_bytes"] == 16384
    assert kinds.count(CPU_TIME) > 2  # before and after the window
