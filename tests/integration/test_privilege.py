# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests that with sudo only the measuring is privileged: the load runs as the caller, who also owns the files."""

import collections
import json
import os
import re
import shutil
import signal
import subprocess

import pytest

from conftest import ANALYZE, NONE, PATIENCE_S, ROOT, Child, copy_programs, eventually, needs_bpf, run
from test_errors import SHORT, busy, descend, front_of
from test_serve import Serve

pytestmark = [needs_bpf, pytest.mark.usefixtures("untouched"),
              pytest.mark.skipif(os.geteuid() != 0, reason="not root: sudo cannot be played")]

USER = 65534
AS_SUDO = {**os.environ, "SUDO_UID": str(USER), "SUDO_GID": str(USER)}


@pytest.fixture
def home(open_path):
    """A copy of the programs in a folder that the user may enter and write to; the clone may allow neither."""
    copy_programs(open_path)
    os.chown(open_path, USER, USER)
    os.chown(open_path / "analyze", USER, USER)
    return open_path


def as_sudo(home, *args, limit=()):
    return run(*limit, home / "analyze", *args, env=AS_SUDO)


def test_load_and_files_are_the_users(home):
    path = home / "runs.json"
    result = as_sudo(home, "--variant", "zerocopy", "--messages", "2000", "--json", path)
    assert result.returncode == 0, result.stderr
    assert os.stat(path).st_uid == USER
    record = json.loads(path.read_text())
    assert record["privilege"]["uid"] == record["app"]["uid"] == USER
    assert "sys_admin" not in record["privilege"]["capabilities"]
    assert record["zerocopy"]["completions"] == record["app"]["zerocopy"]["completions"] == 2000


def test_roots_files_are_out_of_reach(home):
    path = home / "roots"
    path.write_text("kept\n")
    os.chmod(path, 0o600)
    result = as_sudo(home, *SHORT[ANALYZE], "--json", path)
    assert result.returncode == 1
    assert str(path) in result.stderr
    assert path.read_text() == "kept\n"


def test_locked_memory_is_refused_and_counted(home):
    """The user's RLIMIT_MEMLOCK limits zero-copy sends. Root has CAP_IPC_LOCK, and no limit."""
    path = home / "runs.json"
    result = as_sudo(home, "--variant", "zerocopy", "--size", "64K", "--messages", "200",
                     "--json", path, limit=("prlimit", "--memlock=262144"))
    assert result.returncode == 0, result.stderr
    record = json.loads(path.read_text())
    assert record["app"]["memlock_bytes"] == 262144
    # Ignores the causes: a completion may free memory before the hook compares it with the limit.
    refused = collections.Counter()
    for row in record["zerocopy"]["refused"]:
        refused[row["errno"]] += row["count"]
    assert refused == record["app"]["errors"]
    assert record["app"]["zerocopy"]["enobufs"] == refused.get("ENOBUFS", 0)
    accepted = record["zerocopy"]["requests"] - sum(refused.values())
    assert record["zerocopy"]["completions"] == accepted == 200


def test_programs_out_of_reach(home):
    """The programs are under a folder that only root may enter, such as /root."""
    (home / "loadgen").chmod(0o700)
    result = as_sudo(home, *SHORT[ANALYZE])
    assert result.returncode == 1
    assert len(result.stderr.splitlines()) == 1
    assert f"user {USER}" in result.stderr and "loadgen/loadgen" in result.stderr


def test_a_sweeps_folder_is_the_users(home):
    """The sweep skips configurations that need root. If none remains, the exit status shows that."""
    out = home / "sweep"
    result = as_sudo(home, "sweep", "--out", out, "--variant", "twocopy", "--messages", "10",
                     "--link", "veth", "--repeat", "2")
    assert result.returncode == 3
    assert "0 of 2 runs measured, 0 failed, 2 skipped" in result.stdout
    assert {os.stat(path).st_uid for path in (out, out / "plan.json", out / "runs.jsonl")} == {USER}
    rows = [json.loads(line) for line in (out / "runs.jsonl").read_text().splitlines()]
    assert [row["outcome"] for row in rows] == ["skipped"] * 2
    assert "run as root" in rows[0]["error"]


def with_capabilities(home, names, *args):
    """Runs a command as a user with only these capabilities."""
    added = ",".join(f"+{name}" for name in names)
    return run("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups",
               f"--inh-caps={added}", f"--ambient-caps={added}", home / "analyze", *args)


