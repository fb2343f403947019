# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Attacks on loadgen serve: clients without the key, a log that nobody reads, a relay between both ends."""

import contextlib
import os
import pty
import re
import select
import signal
import socket
import subprocess
import sys
import threading

import pytest

from conftest import PATIENCE_S, eventually
from test_serve import (ACCEPTED, CHALLENGE, CONTROL, CPU_TIME, DATA, MESSAGE, PROOF, REFUSED, REPLY,
                        SIGNED, STATE, VERSION, Impostor, Listening, Serve, answer, ended, hello, kind_of,
                        measure, message, send)
from test_strangers import key, session  # noqa: F401 (a fixture)

pytestmark = pytest.mark.usefixtures("untouched")

SENDERS = 3

# Connects to a port again and again, and calls the function that its second argument names on each connection.
STRANGER = """
import socket, sys, time
hello = bytes.fromhex(sys.argv[3])
def repeat():
    s = connect()
    while True:
        s.sendall(hello)
def request():
    connections.append(connect())
    connections[-1].sendall(hello)
def drip():
    if len(connections) < 100:
        connections.append(connect())
    for s in connections:
        s.send(hello[:1])
    time.sleep(0.01)
def connect():
    return socket.create_connection(("127.0.0.1", int(sys.argv[1])), 5)
connections = []
while True:
    try:
        globals()[sys.argv[2]]()
    except OSError:
        connections = []
"""


@contextlib.contextmanager
def strangers(there, does, count=1):
    with contextlib.ExitStack() as stack:
        for _ in range(count):
            job = stack.enter_context(subprocess.Popen(
                [sys.executable, "-c", STRANGER, there.port, does, hello(CONTROL).hex()]))
            stack.callback(job.kill)
        yield


def end(there):
    """Ends the server by SIGTERM; connected clients must not prevent that."""
    there.process.send_signal(signal.SIGTERM)
    assert there.process.wait(PATIENCE_S) == -signal.SIGTERM


@pytest.mark.parametrize("does,count", [("repeat", 2), ("request", 2), ("drip", 2)])
def test_strangers_exclude_no_sender(does, count, key):  # noqa: F811
    with Serve("--key", key) as there, strangers(there, does, count):
        for _ in range(SENDERS):
            assert measure(there.peer, "--key", key, "--messages", 5)["messages"] == 5
        end(there)
    assert "more lines were left out" in there.log


def test_the_time_of_a_stranger_begins_once(key):  # noqa: F811
    """Sending does not renew a client's time: it ends no later than that of a client that connects during it."""
    data = hello(CONTROL)
    with Serve("--key", key) as there, there.connect() as first:
        for i in range(0, len(data), 16):
            if i == len(data) // 32 * 16:
                later = there.connect()
            first.sendall(data[i:i + 16])
            select.select([first], [], [], 0.05)
        with later:
            assert answer(first)[0] == CHALLENGE
            assert first in select.select([first, later], [], [], PATIENCE_S)[0]
            assert ended(first) and ended(later)


def test_a_stranger_is_challenged_once(key):  # noqa: F811
    with Serve("--key", key) as there, there.connect() as s:
        s.sendall(hello(CONTROL))
        assert answer(s)[0] == CHALLENGE
        s.sendall(hello(CONTROL))
        assert answer(s)[::2] == (REFUSED, "it sent CONTROL twice")
        assert ended(s)


# Logs that nobody reads

