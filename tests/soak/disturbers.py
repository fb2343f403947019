# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Disturbances during a soak. Each function makes one kind of disturbance, with random properties, and is called
repeatedly. It raises an error if something goes wrong. ALL has the functions that the soak calls."""

import contextlib
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import time
from functools import partial

from conftest import ANALYZE, LOADGEN, PATIENCE_S, PROGRAMS, Receiver, check, run, veth_pair
from test_errors import descend
from test_serve import ACCEPTED, CONTROL, CPU_TIME, DATA, MESSAGE, STATE, begin, hello, message
from test_strangers import Liar, reply_message
from test_sweep import TINY, lines, once

VARIANTS = ("twocopy", "onecopy", "zerocopy", "write", "writev", "sendfile", "splice")
# A run with a window of T has ended by T + AFTER_S. If all CPUs are busy, starting and attaching take START_S more.
AFTER_S = 10
START_S = 20
SAID_MAX = 20  # lines of output: more would be a flood
EXPORTED = "sends that the exporter counted"
FILES = {"run.json", "sweep", "ballast"}  # files that may remain on the disk
# These words in the output show that a program crashed, also under sanitizers.
CRASHES = ("Sanitizer", "runtime error", "Assertion", "Traceback", "stack smashing", "corrupted")


class Wrong(Exception):
    """A program misbehaved; the message has the program and the reason."""


def no_crash(name, text):
    if any(word in text for word in CRASHES):
        raise Wrong(f"{name}: {text[-3000:]}")


def records(path, cut=False):
    """Returns all records of a file, each checked. If `cut`, the last line may be incomplete."""
    try:
        rows = path.read_bytes().splitlines(keepends=True)
    except FileNotFoundError:
        return []
    if cut and rows and not rows[-1].endswith(b"\n"):
        rows.pop()
    found = []
    for row in rows:
        if not row.endswith(b"\n"):
            raise Wrong(f"{path}: half a line of {len(row)} bytes")
        found.append(check(json.loads(row)))
    return found


def send_signal(pid, parent, number):
    """Sends a signal to a child of a process, if it still is one: its id may have been reused."""
    with contextlib.suppress(OSError):
        fd = os.pidfd_open(pid)
        try:
            if pid in descend(parent, 2):
                signal.pidfd_send_signal(fd, number)
        finally:
            os.close(fd)


def end(chance, job):
    """Ends a job by a signal. Returns the signal, or None if the job had ended before."""
    number = chance.choice((signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT,
                            signal.SIGKILL))
    if job.poll() is not None:
        return None
    job.send_signal(number)
    return number


def disturb(chance, job):
    """Sends a signal to the job, or to a process of its load. Returns the signal if it was sent to the job itself."""
    which = chance.choice((0, 0, 1, 2))
    load = descend(job.pid, 2)
    if not which:
        return end(chance, job)
    if len(load) >= which:
        send_signal(load[which - 1], job.pid,
                    chance.choice((signal.SIGTERM, signal.SIGKILL, signal.SIGSTOP)))
    return None


def finish(soak, command, window_s, disturbance=None, after_s=0):
    """Runs a command, which must end in time. Returns its status, the signal that it was sent, and its output."""
    name, begin = " ".join(map(str, command)), time.monotonic()
    with soak.start(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as job:
        if disturbance:
            soak.pause(after_s, until=job)
        sent = disturbance and disturbance(job)
        try:
            _, errors = job.communicate(timeout=window_s + AFTER_S + START_S -
                                        (time.monotonic() - begin))
        except subprocess.TimeoutExpired as late:
            raise Wrong(f"{name}: has not ended {AFTER_S + START_S} s after its {window_s} s; "
                        f"signal: {sent}") from late
    if job.returncode not in (0, 1, *([-sent] if sent else [])) or errors.count("\n") > SAID_MAX:
        raise Wrong(f"{name}: status {job.returncode}, signal: {sent}: {errors[-3000:]}")
    no_crash(name, errors)
    return job.returncode, sent, errors


# Runs

def loads(chance):
    """Returns options of a run, and the total length of its windows."""
    seconds, repeat = round(chance.uniform(0.05, 1), 2), chance.randint(1, 3)
    options = ["--duration", seconds, "--warmup", 0, "--repeat", repeat]
    if chance.random() < 0.2:
        options += ["--workload", "procinfo", "--server-model",
                    chance.choice(("iterative", "threaded", "select", "epoll")),
                    "--connections", chance.randint(1, 50)]
    else:
        options += ["--variant", chance.choice(VARIANTS), "--size",
                    chance.choice((64, 1000, "16K", "1M")), "--threads", chance.randint(1, 3)]
    if chance.random() < 0.2:
        options += ["--link", "veth"]
    return options + chance.choice(([], ["--stages"], ["--by", "process,port"],
                                    ["--interval", "0.1"])), repeat * seconds


def runs(soak, chance):
    """Makes runs that write to the small disk, and ends some of them by signals."""
    options, window_s = loads(chance)
    path = soak.disk / "run.json"
    status, sent, errors = finish(
        soak, [ANALYZE, *options, "--json", path], window_s,
        partial(disturb, chance) if chance.random() < 0.6 else None, chance.uniform(0, window_s + 1))
    found = len(records(path, cut=sent in (signal.SIGKILL, signal.SIGQUIT)))
    path.unlink(missing_ok=True)
    soak.count("records", found)
    soak.count("runs that " + ("were sent a signal" if sent else "ended by themselves" if not status
                               else "found the disk full" if "No space left" in errors
                               else "lost a process of theirs"))
    if not status and not found:
        raise Wrong(f"{' '.join(map(str, options))}: status 0 without a record")


def sweeps(soak, chance):
    """Makes one sweep, which is repeatedly ended and resumed until each of its runs is recorded once."""
    folder = soak.disk / "sweep"
    status, _, errors = finish(soak, [ANALYZE, "sweep", "--out", folder, *TINY], PATIENCE_S,
                               partial(end, chance), chance.uniform(0, 8))
    if status == 1 and "No space left" not in errors:
        raise Wrong(f"sweep: {errors}")
    soak.count("sweeps ended before they were done", status != 0)
    if not status:
        once(lines(folder))
        soak.count("records", 8)
        soak.count("sweeps resumed to their end")
        shutil.rmtree(folder)


# The disk

def disk(soak, chance):
    """Fills the disk except for some random room, later empties it."""
    ballast = soak.disk / "ballast"
    with contextlib.suppress(OSError), open(ballast, "wb", buffering=0) as file:
        while file.write(bytes(4096)):
            pass
    with contextlib.suppress(FileNotFoundError):
        os.truncate(ballast, max(0, ballast.stat().st_size - chance.randrange(1 << 16)))
    soak.count("times the disk was full")
    soak.pause(chance.uniform(0, 2))
    ballast.unlink(missing_ok=True)
    soak.pause(chance.uniform(0, 3))


# Processes, sockets, namespaces

def storms(soak, chance):
    """Runs storm, whose threads send at random, and ends it at any time."""
    command = [PROGRAMS / "storm", "--port", soak.sink.port, "--seed", chance.randrange(1 << 30),
               "--threads", chance.randint(1, 3)]
    with soak.start(command) as job:
        soak.pause(chance.uniform(0.2, 3), until=job)
        if job.poll() is not None:
            raise Wrong(f"storm: status {job.returncode}")
        job.kill()
    soak.count("storms of senders")


def churn(soak, chance):
    """Observes churn, which closes sockets with sends in flight: each send that was seen must have completed or count as
    lost. A kernel may call no BPF program while process 1 runs: see docs/zerocopy.md."""
    sockets, threads = chance.choice((100, 1000, 5000)), chance.randint(1, 8)
    result = run(ANALYZE, "--json", "-", "--", PROGRAMS / "churn", "--unread", "--sockets", sockets,
                 "--threads", threads)
    if result.returncode:
        raise Wrong(f"churn: status {result.returncode}: {result.stderr}")
    own, record = map(json.loads, result.stdout.splitlines())
    seen, completed, lost = *(record["zerocopy"][key] for key in ("requests", "completions")), record["lost"]["completions"]
    few = own["sends"] // 500 if record["plan"]["tier"] == "tracepoint" else 0
    if completed + lost != seen or not own["sends"] - few <= seen <= own["sends"]:
        raise Wrong(f"churn: {own['sends']} sends, {seen} seen, {completed} completed, {lost} lost")
    soak.count("sends of sockets in churn", own["sends"])
    soak.count("of these, lost", lost)
    soak.pause(chance.uniform(0, 1))


def namespaces(soak, chance):
    """Creates two namespaces, a veth, a sender and a receiver; removes them during the run, or after it."""
    with veth_pair() as (near, far, address), Receiver(address, ("setsid", *far)) as there:
        for _ in range(chance.randint(1, 4)):
            options = ["--sends", chance.choice((1, 1000, 10**6)), "--size",
                       chance.choice((1, 1000, 100_000)), "--connections", chance.randint(1, 30)]
            with soak.start([*near, *there.sender(*options)], stdout=subprocess.DEVNULL) as job:
                soak.pause(chance.uniform(0, 1), until=job)
                if job.poll() not in (None, 0):
                    raise Wrong(f"peer: status {job.returncode}")
                job.kill()
            soak.count("senders in namespaces")
    soak.count("namespaces", 2)


# The network

def connect(soak, chance, port=None):
    s = socket.create_connection(("127.0.0.1", port or int(soak.serve.port)), 5)
    if chance.random() < 0.5:  # ends by a reset
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return s


def damaged(chance, data):
    data = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        data[chance.randrange(len(data))] = chance.randrange(256)
    return bytes(data[:chance.choice((len(data), chance.randrange(len(data))))])


def number(chance):
    return chance.choice((0, 1, 1 << 20, 1 << 40, (1 << 63) - 1, 1 << 63, (1 << 64) - 1,
                          chance.getrandbits(64)))


def questions(chance, slots, secret):
    """Returns messages of a session: valid ones, invalid ones, and garbage."""
    parts = [message(secret, chance.choice((STATE, STATE, CPU_TIME, chance.randrange(1 << 32))), n + 1,
                     chance.choice((chance.randrange(slots), chance.randrange(1 << 32))),
                     number(chance)) for n in range(chance.choice((1, 9, 3000)))]
    return b"".join(parts) if chance.random() < 0.7 else damaged(chance, b"".join(parts))


def session(soak, chance):
    """Opens a session of loadgen serve, and checks the replies."""
    slots = chance.choice((1, 3, 1024))
    with connect(soak, chance) as control:
        kind, secret, _ = begin(control, slot=slots, size=chance.choice((64, 1024, 1 << 24)))
        if kind != ACCEPTED:
            return
        soak.count("sessions of strangers")
        with contextlib.ExitStack() as opened:
            for slot in range(min(slots, chance.randint(0, 40))):
                data = opened.enter_context(connect(soak, chance))
                data.sendall(hello(DATA, sign=secret, slot=slot))
                data.sendall(bytes(chance.choice((0, 1, 100_000))))
            control.sendall(questions(chance, slots, secret))
            soak.pause(chance.uniform(0, 1))


def crowd(soak, chance):
    """Opens connections that send nothing, or an incomplete message, and stay."""
    with contextlib.ExitStack() as opened:
        for _ in range(chance.randint(1, 200)):
            s = opened.enter_context(connect(soak, chance))
            s.sendall(hello(CONTROL)[:chance.randrange(MESSAGE.size)])
        soak.pause(chance.uniform(0, 1))


def noise(soak, chance):
    with connect(soak, chance) as s:
        s.sendall(damaged(chance, chance.choice((hello(CONTROL), hello(DATA), bytes(5000)))))
        soak.pause(chance.uniform(0, 0.2))


def strangers(soak, chance):
    """Runs an unauthenticated client. Ignores errors, because serve may close its connection at any moment."""
    with contextlib.suppress(OSError, struct.error):
        chance.choice((session, session, crowd, noise, noise))(soak, chance)
    soak.count("visits of strangers")


def senders(soak, chance):
    """Runs valid senders beside strangers. They must be served, or refused because serve is busy."""
    command = [LOADGEN, "--peer", soak.serve.peer, "--duration", "0.2", "--warmup", "0", "--variant",
               chance.choice(("twocopy", "zerocopy")), "--threads", chance.randint(1, 20)]
    _, sent, errors = finish(soak, command, 0.2,
                             partial(end, chance) if chance.random() < 0.2 else None, 0.2)
    soak.count("senders that were " + ("sent a signal" if sent else "turned away" if errors
                                       else "served"))
    soak.pause(chance.uniform(0, 2))


def readings(soak, chance):
    """Reads the exporter, beside clients that request something else, or read no answer."""
    with contextlib.ExitStack() as opened:
        for _ in range(chance.randint(0, 40)):
            s = opened.enter_context(connect(soak, chance, soak.exporter.port))
            request = b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
            with contextlib.suppress(OSError):
                s.sendall(chance.choice((request, request[:9], damaged(chance, request),
                                         bytes(5000))))
        more = soak.exporter.read().sum("sendpath_sends_total") - soak.counts[EXPORTED]
    if more < 0:
        raise Wrong(f"exporter: {-more} sends fewer than before")
    soak.count(EXPORTED, int(more))
    soak.count("readings of the exporter")
    soak.pause(chance.uniform(0, 2))


def liars(soak, chance):
    """Runs a receiver that answers anything, or not at all."""
    def lie(peer, kind, n, slot, value):
        reply = [chance.choice((kind, kind, chance.randrange(1 << 32))),
                 chance.choice((n, n, n, chance.randrange(1 << 32))),
                 chance.choice((slot, slot, slot, chance.randrange(1 << 32)))]
        values = (value, value, peer.received, number(chance))
        return chance.choice(([reply_message(*reply, chance.choice(values), chance.choice(values))],) * 9 +
                             ([], [reply_message(*reply, value)] * 2))

    with Liar(lie) as there:
        finish(soak, [LOADGEN, "--peer", there.peer, "--duration", "0.2", "--warmup", "0"], 0.2)
    soak.count("receivers that lie")


ALL = (runs, sweeps, disk, storms, churn, namespaces, strangers, senders, readings, liars)
