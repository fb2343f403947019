# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests many short connections: each server model answers all of them, and the report explains why some waited."""

import contextlib
import json
import os
import re
import shutil
import signal
import subprocess

import pytest

from conftest import (ANALYZE, LOADGEN, NONE, PATIENCE_S, Child, analyze, check, eventually, needs_bpf, only,
                      processes, records, run, unwrapped)
from test_errors import busy, descend, rests, state

MODELS = ("iterative", "threaded", "select", "epoll")

pytestmark = pytest.mark.usefixtures("untouched")


def serve(*args, prefix=(), **kwargs):
    """Runs the load without the analyzer; returns its result."""
    result = run(*prefix, LOADGEN, "--workload", "procinfo", "--warmup", 0, "--json", "-", *args,
                 **kwargs)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize("client", ["threaded", "epoll"])
@pytest.mark.parametrize("model", MODELS)
def test_every_connection_is_answered(model, client):
    app = serve("--server-model", model, "--connections", 30, "--messages", 4, "--client-model",
                client)
    serving = app["serving"]
    assert serving["started"] == serving["answered"] == app["messages"] == 120
    assert serving["unfinished"] == serving["unanswered"] == 0 and app["errors"] == {}
    for key in ("connect_ns", "accept_ns", "work_ns", "answer_ns"):
        assert serving[key]["count"] == 120
    # The time of an answer includes the server's work on it.
    assert serving["work_ns"]["sum"] <= serving["answer_ns"]["sum"]
    assert app["tcp"]["passive_opens"] >= 120
    assert app["received_bytes"] == app["bytes"] > 120 * len("1 a 0.00 0.00\n" * 2)


@pytest.mark.parametrize("model", MODELS)
def test_connections_agree_with_strace(model, tmp_path):
    """strace counts the accept4 calls that returned a socket, and the sends."""
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    trace = tmp_path / "trace"
    traced = run("strace", "-f", "-o", trace, "-e", "trace=accept4,sendto", LOADGEN, "--workload", "procinfo",
                 "--warmup", 0, "--server-model", model, "--connections", 5, "--messages", 4)
    if "ptrace" in traced.stderr and traced.returncode:
        pytest.skip("ptrace is not allowed here")
    accepts = re.findall(r"accept4.*\) += \d+$", trace.read_text(), re.M)
    sends = re.findall(r"sendto.*\) += \d+$", trace.read_text(), re.M)
    assert len(accepts) == len(sends) == 20
    assert "answered    20 connections" in traced.stdout


@pytest.mark.slow
def test_thousands_at_once():
    hard = int(subprocess.check_output("ulimit -Hn", shell=True, text=True))
    if hard < 5100:
        pytest.skip(f"only {hard} open files are allowed here")
    # The soft limit is low: the program raises it as far as allowed.
    app = serve("--server-model", "epoll", "--connections", 5000, "--messages", 1,
                prefix=("prlimit", f"--nofile=1024:{hard}"), timeout=200)
    serving = app["serving"]
    assert serving["started"] == serving["answered"] == 5000
    assert serving["unanswered"] == serving["unfinished"] == 0


def test_too_few_descriptors():
    result = run("prlimit", "--nofile=100:100", LOADGEN, "--workload", "procinfo",
                 "--connections", 200)
    assert result.returncode == 1
    assert len(result.stderr.splitlines()) == 1
    assert "--connections 200" in result.stderr and "ulimit -Hn" in result.stderr


@pytest.mark.slow
def test_full_listen_queue_is_reported():
    """The listen queue has room for one connection: most of a burst wait for a retransmission, some forever."""
    app = serve("--server-model", "iterative", "--connections", 50, "--messages", 1, "--backlog",
                1, timeout=60)
    tcp, serving = app["tcp"], app["serving"]
    assert tcp["listen_overflows"] > 0 and tcp["listen_drops"] >= tcp["listen_overflows"]
    assert serving["answered"] + serving["unanswered"] == 50
    assert serving["answer_ns"]["max"] > 900_000_000 or serving["unanswered"]


@pytest.mark.parametrize("args,words", [
    (("--server-model", "forked"), ["--server-model forked", "iterative, threaded, select, epoll"]),
    (("--server-model", "select", "--connections", "1001"), ["select", "1001", "FD_SETSIZE", "1000"]),
    (("--connections", "0"), ["--connections 0", "1 to 10000"]),
    (("--connections", "10001"), ["--connections 10001"]),
    (("--client-model", "threaded", "--connections", "2000"), ["--client-model threaded", "epoll"]),
    (("--client-model", "forked"), ["--client-model forked"]),
    (("--backlog", "0"), ["--backlog 0"]),
    (("--variant", "onecopy"), ["--variant", "procinfo"]),
    (("--verify",), ["--verify", "procinfo"]),
])
def test_wrong_usage(args, words):
    result = run(LOADGEN, "--workload", "procinfo", *args)
    assert result.returncode == 2 and result.stdout == ""
    assert len(result.stderr.splitlines()) == 1
    for word in words:
        assert word in result.stderr


def test_options_of_connections_need_the_workload():
    result = run(LOADGEN, "--connections", "5")
    assert result.returncode == 2
    assert "--connections belongs to --workload procinfo" in result.stderr