def unread(kind):
    """Returns both ends of a socket pair, terminal or pipe; the second end is full, and accepts no more bytes."""
    if kind == "socket":
        ours, theirs = (s.detach() for s in socket.socketpair())
    else:
        ours, theirs = pty.openpty() if kind == "terminal" else os.pipe()
    # The descriptor must stay blocking, as must the open file that it shares with the server.
    if kind == "socket":
        with socket.socket(fileno=os.dup(theirs)) as s, contextlib.suppress(BlockingIOError):
            while True:
                s.send(b"x", socket.MSG_DONTWAIT)
    else:
        fd = os.open(f"/proc/self/fd/{theirs}", os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(fd, b"x")
        os.close(fd)
    return ours, theirs


def visit(there):
    with there.connect() as s:
        s.sendall(b"GET / HTTP/1.1\r\n\r\n")
        assert ended(s)


def read_log(fd, log):
    with contextlib.suppress(OSError):  # the end of a terminal is an error
        while data := os.read(fd, 1 << 16):
            log += data
    os.close(fd)


@pytest.mark.parametrize("kind", ["pipe", "terminal", "socket"])
def test_an_unread_log_delays_nobody(kind):
    ours, theirs = unread(kind)
    log = bytearray()
    with Serve(stderr=theirs) as there:
        os.close(theirs)
        for _ in range(30):
            visit(there)
        assert measure(there.peer, "--messages", 5)["messages"] == 5
        visit(there)
        reader = threading.Thread(target=read_log, args=(ours, log))
        reader.start()
        assert eventually(lambda: b"left out" in log)  # no other event triggers it
        for _ in range(15):
            visit(there)
        end(there)
        reader.join()
    lines = log.decode().replace("\r", "").lstrip("x").splitlines()
    counts = [re.match(r"loadgen: (\d+) more lines were left out", line) for line in lines]
    printed = sum(count is None for count in counts)
    assert printed < 30, lines
    assert printed + sum(int(count[1]) for count in counts if count) == 30 + 2 + 1 + 15, lines


@pytest.mark.parametrize("kind", ["pipe", "terminal", "socket"])
def test_an_unread_log_does_not_keep_it_from_ending(kind):
    ours, theirs = unread(kind)
    with Serve(stderr=theirs) as there:
        os.close(theirs)
        for _ in range(20):
            visit(there)
        end(there)
    os.close(ours)


# A relay

class Relay(Listening):
    """Relays between a sender and serve. change() gets the connection's number, whether the bytes come from the sender,
    and the bytes; it returns the bytes to pass on, or None to end the connection."""

    def __init__(self, there, change=lambda number, sends, data: data):
        self.there, self.change, self.pairs = there, change, []
        super().__init__()

    def begin(self, s):
        pair = s, self.there.connect()
        self.pairs.append(pair)
        for sends in (True, False):
            threading.Thread(target=self.pump, daemon=True,
                             args=(len(self.pairs) - 1, sends, *(pair if sends else pair[::-1]))).start()

    def pump(self, number, sends, source, sink):
        with contextlib.suppress(OSError):
            while (data := source.recv(1 << 16)) and (data := self.change(number, sends, data)):
                sink.sendall(data)
        for s in (source, sink):
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)

    def __exit__(self, *_):
        super().__exit__()
        for s in sum(self.pairs, ()):
            with contextlib.suppress(OSError):
                s.shutdown(socket.SHUT_RDWR)  # close() would leave a thread in recv, and the connection open
            s.close()


def fails(peer, *args):
    """Returns the one line of a sender that fails."""
    result = send(peer, "--messages", 20, *args)
    assert result.returncode == 1 and len(result.stderr.splitlines()) == 1, result.stderr
    return result.stderr


def test_a_relay_that_only_relays(key):  # noqa: F811
    with Serve("--key", key) as there, Relay(there) as relay:
        assert measure(relay.peer, "--key", key, "--messages", 20, "--threads", 3)["messages"] == 60


@pytest.mark.parametrize("byte,words", [(19, "impossible answers"),
                                        (31, "it has another --key"),
                                        (39, "it has another --key")],
                         ids=["connections", "size", "flags"])
def test_a_relay_cannot_change_the_load(byte, words, key):  # noqa: F811
    def change(number, sends, data):
        if kind_of(data) == CONTROL:
            data = data[:byte] + bytes([data[byte] ^ 2]) + data[byte + 1:]
        return data

    with Serve("--key", key) as there, Relay(there, change) as relay:
        assert words in fails(relay.peer, "--key", key)
    assert "sends" not in there.log


def test_a_relay_cannot_take_over_the_session(key):  # noqa: F811
    """The relay has read all messages, and holds both connections of the session."""
    messages, accepted, done = [], threading.Event(), threading.Event()

    def change(number, sends, data):
        messages.append(data)
        if kind_of(data) != ACCEPTED:
            return data
        accepted.set()
        done.wait(PATIENCE_S)
        return None

    with Serve("--key", key) as there, Relay(there, change) as relay:
        job = threading.Thread(target=send, args=(relay.peer, "--key", key))
        job.start()
        assert accepted.wait(PATIENCE_S)
        for secret in {data[SIGNED:] for data in messages}:
            for words in ({"sign": secret}, {"secret": secret}):
                with there.connect() as s:
                    s.sendall(hello(DATA, slot=0, **words))
                    assert answer(s)[::2] == (REFUSED, "no such session")
        relay.pairs[0][1].sendall(message(messages[-1][SIGNED:], STATE))
        assert ended(relay.pairs[0][1])
        done.set()
        job.join()
        assert measure(there.peer, "--key", key, "--messages", 20)["messages"] == 20
    assert "is done: Bad message" in there.log


