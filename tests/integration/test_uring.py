# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests that sends by io_uring have their sender's counts, whichever thread makes them, also across networks."""

import json
import os
import re

import pytest

from conftest import (CALLS, NOTHING_LOST, PROGRAMS, SEND_MECHANISMS, Receiver, analyze, check, hook,
                      losses, needs_bpf, only, reason, run, veth_pair)
from test_interval import lines

ADDRESS = os.environ.get("SENDPATH_PEER", "127.0.0.1")
NETNS = os.environ.get("SENDPATH_PEER_NETNS")
COPIED = os.environ.get("SENDPATH_COPIED", "all")
LOOPBACK = ADDRESS == "127.0.0.1"
SENDS = min(1000, CALLS // 5)

_probe = run(PROGRAMS / "uring", "--probe")
pytestmark = [needs_bpf,
              pytest.mark.skipif(_probe.returncode != 0, reason=_probe.stdout.strip() or "?"),
              pytest.mark.usefixtures("untouched")]


def observe(*options, mechanism, address=ADDRESS, sends=SENDS):
    """Observes the sender. Returns its report, and the record."""
    prefix = ["ip", "netns", "exec", NETNS] if NETNS else []
    with Receiver(address, prefix) as receiver:
        result = analyze("--json", "-", "--by", "process", "--mechanism", mechanism, "--",
                         PROGRAMS / "uring", "--address", address, "--port", receiver.port,
                         "--sends", sends, *options)
    assert result.returncode == 0, result.stderr
    own, record = map(json.loads, result.stdout.splitlines())
    assert own["sends"] == sends and own["failed"] == 0
    assert receiver.received["bytes"] == own["bytes"]
    return own, check(record)


def assert_arithmetic(zerocopy):
    refused = sum(r["count"] for r in zerocopy["refused"])
    if zerocopy["completions"] is not None:
        assert zerocopy["requests"] == (zerocopy["completions"] + zerocopy["ignored"] + refused +
                                        zerocopy["outstanding"])
    if zerocopy.get("causes") is not None and zerocopy["copied"] is not None:
        assert sum(row["count"] for row in zerocopy["causes"]) == zerocopy["copied"], zerocopy["causes"]


def assert_costs(uring, own, size):
    """Asserts that each notification has a time, and pinned as many bytes as its send requested. send_each() leaves at
    most 8 notifications outstanding."""
    times, pinned = uring["completion_ns"], uring["pinned"]
    assert times["count"] == sum(count for _, _, count in times["buckets"]) == own["completions"]
    assert times["span"].endswith("..completion") and 0 < times["min"] <= times["p50"] <= times["max"]
    assert pinned["bytes_now"] == 0 and pinned["bytes_max"] % size == 0
    assert size <= pinned["bytes_max"] <= 10 * size  # may be one too many: see docs/run-record.md


def missed_some(record):
    """Returns whether the record shows that a preemptible kernel skipped programs."""
    hooks = [hook(record, name) for name in ("send", "io_uring completion")]
    return any(h["missed"] for h in hooks if "preempts" in (h["reason"] or ""))


def expected_copies(of):
    return {"all": of, "none": 0}[COPIED]


@pytest.mark.parametrize("mechanism", SEND_MECHANISMS)
@pytest.mark.parametrize("options, address", [
    (["--by", "send-zc"], ADDRESS), (["--by", "sendmsg-zc"], "::1" if LOOPBACK else ADDRESS),
    (["--worker"], ADDRESS), (["--poll"], "::1" if LOOPBACK else ADDRESS)], ids=lambda of: of if isinstance(of, str) else " ".join(of))
def test_zero_copy_sends_have_their_own_row(options, address, mechanism):
    own, record = observe(*options, "--report", mechanism=mechanism, address=address)
    zerocopy, row = record["zerocopy"], only(record["calls"])
    assert (row["syscall"], row["zerocopy"], row["notified_by"]) == ("io_uring", True, "io_uring")
    assert zerocopy["requests"] == zerocopy["completions"] == zerocopy["outstanding"] == 0
    uring = zerocopy["io_uring"]
    assert_arithmetic(uring)
    if missed_some(record):
        assert row["bytes"] <= own["bytes"]
        return
    assert only(record["io_uring"]) == {
        "operation": "SENDMSG_ZC" if "sendmsg-zc" in options else "SEND_ZC", "requests": own["sends"], "errors": {}}
    assert row["bytes"] == own["bytes"]
    assert uring["bytes"] == own["bytes"] and uring["ignored"] == 0
    assert uring["outstanding"] == 0
    assert_costs(uring, own, own["bytes"] // own["sends"])
    assert uring["copied"] == expected_copies(uring["completions"])
    if LOOPBACK:
        assert own["copied"] == own["completions"]
    assert only(zerocopy["peers"])["completions"] == uring["completions"]
    assert only(zerocopy["peers"])["copied"] == uring["copied"]
    assert only(record["by"]["groups"])["zerocopy"]["requests"] == uring["requests"]
    if "loses returns" not in reason(record, "send"):
        assert losses(record) == NOTHING_LOST
        if not row["errors"] and row["sends"] == own["sends"]:  # no send was accepted in parts
            assert uring["completions"] == own["completions"]


@pytest.mark.parametrize("mechanism", SEND_MECHANISMS)
def test_copies_without_a_request_to_report_them(mechanism):
    own, record = observe(mechanism=mechanism)
    uring, peer = record["zerocopy"]["io_uring"], only(record["zerocopy"]["peers"])
    assert own["copied"] == 0  # the sender did not request the report of copies
    if missed_some(record):
        return
    assert uring["completions"] == peer["completions"] == uring["requests"] - sum(
        r["count"] for r in uring["refused"])
    assert uring["completions"] >= own["completions"]
    if hook(record, "io_uring completion")["mechanism"] == "tracepoint" and not expected_copies(1):
        assert uring["copied"] is peer["copied"] is None
        why = only([u for u in record["unmeasured"] if u["key"] == "zerocopy.io_uring.copied"])
        assert "IORING_SEND_ZC_REPORT_USAGE" in why["reason"]
    else:
        assert uring["copied"] == peer["copied"] == expected_copies(uring["completions"])


@pytest.mark.parametrize("mechanism", SEND_MECHANISMS)
def test_an_overflow_of_the_completion_queue_loses_nothing(mechanism):
    """If the queue of 128 is full, the kernel posts completions by a tracepoint that does not show the request."""
    own, record = observe("--depth", 200, mechanism=mechanism)
    uring = record["zerocopy"]["io_uring"]
    assert own["completions"] == SENDS
    if missed_some(record):
        return
    assert uring["outstanding"] == 0 and uring["completions"] >= SENDS
    assert uring["pinned"]["bytes_now"] == 0
    assert sum(row["sends"] for row in uring["waits"]["in_flight"]) >= SENDS


@pytest.mark.parametrize("mechanism", SEND_MECHANISMS)
def test_a_route_without_scatter_gather_copies_at_once(mechanism):
    """No packet ever holds the pages, so none reports a copy. TCP-MD5 rules out forced scatter-gather."""
    with veth_pair() as (near, far, address):
        assert run(*near, "ethtool", "-K", "near0", "sg", "off").returncode == 0
        with Receiver(address, far, "--md5", "198.18.7.1") as receiver:
            result = analyze("--json", "-", "--mechanism", mechanism, "--", *near, PROGRAMS / "uring",
                             "--address", address, "--port", receiver.port, "--md5", address,
                             "--sends", 50, "--report")
    own, record = map(json.loads, result.stdout.splitlines())
    uring = check(record)["zerocopy"]["io_uring"]
    if not missed_some(record):
        assert own["copied"] == 50 and uring["copied"] == uring["completions"] >= 50


@pytest.mark.parametrize("mechanism", SEND_MECHANISMS)
def test_sends_that_the_socket_takes_in_parts(mechanism):
    """A part is a send; all parts belong to one request, and one notification completes them."""
    own, record = observe("--size", 1 << 20, mechanism=mechanism, sends=20)
    uring, row = record["zerocopy"]["io_uring"], only(record["calls"])
    assert own["completions"] == 20
    assert_arithmetic(uring)
    if missed_some(record):
        return
    assert only(record["io_uring"])["requests"] == 20
    assert row["bytes"] == uring["bytes"] == own["bytes"]
    assert uring["requests"] == row["sends"] >= 20
    assert_costs(uring, own, 1 << 20)
    assert uring["outstanding"] == 0


@pytest.mark.parametrize("mechanism", SEND_MECHANISMS)
@pytest.mark.parametrize("options", [["--by", "send"], ["--by", "sendmsg", "--worker"],
                                     ["--by", "sendmsg", "--poll"]], ids=" ".join)
def test_sends_that_copy(options, mechanism):
    own, record = observe(*options, mechanism=mechanism)
    row = only(record["calls"])
    assert (row["syscall"], row["zerocopy"], row["notified_by"]) == ("io_uring", False, None)
    assert record["zerocopy"]["io_uring"] is None
    if missed_some(record):
        return
    assert only(record["io_uring"]) == {
        "operation": options[1].upper(), "requests": own["sends"], "errors": {}}
    assert row["bytes"] == own["bytes"]
    assert row["sends"] - sum(row["errors"].values()) >= own["sends"]


@pytest.mark.parametrize("mechanism", SEND_MECHANISMS)
def test_the_flag_by_io_uring(mechanism):
    """io_uring sends with MSG_ZEROCOPY, not by SEND_ZC: the send has an id, and the error queue reports its
    completion."""
    own, record = observe("--by", "send", "--flag", mechanism=mechanism, sends=20)
    zerocopy, row = record["zerocopy"], only(record["calls"])
    assert (row["syscall"], row["notified_by"]) == ("io_uring", "error queue")
    assert zerocopy["io_uring"] is None
    if missed_some(record):
        return
    assert_arithmetic(zerocopy)
    assert zerocopy["bytes"] == own["bytes"]
    if not row["errors"] and row["sends"] == own["sends"]:  # no send was accepted in parts
        assert zerocopy["requests"] == own["sends"]
        if hook(record, "completion")["status"] == "attached":
            assert zerocopy["completions"] == own["completions"]


# Options of each way of sending.
LINKED = {"send": ["--by", "send"], "flag": ["--by", "sendmsg", "--flag"],
          "send-zc": ["--by", "send-zc", "--report"]}


@pytest.mark.parametrize("mechanism", SEND_MECHANISMS)
@pytest.mark.parametrize("by, wake, linked", [
    ("send", "write", 20), ("send", "sendmmsg", 1), ("flag", "write", 1), ("flag", "sendmsg", 20), ("flag", "sendto", 1),
    ("send-zc", "write", 20), ("send-zc", "sendto", 1), ("send-zc", "sendmmsg", 1)])
def test_sends_on_the_way_out_of_another_syscall(by, wake, linked, mechanism):
    """io_uring makes the send in task work, at the end of another syscall; it must count as io_uring's."""
    own, record = observe("--linked", linked, "--wake", wake, "--size", 100, *LINKED[by], mechanism=mechanism,
                          sends=100)
    zerocopy, row = record["zerocopy"], only(record["calls"])
    assert (row["syscall"], row["zerocopy"]) == ("io_uring", by != "send")
    if missed_some(record):
        return
    assert losses(record) == NOTHING_LOST
    assert (row["sends"], row["bytes"]) == (own["sends"], own["bytes"])
    if by == "send":
        return
    counted = zerocopy["io_uring"] if by == "send-zc" else zerocopy
    assert counted["requests"] == own["sends"]
    if counted["completions"] is not None:
        assert counted["completions"] == own["completions"] == own["sends"]
        assert counted["copied"] == expected_copies(own["sends"])


def test_the_report_has_the_counts_of_io_uring():
    with Receiver(ADDRESS, ["ip", "netns", "exec", NETNS] if NETNS else []) as receiver:
        text = analyze("--details", "--", PROGRAMS / "uring", "--address", ADDRESS, "--port", receiver.port,
                       "--report", "--sends", 100).stderr
    assert "io_uring SEND_ZC" in text
    found = re.search(r"(\d+) sends by io_uring's SEND_ZC, (\d+) completed, (\d+|none) "
                      r"(?:of them )?copied", text)
    sends, completed, copied = (0 if n == "none" else int(n) for n in found.groups())
    assert sends >= completed >= 100 and copied == expected_copies(completed)
    assert re.search(r"\n  completion +p50 .*(?:\n {10,}.*)?\n  pinned +at most [\d,]+ bytes; none when the window closed\n", text)


@pytest.mark.parametrize("mechanism", SEND_MECHANISMS)
def test_interval_lines_have_them_in_the_columns_of_the_others(mechanism, tmp_path):
    path = tmp_path / "record"
    with Receiver() as receiver:
        result = analyze("--interval", 10, "--mechanism", mechanism, "--json", path, "--",
                         PROGRAMS / "uring", "--port", receiver.port, "--sends", 100)
    record = check(json.loads(path.read_text()))
    assert only(lines(result.stderr))["zerocopy"] == str(record["zerocopy"]["io_uring"]["requests"])
    assert record["zerocopy"]["io_uring"]["requests"] == 100 or missed_some(record)