def test_three_capabilities_are_enough(home):
    """With only two capabilities, the kernel hides functions' addresses. The record has the reason, and what is
    lost."""
    for names in (["bpf", "perfmon", "syslog"], ["bpf", "perfmon"]):
        path = home / "-".join(names)
        result = with_capabilities(home, names, "--variant", "zerocopy", "--messages", "2000",
                                   "--json", path)
        if "perf_event_paranoid" in result.stderr:
            pytest.skip(result.stderr.strip())
        assert result.returncode == 0, result.stderr
        record = json.loads(path.read_text())
        seen = "syslog" in names
        assert seen == ("CAP_SYSLOG" not in " ".join(row["reason"] for row in record["unmeasured"]))
        assert record["lost"]["flags"] <= 20 or not seen  # a hundredth of the sends; without CAP_SYSLOG far more
        assert record["zerocopy"]["completions"] == 2000
        doctor = with_capabilities(home, names, "doctor").stdout
        assert seen == ("without CAP_SYSLOG" not in doctor)


def has_no_privilege(pid, user):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        status = dict(line.split(":", 1) for line in file.read().splitlines())
    return (status["Uid"].split() == status["Gid"].split() == [str(user)] * 4
            and {int(status[f"Cap{of}"], 16) for of in ("Inh", "Prm", "Eff", "Amb")} == {0}
            and int(status["NoNewPrivs"]) == 1)


@pytest.mark.parametrize("environment", [os.environ, AS_SUDO], ids=["root", "sudo"])
def test_the_front_has_no_privilege(home, environment):
    ours, theirs = os.pipe()
    with Child([home / "analyze", "--variant", "twocopy", "--duration", "60", *NONE], env=environment,
               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, pass_fds=(theirs,)) as job:
        assert eventually(lambda: front_of(job.pid))
        pid = front_of(job.pid)
        assert has_no_privilege(pid, USER if environment is AS_SUDO else 0)
        # While the front starts, it also has its modules open.
        assert eventually(lambda: sorted(os.listdir(f"/proc/{pid}/fd")) == ["0", "1", "2", "3"])
        assert os.readlink(f"/proc/{pid}/fd/0") == "/dev/null"
        assert os.readlink(f"/proc/{pid}/fd/3").startswith("socket:")
        job.send_signal(signal.SIGINT)
        assert job.wait(PATIENCE_S) == -signal.SIGINT
        assert eventually(lambda: not os.path.exists(f"/proc/{pid}"))
    os.close(ours)
    os.close(theirs)


