# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests --workload request: the receiver sends requests, and the sender answers each with one message."""

import json
import os
import signal
import subprocess

import pytest

from conftest import LOADGEN, Child, PATIENCE_S, VARIANTS, eventually, run
from test_errors import busy, descend

pytestmark = pytest.mark.usefixtures("untouched")


def load(*args, **kwargs):
    result = run(LOADGEN, "--workload", "request", "--json", "-", *args, **kwargs)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize("size", ["100", "16K", "1M"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_each_request_has_its_answer(variant, size):
    app = load("--variant", variant, "--threads", 2, "--messages", 100, "--size", size, "--verify")
    assert app["messages"] == 200
    assert app["bytes"] == app["received_bytes"] == app["verify"]["bytes_checked"]
    latency = app["message_latency_ns"]
    assert latency["span"] == "request..answer" and latency["count"] == 200
    # Each of the two connections has one request at a time, so that the sum of all times is at most twice the window.
    assert latency["sum"] <= 2.1e9 * app["elapsed_s"]


def test_timed_phases_lose_no_request():
    app = load("--variant", "zerocopy", "--duration", "0.5", "--warmup", "0.1")
    assert app["message_latency_ns"]["count"] == app["messages"] > 10
    # A request that waited for the window counts only from the start of the window.
    assert app["message_latency_ns"]["max"] <= 1e9 * app["elapsed_s"]


@pytest.mark.parametrize("args,words", [
    (("--variant", "null"), ["--variant null", "request"]),
    (("--rcvlowat", "32K"), ["--rcvlowat 32768", "16384"]),
])
def test_wrong_usage(args, words):
    result = run(LOADGEN, "--workload", "request", *args)
    assert result.returncode == 2 and len(result.stderr.splitlines()) == 1
    for word in words:
        assert word in result.stderr


@pytest.mark.parametrize("sig", [signal.SIGKILL, signal.SIGSTOP])
def test_receiver_that_requests_no_more(sig):
    with Child([LOADGEN, "--workload", "request", "--duration", "60"],
               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as job:
        assert eventually(lambda: descend(job.pid, 1) and busy(descend(job.pid, 1)[0]))
        os.kill(descend(job.pid, 1)[0], sig)
        if sig == signal.SIGSTOP:
            job.send_signal(signal.SIGINT)
        _, err = job.communicate(timeout=PATIENCE_S)
    if sig == signal.SIGKILL:
        assert job.returncode == 1 and "receiver process died (signal 9)" in err
    else:
        assert job.returncode == -signal.SIGINT
