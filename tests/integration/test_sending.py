# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests all send variants, data sets, fixed rates and socket options."""

import json
import os
import re
import shutil
import signal
import subprocess
import time

import pytest

from conftest import (LOADGEN, NONE, PATIENCE_S, Child, analyze, eventually, needs_bpf, only, processes, records, run,
                      verdict_of)

MORE = ["write", "writev", "sendfile", "splice", "uring", "uring_zc"]
EVERY = ["twocopy", "onecopy", "zerocopy", *MORE]


def load(*args, status=0, **kwargs):
    """Returns the load generator's counts; skips the test if this kernel's io_uring lacks the variant."""
    done = run(LOADGEN, *args, "--json", "-", **kwargs)
    if done.returncode == 3 and "io_uring" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == status, done.stderr
    assert done.stderr == "" and done.stdout.count("\n") == 1
    return json.loads(done.stdout)


def refused(*args, status=2, **kwargs):
    done = run(LOADGEN, *args, **kwargs)
    assert done.returncode == status, done.stderr
    assert done.stdout == "" and done.stderr.count("\n") == 1
    return done.stderr


# Variants

@pytest.mark.parametrize("variant", EVERY)
def test_counts_are_exact(variant, threads=3):
    app = load("--variant", variant, "--threads", threads, "--messages", 500, "--verify")
    assert app["messages"] == 500 * threads
    assert app["bytes"] == app["received_bytes"] == 500 * threads * 16384
    assert app["send_calls"] >= app["messages"]
    assert app["verify"] == {"bytes_checked": app["bytes"], "bad_bytes": 0, "first": None}
    assert variant == "zerocopy" or app["errors"] == {}
    latency = app["message_latency_ns"]
    assert latency["span"] == "message"
    assert latency["count"] == sum(n for _, _, n in latency["buckets"]) == app["messages"]
    assert latency["min"] <= latency["p50"] <= latency["p90"] <= latency["p99"] <= latency["p999"]
    assert latency["p999"] <= latency["max"]
    assert app["throughput_bps"] == pytest.approx(app["bytes"] * 8 / app["elapsed_s"], rel=1e-3)
    assert "error" not in app


SIZES = {"65": 65, "1000": 1000, "99999": 99999, "1M": 1 << 20}


@pytest.mark.parametrize("fields, size", [(1, "65"), (1, "1M"), (37, "1000"), (37, "99999")])
@pytest.mark.parametrize("variant", EVERY)
def test_every_byte_arrives_as_sent(variant, fields, size):
    app = load("--variant", variant, "--threads", 2, "--messages", 100, "--size", size, "--fields",
               fields, "--verify", "--warmup", "0.02")
    assert app["bytes"] == app["received_bytes"] == 200 * SIZES[size]
    assert app["verify"] == {"bytes_checked": app["bytes"], "bad_bytes": 0, "first": None}


CALLS = {"twocopy": "sendto", "onecopy": "sendmsg", "zerocopy": "sendmsg", "write": "write",
         "writev": "writev", "sendfile": "sendfile", "splice": "splice"}


@pytest.mark.parametrize("variant", CALLS)
def test_send_calls_agree_with_strace(variant):
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    done = run("strace", "-f", "-e", f"trace={CALLS[variant]}", "-e", "signal=none", LOADGEN,
               "--variant", variant, "--threads", 2, "--messages", 150, "--warmup", 0, "--size", "64K",
               "--json", "-")
    if "ptrace" in done.stderr and done.returncode:
        pytest.skip("ptrace is not allowed here")
    app = json.loads(done.stdout)
    # Counts only large calls of write(): the processes also write requests to each other, and the result.
    traced = [int(m[1]) for m in re.finditer(rf"{CALLS[variant]}(?:\(| resumed>).* = (-?\d+)", done.stderr)]
    if variant == "write":
        traced = [n for n in traced if n >= 4096]
    accepted = [n for n in traced if n >= 0]
    assert app["send_calls"] == len(traced)
    assert app["send_calls"] - sum(app["errors"].values()) == len(accepted)
    assert sum(accepted) == app["bytes"] == 300 * 65536


