# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests that both programs refuse options that contradict each other, in one line."""

import json

import pytest

from conftest import LOADGEN, ROOT, analyze, needs_bpf, run
from test_sending import EVERY
from test_serve import Serve

PEER = ["--peer", "192.0.2.1:5001"]
REQUEST = ["--workload", "request"]
PROCINFO = ["--workload", "procinfo"]


@pytest.mark.parametrize("options, words", [
    ([*REQUEST, "--rate", 100], "--rate"),
    ([*REQUEST, "--socket", "more", "--variant", "onecopy"], "--socket more"),
    ([*REQUEST, "--variant", "null"], "--variant null"),
    ([*REQUEST, "--rcvlowat", "1M", "--size", "4K"], "--rcvlowat"),
    (["--variant", "sendfile", "--rcvlowat", "2M"], "more --inflight"),
    ([*REQUEST, *PEER], "--peer"),
    ([*PEER, "--variant", "splice"], "--variant splice with --peer"),
    ([*PEER, "--variant", "sendfile"], "--variant sendfile with --peer"),
    ([*PEER, "--socket", "rcvbuf=64K"], "--socket rcvbuf"),
    ([*PEER, "--link", "veth"], "--link veth"),
    ([*PEER, "--address", "::1"], "--address"),
    (["--link", "veth", "--socket", "device=lo"], "--socket device=lo"),
    (["--link", "veth", "--address", "::1"], "--address"),
    ([*PROCINFO, *PEER], "--peer"),
    ([*PROCINFO, "--variant", "onecopy"], "--variant"),
    ([*PROCINFO, "--rate", 5], "--rate"),
    ([*PROCINFO, "--working-set", "1M"], "--working-set"),
    ([*PROCINFO, "--pick", "order"], "--pick"),
    ([*PROCINFO, "--seed", 5], "--seed"),
    ([*PROCINFO, "--align", "4K"], "--align"),
    ([*PROCINFO, "--huge-pages"], "--huge-pages"),
    ([*PROCINFO, "--registered"], "--registered"),
    ([*PROCINFO, "--file-dir", "/tmp"], "--file-dir"),
    ([*PROCINFO, "--reuse-early"], "--reuse-early"),
    ([*PROCINFO, "--socket", "nodelay"], "--socket"),
    ([*PROCINFO, "--verify"], "--verify"),
    (["--backlog", 5], "--backlog"),
], ids=lambda v: v if isinstance(v, str) else "")
@pytest.mark.parametrize("program", [LOADGEN, ROOT / "analyze"], ids=["loadgen", "analyze"])
def test_refused(program, options, words):
    done = run(program, *options)
    assert done.returncode == 2
    assert done.stdout == "" and done.stderr.count("\n") == 1
    assert words in done.stderr


@pytest.mark.parametrize("variant", EVERY)
def test_every_variant_answers_requests(variant):
    done = run(LOADGEN, *REQUEST, "--variant", variant, "--messages", 200, "--verify", "--threads", 2,
               "--json", "-")
    if done.returncode == 3 and "io_uring" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    app = json.loads(done.stdout)
    assert app["messages"] == app["message_latency_ns"]["count"] == 400
    assert app["message_latency_ns"]["span"] == "request..answer"
    assert app["verify"] == {"bytes_checked": 400 * 16384, "bad_bytes": 0, "first": None}


@pytest.mark.parametrize("variant", EVERY)
def test_requests_are_answered_from_a_data_set(variant):
    done = run(LOADGEN, *REQUEST, "--variant", variant, "--messages", 100, "--verify",
               "--working-set", "1M", "--pick", "random", "--json", "-")
    if done.returncode == 3 and "io_uring" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["verify"]["bad_bytes"] == 0


@needs_bpf
def test_of_every_variant_those_that_lend_memory_are_left_out_with_a_peer(tmp_path):
    with Serve() as there:
        done = analyze("--peer", there.peer, "--variant", "every", "--messages", 20, "--warmup", 0,
                       "--mechanism", "none", "--json", tmp_path / "r.json")
    assert done.returncode == 0, done.stderr
    sent = {r["load"]["variant"] for r in
            map(json.loads, (tmp_path / "r.json").read_text().splitlines())}
    assert {"twocopy", "onecopy", "zerocopy", "write", "writev"} <= sent
    assert not sent & {"sendfile", "splice"}
    for name in "sendfile", "splice":
        assert done.stderr.count(f"skipped: --variant {name} with --peer") == 1
