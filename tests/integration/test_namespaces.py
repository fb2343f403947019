# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests container namespaces: processes have the ids that the container gives them."""

import json
import shutil
import types

import pytest

from conftest import (ANALYZE, CALLS, MECHANISMS, NOTHING_LOST, PATIENCE_S, Child, analyze, check, eventually, line_of,
                      losses, needs_bpf, only, reason, run)
from test_observe import PROGRAM, PYTHON, calls, gate_is_open, observed  # noqa: F401

# Runs a command as the first process of a container, with a loopback device.
INSIDE = ("unshare", "--pid", "--fork", "--mount-proc", "--net", "sh", "-c",
          'ip link set lo up && exec "$@"', "sh")
SENDS = min(1000, CALLS)

pytestmark = [needs_bpf, pytest.mark.usefixtures("untouched"), pytest.mark.skipif(
    run(*INSIDE, "true").returncode != 0, reason="namespaces cannot be made here")]

# Connects to a port, and sends once.
SENDER = "import socket, sys; " \
         "socket.create_connection(('127.0.0.1', int(sys.argv[1]))).send(b'x' * 30)"
# Runs the sender as a child in the same container, and in a nested container.
PARENT = """
import socket, subprocess, sys
listener = socket.create_server(("127.0.0.1", 0))
for around in ([], ["unshare", "--pid", "--fork"]):
    subprocess.run([*around, sys.executable, "-c", sys.argv[1], str(listener.getsockname()[1])],
                   check=True)
    listener.accept()[0].recv(30)
sys.exit(7)
"""


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_load(mechanism):
    done = run(*INSIDE, ANALYZE, "--mechanism", mechanism, "--variant", "zerocopy", "--messages", SENDS,
               "--by", "process", "--json", "-")
    assert done.returncode == 0, done.stderr
    record = check(json.loads(done.stdout))
    call, group = only(record["calls"]), only(record["by"]["groups"])
    assert call["sends"] == record["app"]["send_calls"] == group["sends"] >= SENDS
    assert record["zerocopy"]["completions"] in (call["sends"], None)
    assert group["pid"] == record["load"]["sender_pid"] < 100
    assert record["receiver"]["bytes"] == call["bytes"]
    assert losses(record) == NOTHING_LOST


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_command_and_its_children(mechanism):
    done = run(*INSIDE, ANALYZE, "--mechanism", mechanism, "--by", "process", "--json", "-", "--", PYTHON,
               "-c", PARENT, SENDER)
    assert done.returncode == 7, done.stderr
    record = observed(done)
    call, groups = only(record["calls"]), record["by"]["groups"]
    assert (call["sends"], call["bytes"]) == (2, 60)
    assert len(groups) == 2 and all(1 < g["pid"] < 100 for g in groups), groups
    assert losses(record) == NOTHING_LOST


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_process_by_its_id(mechanism, program):  # noqa: F811
    script = f"exec 3<&0; {PYTHON} {program} later <&3 & " \
             f"exec {ANALYZE} --mechanism {mechanism} --json - --by process --pid $!"
    with Child([*INSIDE, "sh", "-c", script], stdin=-1, stdout=-1, stderr=-1, text=True) as job:
        assert line_of(job.stdout) == "ready\n"
        analyzer = types.SimpleNamespace(pid=only(run("pgrep", "-P", job.pid).stdout.split()))
        assert eventually(lambda: gate_is_open(analyzer))
        stdout, stderr = job.communicate("go\nend\n", timeout=PATIENCE_S)
    assert job.returncode == 0, stderr
    record = check(json.loads(stdout.splitlines()[-1]))
    # Four threads send at once: a kretprobe may lose some returns, and counts them.
    seen = calls(record)
    assert seen["sendto"]["sends"] + seen["sendmsg"]["sends"] + record["lost"]["calls"] == 600
    assert record["lost"]["calls"] == 0 or "loses returns" in reason(record, "send")
    assert only(record["by"]["groups"])["pid"] < 100


def test_a_process_elsewhere_has_no_id(program):  # noqa: F811
    """The process is observed by name, from a container in whose PID namespace it has no id."""
    script = f"{ANALYZE} --json - --by process --comm other-ns --duration 60"
    with Child([*INSIDE, "sh", "-c", f"exec {script}"], stdout=-1, stderr=-1, text=True) as job:
        assert eventually(lambda: run("pgrep", "-P", job.pid, "analyze").stdout)
        analyzer = types.SimpleNamespace(pid=only(run("pgrep", "-P", job.pid).stdout.split()))
        assert eventually(lambda: gate_is_open(analyzer))
        renamed = f"open('/proc/self/comm', 'w').write('other-ns'); exec(open('{program}').read())"
        assert run(PYTHON, "-c", renamed, "now", 0).returncode == 0
        run("kill", "-INT", analyzer.pid)
        stdout, stderr = job.communicate(timeout=PATIENCE_S)
    group = only(check(json.loads(stdout))["by"]["groups"])
    assert (group["pid"], group["comm"], group["sends"]) == (None, "other-ns", 1500), stderr


def test_sends_that_were_not_seen_are_an_error():
    """Simulates a system that hides the PID namespace from the analyzer."""
    hidden = ("strace", "-o", "/dev/null", "-P", "/proc/self/ns/pid", "-e",
              "inject=newfstatat:error=ENOENT")
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    done = run(*INSIDE, *hidden, ANALYZE, "--variant", "onecopy", "--messages", SENDS)
    assert done.returncode == 1, done.stderr
    assert "the kernel programs saw no TCP send" in only(done.stderr.splitlines())


def test_a_user_namespace_is_named_as_the_reason():
    """The root of a user namespace has all capabilities, but none of them permits BPF."""
    if run("unshare", "--user", "--map-root-user", "true").returncode:
        pytest.skip("user namespaces cannot be made here")
    done = run("unshare", "--user", "--map-root-user", ANALYZE, "--duration", "0.1")
    assert done.returncode == 3
    assert "user namespace" in only(done.stderr.splitlines())
    assert "initial one" in analyze("doctor").stdout
    assert "a container's" in run(*INSIDE, ANALYZE, "doctor").stdout
