# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests `analyze advise` for programs: it has exactly the program's own counts by size, and sentences about them."""

import collections
import json
import os
import signal

import pytest

from conftest import ANALYZE, CALLS, PATIENCE_S, Receiver, analyze, eventually, line_of, needs_bpf, only
from test_observe import PYTHON, gate_is_open, start
from test_peers import Nginx, need
from test_sizes import SENDER, classes
from test_topology import ADDRESS, CAUSE, NETNS

pytestmark = [needs_bpf, pytest.mark.usefixtures("untouched")]

SENDS = min(5000, CALLS // 2)


def advise(*args, **kwargs):
    return analyze("advise", *args, **kwargs)


def seen(advice, kind=""):
    """Returns the advice's counts by size, in the form of classes()."""
    return [[row["low"], row["high"], row[f"{kind}sends"], row[f"{kind}bytes"]]
            for row in advice["program"]["classes"] if row[f"{kind}sends"]]


@pytest.fixture
def sender(tmp_path):
    path = tmp_path / "sender.py"
    path.write_text(SENDER)
    return path


def test_sizes_of_a_mixed_sender_are_its_own(sender):
    with Receiver() as receiver:
        done = advise("--json", "-", "--", PYTHON, sender, receiver.port, 5, SENDS, "mixed")
    assert done.returncode == 0, done.stderr
    own, advice = map(json.loads, done.stdout.splitlines())
    again, lost = own.pop("again"), advice["program"]["lost"]
    if lost:
        pytest.skip(f"{lost} sends were lost, and the advice reports it")
    assert again == 0
    assert seen(advice) == classes(size for sizes in own.values() for size in sizes)
    assert advice["program"]["device"] == "lo" and advice["path"] is None
    assert advice["recommendation"] == (
        "Do not use MSG_ZEROCOPY on its path: by lo every send is copied.")


@pytest.mark.parametrize("sendfile", [False, True], ids=["writev", "sendfile"])
def test_sizes_of_nginx_are_those_that_it_logs(sendfile, tmp_path):
    need("nginx")
    server = Nginx(tmp_path, sendfile, [ANALYZE, "advise", "--json", "-", "--"])
    bodies = server.serve(min(100, SENDS), 9)
    advice = json.loads(server.end())
    logged = server.logged()
    assert len(logged) == len(bodies)
    if sendfile:
        assert seen(advice) == classes(whole - body for whole, body in zip(logged, bodies))
        assert sum(row[3] for row in seen(advice, "other_")) == sum(bodies)
    else:
        assert seen(advice) == classes(logged)


# Waits for a line of standard input, sends with MSG_ZEROCOPY, and prints how many completions it read.
ZEROCOPY = """
import json, select, socket, struct, sys

s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
s.setsockopt(socket.SOL_SOCKET, 60, 1)
print("ready", flush=True)
sys.stdin.readline()
data, completions = bytes(1 << 17), 0

def read_queue(wait):
    global completions
    poll = select.poll()
    poll.register(s, 0)
    while poll.poll(wait):
        try:
            for *_, content in s.recvmsg(0, 256, socket.MSG_ERRQUEUE)[1]:
                low, high = struct.unpack_from("II", content, 8)
                completions += high - low + 1
        except BlockingIOError:
            return

wanted = json.loads(sys.argv[3])
for size, count in wanted:
    for _ in range(count):
        part = memoryview(data)[:size]
        while part:
            part = part[s.send(part, 0x4000000):]
        if sys.argv[4] == "read":
            read_queue(0)
if sys.argv[4] == "read":
    while completions < sum(count for _, count in wanted):
        read_queue(1000)
print(completions, flush=True)
sys.stdin.readline()
"""
RATIO = {"of": "zerocopy", "against": "twocopy", "metric": "cpu", "size": 8192, "verdict": "better",
         "reason": None, "effect": 0.7, "interval": [0.6, 0.8], "level": 0.999, "n": 11, "resolved": 0.1,
         "repeats": None, "discarded": []}
KNOWN = {
    "schema": "sendpath.advise/3", "blocks": 50, "elapsed_s": 60.0, "seconds_more": None,
    "path": {"words": "", "works": True, "remedy": None, "copied": 0.0, "final": False, "traced": True, "cause": None, "device": None,
             "optmem_max": None, "memlock_bytes": None, "receiver_limited": None, "warnings": []},
    "answers": [{"against": against, "metric": metric, "kind": "from", "worse": 4096, "better": 8192,
                 "ratios": [RATIO]}
                for metric in ("cpu", "throughput") for against in ("twocopy", "onecopy")]}
WANTED = ((100, 40), (5000, 30), (30_000, 20), (100_000, 5))


def gate(analyzer):
    """Returns whether the analyzer has opened its window."""
    return gate_is_open(analyzer)


def watched(tmp_path, how, *options):
    """Observes a process that uses zero-copy. Yields the analyzer, then the completions that the process read, and the
    advice as text and as JSON."""
    known, advice = tmp_path / "known.json", tmp_path / "advice.json"
    known.write_text(json.dumps(KNOWN))
    program = tmp_path / "program.py"
    program.write_text(ZEROCOPY)
    place = ("ip", "netns", "exec", NETNS) if NETNS else ()
    with Receiver(ADDRESS, place) as receiver, start(
            PYTHON, program, ADDRESS, receiver.port, json.dumps(WANTED), how) as target:
        assert line_of(target.stdout) == "ready\n"
        with start(ANALYZE, "advise", "--pid", target.pid, "--watch", 300, "--path", known, "--json",
                   advice, *options) as analyzer:
            assert eventually(lambda: gate(analyzer))
            target.stdin.write("go\n")
            target.stdin.flush()
            completions = int(line_of(target.stdout))
            yield analyzer
            target.communicate("end\n", timeout=PATIENCE_S)
            text, errors = analyzer.communicate(timeout=PATIENCE_S)
    yield completions, " ".join(text.split()), json.loads(advice.read_text()), errors


@pytest.mark.parametrize("how", ["read", "do not"])
def test_of_a_zero_copy_program_each_size_class_is_counted(how, tmp_path):
    _, (completions, text, advice, errors) = watched(tmp_path, how)
    assert not errors and not advice["interrupted"]
    counts = collections.Counter(dict(WANTED))
    assert seen(advice, "zerocopy_") == classes(counts.elements()), text
    requested = sum(counts.values())
    found = {finding["code"]: finding for finding in advice["program"]["findings"]}
    assert completions == (requested if how == "read" else 0)
    assert {code for code in found if code.startswith("queue_")} == (set() if completions else {"queue_never_read"})
    if not completions:
        never = found["queue_never_read"]  # there is one socket, or sends per socket are not counted
        assert never["count"] == never["total"] and never["evidence"].get("completions", never["total"]) == requested
    cause = CAUSE.split(":")[0]
    if cause == "-":
        assert advice["program"]["copied"] == 0
        assert text.startswith("Send 40 of its 95 zero-copy sends without MSG_ZEROCOPY: they are smaller "
                               "than 8K") or text.startswith("Send 70 of its 95")
    else:
        copied = found[f"copied_{cause}"]
        assert advice["program"]["copied"] == 1 and copied["count"] == copied["total"] == requested
        assert text.startswith("All 95 zero-copy sends were copied" if copied["removable"] else
                               "On this path, send without MSG_ZEROCOPY")


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM], ids=lambda sig: sig.name)
def test_an_interrupt_ends_the_watch_with_what_was_seen(ending, tmp_path):
    steps = watched(tmp_path, "read")
    analyzer = next(steps)
    if ending == signal.SIGINT:  # a terminal's Ctrl-C reaches all processes
        with open(f"/proc/{analyzer.pid}/task/{analyzer.pid}/children", encoding="ascii") as children:
            os.kill(int(children.read()), ending)
    analyzer.send_signal(ending)
    _, _, advice, _ = next(steps)
    assert analyzer.returncode == -ending and advice["interrupted"]
    (requested,) = {finding["total"] for finding in advice["program"]["findings"] if finding["severity"] == "cost"} or {
        sum(count for _, count in WANTED)}
    assert requested == sum(count for _, count in WANTED)


