# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests sampled kernel functions: samples are only of measured threads, are assigned to the right send and stage, and
are as many as the threads' CPU time.
"""

import json
import os
import shutil
import subprocess

import pytest

from conftest import ANALYZE, MECHANISMS, Receiver, analyze, check, completes, needs_bpf, only, records, run, veth_pair

pytestmark = needs_bpf

HZ = 997
SECONDS = os.environ.get("SENDPATH_PROFILE_S", "1.5")
BUSY = "import time\nend = time.monotonic() + 1\nwhile time.monotonic() < end: pass"
IN_SEND = ("send", "softirq")


def profiled(variant, mechanism, *options):
    record = only(records("--variant", variant, "--duration", SECONDS, f"--profile={HZ}", "--mechanism", mechanism,
                          *options))
    assert record["profile"]["lost"] == 0
    return record


def sampled(record, of=lambda stack: True):
    return sum(stack["samples"] for stack in record["profile"]["stacks"] if of(stack))


def has(*functions):
    return lambda stack: set(functions) <= set(stack["functions"])


def interval(part, whole, z=3.9):
    """Returns Wilson's interval of a share. With this z, 20 intervals all cover their shares in 99.9 % of cases."""
    share = part / whole
    middle = (share + z * z / 2 / whole) / (1 + z * z / whole)
    half = z * (share * (1 - share) / whole + (z / whole) ** 2 / 4) ** 0.5 / (1 + z * z / whole)
    return middle - half, middle + half


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_stacks_are_of_the_sends_that_were_made(mechanism, untouched):
    record = profiled("twocopy", mechanism)
    stacks = [stack for stack in record["profile"]["stacks"] if stack["syscall"]]
    assert {(stack["syscall"], stack["zerocopy"]) for stack in stacks} == {("sendto", False)}
    assert all(stack["stage"] and stack["context"] in IN_SEND for stack in stacks)
    in_call = sampled(record, lambda stack: stack["syscall"])

    def most_that_is_likely(of):
        return interval(sampled(record, lambda s: s["syscall"] and of(s)), in_call)[1]

    assert most_that_is_likely(has("__sys_sendto")) > 0.95
    assert most_that_is_likely(has("tcp_sendmsg")) > 0.9
    # While the socket is locked, acknowledgments arrive, and release_sock sends a third of the data or more.
    assert most_that_is_likely(lambda s: has("tcp_sendmsg_locked")(s) or has("release_sock")(s)) > 0.8
    # A softirq inside a send may also deliver packets of other tests' zero-copy sends.
    assert not sampled(record, lambda s: s["context"] == "send" and has("skb_copy_ubufs")(s))
    assert sampled(record) == record["profile"]["samples"]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_over_loopback_the_copy_moves_into_a_softirq(mechanism):
    if not completes(mechanism):
        pytest.skip("zero-copy sends are not followed by this mechanism here")
    record = profiled("zerocopy", mechanism)
    assert record["zerocopy"]["copied"] == record["zerocopy"]["completions"]
    deep = [s for s in record["profile"]["stacks"] if "skb_copy_ubufs" in s["functions"] and s["syscall"]]
    # The copy may also complete the send.
    assert {(s["zerocopy"], s["context"]) for s in deep} == {(True, "softirq")}
    assert {"deep_copy"} <= {s["stage"] for s in deep} <= {"deep_copy", "completion"}
    assert {s["stage"] for s in record["profile"]["stacks"] if "skb_zerocopy_iter_stream" in s["functions"]
            and s["context"] == "send"} == {"pin"}


def test_samples_are_as_many_as_the_cpu_time_is():
    record = profiled("twocopy", MECHANISMS[-1])
    app = record["app"]
    cpu_s = sum(side[key] for side in (app, app["receiver"]) for key in ("user_s", "system_s"))
    # The clock continues while a hypervisor gives the CPUs to others.
    assert 0.7 * cpu_s * HZ < record["profile"]["samples"] < 1.6 * cpu_s * HZ + 50


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_stages_are_those_that_hooks_see(mechanism):
    # Sends are large, so that the hooks' own time is small. Half of it falls into a function, half into its caller.
    record = profiled("onecopy", mechanism, "--stages", "--size", "1M")
    call = only(record["calls"])
    whole = sampled(record, lambda stack: stack["syscall"])
    # The sampler counts a thread as in a send from tcp_sendmsg on, so leaves out the stage entry.
    sums = {part["stage"]: part["ns"]["sum"] for part in call["stages"]["parts"]
            if part["on_cpu"] and part["ns"] and part["stage"] != "entry"}
    parts = {name: ns / sum(sums.values()) for name, ns in sums.items()}
    hooked = [name for name, share in parts.items() if share > 0.03 and name != "unaccounted"]
    assert hooked
    for name in hooked:
        low, high = interval(sampled(record, lambda s: s["syscall"] and s["stage"] == name), whole)
        assert low - 0.03 < parts[name] < high + 0.03, (name, parts[name], low, high)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_time_off_the_cpu_is_that_which_hooks_see(mechanism):
    """Sends larger than the socket's buffer wait for room in it."""
    record = profiled("twocopy", mechanism, "--stages", "--size", "8M")
    waits = record["profile"]["waits"]
    assert {(wait["syscall"], wait["zerocopy"]) for wait in waits} == {("sendto", False)}
    blocked = sum(wait["ns"] for wait in waits if wait["stage"] == "blocked")
    for_room = sum(wait["ns"] for wait in waits if "sk_stream_wait_memory" in wait["functions"])
    assert 0.9 * blocked < for_room, waits
    off = sum(part["ns"]["sum"] for part in only(record["calls"])["stages"]["parts"] if not part["on_cpu"] and part["ns"])
    # Sampler and hooks see the switches of the same threads, but the last send may end after the window.
    assert 0.8 * off < sum(wait["ns"] for wait in waits) < 1.2 * off
    assert not any(name.startswith("bpf_") for wait in waits for name in wait["functions"][-1:])


