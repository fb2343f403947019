# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests many connections, processes and observations: nothing is lost, nothing grows, nothing is left behind."""

import contextlib
import json
import os
import re
import resource
import signal
import subprocess

import pytest

from conftest import (ANALYZE, CALLS, NOTHING_LOST, PATIENCE_S, Child, Receiver, check, descriptors, eventually, hook,
                      line_of, losses, needs_bpf, only, programs, reason, run)
from test_observe import gate_is_open, group  # noqa: F401 (a fixture)

pytestmark = [pytest.mark.slow, needs_bpf, pytest.mark.usefixtures("untouched")]

CONNECTIONS = min(10_000, CALLS)
PROCESSES = min(1000, CALLS // 10)
TIMES = min(50, CALLS // 400)
# The limit of analyze's own memory, including the kernel's types and symbols, which it reads.
RSS_KB = 128 * 1024
# The limit of the memory of analyze's BPF maps. Their sizes are fixed, but per-CPU maps grow with the number of CPUs.
MAPS_KB = 96 * 1024


@pytest.fixture
def many_files():
    """Raises the limit of open files, because each connection needs a descriptor on both sides."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = CONNECTIONS + 1000
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(wanted, before[0]), max(wanted, before[1])))
    except (OSError, ValueError) as error:
        pytest.skip(f"RLIMIT_NOFILE cannot be raised to {wanted}: {error}")
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def maps_kb(pid):
    """Returns the memory of the BPF maps that a process holds, in KiB."""
    found = {}
    for text in descriptors(pid):
        told = dict(re.findall(r"^(map_id|memlock):\s*(\d+)$", text, re.M))
        if "map_id" in told:
            found[told["map_id"]] = int(told["memlock"])
    return sum(found.values()) // 1024


class Observer:
    """Runs analyze beside a program. end() returns the record, and checks the memory of analyze and of its maps."""

    def __init__(self, *options):
        self.process = subprocess.Popen([ANALYZE, "--json", "-", *map(str, options)],
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert eventually(lambda: gate_is_open(self.process))
        self.maps_kb = maps_kb(self.process.pid)

    def end(self):
        self.process.send_signal(signal.SIGINT)
        stdout, stderr = self.process.stdout.read(), self.process.stderr.read()
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        assert self.process.returncode in (0, -signal.SIGINT), stderr
        assert usage.ru_maxrss < RSS_KB
        assert 0 < self.maps_kb < MAPS_KB
        return check(json.loads(stdout))


def step(program, line):
    program.stdin.write(line + "\n")
    program.stdin.flush()
    return json.loads(line_of(program.stdout))


@contextlib.contextmanager
def stepped(command):
    with Child(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
               text=True) as program:
        yield program, json.loads(line_of(program.stdout))
        program.communicate("quit\n", timeout=PATIENCE_S)


@pytest.mark.parametrize("how", ["comm", "command"])
def test_many_connections(how, many_files):
    """Each connection sends twice with MSG_ZEROCOPY, so analyze must keep the state of each socket."""
    sends = 2 * CONNECTIONS
    options = ["--connections", CONNECTIONS, "--size", 100]
    with Receiver() as receiver:
        if how == "comm":
            with stepped(receiver.sender(*options, "--steps")) as (program, _):
                analyzer = Observer("--comm", "peer", "--by", "port,process")
                step(program, f"send {sends}")
                own = step(program, "drain")
                record = analyzer.end()
        else:
            result = run(ANALYZE, "--json", "-", "--by", "port,process", "--",
                         *receiver.sender(*options, "--sends", sends), timeout=500)
            own, record = map(json.loads, result.stdout.splitlines())
    assert (own["sends"], own["completions"], own["failed"]) == (sends, sends, 0)
    assert receiver.received["connections"] == CONNECTIONS
    assert losses(record) == NOTHING_LOST
    call = only(record["calls"])
    assert (call["sends"], call["bytes"]) == (sends, own["bytes"])
    zerocopy = record["zerocopy"]
    assert zerocopy["requests"] == sends
    assert only(zerocopy["peers"])["requests"] == sends
    assert only(record["by"]["groups"])["sends"] == sends
    if zerocopy["completions"] is not None:
        assert zerocopy["completions"] == only(zerocopy["peers"])["completions"] == sends


def test_many_peers():
    """Each port is a peer: the record has the first thousand peers, and the sum of the others."""
    ports = min(1200, CALLS // 4)
    script = ("import socket\n"
              f"for _ in range({ports}):\n"
              "    with socket.create_server(('127.0.0.1', 0)) as l:\n"
              "        with socket.create_connection(l.getsockname()) as s:\n"
              "            s.setsockopt(socket.SOL_SOCKET, 60, 1)\n"
              "            s.send(b'x' * 10, 0x4000000)\n")
    result = run(ANALYZE, "--json", "-", "--by", "port", "--", "/usr/bin/python3", "-c", script)
    assert result.returncode == 0, result.stderr
    record = check(json.loads(result.stdout))
    zerocopy, ports_seen = record["zerocopy"], {g["remote_port"] for g in record["by"]["groups"]}
    distinct = len(ports_seen)  # fewer than ports if the kernel reuses one
    assert sum(g["sends"] for g in record["by"]["groups"]) == ports
    assert len(zerocopy["peers"]) == min(distinct, 1000)
    rest = zerocopy["peers_rest"] or {"peers": 0, "requests": 0}
    assert rest["peers"] == distinct - len(zerocopy["peers"])
    assert sum(p["requests"] for p in zerocopy["peers"]) + rest["requests"] == ports
    assert losses(record) == NOTHING_LOST


PARENT = """
import os, socket, sys
open("/proc/self/comm", "w").write("many-children")
l = socket.create_server(("127.0.0.1", 0), backlog=512)
print("ready", flush=True)
sys.stdin.readline()
for _ in range(int(sys.argv[1])):
    if not os.fork():
        socket.create_connection(l.getsockname()).send(b"x" * 10)
        os._exit(0)
    l.accept()[0].recv(10)
    os.wait()
print("done", flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("how", ["comm", "cgroup", "pid"])
def test_many_short_lived_processes(how, request):
    """With --pid, only the process itself is observed, not its children."""
    with Child(["/usr/bin/python3", "-c", PARENT, str(PROCESSES)], text=True,
               stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert line_of(parent.stdout) == "ready\n"
        options = {"comm": ["--comm", "many-children"], "pid": ["--pid", parent.pid]}
        if how == "cgroup":
            path = request.getfixturevalue("group")
            with open(f"{path}/cgroup.procs", "w", encoding="utf-8") as procs:
                procs.write(str(parent.pid))
            options["cgroup"] = ["--cgroup", path]
        analyzer = Observer(*options[how], "--by", "process")
        parent.stdin.write("go\n")
        parent.stdin.flush()
        assert line_of(parent.stdout) == "done\n"
        record = analyzer.end()
        parent.communicate("end\n", timeout=PATIENCE_S)
    assert losses(record) == NOTHING_LOST
    groups = record["by"]["groups"]
    expected = 0 if how == "pid" else PROCESSES
    assert sum(c["sends"] for c in record["calls"]) == expected
    assert [(g["sends"], g["bytes"], g["comm"]) for g in groups] == [
        (1, 10, "many-children")] * expected
    assert len({g["pid"] for g in groups}) == expected


def links():
    return {link["id"] for link in json.loads(run("bpftool", "-j", "link", "list").stdout or "[]")}


def test_attached_again_and_again_to_a_busy_process():
    """The observed process continues undisturbed, and nothing stays attached to it."""
    before = links(), programs()
    with Receiver() as receiver, stepped(receiver.sender("--steps", "--plain")) as (program, _):
        sent = 0
        for _ in range(TIMES):
            with Child([ANALYZE, "--json", "-", "--pid", str(program.pid),
                        "--duration", "0.01"], stdout=subprocess.PIPE,
                       stderr=subprocess.PIPE, text=True) as analyzer:
                while analyzer.poll() is None:
                    sent += 100
                    own = step(program, "send 100")
                record = check(json.loads(analyzer.stdout.read()))
                assert analyzer.returncode == 0, analyzer.stderr.read()
            # Sends may be lost if the kernel skipped BPF programs. Their number in the record is that of all processes.
            if not reason(record, "send") and not hook(record, "send")["missed"]:
                # The state of a thread is allocated at its first send, without waiting. If the kernel is just
                # allocating another, it refuses, and this send is lost.
                assert losses(record) in (NOTHING_LOST, {**NOTHING_LOST, "calls": 1})
        assert (own["sends"], own["failed"]) == (sent, 0)
    assert receiver.received["bytes"] == own["bytes"] == 16384 * sent
    assert eventually(lambda: links() <= before[0] and programs() <= before[1])
