# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests the stages of a send: their times add up, and known events show in the right stage."""

import contextlib
import os
import pathlib
import subprocess
import sys

import pytest

from conftest import MECHANISMS, VARIANTS, analyze, only, records

SIZES = ("256", "16K", "1M")
BY_FUNCTION = [mechanism for mechanism in MECHANISMS if mechanism != "tracepoint"]
OFF_CPU = {"blocked", "lock_wait", "preempted"}
SEEN_BY_TRACEPOINTS = {"softirq", "interrupt", "unaccounted", "blocked", "preempted"}


def divided(record):
    """Returns the row of calls whose sends were divided."""
    return only([call for call in record["calls"] if call["stages"]])


def total(call, *names):
    """Returns the ns of the named stages; without names, of all stages."""
    return sum(part["ns"]["sum"] for part in call["stages"]["parts"]
               if part["ns"] and (not names or part["stage"] in names))


def adds_up(call):
    """Asserts that the stages add up to the whole time of the sends, which is measured separately."""
    stages = call["stages"]
    wall = stages["wall_ns"]["sum"]
    assert 0.98 <= total(call) / wall <= 1.02, stages
    on_cpu = sum(part["ns"]["sum"] for part in stages["parts"] if part["ns"] and part["on_cpu"])
    assert abs(on_cpu - call["cpu_ns"]["sum"]) <= 0.02 * wall, stages
    assert {part["stage"] for part in stages["parts"] if not part["on_cpu"]} == OFF_CPU
    for part in stages["parts"]:
        assert not part["ns"] or part["ns"]["count"] <= stages["sends"]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_stages_add_up_to_the_time_in_the_call(mechanism, untouched):
    found = records("--variant", ",".join(VARIANTS), "--size", ",".join(SIZES), "--duration", "0.1",
                    "--repeat", "1", "--stages", "--mechanism", mechanism)
    assert len(found) == len(SIZES) * len(VARIANTS)
    unaccounted, whole, divided_ns, timed_ns = 0, 0, 0, 0
    for record in found:
        call = divided(record)
        adds_up(call)
        assert call["stages"]["sends"] == call["sends"] - record["lost"]["calls"]
        assert call["stages"]["bytes"] == call["bytes"]
        seen = {part["stage"] for part in call["stages"]["parts"] if part["ns"]}
        reasons = {row["key"].removeprefix("calls.stages.") for row in record["unmeasured"]}
        if mechanism == "tracepoint":
            assert seen == SEEN_BY_TRACEPOINTS
            assert "copy" in reasons
            continue
        assert not reasons & seen
        zerocopy = record["load"]["variant"] == "zerocopy"
        # The return probe on skb_copy_ubufs must not hide its callers, which show the cause.
        assert not zerocopy or {row["cause"] for row in record["zerocopy"]["causes"]} == {"loopback"}
        assert total(call, "pin" if zerocopy else "copy") > 0
        assert total(call, "copy" if zerocopy else "pin") == 0
        assert total(call, "entry") > 0 and total(call, "transmit") > 0
        # On loopback, each zero-copy send is copied, which must show as deep_copy in any context.
        assert (total(call, "deep_copy") > 0) == zerocopy
        unaccounted += total(call, "unaccounted")
        whole += call["stages"]["wall_ns"]["sum"]
        divided_ns += total(call) - total(call, "entry")
        timed_ns += call["wall_ns"]["sum"]
    assert unaccounted <= 0.05 * whole
    # Compares with the send hook's own clock, which has no syscall entry. Compares the sums of all runs, because a
    # preemption between the two clocks may take a third of a short run's time.
    assert divided_ns == pytest.approx(timed_ns, rel=0.25)