def flipped(relay, data):
    return data[:-40] + bytes([data[-40] ^ 1]) + data[-39:]


def reflected(relay, data):
    relay.pairs[0][0].sendall(data)
    return None


@pytest.mark.parametrize("sends,how", [(False, flipped), (True, reflected)])
def test_a_relay_cannot_answer_for_the_receiver(sends, how, key):  # noqa: F811
    def change(number, sends_, data):
        is_message = sends_ == sends and kind_of(data) in (CPU_TIME, CPU_TIME | REPLY)
        return how(relay, data) if is_message else data

    with Serve("--key", key) as there, Relay(there, change) as relay:
        assert "impossible answers" in fails(relay.peer, "--key", key)


def test_a_relay_cannot_receive_the_load(key):  # noqa: F811
    """The relay answers the message that introduces a connection with an earlier answer."""
    accepted = []

    def change(number, sends, data):
        if kind_of(data) == ACCEPTED:
            accepted.append(data)
        if kind_of(data) == DATA:
            relay.pairs[number][0].sendall(accepted[0])
            return b"nothing for who serves"
        return data

    with Serve("--key", key) as there, Relay(there, change) as relay:
        assert "impossible" in fails(relay.peer, "--key", key)


# Both ends have to prove themselves

def test_a_sender_with_a_key_refuses_a_receiver_without(key):  # noqa: F811
    with Serve() as there:
        assert "it requires no key" in fails(there.peer, "--key", key)
        assert measure(there.peer, "--messages", 5)["messages"] == 5


class Stage(Impostor):
    """Answers with these messages, one after the other."""

    def begin(self, s):
        self.kept.append(s)
        for data in self.answer:
            s.recv(MESSAGE.size, socket.MSG_WAITALL)
            s.sendall(data)


def recorded(there, key):  # noqa: F811
    """Returns all messages that begin a session or connection, by type."""
    messages = {}

    def change(number, sends, data):
        messages.setdefault(kind_of(data), data)
        return data

    with Relay(there, change) as relay:
        measure(relay.peer, "--key", key, "--messages", 5)
    return messages


def test_a_receiver_has_to_prove_itself(key):  # noqa: F811
    with Serve("--key", key) as there:
        messages = recorded(there, key)
    for accepted in (messages[ACCEPTED], hello(ACCEPTED, slot=1), hello(ACCEPTED, sign=bytes(32))):
        with Stage([messages[CHALLENGE], accepted]) as impostor:
            assert "has not proved that it knows the --key" in fails(impostor.peer, "--key", key)


def refusal(there, data):
    with there.connect() as s:
        s.sendall(data)
        kind, _, why = answer(s)
    assert kind == REFUSED
    return why


def test_what_was_recorded_proves_nothing(key):  # noqa: F811
    with Serve("--key", key) as there:
        messages = recorded(there, key)
        with there.connect() as s:
            s.sendall(messages[CONTROL])
            assert answer(s)[0] == CHALLENGE
            s.sendall(messages[PROOF])
            assert answer(s)[::2] == (REFUSED, "it has another --key")
        # Waits until the recorded session has ended, and its entry is free.
        assert eventually(lambda: refusal(there, messages[DATA]) == "no such session")


def test_messages_are_accepted_once():
    with Serve() as there, session(there) as (s, secret):
        s.sendall(message(secret, CPU_TIME) * 2)
        s.recv(4096)
        assert ended(s)
    assert "is done: Protocol error" in there.log


def test_older_versions_get_a_reply():
    with Serve() as there, there.connect() as s:
        s.sendall(hello(CONTROL, version=VERSION - 1))
        assert answer(s)[::2] == (REFUSED, f"it has version {VERSION - 1}, this program {VERSION}")
        assert ended(s)
    with Impostor(hello(REFUSED, version=VERSION - 1)) as there:
        assert f"it has version {VERSION - 1}, this program {VERSION}" in fails(there.peer)