@pytest.mark.parametrize("options", [[], ["--fields", 1], ["--registered"], ["--inflight", 1],
                                     ["--registered", "--size", "1M", "--fields", 100]],
                         ids=lambda o: " ".join(map(str, o)))
def test_io_uring_accounts_for_every_zero_copy_send(options):
    app = load("--variant", "uring_zc", "--threads", 2, "--messages", 100, "--verify", *options)
    z = app["zerocopy"]
    assert z["requests"] == app["send_calls"] == z["completions"] + z["enobufs"]
    pieces = 1 if "--registered" not in options else 100 if "--fields" in options else 8
    assert z["requests"] >= 200 * pieces
    assert z["completions"] == z["notifications"]
    assert z["copied"] in (None, z["completions"])  # on loopback
    assert app["verify"]["bad_bytes"] == 0


@pytest.mark.parametrize("options, words", [
    (("zerocopy",), ("ENOBUFS", "optmem_max", "ulimit -l")), (("uring_zc",), ("ulimit -l",)),
    (("uring_zc", "--registered"), ("ulimit -l",))], ids=["zerocopy", "uring_zc", "registered"])
def test_refused_zero_copy_names_the_limits(options, words):
    if os.geteuid() or not shutil.which("setpriv"):
        pytest.skip("needs root, to become nobody")
    done = run("setpriv", "--reuid", "65534", "--clear-groups", "--bounding-set", "-all", "prlimit",
               "--memlock=65536", LOADGEN, "--size", "1M", "--duration", "0.2", "--variant", *options,
               cwd="/")
    if "Permission denied" in done.stderr or "this kernel's io_uring" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1 and all(word in done.stderr for word in words)


@pytest.mark.parametrize("variant", EVERY)
def test_receiver_killed_in_the_window(variant, tmp_path):
    path = tmp_path / "app.json"
    with Child([LOADGEN, "--variant", variant, "--threads", "2", "--duration", "20",
                "--warmup", "0", "--json", path], stdout=subprocess.PIPE,
               stderr=subprocess.PIPE, text=True) as job:
        os.kill(receiver_of(job), signal.SIGKILL)
        _, err = job.communicate(timeout=PATIENCE_S)
    if job.returncode == 3 and "io_uring" in err:
        pytest.skip(err.strip())
    assert job.returncode == 1
    assert err.count("\n") == 1 and "receiver process died (signal 9)" in err
    app = json.loads(path.read_text())
    assert "receiver process died (signal 9)" in app["error"]
    assert app["messages"] > 0 and app["receiver"] is None