def started(*args):
    """Starts a load in the background. When the server serves, returns the job and the server's pid."""
    job = subprocess.Popen([str(a) for a in (LOADGEN, "--workload", "procinfo", "--connections", 5,
                                             "--warmup", 0, "--duration", 60, *args)],
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True)
    server = []

    def serving():
        server[:] = descend(job.pid, 1)
        return server and len(os.listdir(f"/proc/{server[0]}/task")) > 1

    assert eventually(serving)
    return job, only(server)


def sockets(pid):
    """Returns how many open sockets a process has. Ignores sockets that close at this moment."""
    found = 0
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            found += os.readlink(f"/proc/{pid}/fd/{fd}").startswith("socket:")
    return found


@pytest.mark.parametrize("model", MODELS)
def test_killed_server(model):
    job, server = started("--server-model", model)
    os.kill(server, signal.SIGKILL)
    _, err = job.communicate(timeout=PATIENCE_S)
    assert job.returncode == 1
    assert len(err.splitlines()) == 1 and "server process died (signal 9)" in err


def test_stopped_server_does_not_hold_an_interrupted_run():
    job, server = started("--server-model", "epoll")
    os.kill(server, signal.SIGSTOP)
    # Waits until earlier answers have arrived, and all clients wait for an answer of the stopped server.
    assert eventually(lambda: state(server) == "T" and sockets(job.pid) >= 5 and rests(job.pid))
    job.send_signal(signal.SIGINT)
    out, _ = job.communicate(timeout=PATIENCE_S)
    assert job.returncode == -signal.SIGINT
    assert "given up at the end" in out
    assert server not in processes()


def test_killed_client_leaves_nothing():
    job, server = started("--server-model", "threaded")
    job.kill()
    job.communicate(timeout=PATIENCE_S)
    assert eventually(lambda: server not in processes())


@needs_bpf
def test_all_models_in_one_command(tmp_path):
    path = tmp_path / "runs.json"
    result = analyze("--workload", "procinfo", "--server-model", "all", "--connections", "10,20",
                     "--messages", 3, "--repeat", 2, "--details", "--json", path)
    assert result.returncode == 0, result.stderr
    rows = [check(json.loads(line)) for line in path.read_text().splitlines()]
    assert [(r["run"]["repeat"], r["load"]["connections"], r["load"]["server_model"])
            for r in rows] == [(n, c, m) for n in (1, 2) for c in (10, 20) for m in MODELS]
    for record in rows:
        sent = sum(c["sends"] for c in record["calls"])
        # The kernel's count of the server's sends equals the client's answers.
        assert sent == record["serving"]["answered"] == 3 * record["load"]["connections"]
        assert sum(c["bytes"] for c in record["calls"]) == record["app"]["received_bytes"]
        for side in ("sender", "receiver"):
            clock = only([c for c in record["counters"]
                          if (c["event"], c["scope"]) == ("task-clock", side)])
            assert clock["value"] > 100_000  # includes the threads of the server model
        assert record["tcp"]["listen_drops"] == 0
        assert record["tcp"]["sending"] is None
    for model in MODELS:
        assert re.search(rf"^{model} +10 ", result.stdout, re.M)
        assert re.search(rf"^{model}, 20 connections +server ", result.stdout, re.M)


@pytest.mark.slow
@needs_bpf
def test_impossible_models_of_all_are_left_out_with_a_message():
    result = analyze("--workload", "procinfo", "--server-model", "all", "--connections", "1100",
                     "--messages", 1, "--warmup", 0, *NONE, timeout=300)
    assert result.returncode == 0, result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert "skipped: --server-model select with --connections 1100" in result.stderr
    assert not re.search(r"^select", result.stdout, re.M)
    assert re.search(r"^epoll +1,100 ", result.stdout, re.M)


@pytest.mark.slow
@needs_bpf
def test_report_explains_slow_answers():
    result = analyze("--workload", "procinfo", "--connections", 50, "--messages", 1, "--backlog",
                     1, "--warmup", 0, timeout=100)
    assert result.returncode == 0, result.stderr
    assert re.search(r"^iterative, 50 connections: .*the listen queue \(--backlog 1\) was full",
                     unwrapped(result.stdout), re.M)


@needs_bpf
def test_tcp_of_a_stream():
    record = only(records("--variant", "onecopy", "--messages", 2000, "--size", "64K", *NONE))
    sending = record["tcp"]["sending"]
    assert sending["sockets"] == 1
    assert sending["data_segments"] > 0 and sending["cwnd_min"] > 0 and sending["mss_min"] > 500
    assert sending["retransmits"] <= record["tcp"]["retransmits"] + 1
    assert record["tcp"]["out_segments"] > 0


@needs_bpf
def test_interrupted_grid_reports(tmp_path):
    path = tmp_path / "runs.json"
    with Child([ANALYZE, "--workload", "procinfo", "--server-model", "all",
                "--connections", "5", "--duration", "60", "--repeat", "1", "--warmup", "0", *NONE,
                "--json", str(path)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
               stderr=subprocess.PIPE, text=True) as job:
        assert eventually(lambda: len(descend(job.pid, 2)) == 2 and busy(descend(job.pid, 2)[1]))
        job.send_signal(signal.SIGINT)
        _, err = job.communicate(timeout=PATIENCE_S)
    assert job.returncode == -signal.SIGINT
    assert err == "analyze: interrupted: 1 of 4 runs stand in the result\n"
    record = check(json.loads(path.read_text()))
    assert "interrupted" in {w["code"] for w in record["warnings"]}
