# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests that a message's memory is written to again only when the kernel has finished with it. The receiver
detects a sender that does not wait, if the memory really was shared.

With two real NICs and a delay on the wire (the lab's topology nicpair), memory is shared: data leave long after the
send has returned. Pages of splice and sendfile are shared on loopback, too.
"""

import contextlib
import json
import os

import pytest

from conftest import LOADGEN, analyze, check, needs_bpf, run

NICPAIR = os.environ.get("SENDPATH_TOPOLOGY") == "nicpair"
CARD = "eth0"
SHARING = ["zerocopy", "uring_zc", "splice", "sendfile"]
THERE = (["--address", os.environ["SENDPATH_PEER"], "--netns", os.environ["SENDPATH_PEER_NETNS"]]
         if NICPAIR else [])
LOAD = ["--messages", 60, "--size", "16K", "--inflight", 8, "--warmup", 0, "--verify"]
EARLY = "--reuse-early"

nics = pytest.mark.skipif(not NICPAIR, reason="needs the lab's topology nicpair")


@contextlib.contextmanager
def delay():
    """Delays packets at the NIC while the block runs."""
    def tc(*arguments):
        done = run("tc", "qdisc", *arguments)
        assert done.returncode == 0, done.stderr

    assert run("modprobe", "sch_netem").returncode == 0
    tc("add", "dev", CARD, "root", "netem", "delay", "50ms")
    try:
        yield
    finally:
        tc("del", "dev", CARD, "root")


def load(variant, *options):
    """Runs the load generator. Returns its exit status, stderr, and counts."""
    done = run(LOADGEN, "--variant", variant, *LOAD, *THERE, *options, "--json", "-")
    if done.returncode == 3 and "this kernel's io_uring" in done.stderr:
        pytest.skip(done.stderr.strip())
    return done.returncode, done.stderr, json.loads(done.stdout or "null")


def assert_right(status, errors, app):
    assert (status, errors) == (0, "")
    assert app["verify"] == {"bytes_checked": 60 * 16384, "bad_bytes": 0, "first": None}


def assert_caught(status, errors, app):
    assert status == 1
    assert errors.count("\n") == 1
    assert "arrived wrong" in errors and "still sent from it (--reuse-early)" in errors
    assert 0 < app["verify"]["bad_bytes"] <= app["verify"]["bytes_checked"] == 60 * 16384
    assert app["verify"]["first"]["got"] != app["verify"]["first"]["expected"]
    assert "--reuse-early" in app["error"]


@nics
@pytest.mark.parametrize("variant", SHARING)
def test_late_data_arrive_as_sent(variant):
    with delay():
        assert_right(*load(variant))


@nics
@pytest.mark.parametrize("variant", SHARING)
def test_early_reuse_is_caught(variant):
    with delay():
        assert_caught(*load(variant, EARLY))


@nics
@needs_bpf
def test_the_record_says_that_it_reuses_early(tmp_path):
    path = tmp_path / "run.json"
    with delay():
        done = analyze("--variant", "zerocopy", *LOAD, *THERE, EARLY, "--json", path)
    assert done.returncode == 1
    assert "still sent from it (--reuse-early)" in done.stderr
    record = check(json.loads(path.read_text()))
    assert record["load"]["reuse_early"] is True
    assert record["app"]["verify"]["bad_bytes"] > 0


@pytest.mark.skipif(NICPAIR, reason="of one machine with itself")
@pytest.mark.parametrize("variant", ["splice", "sendfile"])
def test_lent_pages_are_shared_on_loopback_too(variant):
    assert_right(*load(variant))
    # With EARLY, the sender overwrites pages that a late receiver has not read yet.
    assert_caught(*load(variant, EARLY))


def test_what_is_copied_cannot_be_reused_early():
    status, errors, app = load("onecopy", EARLY)
    assert (status, app) == (2, None)
    assert errors.count("\n") == 1 and "--reuse-early" in errors and "zero-copy" in errors


def test_reuse_without_a_check_is_refused():
    done = run(LOADGEN, "--variant", "zerocopy", EARLY)
    assert done.returncode == 2 and "--verify" in done.stderr