@pytest.mark.parametrize("variant", EVERY)
def test_interrupted_while_blocked(variant):
    with Child([LOADGEN, "--variant", variant, "--duration", "60", "--size", "1M"],
               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as job:
        receiver = receiver_of(job)
        os.kill(receiver, signal.SIGSTOP)
        assert eventually(lambda: job.poll() is not None or asleep(job.pid))
        begun = time.monotonic()
        job.send_signal(signal.SIGINT)
        _, err = job.communicate(timeout=PATIENCE_S)
    if job.returncode == 3 and "io_uring" in err:
        pytest.skip(err.strip())
    assert time.monotonic() - begun < 20  # the requested duration is 60 s
    # Status 1: on a slow machine, it gave up because of the stopped receiver before the interrupt arrived.
    assert job.returncode in (-signal.SIGINT, 1)
    assert err.count("\n") == 1 and "receiver process was stopped by a signal" in err
    assert receiver not in processes()


def receiver_of(job):
    """Returns the receiver's pid, once messages have arrived."""
    found = []

    def receives():
        try:
            with open(f"/proc/{job.pid}/task/{job.pid}/children", encoding="ascii") as children:
                found[:] = children.read().split()
        except OSError:
            pass
        if job.poll() is not None or not found:
            return job.poll() is not None
        # with -O, ss prints each socket in one line
        sockets = [line for line in run("ss", "-HOtinp").stdout.splitlines()
                   if f"pid={found[0]}," in line]
        return sum(map(int, re.findall(r"bytes_received:(\d+)", "".join(sockets)))) > 1 << 20

    assert eventually(receives) and job.poll() is None, "nothing was received"
    return int(found[0])


def asleep(pid):
    """Returns whether, in 20 consecutive checks, no thread of the process runs or ends."""
    for _ in range(20):
        try:
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/stat", encoding="ascii") as stat:
                    if stat.read().rpartition(")")[2].split()[0] == "R":
                        return False
        except OSError:
            return False
        time.sleep(0.005)
    return True


NO_RING = """
int io_uring_queue_init(unsigned n, void *ring, unsigned flags) { return -38; }
int io_uring_queue_init_params(unsigned n, void *ring, void *p) { return -38; }
"""


@pytest.fixture(name="without_io_uring")
def _without_io_uring(tmp_path):
    if "san" in LOADGEN:
        pytest.skip("a sanitizer wants to be loaded first")
    (tmp_path / "no.c").write_text(NO_RING)
    done = run("cc", "-w", "-shared", "-fPIC", "-o", tmp_path / "no.so", tmp_path / "no.c")
    if done.returncode:
        pytest.skip("no compiler here: " + done.stderr.strip())
    return dict(os.environ, LD_PRELOAD=str(tmp_path / "no.so"))


@pytest.mark.parametrize("variant", ["uring", "uring_zc"])
def test_a_lacking_variant_is_an_error_by_name(variant, without_io_uring):
    err = refused("--variant", variant, status=3, env=without_io_uring)
    assert f"--variant {variant}: this kernel has no io_uring" in err


@needs_bpf
def test_a_lacking_variant_of_every_is_skipped_with_a_message(without_io_uring, tmp_path):
    path = tmp_path / "runs.json"
    done = analyze("--variant", "every", "--messages", 20, *NONE, "--json", path, env=without_io_uring)
    assert done.returncode == 0, done.stderr
    assert re.findall(r"skipped: --variant (\w+): this kernel has no io_uring", done.stderr) == [
        "uring", "uring_zc"]
    ran = [json.loads(line)["load"]["variant"] for line in path.read_text().splitlines()]
    assert ran == [v for v in EVERY if "uring" not in v]
    done = analyze("--variant", "onecopy,uring", "--messages", 20, env=without_io_uring)
    assert done.returncode == 3
    assert done.stderr.count("\n") == 1 and "--variant uring:" in done.stderr


@needs_bpf
def test_the_kernels_counts_equal_those_of_every_variant(untouched):
    got = {r["load"]["variant"]: r for r in records("--variant", "every", "--messages", 300)}
    assert set(EVERY) - {"uring", "uring_zc"} <= set(got)
    for variant, record in got.items():
        row = only(record["calls"])
        assert row["bytes"] == record["app"]["bytes"] == 300 * 16384, variant
        assert row["zerocopy"] == ("zero" in variant or "_zc" in variant)
    if "uring_zc" in got:
        own, seen = got["uring_zc"]["app"]["zerocopy"], got["uring_zc"]["zerocopy"]
        assert seen["requests"] == 0 and seen["errqueue_copied"] is None
        row = only(got["uring_zc"]["calls"])
        accepted = row["sends"] - sum(row["errors"].values())
        if seen["io_uring"]["completions"] is not None:  # a message that is sent in parts has several completions
            assert seen["io_uring"]["completions"] == accepted >= own["completions"]


# Messages

@pytest.mark.parametrize("variant, pick", [*((variant, "random") for variant in EVERY), ("onecopy", "order")])
def test_messages_from_a_data_set_arrive_as_picked(variant, pick):
    app = load("--variant", variant, "--working-set", "8M", "--pick", pick, "--size", 9999,
               "--threads", 2, "--messages", 200, "--verify")
    assert app["verify"] == {"bytes_checked": 400 * 9999, "bad_bytes": 0, "first": None}


def test_a_seed_is_followed_at_both_ends():
    for seed in (1, 2, 9223372036854775807):
        app = load("--variant", "onecopy", "--working-set", "1M", "--pick", "random", "--seed",
                   seed, "--messages", 100, "--verify")
        assert app["verify"]["bad_bytes"] == 0


@pytest.mark.parametrize("variant", EVERY)
def test_aligned_fields(variant):
    app = load("--variant", variant, "--align", "4K", "--fields", 3, "--messages", 100, "--verify")
    assert app["verify"]["bad_bytes"] == 0


def test_huge_pages_or_a_reason():
    done = run(LOADGEN, "--variant", "onecopy", "--huge-pages", "--size", "4M", "--messages", 20,
               "--verify", "--json", "-")
    if done.returncode == 3:
        assert done.stderr.count("\n") == 1
        assert "--huge-pages" in done.stderr and "transparent_hugepage" in done.stderr
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0 and json.loads(done.stdout)["verify"]["bad_bytes"] == 0


def test_a_file_in_a_folder(tmp_path):
    app = load("--variant", "sendfile", "--file-dir", tmp_path, "--messages", 100, "--verify")
    assert app["verify"]["bad_bytes"] == 0
    assert not os.listdir(tmp_path)
    assert "--file-dir" in refused("--variant", "sendfile", "--file-dir", "/proc", status=1)


@needs_bpf
def test_the_record_holds_the_requested_load(untouched):
    plain = only(records("--variant", "onecopy", "--messages", 10, *NONE))["load"]
    assert [plain[key] for key in ("working_set_bytes", "pick", "seed", "align_bytes",
                                   "rate_per_thread", "file_dir")] == [None] * 6
    record = only(records("--variant", "onecopy", "--messages", 10, *NONE, "--working-set", "1M", "--pick", "random",
                          "--seed", 5, "--align", 64, "--rate", 1000, "--socket",
                         "nodelay,more,sndbuf=64K,rcvbuf=128K,congestion=reno,device=lo"))
    assert {key: record["load"][key] for key in ("working_set_bytes", "pick", "seed", "align_bytes",
                                                "rate_per_thread")} == {
        "working_set_bytes": 1 << 20, "pick": "random", "seed": 5, "align_bytes": 64,
        "rate_per_thread": 1000}
    assert record["load"]["socket"] == {"nodelay": True, "more": True, "sndbuf": 65536,
                                       "rcvbuf": 131072, "congestion": "reno", "device": "lo"}
    assert record["app"]["message_latency_ns"]["span"] == "message_due"
    assert record["app"]["rate"] == {"due": 10, "unsent": 0}
    assert record["run"]["cell"] != "onecopy,16384B,8f,1t"


# Open loop

@pytest.mark.parametrize("default, options, address", [
    ("127.0.0.2", [], "127.0.0.2"),
    ("127.0.0.2", ["--address", "127.0.0.3"], "127.0.0.3"),
    ("127.0.0.2", ["--workload", "procinfo", "--connections", 1], "127.0.0.2")])
def test_the_environment_may_name_the_receivers_place(default, options, address):
    record = only(records(*NONE, "--duration", "0.2", *options,
                          env={**os.environ, "SENDPATH_ADDRESS": default}))
    assert record["load"]["address"] == address


def test_an_impossible_place_is_refused():
    result = analyze("--variant", "onecopy", env={**os.environ, "SENDPATH_ADDRESS": "here"})
    assert result.returncode == 2
    assert "--address here: give an IPv4 or IPv6 address" in result.stderr


@pytest.mark.parametrize("variant", ["onecopy", "zerocopy"])
def test_a_rate_is_kept(variant):
    app = load("--variant", variant, "--rate", 500, "--threads", 2, "--duration", 1)
    assert app["rate"]["due"] == 1000
    assert app["messages"] + app["rate"]["unsent"] == app["rate"]["due"]
    assert app["messages"] > 500  # enough even on a busy machine
    assert 1 <= app["elapsed_s"] < 3


def test_a_rate_that_cannot_be_kept_is_reported():
    app = load("--variant", "onecopy", "--rate", 1000000000, "--size", "64K", "--duration", "0.3")
    assert app["rate"]["due"] == 300000000
    assert app["rate"]["unsent"] == app["rate"]["due"] - app["messages"] > 0


@needs_bpf
def test_the_record_warns_of_messages_that_were_not_begun(untouched):
    record = only(records("--variant", "onecopy", "--rate", 1000000000, "--duration", "0.2", *NONE))
    assert record["app"]["rate"]["unsent"] > 0
    assert "rate_not_kept" in {w["code"] for w in record["warnings"]}


def stalled(*options):
    """Stops the receiver for a second. Returns the sum of the messages' latencies divided by the run's time."""
    with Child([LOADGEN, "--variant", "onecopy", "--size", "1M", "--duration", "4",
                "--warmup", "0", "--json", "-", *map(str, options)],
               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as job:
        receiver = receiver_of(job)
        os.kill(receiver, signal.SIGSTOP)
        time.sleep(1)
        os.kill(receiver, signal.SIGCONT)
        out, err = job.communicate(timeout=PATIENCE_S)
    assert job.returncode == 0, err
    app = json.loads(out)
    return app["message_latency_ns"]["sum"] / 1e9 / app["elapsed_s"]


@pytest.mark.slow
def test_a_stall_delays_all_that_was_due_in_it():
    """If messages are sent one after the other, their latencies add up to at most the run's time, even if one is held
    up. If they are due at fixed times, a stall delays all messages that become due in it."""
    assert stalled() <= 1
    assert stalled("--rate", 100) > 4  # some 90 messages wait half a second each, in 4 s: about 11


# Socket options

def test_socket_options_reach_the_socket():
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    done = run("strace", "-f", "-e", "trace=setsockopt,sendmsg", LOADGEN, "--variant", "onecopy",
               "--messages", 5, "--warmup", 0, "--verify", "--socket",
               "nodelay,more,sndbuf=64K,rcvbuf=128K,congestion=reno,device=lo")
    if "ptrace" in done.stderr and done.returncode:
        pytest.skip("ptrace is not allowed here")
    assert done.returncode == 0, done.stderr
    for words in (r"TCP_NODELAY, \[1\]", r"SO_SNDBUF\w*, \[65536\]", r"SO_RCVBUF\w*, \[131072\]",
                  r"TCP_CONGESTION, \S+, 4\) = 0", r'SO_BINDTODEVICE, "lo'):
        assert re.search(words, done.stderr), words
    assert len(re.findall(r"sendmsg\(.*MSG_MORE", done.stderr)) >= 5
    assert not re.search(r"TCP_NODELAY, \[0\]", done.stderr)


@pytest.mark.parametrize("socket, status, words", [
    ("congestion=nosuch", 3, ["congestion=nosuch", "tcp_allowed_congestion_control"]),
    ("device=nosuch0", 1, ["device=nosuch0", "ip link"]),
])
def test_impossible_socket_options_are_refused(socket, status, words):
    err = refused("--variant", "onecopy", "--socket", socket, status=status)
    assert all(word in err for word in words)


def test_a_buffer_that_is_cut_is_an_error():
    if os.geteuid() or not shutil.which("setpriv"):
        pytest.skip("needs root, to give CAP_NET_ADMIN up")
    for name in ("sndbuf", "rcvbuf"):
        done = run("setpriv", "--bounding-set", "-net_admin", "--inh-caps", "-net_admin", LOADGEN,
                   "--variant", "onecopy", "--messages", 5, "--socket", f"{name}=1G")
        assert done.returncode == 3
        assert f"--socket {name}=1073741824" in done.stderr and "net.core." in done.stderr
        assert done.stderr.count("\n") == 1


@needs_bpf
def test_a_message_of_sendfile_is_one_piece():
    of_file, of_memory = records("--variant", "sendfile,writev", "--messages", 20, "--warmup", 0, *NONE)
    assert of_file["load"]["fields"] == 1 and of_memory["load"]["fields"] == 8
    assert ",1f," in of_file["run"]["cell"]


@needs_bpf
def test_the_verdict_covers_zero_copy_by_io_uring_too():
    done = analyze("--variant", "onecopy,uring_zc", "--messages", 300)
    if done.returncode == 3 and "io_uring" in done.stderr:
        pytest.skip(done.stderr.strip())
    assert done.returncode == 0, done.stderr
    verdict = verdict_of(done.stdout)
    found = re.search(r"ll (\d+) sends by SEND_ZC were copied \(loopback, lo\)|"
                      r"o verdict: how many of the (\d+) sends by SEND_ZC", verdict)
    # A message that the socket takes in parts is several sends.
    assert found and int(found[1] or found[2]) >= 300, verdict