STOPPED = """
import os, signal, socket, sys, threading, time
STOP_S, data = float(sys.argv[1]), bytes(16 << 20)
listener = socket.create_server(("127.0.0.1", 0))
child = os.fork()
if not child:
    peer = listener.accept()[0]
    while peer.recv(1 << 20):
        pass
    os._exit(0)
sender = socket.create_connection(listener.getsockname())
os.kill(child, signal.SIGSTOP)
os.waitpid(child, os.WUNTRACED)

def let_it_go_on():
    asleep = 0
    while asleep < 20:  # a thread that waits for Python's lock, which is free now, gets it
        time.sleep(0.001)
        with open(f"/proc/self/task/{os.getpid()}/stat") as stat:
            asleep = asleep + 1 if stat.read().rpartition(")")[2].split()[0] == "S" else 0
    time.sleep(STOP_S)
    os.kill(child, signal.SIGCONT)

threading.Thread(target=let_it_go_on).start()
sender.sendall(data)
sender.close()
os.waitpid(child, 0)
"""
STOP_S = 0.2


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_stopped_receiver_blocks_the_send(mechanism, untouched):
    call = divided(only(records("--stages", "--mechanism", mechanism, "--", sys.executable, "-c", STOPPED,
                                STOP_S)))
    adds_up(call)
    assert total(call, "blocked") >= 0.75 * STOP_S * 1e9
    assert call["cpu_ns"]["sum"] <= call["stages"]["wall_ns"]["sum"] - 0.75 * STOP_S * 1e9


SENDER = """
import os, socket, sys, time
SIZE, SECONDS = int(sys.argv[1]), float(sys.argv[2])
listener = socket.create_server(("127.0.0.1", 0))
child = os.fork()
if not child:
    os.sched_setaffinity(0, {1})
    peer = listener.accept()[0]
    while peer.recv(1 << 20):
        pass
    os._exit(0)
os.sched_setaffinity(0, {0})
sender = socket.create_connection(listener.getsockname())
end = time.monotonic() + SECONDS
while time.monotonic() < end:
    sender.send(bytes(SIZE))
sender.close()
os.waitpid(child, 0)
"""


@contextlib.contextmanager
def busy_loop(cpu):
    with subprocess.Popen([sys.executable, "-c", "while True: pass"],
                          preexec_fn=lambda: os.sched_setaffinity(0, {cpu})) as loop:
        try:
            yield
        finally:
            loop.kill()


def share(call, *names):
    return total(call, *names) / call["stages"]["wall_ns"]["sum"]


def sent(*options, size=1 << 16, seconds=1):
    return divided(only(records("--stages", *options, "--", sys.executable, "-c", SENDER, size,
                                seconds)))


@pytest.mark.skipif("SENDPATH_LAB" not in os.environ, reason="guests of the lab run beside the "
                    "tests here: a sender waits for its CPU without a busy loop, too")
@pytest.mark.parametrize("mechanism", MECHANISMS[:1])
def test_a_sender_beside_a_busy_loop_waits_for_its_cpu(mechanism, untouched):
    """The sends block and are woken, so that they wait for the CPU even on a kernel without preemption."""
    alone = sent("--mechanism", mechanism, size=1 << 20)
    with busy_loop(0):
        beside = sent("--mechanism", mechanism, size=1 << 20)
    adds_up(beside)
    assert share(beside, "preempted") > max(0.05, share(alone, "preempted"))


RPS = pathlib.Path("/sys/class/net/lo/queues/rx-0/rps_cpus")


@contextlib.contextmanager
def receiver_packet_steering(mask):
    before = RPS.read_text()
    try:
        RPS.write_text(mask)
    except OSError as problem:
        pytest.skip(f"{RPS}: {problem}")
    try:
        yield
    finally:
        RPS.write_text(before)


@pytest.mark.skipif("SENDPATH_LAB" not in os.environ, reason="in a virtual machine an interrupt "
                    "to another CPU can take as long as the work that it moves")
@pytest.mark.parametrize("mechanism", MECHANISMS[:1])
def test_the_receivers_softirq_shows_and_goes_with_its_cpu(mechanism, untouched):
    own = sent("--mechanism", mechanism, size=1 << 16)
    assert share(own, "softirq") > 0.02
    with receiver_packet_steering("2"):
        others = sent("--mechanism", mechanism, size=1 << 16)
    assert share(others, "softirq") < share(own, "softirq") / 2


MIXED = """
import os, socket
listener = socket.create_server(("127.0.0.1", 0))
if not os.fork():
    peer = listener.accept()[0]
    while peer.recv(1 << 20):
        pass
    os._exit(0)
sender = socket.create_connection(listener.getsockname())
for i in range(10000):
    sender.sendall(bytes(10000 if i % 10 == 0 else 10))
sender.close()
os.wait()
"""
ONE_IN = 10