@pytest.mark.parametrize("args,status,words", [
    (("--pid", "1", "--comm", "x"), 2, "--comm x: give one of --pid, --comm, --cgroup"),
    (("--path", "x"), 2, "--path x: goes with a program"),
    (("--path", "x", "--pid", "1", "--link", "veth"), 2, "leave out the options of a load"),
    (("--path", "/no/such/file", "--pid", "1"), 1, "--path /no/such/file: No such file"),
    (("--path", __file__, "--pid", "1"), 2, "name what advise --json wrote"),
    (("--pid", "4194303"), 2, "4194303: there is no such process"),
    (("--comm", "no-such-program"), 2, "no process of this name"),
    (("--watch", "0", "--pid", "1"), 2, "--watch: 0: give 0.1 to 86400 seconds"),
    (("--", "/no/such/program"), 2, "-- /no/such/program: there is no such program"),
])
def test_wrong_use_is_one_line(args, status, words):
    done = advise(*args)
    assert done.returncode == status and not done.stdout, done.stderr
    assert words in only(done.stderr.splitlines())


@pytest.mark.parametrize("content", [
    "", "[" * 100_000, "[]", '{"schema": 1}', '{"schema": "sendpath.advise/3"}',
    '{"schema": "sendpath.advise/3", "path": 3, "answers": [1]}'],
                         ids=["empty", "deep", "list", "schema", "bare", "types"])
def test_a_path_that_nobody_measured_is_one_line(content, tmp_path):
    path = tmp_path / "path.json"
    path.write_text(content)
    done = advise("--path", path, "--pid", os.getpid())
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1, done.stderr
    assert "name what advise --json wrote" in done.stderr
