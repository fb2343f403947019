# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""sends.py CASE: sends by TCP to a thread of its own, with a fault because of which zero-copy does not work, or without
a fault. Prints its own counts as JSON.
"""

import collections
import ctypes
import errno
import fcntl
import json
import mmap
import os
import select
import signal
import socket
import struct
import sys
import termios
import threading
import time

SO_ZEROCOPY, MSG_ZEROCOPY = 60, 0x4000000
SO_TIMESTAMPING, TX_SOFTWARE, SOFTWARE, OPT_TSONLY = 37, 1 << 1, 1 << 4, 1 << 11
ANSWERS = collections.Counter()  # counts of sends by "sent" or the errno's name
KEPT = []  # keeps listeners from being closed
libc = ctypes.CDLL(None, use_errno=True)


def receive(listener, slowly):
    connection, _ = listener.accept()
    while True:
        if slowly:
            time.sleep(0.001)
        if not connection.recv(4096 if slowly else 1 << 20):
            return


def connected(zerocopy=True, reads=True, slowly=False, buffer=None):
    """Returns a socket connected to a thread that reads, reads slowly, or never reads."""
    listener = socket.create_server(("127.0.0.1", 0))
    sender = socket.create_connection(listener.getsockname())
    sender.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if buffer:
        sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffer)
    if zerocopy:
        sender.setsockopt(socket.SOL_SOCKET, SO_ZEROCOPY, 1)
    if reads:
        threading.Thread(target=receive, args=(listener, slowly), daemon=True).start()
    else:
        KEPT.append(listener)
    return sender


def send(sender, data, flags=MSG_ZEROCOPY):
    try:
        sender.send(data, flags)
        ANSWERS["sent"] += 1
        return True
    except OSError as error:
        ANSWERS[errno.errorcode[error.errno]] += 1
        return False


def read_queue(sender):
    """Reads all notifications; returns the sends that they report."""
    reported = 0
    while True:
        try:
            _, control, _, _ = sender.recvmsg(0, 256, socket.MSG_ERRQUEUE)
        except BlockingIOError:
            return reported
        for *_, content in control:
            low, high = struct.unpack_from("II", content, 8)
            reported += high - low + 1


def unsent(sender):
    """Returns the bytes that the peer has not acknowledged."""
    return struct.unpack("i", fcntl.ioctl(sender, termios.TIOCOUTQ, bytes(4)))[0]


def drained(sender, sends):
    left, poll = sends, select.poll()
    poll.register(sender, 0)
    while left > 0 and poll.poll(5000):
        left -= read_queue(sender)


def well(sends=40, size=20_000):
    """Sends by zero-copy, and reads every notification."""
    sender = connected()
    for _ in range(sends):
        send(sender, bytes(size))
    drained(sender, sends)


def connected_to(peer, *arguments):
    """Returns a socket connected to a thread that runs peer(connection, *arguments)."""
    listener = socket.create_server(("127.0.0.1", 0))
    sender = socket.create_connection(listener.getsockname())
    for option in (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1), (socket.SOL_SOCKET, SO_ZEROCOPY, 1):
        sender.setsockopt(*option)
    threading.Thread(target=peer, args=(listener.accept()[0], *arguments), daemon=True).start()
    return sender


def answers(connection, size):
    """Answers each `size` bytes with one byte."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    received = 0
    while data := connection.recv(1 << 16):
        received += len(data)
        connection.send(bytes(received // size))
        received %= size


def serves(port, size):
    """Answers one connection, instead of sending."""
    with socket.create_server(("127.0.0.1", port)) as listener:
        answers(listener.accept()[0], size)


def await_completion(sender):
    """Waits for the completion of a send, and counts the wait if it took 1 ms or more."""
    begun = time.monotonic()
    drained(sender, 1)
    ANSWERS["waits"] += time.monotonic() - begun > 0.001


def awaits_each(flags=MSG_ZEROCOPY, size=13, sends=40):
    """Waits for each completion. The peer answers every second message, and acknowledges the others late."""
    sender = connected_to(answers, 2 * size)
    for sent in range(sends):
        send(sender, bytes(size), flags)
        if flags:
            await_completion(sender)
        if sent % 2:
            sender.recv(1)


def ping_pong(size=13, sends=100):
    """Waits for the answer to each message, which the protocol demands."""
    sender = connected_to(answers, size)
    for _ in range(sends):
        send(sender, bytes(size))
        sender.recv(1)
        drained(sender, 1)


def paced(sends=50):
    """Sends 100 messages a second, and reads the error queue before each."""
    sender, seen = connected(), 0
    for _ in range(sends):
        seen += read_queue(sender)
        send(sender, bytes(20_000))
        time.sleep(0.01)
    drained(sender, sends - seen)


def several_in_flight(depth=8, sends=400):
    """Waits only while `depth` sends are in flight. The peer answers once per `depth` sends."""
    sender, seen = connected_to(answers, 13 * depth), 0
    for sent in range(sends):
        send(sender, bytes(13))
        while sent - seen >= depth - 1:
            seen += read_queue(sender)
    drained(sender, sends - seen)


def reads_late(connection, size):
    while True:
        time.sleep(0.01)
        if not connection.recv(size, socket.MSG_WAITALL):
            return


def awaits_slow_receiver(size=1 << 20, sends=20):
    """Waits for each completion of a message that is larger than the receiver's buffer."""
    sender = connected_to(reads_late, size >> 3)
    for _ in range(sends):
        send(sender, bytes(size))
        await_completion(sender)


def with_header(header, body, sends=100):
    """Sends a header and a body at once, as a server of files does, and reads every notification."""
    sender = connected()
    for _ in range(sends):
        sender.sendmsg([bytes(header), bytes(body)], (), MSG_ZEROCOPY)
        ANSWERS["sent"] += 1
    drained(sender, sends)


def header_first(sends=100):
    """Sends the header without MSG_ZEROCOPY, then the body with it."""
    sender = connected()
    for _ in range(sends):
        send(sender, bytes(200), socket.MSG_MORE)
        send(sender, bytes(20_000))
    drained(sender, sends)


def ignored():
    sender = connected(zerocopy=False)
    for _ in range(500):
        send(sender, bytes(20_000))


def polls():
    """Sends correctly on a non-blocking socket."""
    sender = connected(slowly=True, buffer=16_384)
    sender.setblocking(False)
    data, sent, seen = bytes(8192), 0, 0
    while sent < 200:
        if send(sender, data):
            sent += 1
        else:
            select.select([], [sender], [])
        seen += read_queue(sender)
    drained(sender, sent - seen)


def with_timestamps(sender):
    """Requests timestamps of sends. They lie between notifications in the queue, so these cannot coalesce."""
    sender.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPING, TX_SOFTWARE | SOFTWARE | OPT_TSONLY)
    return sender


def unread_queue(sends):
    """Never reads the error queue; its notifications take more and more optmem."""
    sender = with_timestamps(connected())
    for _ in range(sends):
        send(sender, bytes(100))


def optmem_and_full():
    """Sends without blocking: first the send buffer is full most of the time, later optmem is."""
    sender = with_timestamps(connected(slowly=True, buffer=1 << 14))
    sender.setblocking(False)
    while ANSWERS["ENOBUFS"] < 50:
        send(sender, bytes(5000))


def two_queues():
    """Reads the error queue of one of two sockets."""
    first, second = connected(), connected()
    for _ in range(120):
        send(first, bytes(20_000))
        send(second, bytes(20_000))
    drained(first, 120)
    while unsent(second):
        time.sleep(0.001)


def never_passed():
    """Sets SO_ZEROCOPY, and sends without MSG_ZEROCOPY."""
    sender = connected()
    for _ in range(40):
        send(sender, bytes(20_000), 0)


def stalled():
    """Sends to a peer that does not read, and waits for SIGTERM with the sends in flight."""
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    sender = connected(reads=False, buffer=8 << 20)
    sender.setblocking(False)
    for _ in range(1000):
        send(sender, bytes(10_000))
    signal.sigwait([signal.SIGTERM])


def unmapped():
    sender, memory = connected(), mmap.mmap(-1, 1 << 16)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    libc.mprotect(ctypes.c_void_p(address), 1 << 16, 0)
    for _ in range(30):
        sent = libc.send(sender.fileno(), ctypes.c_void_p(address), 1 << 15, MSG_ZEROCOPY)
        ANSWERS["sent" if sent >= 0 else errno.errorcode[ctypes.get_errno()]] += 1


def large():
    """Makes one send, which is larger than the limit of locked memory."""
    send(connected(), bytes(512 << 10))


def by_sendfile():
    sender = connected(zerocopy=False)
    send(sender, bytes(246), 0)
    with open(sys.executable, "rb") as file:
        while os.sendfile(sender.fileno(), file.fileno(), None, 1 << 20):
            ANSWERS["sent"] += 1


if __name__ == "__main__":
    name, *numbers = sys.argv[1:]
    globals()[name](*map(int, numbers))
    print(json.dumps(ANSWERS))