@pytest.mark.parametrize("link", ["loopback", "veth"])
def test_stages_without_hooks_are_sampled(link):
    record = only(records("--variant", "zerocopy", "--duration", SECONDS, "--stages", "--mechanism", "tracepoint",
                          "--link", link))
    in_send = sampled(record, lambda stack: stack["stage"])
    assert interval(sampled(record, lambda stack: stack["stage"] == "unaccounted"), in_send)[0] < 0.1


def share_of_checksums(near, far, address, tmp_path):
    """Returns the share of checksums among the samples of a program's sends over a veth pair."""
    with Receiver(address, far) as receiver:
        done = analyze("--json", tmp_path / "record", f"--profile={HZ}", "--", *near,
                       *receiver.sender("--plain", "--sends", 20000, "--size", 65536))
    assert done.returncode == 0, done.stderr
    record = check(json.loads((tmp_path / "record").read_text().splitlines()[-1]))
    (tmp_path / "record").unlink()
    in_send = sampled(record, lambda stack: stack["stage"])
    assert in_send > 100
    return sampled(record, lambda stack: stack["stage"] and any(
        word in name for name in stack["functions"] for word in ("csum", "checksum"))) / in_send


@pytest.mark.slow
def test_work_that_a_device_leaves_to_the_kernel_rises(tmp_path):
    """The kernel computes the checksums for a device that cannot, so that their share of samples rises."""
    if not shutil.which("ethtool"):
        pytest.skip("no ethtool: apt-get install ethtool")
    with veth_pair() as (near, far, address):
        before = share_of_checksums(near, far, address, tmp_path)
        assert run(*near, "ethtool", "-K", "near0", "tx", "off").returncode == 0
        after = share_of_checksums(near, far, address, tmp_path)
    assert before < 0.005 < 0.025 < after, (before, after)


def test_a_program_that_is_not_observed_is_not_sampled(tmp_path):
    with subprocess.Popen(["/usr/bin/python3", "-c", BUSY]) as other:
        done = analyze("--json", tmp_path / "record", f"--profile={HZ}", "--", "/usr/bin/python3", "-c", BUSY)
        assert other.wait() == 0
    assert done.returncode == 0, done.stderr
    record = check(json.loads((tmp_path / "record").read_text()))
    assert {stack["context"] for stack in record["profile"]["stacks"]} <= {"program", "kernel"}
    assert 0 < record["profile"]["samples"] < 1.3 * HZ + 50
    assert "no sample is of a send" in done.stderr


def test_folded_stacks_add_up(tmp_path):
    path = tmp_path / "folded"
    path.write_text("what was there before\n")
    done = analyze("--variant", "twocopy,zerocopy", "--messages", 20000, "--profile", "--folded", path,
                   "--json", tmp_path / "record")
    assert done.returncode == 0, done.stderr
    kept = [json.loads(line) for line in (tmp_path / "record").read_text().splitlines()]
    lines = [line.rpartition(" ") for line in path.read_text().splitlines()]
    for record in kept:
        variant = record["load"]["variant"]
        assert sum(int(n) for frames, _, n in lines if frames.split(";")[0] == variant) == \
            record["profile"]["samples"]
    assert any(frames.startswith("zerocopy;sendmsg MSG_ZEROCOPY;") for frames, _, _ in lines)
    assert all(all(frames.split(";")) for frames, _, _ in lines), "a frame without a name"


def test_standard_output_keeps_what_it_has(tmp_path):
    path = tmp_path / "out"
    path.write_text("before\n")
    with path.open("a") as file:
        done = subprocess.run([ANALYZE, "--variant", "twocopy", "--messages", "20000", "--profile", "--folded", "-"],
                              stdout=file, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 0, done.stderr
    first, *stacks = path.read_text().splitlines()
    assert first == "before" and stacks and all(line.rpartition(" ")[2].isdigit() for line in stacks)


@pytest.mark.parametrize("options,status,word", [
    (["--profile=0"], 2, "--profile 0: give a whole number from 1"),
    (["--folded", "x"], 2, "needs --profile"),
    (["--profile", "--folded", "/no/such/folder/x"], 1, "--folded: cannot write /no/such/folder/x"),
    (["--profile", "--mechanism", "none"], 2, "--profile with --mechanism none")])
def test_wrong_use(options, status, word):
    done = analyze("--variant", "null", "--messages", 1, *options)
    assert done.returncode == status
    assert word in done.stderr and not done.stdout


def test_more_than_the_kernel_allows():
    most = int(run("sysctl", "-n", "kernel.perf_event_max_sample_rate").stdout)
    if most >= 100000:
        pytest.skip("the kernel allows all that can be requested")
    done = analyze("--variant", "null", "--messages", 1, f"--profile={most + 1}")
    assert done.returncode == 3 and "kernel.perf_event_max_sample_rate" in done.stderr
