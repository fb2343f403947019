# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests the events of single sends: exactly the program's sends, in order, with sizes, causes and completions."""

import json
import signal
import subprocess
import sys

import pytest

from conftest import LOADGEN, MECHANISMS, ROOT, Child, Receiver, analyze, check, completes, copy_programs, needs_bpf, only, run

pytestmark = needs_bpf

SIZES = (1, 500, 4096, 65536, 100000, 300000, 4096, 70000)
# Sends, and waits for the kernel's notification before it sends again.
SENDER = """
import select, socket, sys
port, zerocopy, *sizes = map(int, sys.argv[1:])
s = socket.create_connection(("127.0.0.1", port))
if zerocopy:
    s.setsockopt(socket.SOL_SOCKET, 60, 1)
wait = select.poll()
wait.register(s, 0)
for size in sizes:
    assert s.send(bytes(size), 0x4000000 if zerocopy else 0) == size
    if zerocopy:
        wait.poll()
        s.recvmsg(0, 512, 0x2000)
"""


def trace(tmp_path, *words):
    """Runs analyze timeline. Returns the record, and the trace's slices by the names of their tracks."""
    out, kept = tmp_path / "trace.json", tmp_path / "record"
    done = analyze("timeline", "--json", kept, "--out", out, *words)
    assert done.returncode == 0, done.stderr
    record = check(json.loads(kept.read_text()))
    assert (record["timeline"]["lost"], record["timeline"]["gaps"], record["timeline"]["left_out"]) == (0, 0, 0)
    return record, json.loads(out.read_text())["traceEvents"]


def sends_of(events):
    """Returns the slices that are whole sends."""
    return sorted((event for event in events if event["ph"] == "X" and "returned" in event["args"]),
                  key=lambda event: event["ts"])


def observed(tmp_path, mechanism, zerocopy, *more):
    with Receiver() as receiver:
        return trace(tmp_path, "--mechanism", mechanism, *more, "--", sys.executable, "-c", SENDER,
                     str(receiver.port), str(int(zerocopy)), *map(str, SIZES))


def cause_of(record, mechanism):
    """Returns the cause of the copies in the record. A kprobe's stack on Linux 5.10 does not show it."""
    cause = only(record["zerocopy"]["causes"])["cause"]
    assert cause == "loopback" or (mechanism, cause) == ("kprobe", "unclassified")
    return cause