def test_the_front_of_a_program_with_file_capabilities(home):
    if not shutil.which("setcap", path="/sbin:/usr/sbin"):
        pytest.skip("setcap is not installed")
    subprocess.run(["/sbin/setcap", "cap_bpf,cap_perfmon,cap_syslog+ep", home / "analyze"], check=True)
    with Child(["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", home / "analyze",
                "--variant", "twocopy", "--duration", "60", *NONE], cwd=home,
               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as job:
        assert eventually(lambda: front_of(job.pid))
        assert has_no_privilege(front_of(job.pid), USER)
        job.send_signal(signal.SIGINT)
        assert job.wait(PATIENCE_S) == -signal.SIGINT


def test_a_run_ends_with_the_front(home):
    with Child([home / "analyze", "--variant", "twocopy", "--duration", "600", *NONE], text=True,
               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as job:
        assert eventually(lambda: front_of(job.pid) and descend(job.pid, 2))  # the load runs
        os.kill(front_of(job.pid), signal.SIGKILL)
        _, errors = job.communicate(timeout=PATIENCE_S)
    assert job.returncode == 1
    assert len(errors.splitlines()) == 1 and "no report: the front (/usr/bin/python3) ended early" in errors


def test_the_front_reports_its_records_when_the_engine_has_ended(home):
    out = home / "out"
    with Child([home / "analyze", "--variant", "twocopy,onecopy", "--messages", "20", "--repeat", "1000",
                "--mechanism", "none", "--json", out], text=True, env=AS_SUDO,
               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as job:
        assert eventually(lambda: out.exists() and len(out.read_text().splitlines()) > 3)
        os.kill(job.pid, signal.SIGKILL)
        report, _ = job.communicate(timeout=PATIENCE_S)  # the load ends when the front ends, too
    assert "twocopy" in report and "Gbit/s" in report


# Replaces the front by other code.
FRONT = """
import json, os, signal, sys
sys.path.insert(0, {root!r})
from analysis.derive import record
from analysis.front.session import serve
{body}
sys.exit(serve(sys.argv[2], 3))
"""


def other_front(home, body):
    (home / "analysis/__main__.py").write_text(FRONT.format(root=str(ROOT), body=body))


def test_a_signal_while_a_record_is_made_loses_none(home):
    other_front(home, """
made = record.record_of
def record_of(raw):
    os.kill(os.getppid(), signal.SIGINT)
    return made(raw)
record.record_of = record_of""")
    with Child([home / "analyze", *SHORT[ANALYZE], "--json", "-"],
               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as job:
        record, _ = job.communicate(timeout=PATIENCE_S)
    assert job.returncode == -signal.SIGINT
    assert json.loads(record)["app"]["messages"] == 10


@pytest.mark.parametrize("line", [
    '{"run": 1, "repeat": 1}', '{"run": -1, "repeat": 1}', '{"run": 0, "repeat": 0}',
    '{"run": 0, "repeat": 1e9}', '{"run": "0", "repeat": 1}', '{"run": 0}', "{}", "[]", "nothing",
    '{"run": [[[[[[[[0]]]]]]]]}', "x" * 70000, '{"run": 18446744073709551616, "repeat": 1}'],
    ids=range(12))
def test_a_front_cannot_request_anything_else(home, line):
    other_front(home, f"""
os.read(3, 1 << 20)
try:
    os.write(3, {line!r}.encode() + b"\\n")
    os.read(3, 1)
except OSError:
    pass
sys.exit(0)""")
    result = run(home / "analyze", *SHORT[ANALYZE])
    assert (result.returncode, result.stdout) == (2, "")
    assert len(result.stderr.splitlines()) == 1
    assert "the front requested a run that the command line does not contain" in result.stderr


def test_python_is_needed(home):
    shutil.rmtree(home / "analysis")
    result = as_sudo(home, "--variant", "twocopy", "--messages", "10")
    assert result.returncode == 3
    assert len(result.stderr.splitlines()) == 1 and "analysis/__main__.py" in result.stderr


@pytest.mark.parametrize("what", ["analysis/__main__.py", "analysis/text", "analysis", "."])
@pytest.mark.parametrize("how", ["owner", "others", "group"])
def test_root_starts_no_file_that_others_may_write(home, what, how):
    path = home / what
    if how == "owner":
        os.chown(path, USER + 1, USER + 1)
    else:
        os.chown(path, USER, 4)
        path.chmod(path.stat().st_mode | (0o002 if how == "others" else 0o020))
    for environment, command in ((os.environ, ()), (AS_SUDO, ()), (os.environ, ("crosscheck",))):
        result = run(home / "analyze", *command, "--variant", "twocopy", "--messages", "10", env=environment)
        assert (result.returncode, result.stdout) == (3, "")
        assert len(result.stderr.splitlines()) == 1 and "other users may write to it" in result.stderr


def effective(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return int(re.search(r"^CapEff:\t(\w+)$", file.read(), re.M).group(1), 16)


CAP_IPC_LOCK, CAP_NET_ADMIN, CAP_SYS_ADMIN, CAP_BPF = 1 << 14, 1 << 12, 1 << 21, 1 << 39


@pytest.mark.parametrize("options, kept", [
    ((), CAP_IPC_LOCK),
    (("--socket", "rcvbuf=1M"), CAP_IPC_LOCK | CAP_NET_ADMIN),
    (("--link", "veth"), CAP_IPC_LOCK | CAP_NET_ADMIN | CAP_SYS_ADMIN)])
def test_roots_load_keeps_what_its_options_need(options, kept):
    with Child([ANALYZE, "--duration", "60", *NONE, *options], stdin=subprocess.DEVNULL,
               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as job:
        both = []

        def there():
            both[:] = descend(job.pid, 2)
            return len(both) == 2 and busy(both[1])

        assert eventually(there)
        assert [effective(pid) for pid in both] == [kept, kept]
        job.send_signal(signal.SIGINT)
        assert job.wait(PATIENCE_S) == -signal.SIGINT


@pytest.mark.parametrize("options", [(), ("--raw",)])
def test_while_it_measures_it_can_only_read_maps(options):
    with Child([ANALYZE, "--all", "--duration", "60", *options], stdin=subprocess.DEVNULL,
               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as job:
        assert eventually(lambda: effective(job.pid) == CAP_BPF)
        job.send_signal(signal.SIGINT)
        job.wait(PATIENCE_S)


def test_a_server_of_strangers_keeps_no_capability():
    with Serve() as there:
        assert effective(there.process.pid) == 0