def test_a_sample_is_drawn_without_regard_to_the_pattern(untouched):
    """Every tenth send is large. A sample of exactly every tenth send would have only large sends, or none."""
    call = only([c for c in only(records(
        "--stages", "--sample", ONE_IN, "--", sys.executable, "-c", MIXED))["calls"] if c["sends"] >= 10000])
    assert (call["sends"], call["bytes"]) == (10000, 1000 * 10000 + 9000 * 10)
    assert (call["timed_one_in"], call["wall_ns"]["count"]) == (ONE_IN, call["stages"]["sends"])
    stages = call["stages"]
    assert stages["one_in"] == ONE_IN
    assert 850 <= stages["sends"] <= 1150  # 1000 by five standard deviations
    large = stages["bytes"] / 10000
    assert 55 <= large <= 150              # 100 by five standard deviations
    adds_up(call)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_sample_of_times_leaves_counts_and_completions_whole(mechanism, untouched):
    done = analyze("--variant", "zerocopy", "--size", "4K", "--messages", "2000", "--mechanism", mechanism,
                   "--sample", ONE_IN, "--details")
    assert "a sample of one in 10, chosen at random" in " ".join(done.stdout.split())
    record = only(records("--variant", "zerocopy", "--size", "4K", "--messages", "2000",
                          "--mechanism", mechanism, "--sample", ONE_IN))
    call, zerocopy = only(record["calls"]), record["zerocopy"]
    assert call["sends"] == zerocopy["completions"] == record["app"]["send_calls"] == 2000
    assert call["timed_one_in"] == ONE_IN and call["stages"] is None
    assert 130 <= call["wall_ns"]["count"] <= 270  # 200 by five standard deviations
    assert zerocopy["completion_ns"]["count"] + zerocopy["completions_untimed"] == 2000


FAULTS = """
import mmap, socket, sys
SENDS, PAGES = map(int, sys.argv[1:])
listener = socket.create_server(("127.0.0.1", 0))
sender = socket.create_connection(listener.getsockname())
receiver = listener.accept()[0]
size = PAGES * mmap.PAGESIZE
memory = mmap.mmap(-1, SENDS * size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
memory.madvise(mmap.MADV_NOHUGEPAGE)
for begin in range(0, SENDS * size, size):
    sender.sendall(memoryview(memory)[begin:begin + size])
    receiver.recv(size, socket.MSG_WAITALL)
"""
SENDS, PAGES = 200, 8


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_counters_are_divided_by_stage(mechanism, untouched):
    """A send from memory that was never touched has one page fault per page in the stage copy, and none in any other
    stage."""
    call = divided(only(records("--stages", "--call-counters", "page-faults", "--mechanism", mechanism, "--",
                                sys.executable, "-c", FAULTS, SENDS, PAGES)))
    assert call["stages"]["sends"] == call["sends"] == SENDS
    faults = {part["stage"]: (only(part["counters"])["count"], only(part["counters"])["sum"])
              for part in call["stages"]["parts"] if part["ns"]}
    where = "unaccounted" if mechanism == "tracepoint" else "copy"
    assert faults.pop(where) == (SENDS, SENDS * PAGES)
    assert set(faults.values()) == {(0, 0)}


@pytest.mark.skipif(not BY_FUNCTION, reason="this kernel refuses fentry and kprobes")
def test_what_happens_beside_a_send_is_timed():
    record = only(records("--variant", "zerocopy", "--size", "16K", "--duration", "0.3",
                          "--stages", "--mechanism", BY_FUNCTION[0]))
    assert record["receiver"]["copy_ns"]["count"] > 0
    assert record["zerocopy"]["wake_up_ns"]["count"] > 0
    assert record["zerocopy"]["error_queue"]["read_ns"]["count"] > 0


def test_without_the_option_there_are_none():
    record = only(records("--variant", "onecopy", "--messages", "100"))
    assert all(call["stages"] is None and call["cpu_ns"] is None for call in record["calls"])
    assert {"key": "calls.stages", "reason": "only with --stages, which slows sends"} in \
        record["unmeasured"]


@pytest.mark.parametrize("options, message", [
    (("--sample", "0"), "--sample 0: give a whole number from 1 to 1000000"),
    (("--stages", "--mechanism", "none"), "--stages with --mechanism none: nothing is attached"),
])
def test_wrong_use_is_reported(options, message):
    result = analyze("--variant", "onecopy", *options)
    assert (result.returncode, result.stdout) == (2, "")
    assert message in result.stderr