@pytest.mark.parametrize("zerocopy", [False, True], ids=["copied", "zerocopy"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_sends_are_those_of_the_program(mechanism, zerocopy, tmp_path, untouched):
    if zerocopy and not completes(mechanism):
        pytest.skip("zero-copy sends are not followed by this mechanism here")
    record, events = observed(tmp_path, mechanism, zerocopy)
    sends = sends_of(events)
    assert [(send["args"]["bytes"], send["args"]["returned"]) for send in sends] == [(size, size) for size in SIZES]
    assert {send["name"] for send in sends} == {"sendto"}
    assert record["timeline"]["sends"] == len(SIZES) and record["timeline"]["sockets"] == 1
    assert {(send["args"]["MSG_ZEROCOPY"], send["args"]["copied"], *send["args"]["causes"]) for send in sends} == {
        (True, True, cause_of(record, mechanism)) if zerocopy else (False, None)}
    begun, ended = ([event for event in events if event["ph"] == kind] for kind in "sf")
    assert [event["ts"] for event in begun] == ([send["ts"] for send in sends] if zerocopy else [])
    assert sorted(event["id"] for event in ended) == [event["id"] for event in begun]
    by_id = {event["id"]: event["ts"] for event in ended}
    assert all(by_id[event["id"]] > event["ts"] for event in begun)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_what_happens_to_a_send_is_in_order(mechanism, tmp_path):
    if not completes(mechanism):
        pytest.skip("zero-copy sends are not followed by this mechanism here")
    record, trace_events = observed(tmp_path, mechanism, True)
    cause = cause_of(record, mechanism)
    assert "softirq NET_RX" in {event["name"] for event in trace_events}
    for which in "median", "slowest":
        send = record["timeline"][which]
        events = send["events"]
        assert send["returned"] == send["bytes"] == SIZES[send["number"] - 1]
        assert [event["at_ns"] for event in events] == sorted(event["at_ns"] for event in events)
        assert (events[0]["what"], events[0]["at_ns"], events[0]["took_ns"]) == ("sendto", 0, send["call_ns"])
        assert send["copied"] and send["causes"] == [cause]
        assert 0 < send["completion_ns"]
        # The program reads the notification after its send has returned.
        assert send["call_ns"] < send["read_ns"] and send["completion_ns"] < send["read_ns"]
        at = {event["what"]: event["at_ns"] for event in reversed(events)}
        queued, copied = at["skb to the queue of the device"], at[f"copied: {cause}"]
        softirqs = [event["at_ns"] for event in events if event["what"] == "softirq NET_RX"]
        # A softirq during the send copies the data, unless ksoftirqd is already active on this CPU.
        assert queued < copied and any(queued < at_ns < copied for at_ns in softirqs) == bool(softirqs)
        assert send["received_ns"] is None, "another process receives"


def test_a_number_of_sends_of_a_load(tmp_path):
    record, events = trace(tmp_path, "--variant", "twocopy", "--sends", "50", "--duration", "0.3", "--size", "32K")
    assert record["timeline"]["sends"] == len(sends_of(events)) == 50
    assert {send["args"]["returned"] for send in sends_of(events)} == {32768}
    for which in "median", "slowest":
        send = record["timeline"][which]
        assert send["received_ns"] > 0
        # The receiver may copy data of several sends at once.
        assert sum(event["bytes"] for event in send["events"] if event["lane"] == "receiver") >= send["returned"]
    tracks = {event["tid"] for event in events if event["ph"] == "X" and event["name"] == "copied to the receiver"}
    assert len(tracks) == 1


def test_only_slow_sends(tmp_path):
    """A limit between the two sizes separates them."""
    least = "200us"
    record, events = trace(tmp_path, "--variant", "twocopy", "--size", "4M", "--slower-than", least, "--sends", "5",
                           "--duration", "1")
    sends = sends_of(events)
    assert record["timeline"]["slower_than_ns"] == 200000 and 0 < record["timeline"]["sends"] == len(sends) <= 5
    assert all(send["dur"] > 200 for send in sends)
    done = analyze("timeline", "--variant", "twocopy", "--size", "64", "--slower-than", "100s", "--duration", "0.2",
                   "--json", tmp_path / "none")
    assert done.returncode == 0
    none = json.loads((tmp_path / "none").read_text())["timeline"]
    assert (none["sends"], none["events"], none["median"]) == (0, 0, None)


@pytest.mark.parametrize("mechanism", MECHANISMS[-1:])
def test_a_zerocopy_send_lasts_until_its_completion(mechanism, tmp_path):
    if not completes(mechanism):
        pytest.skip("zero-copy sends are not followed by this mechanism here")
    record, events = trace(tmp_path, "--mechanism", mechanism, "--slower-than", "20ms", "--", sys.executable,
                           ROOT / "tests/cases/sends.py", "awaits_each")
    timeline = record["timeline"]
    assert 10 <= timeline["sends"] == len(sends_of(events)) <= 20
    assert timeline["median"]["completion_ns"] > 20e6 > timeline["median"]["call_ns"]


@pytest.mark.parametrize("options", [[], ["--slower-than", "1us"]])
def test_the_window_of_a_running_program_ends_with_the_sends(options):
    with Child([LOADGEN, "--duration", "600", "--warmup", "0"], stdout=subprocess.DEVNULL) as load:
        done = analyze("timeline", "--pid", load.pid, "--sends", "5", "--json", "-", *options)
        load.send_signal(signal.SIGKILL)
    assert done.returncode == 0, done.stderr
    record = check(json.loads(done.stdout))
    assert record["complete"] and record["timeline"]["sends"] == 5


def test_every_run_has_its_own(tmp_path):
    done = analyze("timeline", "--variant", "onecopy,zerocopy", "--sends", "3", "--duration", "0.2", "--repeat", "2",
                   "--json", tmp_path / "records", "--out", tmp_path / "trace.json")
    assert done.returncode == 0, done.stderr
    records = [json.loads(line) for line in (tmp_path / "records").read_text().splitlines()]
    assert [record["timeline"]["sends"] for record in records] == [3] * 4
    sends = sends_of(json.loads((tmp_path / "trace.json").read_text())["traceEvents"])
    assert [send["args"]["variant"] for send in sends] == 2 * (["onecopy"] * 3 + ["zerocopy"] * 3)


@pytest.mark.parametrize("options,status,word", [
    (["--sends", "0"], 2, "--sends 0: give a whole number from 1"),
    (["--slower-than", "soon"], 2, "--slower-than soon: give a time"),
    (["--out", "trace.txt"], 2, "--out trace.txt: give a name that ends in .pftrace or .json"),
    (["--out", "x.json", "--raw"], 2, "--raw with --out"),
    (["--mechanism", "none"], 2, "timeline with --mechanism none"),
    (["--out", "/no/such/folder/x.json"], 1, "--out: cannot write /no/such/folder/x.json")])
def test_wrong_use(options, status, word):
    done = analyze("timeline", "--variant", "null", "--messages", 1, *options)
    assert done.returncode == status
    assert word in done.stderr and not done.stdout


def test_a_missing_library_is_reported_before_measuring(tmp_path):
    copy_programs(tmp_path)  # without the libraries of analysis/
    done = run(tmp_path / "analyze", "timeline", "--variant", "null", "--out", tmp_path / "trace.pftrace")
    assert done.returncode == 3 and "run make analysis" in done.stderr
    assert done.stderr.count("\n") == 1 and not done.stdout and not (tmp_path / "trace.pftrace").exists()


def test_its_options_are_its_own():
    done = analyze("--variant", "null", "--sends", 3)
    assert done.returncode == 2 and "--sends: belongs to timeline" in done.stderr

RECONNECTS = """
import select, socket, sys
for sends in range(1, 4):
    s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
    s.setsockopt(socket.SOL_SOCKET, 60, 1)
    wait = select.poll()
    wait.register(s, 0)
    for _ in range(sends):
        s.send(bytes(1000 * sends), 0x4000000)
        wait.poll()
        s.recvmsg(0, 512, 0x2000)
    s.close()
"""


@pytest.mark.parametrize("options, sends", [((), 1), (("--slower-than", "1us"), 6)])
def test_connections_are_distinguished(options, sends, tmp_path):
    """The kernel may give both sockets the same memory, and the ids of each begin with 0."""
    if not completes(MECHANISMS[-1]):
        pytest.skip("zero-copy sends are not followed by this mechanism here")
    with Receiver() as receiver:
        record, events = trace(tmp_path, "--mechanism", MECHANISMS[-1], *options, "--", sys.executable, "-c", RECONNECTS,
                               str(receiver.port))
    assert [(send["args"]["bytes"], send["args"]["copied"]) for send in sends_of(events)] == \
        [(1000 * size, True) for size in (1, 2, 2, 3, 3, 3)][:sends]
    assert record["timeline"]["sockets"] == (3 if options else 1)
    assert sorted(event["ph"] for event in events if event["ph"] in "sf") == ["f"] * sends + ["s"] * sends
