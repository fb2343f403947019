# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Redis counts its writes to clients and their bytes. The answer that reports these counts is written after they are
read: one more write, with its own length."""

import json
import re
import socket
import subprocess

import pytest

from witness import (ANALYZE, PATIENCE_S, Bpftrace, Child, Strace, accepts, agree, check,
                     eventually, free_port, gate_is_open, need, needs_bpf, run, version)

pytestmark = needs_bpf
REQUESTS = 20_000


def query(port, then=b""):
    """Returns Redis's numbers of commands, writes and written bytes, including this answer. `then` is a request that
    gets no answer."""
    with socket.create_connection(("127.0.0.1", port)) as client, client.makefile("rb") as answer:
        client.sendall(b"INFO stats\r\n")
        head = answer.readline()
        text = answer.read(int(head[1:]) + 2)
        client.sendall(then)
        assert not then or not answer.read()
    counts = {name: int(count) for name, count in re.findall(r"(\w+):(\d+)\r", text.decode())}
    return (counts["total_commands_processed"], counts["total_writes_processed"] + 1,
            counts["total_net_output_bytes"] + len(head) + len(text))


def load(port):
    loaded = run("redis-benchmark", "-h", "127.0.0.1", "-p", port, "-n", REQUESTS, "-c", 20,
                 "-P", 4, "-d", 100, "-t", "set,get", "--csv")
    assert loaded.returncode == 0, loaded.stderr


@pytest.mark.parametrize("instrument", [Strace, Bpftrace])
@pytest.mark.parametrize("threads", [1, 2])
def test_redis(threads, instrument, tmp_path):
    need("redis-server", "redis-benchmark")
    program = f"redis {version('redis-server', '--version')}, io-threads {threads}"
    port, witness, last = free_port(), instrument(tmp_path), []
    with witness.serving(lambda: accepts(port),
                         lambda: last.extend(query(port, b"SHUTDOWN NOSAVE\r\n")),
                         "redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "",
                         "--dir", tmp_path, "--io-threads", threads):
        load(port)
    commands, writes, size = last
    assert commands >= 2 * REQUESTS
    calls = witness.record["calls"]
    agree(program, "its INFO, bytes", size, sum(c["bytes"] for c in calls))
    agree(program, "its INFO, writes", writes, sum(c["sends"] for c in calls))
    witness.agrees(program)


def test_a_running_redis(tmp_path):
    """Compares Redis's counts at both ends of the window. The first answer precedes it, the last is within it."""
    need("redis-server", "redis-benchmark")
    program = f"redis {version('redis-server', '--version')}, by --pid"
    port, record = free_port(), tmp_path / "record"
    with Child(["redis-server", "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir",
                str(tmp_path)], stdout=subprocess.DEVNULL) as server:
        assert eventually(lambda: accepts(port))
        _, writes, size = query(port)
        with Child([ANALYZE, "--json", record, "--pid", str(server.pid)],
                   stderr=subprocess.PIPE, text=True) as analyzer:
            assert eventually(lambda: gate_is_open(analyzer))
            load(port)
            _, more, bigger = query(port, b"SHUTDOWN NOSAVE\r\n")
            _, stderr = analyzer.communicate(timeout=PATIENCE_S)
            assert analyzer.returncode == 0, stderr
        server.wait(PATIENCE_S)
    calls = check(json.loads(record.read_text()))["calls"]
    agree(program, "its INFO, bytes", bigger - size, sum(c["bytes"] for c in calls))
    agree(program, "its INFO, writes", more - writes, sum(c["sends"] for c in calls))
