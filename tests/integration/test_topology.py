# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Sends to a receiver across any network of the lab; tests the counts, and what the kernel copies on the way.

The lab names the receiver's address and the expected results (topologies.tsv). Elsewhere, the network is loopback.
"""

import json
import os
import re

import pytest

from conftest import (CALLS, MECHANISMS, VARIANTS, analyze, hook, lossy, needs_bpf, note, only, records,
                      run, unwrapped, verdict_of)
from test_counts import exact, may_lose, timed

pytestmark = [needs_bpf, pytest.mark.usefixtures("untouched")]

COPIED = os.environ.get("SENDPATH_COPIED", "all")
CAUSE = os.environ.get("SENDPATH_CAUSE", "loopback:lo")
ADDRESS = os.environ.get("SENDPATH_PEER", "127.0.0.1")
NETNS = os.environ.get("SENDPATH_PEER_NETNS")
PEER = ["--address", ADDRESS, *(["--netns", NETNS] if NETNS else [])]


def as_expected(copied, of):
    return {"all": copied == of, "none": copied == 0, "some": 0 <= copied <= of}[COPIED]


def measure(variant, *args, threads=1):
    """Measures a run to the other end, and checks that nothing was lost or miscounted."""
    record = only(records("--variant", variant, "--threads", threads, "--messages",
                          CALLS // threads, *PEER, *args, timeout=500))
    exact(record, variant, CALLS // threads * threads)
    return record


def all_completed(record):
    app, seen, lost = record["app"], record["zerocopy"], record["lost"]["completions"]
    refused = sum(app["errors"].values())
    assert seen["requests"] == app["send_calls"]
    assert seen["completions"] + lost == app["zerocopy"]["completions"]
    assert app["zerocopy"]["completions"] == app["send_calls"] - refused
    assert sum(r["count"] for r in seen["refused"]) == refused
    assert seen["outstanding"] == lost
    assert seen["ignored"] == 0


def copied_as_expected(record):
    seen = record["zerocopy"]
    assert as_expected(seen["flagged"], seen["completions"])
    if COPIED != "some" and not record["lost"]["completions"]:
        assert as_expected(seen["bytes_copied"], seen["bytes"])


def causes_as_expected(record):
    """Asserts that exactly the expected cause and device are in the record, for all copied sends."""
    seen = record["zerocopy"]
    if seen["unflagged"] is not None:
        assert seen["copied"] == seen["flagged"] + seen["unflagged"]
    if COPIED == "none":
        assert seen["copied"] == 0 and seen["causes"] == []
        return
    cause, device = CAUSE.split(":")
    if lossy(record) and sum(row["bytes"] for row in seen["causes"]) < seen["bytes"]:
        # If no hook saw a copy, only its flag is known.
        assert {row["cause"] for row in seen["causes"]} <= {cause, "unclassified"}
        return
    row = only(seen["causes"])
    assert (row["cause"], row["device"]) == (cause, device)
    assert row["ifindex"] and row["netns"]
    assert row["count"] == seen["copied"] == seen["completions"]
    assert row["unflagged"] == seen["unflagged"]
    note(record, cause)
    if hook(record, "skb copy")["mechanism"] != "tracepoint":
        assert seen["skb_copy_bytes"] == row["bytes"] >= seen["bytes"]


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("threads", [1, 4])
def test_zerocopy(threads, mechanism):
    record = measure("zerocopy", "--warmup", "0.1", "--mechanism", mechanism, threads=threads)
    timed(record, mechanism)
    app, seen = record["app"]["zerocopy"], record["zerocopy"]
    assert seen["errqueue_copied"] == app["copied"]
    assert as_expected(app["copied"], app["completions"])
    if hook(record, "completion")["status"] != "attached":
        assert seen["completions"] is seen["copied"] is seen["flagged"] is None
        assert seen["causes"] is None
    elif may_lose(record):
        assert seen["completions"] <= app["completions"]
    else:
        all_completed(record)
        copied_as_expected(record)
        if not record["lost"]["completions"] and not record["lost"]["flags"]:
            causes_as_expected(record)


@pytest.mark.parametrize("variant", [v for v in VARIANTS if v != "zerocopy"])
def test_copying(variant):
    assert measure(variant)["zerocopy"] is None


def test_report_agrees():
    result = analyze("--variant", "zerocopy", "--messages", "300", "--details", *PEER)
    found = re.search(r"300 completed, (\d+ of them|none) copied", unwrapped(result.stdout))
    assert found, result.stdout + result.stderr
    # Copies without a flag count as copies, too.
    assert found[1] == ("none" if COPIED == "none" else "300 of them")
    assert "no verdict" not in verdict_of(result.stdout)


def test_bytes_arrive_unharmed():
    record = only(records("--variant", "zerocopy", "--messages", "200", "--size", "64K",
                          "--verify", *PEER))
    assert record["app"]["verify"] == {"bytes_checked": 200 * 65536, "bad_bytes": 0,
                                       "first": None}


def test_doctor_does_not_contradict():
    """Tests the doctor's verdict about the device that the kernel sends by."""
    route = only(json.loads(run("ip", "-j", "route", "get", ADDRESS).stdout))
    line = only(re.findall(rf"^device +{route['dev']}\b.*$", analyze("doctor").stdout, re.M))
    assert re.search(r"zero-copy (\w+): \S", line)[1] == os.environ.get("SENDPATH_DOCTOR", "no")


def test_a_load_goes_there_by_default():
    place = {"SENDPATH_ADDRESS": ADDRESS, **({"SENDPATH_NETNS": NETNS} if NETNS else {})}
    record = only(records("--variant", "onecopy", "--messages", 10, env={**os.environ, **place}))
    assert (record["load"]["address"], record["load"]["netns"]) == (ADDRESS, NETNS or None)
