# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests that the doctor reports what can be measured, and for each device whether zero-copy can work."""

import os
import re

import pytest

from conftest import ANALYZE, CAN_MEASURE, analyze, on_a_terminal, only, records, run, unwrapped


def test_doctor_reports_everything():
    text = analyze("doctor").stdout
    for what in ("result", "kernel", "machine", "BTF", "lockdown", "capabilities", "PMU", "optmem_max",
                 "memlock", "hook send", "hook completion", "hook skb copy",
                 "hook receiver copy", "memory of maps"):
        assert re.search(rf"^{what} +\S", text, re.M), what
    assert re.search(r"^device +lo: zero-copy no: ", text, re.M)
    assert os.uname().release in text


def test_on_a_terminal_long_lines_are_broken():
    _, shown, _ = on_a_terminal(["sh", "-c", f"exec {ANALYZE} doctor >&2"])
    lines = shown.decode().splitlines()
    assert max(map(len, lines)) <= 80
    assert unwrapped("\n".join(lines)).splitlines() == analyze("doctor").stdout.splitlines()


# Hooks of --stages. The doctor's output has one line for all of them.
STAGES = {"entry of sendto", "entry of sendmsg", "entry of write", "entry of writev",
          "zero-copy request", "skb allocation", "page fragment", "user copy", "page pin",
          "transmit", "deep copy", "completion time", "memory wait", "softirq", "switch",
          "wake-up", "copy-out"}


def test_stages_have_a_line_of_their_own():
    found = re.search(r"^stages of a send +(\d+) of their (\d+) hooks", analyze("doctor").stdout,
                      re.M)
    assert int(found[2]) == len(STAGES) and 2 <= int(found[1]) <= len(STAGES)


@pytest.mark.skipif(not CAN_MEASURE, reason="sends cannot be timed here")
def test_plan_of_a_run_agrees_with_doctor():
    text = analyze("doctor").stdout
    record = only(records("--variant", "zerocopy", "--messages", "10"))
    for hook in record["plan"]["hooks"]:
        if hook["name"] in STAGES:
            assert "--stages" in hook["reason"]
            continue
        line = only(re.findall(rf"^hook {hook['name']}  +(.*)$", text, re.M))
        if hook["status"] == "attached":
            assert line.startswith(f"{hook['mechanism']}: {hook['symbol']}")
        elif hook["status"] == "unavailable":
            assert line == f"unavailable: {hook['reason']}"


def test_every_way_of_every_hook_is_tried(untouched):
    header, *lines = analyze("doctor", "--hooks").stdout.splitlines()
    assert header.split("\t") == ["hook", "mechanism", "symbol", "status", "reason"]
    rows = [line.split("\t") for line in lines]
    assert {row[0] for row in rows} == {"send", "kTLS send", "send id", "completion",
                                        "io_uring completion", "error queue",
                                        "error queue read", "skb copy", "skb segment",
                                        "skb pull", "skb duplicate", "skb cow",
                                        "device exit", "receiver copy", "packet"} | STAGES
    assert {row[1] for row in rows} == {"fentry", "kprobe", "tracepoint"}
    for hook, mechanism, symbol, status, reason in rows:
        assert status in ("attached", "may miss", "unavailable")
        assert symbol and bool(reason) == (status != "attached"), (hook, mechanism)
    one = analyze("doctor", "--hooks=send id").stdout.splitlines()
    assert one == [header, *(line for line in lines if line.startswith("send id\t"))]


def test_an_unknown_hook_is_refused():
    result = analyze("doctor", "--hooks=skb")
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1
    assert "--hooks=skb: no such hook; there are send, " in result.stderr


@pytest.mark.skipif(not CAN_MEASURE, reason="sends cannot be timed here")
def test_no_mechanism_attaches_nothing(untouched):
    record = only(records("--variant", "zerocopy", "--messages", "10", "--mechanism", "none"))
    assert record["plan"]["tier"] is None
    assert {hook["status"] for hook in record["plan"]["hooks"]} == {"disabled"}
    assert record["app"]["messages"] == 10
    for key in ("calls", "zerocopy", "receiver", "lost"):
        assert record[key] is None
        assert only([u for u in record["unmeasured"] if u["key"] == key])["reason"]


def test_devices_of_a_namespace():
    """The namespace has a veth pair and a tun device, and disappears with its process."""
    script = ("ip link add left type veth peer name right && ip tuntap add dev tun0 mode tun && "
              "ip link add ugly type dummy && exec " + ANALYZE + " doctor")
    result = run("unshare", "-n", "sh", "-c", script, cwd=os.path.dirname(
        os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    if "device left" not in result.stdout.replace("           ", " "):
        if "Operation not" in result.stderr or "not supported" in result.stderr \
                or "Unknown device" in result.stderr or "No such" in result.stderr:
            pytest.skip("no devices can be made here: " + result.stderr.strip())
    assert re.search(r"^device +left \(veth\): zero-copy depends", result.stdout, re.M)
    assert re.search(r"^device +tun0 \(tun\): zero-copy no", result.stdout, re.M)
