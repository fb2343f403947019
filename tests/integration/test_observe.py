# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests the observation of other programs: their sends are counted exactly, and their own exit status is returned."""

import contextlib
import json
import os
import pathlib
import pty
import re
import shutil
import signal
import subprocess
import sys

import pytest

from conftest import (ANALYZE, CALLS, LOADGEN, MECHANISMS, NOTHING_LOST, PATIENCE_S, PROGRAMS, Child, Receiver,
                      analyze, check, eventually, hook, line_of, losses, needs_bpf, only, printed, reason, run)

pytestmark = needs_bpf

# Sends to itself by send and by sendmsg: at once, or by threads that start on request.
PROGRAM = """
import socket, sys, threading

def sink(listener):
    connection, _ = listener.accept()
    while connection.recv(1 << 16):
        pass

def session(sends, messages):
    listener = socket.create_server(("127.0.0.1", 0))
    reader = threading.Thread(target=sink, args=(listener,))
    reader.start()
    with socket.create_connection(listener.getsockname()) as s:
        for _ in range(sends):
            s.send(b"x" * 100)
        for _ in range(messages):
            s.sendmsg([b"y" * 60, b"z" * 40])
    reader.join()

mode = sys.argv[1]
if mode == "now":
    session(1000, 500)
    sys.exit(int(sys.argv[2]))
print("ready", flush=True)
sys.stdin.readline()
threads = [threading.Thread(target=session, args=(100, 50)) for _ in range(4)]
for t in threads:
    t.start()
for t in threads:
    t.join()
print("done", flush=True)
sys.stdin.readline()
"""
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable


def observed(result):
    """Returns the record, which follows the command's own output."""
    return check(json.loads(result.stdout.splitlines()[-1]))


def calls(record):
    return {call["syscall"]: call for call in record["calls"] if not call["zerocopy"]}


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_a_command_is_counted_from_its_start_and_ends_with_its_status(program, mechanism, untouched):
    result = analyze("--json", "-", "--mechanism", mechanism, "--", PYTHON, program, "now", 7)
    assert result.returncode == 7, result.stderr
    record = observed(result)
    seen = calls(record)
    assert seen["sendto"]["sends"] == 1000 and seen["sendto"]["bytes"] == 100_000
    assert seen["sendmsg"]["sends"] == 500 and seen["sendmsg"]["bytes"] == 50_000
    assert record["load"] is None and record["app"] is None
    assert record["observed"]["by"] == "command"
    assert record["observed"]["exit_status"] == 7
    assert record["observed"]["in_flight"] == 0
    assert losses(record) == NOTHING_LOST
    assert {c["scope"] for c in record["counters"]} == {"command"}


def test_strace_counts_the_same(program, tmp_path):
    if not shutil.which("strace"):
        pytest.skip("strace is not installed")
    table = tmp_path / "strace"
    traced = run("strace", "-f", "-c", "-e", "trace=sendto,sendmsg", "-o", table, PYTHON, program,
                 "now", 0)
    assert traced.returncode == 0, traced.stderr
    theirs = {row[-1]: int(row[3]) for row in
              (line.split() for line in table.read_text().splitlines())
              if row and row[-1] in ("sendto", "sendmsg")}
    ours = calls(observed(analyze("--json", "-", "--", PYTHON, program, "now", 0)))
    assert {name: call["syscalls"] for name, call in ours.items()} == theirs


def test_children_of_a_command_count_too(program):
    script = f"{PYTHON} {program} now 0 & {PYTHON} {program} now 0; wait"
    record = observed(analyze("--json", "-", "--", "sh", "-c", script))
    assert calls(record)["sendto"]["sends"] == 2000
    assert losses(record) == NOTHING_LOST


def daemon(status, *command):
    """Returns a command that ends with the status and leaves `command` running with another parent."""
    return [str(PROGRAMS / "daemon"), str(status), *map(str, command)]


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_what_a_command_leaves_behind_counts_too(program, mechanism, untouched):
    result = analyze("--json", "-", "--mechanism", mechanism, "--",
                     *daemon(7, *daemon(0, PYTHON, program, "now", 3)))
    assert result.returncode == 7, result.stderr
    record = observed(result)
    seen = calls(record)
    assert (seen["sendto"]["sends"], seen["sendmsg"]["sends"]) == (1000, 500)
    assert record["observed"]["exit_status"] == 7 and record["complete"]
    assert losses(record) == NOTHING_LOST


def lives(pid):
    """Returns whether a process lives. A zombie, which its new parent has not reaped yet, does not."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


# Writes its id to a file, closes our pipes, and lives until it is killed.
LASTING = ("sh", "-c", "exec </dev/null >/dev/null 2>&1; echo $$ >$0; exec sleep 1000")


def written(path):
    return path.exists() and path.read_text().strip()


def test_a_signal_is_passed_on_to_what_a_command_left_behind(tmp_path, untouched):
    with start(ANALYZE, "--", *daemon(0, *LASTING, tmp_path / "pid")) as analyzer:
        assert "waiting for 1 process that " in (line := line_of(analyzer.stderr))
        assert "Ctrl-C ends the window" in line
        analyzer.send_signal(signal.SIGTERM)
        _, stderr = analyzer.communicate(timeout=PATIENCE_S)
    assert analyzer.returncode == 0, stderr
    assert "no TCP sends were seen" in stderr
    assert eventually(lambda: not lives(written(tmp_path / "pid")))


def test_ctrl_c_ends_the_window_and_what_was_left_behind_lives_on(tmp_path, untouched):
    pid, terminal = pty.fork()
    if not pid:
        os.execv(ANALYZE, [ANALYZE, "--", *daemon(5, *LASTING, tmp_path / "pid")])
    shown = b""
    while b"Ctrl-C ends the window" not in shown:
        shown += os.read(terminal, 4096)
    left = int(eventually(lambda: written(tmp_path / "pid")))
    os.write(terminal, b"\x03")
    with contextlib.suppress(OSError):  # the other end of the terminal is closed
        while chunk := os.read(terminal, 4096):
            shown += chunk
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 5, shown
    assert f"lives on: --pid {left} observes it".encode() in shown
    assert lives(left)
    os.kill(left, signal.SIGKILL)


def test_a_window_of_a_length_does_not_wait_for_what_was_left_behind(tmp_path, untouched):
    result = analyze("--json", "-", "--duration", "2", "--",
                     *daemon(0, *LASTING, tmp_path / "pid"))
    left = int(eventually(lambda: written(tmp_path / "pid")))
    os.kill(left, signal.SIGKILL)
    assert result.returncode == 0
    assert f"--pid {left} observes it" in only([
        line for line in result.stderr.splitlines() if "lives on" in line])
    assert 2 <= observed(result)["observed"]["seconds"] < PATIENCE_S


# The command inherits the pipes of analyze, so run() returns only when the command has ended.
@pytest.mark.parametrize("duration, command, status", [
    ("0.5", ["sleep", "1000"], None),
    ("600", ["sh", "-c", "exit 7"], 7)], ids=["ended", "ends earlier"])
def test_a_command_is_ended_when_the_time_is_up(duration, command, status, untouched):
    result = analyze("--json", "-", "--duration", duration, "--", *command)
    assert result.returncode == (status or 0), result.stderr
    record = observed(result)
    assert record["observed"]["exit_status"] == status and record["complete"]
    assert status or 0.5 <= record["observed"]["seconds"] < PATIENCE_S
    assert "command" not in result.stderr, result.stderr


def test_a_command_that_ignores_its_end_is_killed_after_the_report(untouched):
    result = run(ANALYZE, "--duration", "2", "--interval", "1", "--", "sh", "-c", "trap '' TERM; exec sleep 1000")
    assert result.returncode == 0, result.stderr
    report, _, after = result.stderr.partition("no TCP sends were seen")
    assert "\nobserved: command sh" in report
    assert after.endswith("\nanalyze: the command did not end at SIGTERM and was killed\n")


@pytest.mark.slow
def test_a_command_that_ignores_a_signal_is_ended_after_a_while(untouched):
    with start(ANALYZE, "--json", "-", "--", "sh", "-c", "trap '' INT; echo ready; exec sleep 1000") as analyzer:
        assert line_of(analyzer.stdout) == "ready\n"
        analyzer.send_signal(signal.SIGINT)
        stdout, stderr = analyzer.communicate(timeout=PATIENCE_S)
    assert analyzer.returncode == 0
    assert "analyze: waiting for sh, which received the signal, too, to end: after 10 s it is ended\n" in stderr
    record = check(json.loads(stdout))
    assert record["complete"] and record["observed"]["exit_status"] is None


def test_a_signal_that_the_command_ignores_interrupts_no_window_that_ends_in_time(untouched):
    with start(ANALYZE, "--json", "-", "--duration", "2", "--", "sh", "-c", "trap '' INT; echo ready; exec sleep 1000"
               ) as analyzer:
        assert line_of(analyzer.stdout) == "ready\n"
        analyzer.send_signal(signal.SIGINT)
        stdout, stderr = analyzer.communicate(timeout=PATIENCE_S)
    assert check(json.loads(stdout))["complete"] and "Incomplete" not in stderr


def test_a_command_that_may_not_be_ended_is_named(untouched):
    """The analyzer, although started by root, keeps no capability to signal another user's processes."""
    if not shutil.which("setpriv"):
        pytest.skip("setpriv is not installed")
    result = run(ANALYZE, "--duration", "4", "--", "setpriv", "--reuid=65534", "--clear-groups", "sh", "-c",
                 "exec </dev/null >/dev/null 2>&1 sleep 1000")
    assert result.returncode == 0, result.stderr
    left = re.search(r"the command still runs as process (\d+) and cannot be ended", result.stderr)
    os.kill(int(left[1]), signal.SIGKILL)


def test_many_short_lived_children(untouched):
    """Each child connects, sends once and ends; a guest of the lab has time for fewer."""
    children = min(1000, CALLS // 100)
    script = ("import os, socket, threading\n"
              "l = socket.create_server(('127.0.0.1', 0), backlog=512)\n"
              f"for _ in range({children}):\n"
              "    if not os.fork():\n"
              "        socket.create_connection(l.getsockname()).send(b'x' * 10)\n"
              "        os._exit(0)\n"
              "    l.accept()[0].recv(10)\n"
              "    os.wait()\n")
    record = observed(analyze("--json", "-", "--", PYTHON, "-c", script))
    call = only(record["calls"])
    assert (call["syscall"], call["sends"], call["bytes"]) == ("sendto", children, 10 * children)
    assert losses(record) == NOTHING_LOST


@pytest.mark.parametrize("variant", ["twocopy", "onecopy", "zerocopy"])
def test_another_programs_own_counts(variant, tmp_path, untouched):
    """Observes the load generator like any other program, because it reports its own counts."""
    out = tmp_path / "app.json"
    record = observed(analyze("--json", "-", "--", LOADGEN, "--variant", variant, "--messages",
                              3000, "--warmup", 0, "--json", out))
    app, call = json.loads(out.read_text()), only(record["calls"])
    assert call["sends"] == app["send_calls"]
    assert call["bytes"] == app["bytes"]
    assert call["errors"] == app["errors"]
    if variant == "zerocopy" and record["zerocopy"]["completions"] is not None:
        zerocopy = record["zerocopy"]
        assert zerocopy["completions"] == app["zerocopy"]["completions"]
        if not reason(record, "completion"):
            assert zerocopy["copied"] == app["zerocopy"]["completions"]


def start(*args, **kwargs):
    return Child([str(a) for a in args], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                 stderr=subprocess.PIPE, text=True, **kwargs)


# Observes two processes in a new PID namespace. After the end of the first, gives its id to a program that sends.
REUSED = """
import subprocess, sys
analyze, program = sys.argv[1:]
first, second = (subprocess.Popen(["sleep", "60"]) for _ in range(2))
analyzer = subprocess.Popen([analyze, "--json", "-", "--interval", "0.1", "--pid", f"{first.pid},{second.pid}"],
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
while not analyzer.stderr.readline().startswith("  "):  # a line of the open window
    pass
first.kill()
first.wait()
with open("/proc/sys/kernel/ns_last_pid", "w") as last:
    last.write(str(first.pid - 1))
sender = subprocess.Popen([sys.executable, program, "now", "0"])
assert sender.pid == first.pid and sender.wait() == 0
second.kill()
second.wait()
print(analyzer.communicate()[0].splitlines()[-1])
"""


def test_another_program_with_the_id_of_one_that_has_ended(program, untouched):
    result = run("unshare", "--pid", "--fork", "--mount-proc", PYTHON, "-c", REUSED, ANALYZE, program)
    assert result.returncode == 0, result.stderr
    assert not observed(result)["calls"]


def test_a_caller_that_ignores_the_end_of_children(untouched):
    def ignore():
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    assert run(ANALYZE, "--", "sh", "-c", "exit 3", preexec_fn=ignore).returncode == 3
    assert run(ANALYZE, "--variant", "twocopy", "--messages", 5, "--json", "/dev/full",
               preexec_fn=ignore).returncode == 1


def test_a_send_that_does_not_return(tmp_path, untouched):
    """Nobody reads until the window has closed."""
    script = ("import socket, threading\n"
              "l = socket.create_server(('127.0.0.1', 0))\n"
              "s = socket.create_connection(l.getsockname())\n"
              "threading.Timer(1, lambda: l.accept()[0].close()).start()\n"
              "try: s.send(bytes(100000000))\n"
              "except OSError: pass\n")
    result = run(ANALYZE, "--json", tmp_path / "record", "--duration", 0.5, "--", PYTHON, "-c", script)
    assert check(json.loads((tmp_path / "record").read_text()))["observed"]["in_flight"] == 1
    assert "1 send still under way" in result.stderr and "no TCP sends" not in result.stderr


@pytest.mark.parametrize("how", ["pid", "comm", pytest.param("all", marks=pytest.mark.serial)])
def test_a_running_program_with_threads_that_start_later(how, program, untouched):
    # Other tests run Python programs at the same time, so this program gets another name.
    name = f"later-{os.getpid()}"
    renamed = f"open('/proc/self/comm', 'w').write('{name}'); exec(open('{program}').read())"
    with start(PYTHON, "-c", renamed, "later") as target:
        assert line_of(target.stdout) == "ready\n"
        options = {"pid": ["--pid", target.pid], "comm": ["--comm", name], "all": ["--all"]}[how]
        with start(ANALYZE, "--json", "-", *options) as analyzer:
            assert eventually(lambda: gate_is_open(analyzer))
            target.stdin.write("go\n")
            target.stdin.flush()
            assert line_of(target.stdout) == "done\n"
            target.stdin.write("end\n")
            target.stdin.flush()
            assert target.wait(timeout=PATIENCE_S) == 0
            if how != "pid":  # a process that has ended ends its observation
                analyzer.send_signal(signal.SIGINT)
            stdout, stderr = analyzer.communicate(timeout=PATIENCE_S)
        assert analyzer.returncode == (0 if how == "pid" else -signal.SIGINT), stderr
        seen = calls(check(json.loads(stdout)))
        # With --all, other programs' sends may be counted, too.
        assert seen["sendto"]["sends"] == 400 or how == "all" and seen["sendto"]["sends"] > 400
        assert seen["sendmsg"]["sends"] == 200 or how == "all" and seen["sendmsg"]["sends"] > 200


def gate_is_open(analyzer):
    """Returns whether the analyzer has opened its window: its programs are attached, and it waits in poll().
    Ignores other processes' programs, because other tests run at the same time."""
    with contextlib.suppress(FileNotFoundError):  # a descriptor may be closed at this moment
        open_files = [os.readlink(fd) for fd in pathlib.Path(f"/proc/{analyzer.pid}/fd").iterdir()]
        with open(f"/proc/{analyzer.pid}/syscall", encoding="utf-8") as file:
            return any("bpf_link" in name or "[perf_event]" in name for name in open_files) and \
                file.read().split()[0] in ("7", "73", "271")
    return False


@pytest.fixture
def group():
    """Creates a control group of version 2. Removes it and the groups below it after the test."""
    mounts = [line.split() for line in pathlib.Path("/proc/self/mounts").read_text(encoding="utf-8").splitlines()]
    root = next((mount[1] for mount in mounts if mount[2] == "cgroup2"), None)
    if not root:
        pytest.skip("no control groups of version 2 are mounted here")
    path = f"{root}/sendpath-test-{os.getpid()}"
    try:
        os.mkdir(path)
    except OSError as error:
        pytest.skip(f"no control group can be made: {error}")
    yield path
    for folder, *_ in os.walk(os.fsencode(path), topdown=False):
        with open(folder + b"/cgroup.procs", encoding="utf-8") as procs:
            assert eventually(lambda: not procs.seek(0) and not procs.read())
        os.rmdir(folder)


def test_a_control_group(group, program, untouched):
    with start(PYTHON, program, "later") as target:
        assert line_of(target.stdout) == "ready\n"
        with open(f"{group}/cgroup.procs", "w", encoding="utf-8") as procs:
            procs.write(str(target.pid))
        with start(ANALYZE, "--json", "-", "--cgroup", group) as analyzer:
            assert eventually(lambda: gate_is_open(analyzer))
            target.communicate("go\nend\n", timeout=PATIENCE_S)
            analyzer.send_signal(signal.SIGINT)
            stdout, stderr = analyzer.communicate(timeout=PATIENCE_S)
    assert calls(check(json.loads(stdout)))["sendto"]["sends"] == 400, stderr


OTHER_PROTOCOLS = """
import socket
IPPROTO_MPTCP, SO_ZEROCOPY, MSG_ZEROCOPY = 262, 60, 0x4000000
with socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_MPTCP) as listener:
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, IPPROTO_MPTCP) as mptcp:
        mptcp.connect(listener.getsockname())
        for _ in range(10):
            mptcp.send(b"x" * 50, MSG_ZEROCOPY)
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
    udp.bind(("127.0.0.1", 0))
    udp.setsockopt(socket.SOL_SOCKET, SO_ZEROCOPY, 1)
    for flags in (0, MSG_ZEROCOPY, MSG_ZEROCOPY):
        udp.sendto(b"y" * 50, flags, udp.getsockname())
near, far = socket.socketpair()
for _ in range(5):
    near.sendall(b"z" * 100_000)
    far.recv(100_000, socket.MSG_WAITALL)
"""


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_sends_of_other_protocols_are_counted_or_reported_as_uncounted(mechanism, tmp_path, untouched):
    if run(PYTHON, "-c", OTHER_PROTOCOLS).returncode:
        pytest.skip("this kernel has no MPTCP, or no zero-copy sends by UDP")
    path = tmp_path / "record"
    result = analyze("--json", path, "--mechanism", mechanism, "--", PYTHON, "-c", OTHER_PROTOCOLS)
    assert result.returncode == 0, result.stderr
    record = check(json.loads(path.read_text()))
    assert not record["calls"] and result.stderr.endswith(printed(record))
    if record["observed"]["others"] is None:
        assert any(u["key"] == "observed.others" for u in record["unmeasured"])
        return
    others = record["observed"]["others"]
    assert others.pop("unix_sends") == 5 and others.pop("unix_bytes") == 500_000
    assert others == {"mptcp_sends": 10, "mptcp_bytes": 500, "udp_sends": 3, "udp_bytes": 150, "zerocopy_requests": 12}
    (finding,) = record["findings"]
    assert (finding["code"], finding["count"], finding["total"]) == ("other_protocol", 18, 18)
    assert "go by Unix sockets" in " ".join(result.stderr.split())


def test_others_do_not_count(program, untouched):
    with start(PYTHON, program, "later") as target:
        assert line_of(target.stdout) == "ready\n"
        with start(ANALYZE, "--json", "-", "--pid", target.pid) as analyzer:
            assert eventually(lambda: gate_is_open(analyzer))
            assert run(PYTHON, program, "now", 0).returncode == 0
            target.communicate("go\nend\n", timeout=PATIENCE_S)
            stdout, _ = analyzer.communicate(timeout=PATIENCE_S)
    assert calls(check(json.loads(stdout)))["sendto"]["sends"] == 400


def test_time_is_up(untouched):
    result = analyze("--json", "-", "--all", "--duration", "0.3")
    assert result.returncode == 0, result.stderr
    record = observed(result)
    assert 0.3 <= record["observed"]["seconds"] < PATIENCE_S
    assert record["tcp"] is None and hook(record, "packet")["status"] == "disabled"


def test_a_signal_is_passed_on_and_the_report_still_comes(untouched):
    # Does not use a handler and pause(): a signal just before pause() would not end it.
    script = "import signal, sys; signal.pthread_sigmask(signal.SIG_BLOCK, [15])\n" \
             "print('up', flush=True); sys.exit(signal.sigwait([15]) - 10)"
    with start(ANALYZE, "--", PYTHON, "-c", script) as analyzer:
        assert line_of(analyzer.stdout) == "up\n"
        analyzer.send_signal(signal.SIGTERM)
        stdout, stderr = analyzer.communicate(timeout=PATIENCE_S)
    assert analyzer.returncode == 5, stderr
    assert "no TCP sends were seen" in stderr and not stdout


@pytest.mark.parametrize("options,cut_short", [((), False), (("--duration", "600"), True)])
def test_an_end_by_interrupt(options, cut_short, tmp_path, untouched):
    """Without --duration, an interrupt is the normal end. With --duration, it cuts the observation short."""
    path = tmp_path / "record"
    with start(ANALYZE, "--all", "--json", path, *options) as analyzer:
        assert eventually(lambda: gate_is_open(analyzer))
        analyzer.send_signal(signal.SIGINT)
        analyzer.communicate(timeout=PATIENCE_S)
    record = check(json.loads(path.read_text()))
    assert record["complete"] != cut_short
    assert ("interrupted" in {w["code"] for w in record["warnings"]}) == cut_short


def test_a_process_that_has_ended_is_refused(untouched):
    with Child(["true"]) as job:
        os.waitid(os.P_PID, job.pid, os.WEXITED | os.WNOWAIT)
        result = analyze("--pid", job.pid, "--duration", 1)
    assert result.returncode == 2 and not result.stdout
    assert result.stderr == f"analyze: --pid {job.pid}: has ended, and its parent did not wait for it (a zombie)\n"


@pytest.mark.parametrize("zerocopy", [False, True])
def test_unused_hooks_cause_no_warning(zerocopy, tmp_path, untouched):
    path = tmp_path / "record"
    with Receiver() as receiver:
        result = analyze("--json", path, "--", *receiver.sender(
            "--sends", 100, *([] if zerocopy else ["--plain"])))
    assert result.returncode == 0, result.stderr
    record = check(json.loads(path.read_text()))
    misses = {name for w in record["warnings"] if w["code"] == "hook_misses"
              for name in w["text"].rpartition("(hook ")[2].rstrip(")").split(", ")}
    for_zerocopy = {"completion", "skb copy", "skb segment", "skb pull", "skb duplicate", "send id", "error queue",
                    "error queue read"}
    # The plan has all hooks that could miss calls. Those for zero-copy are reported only if there were zero-copy sends.
    could = {h["name"] for h in record["plan"]["hooks"] if h["status"] == "attached" and h["reason"]}
    assert misses & for_zerocopy == (could & for_zerocopy if zerocopy else set())
    assert "io_uring completion" not in misses


# Fills a send buffer: one send fails at once; then one waits, and a timer interrupts it. Calls libc's send(), because
# Python's own would retry after EINTR. In the end, the other end closes.
FAILING = """
import ctypes, json, signal, socket
libc = ctypes.CDLL(None, use_errno=True)
l = socket.create_server(("127.0.0.1", 0))
s = socket.create_connection(l.getsockname())
r, _ = l.accept()
r.setblocking(False)
counts = {"sends": 0, "EAGAIN": 0, "EINTR": 0, "EPIPE": 0}
def send(flags):
    counts["sends"] += 1
    if libc.send(s.fileno(), b"x" * 5000, 5000, flags | socket.MSG_NOSIGNAL) < 0:
        counts[{11: "EAGAIN", 4: "EINTR", 32: "EPIPE"}[ctypes.get_errno()]] += 1
while not counts["EAGAIN"]:
    send(socket.MSG_DONTWAIT)
signal.signal(signal.SIGALRM, lambda *_: None)
signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
while counts["EINTR"] < 3:
    send(0)
signal.setitimer(signal.ITIMER_REAL, 0)
r.close()
while not counts["EPIPE"]:
    try:
        send(socket.MSG_DONTWAIT)
    except KeyError:
        pass  # ECONNRESET, its first error: counted by the kernel, not here
print(json.dumps(counts))
"""


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_failures_by_name(mechanism, tmp_path, untouched):
    """Interrupted sends do not count as failures, because the kernel may restart them."""
    path = tmp_path / "record"
    result = analyze("--json", path, "--mechanism", mechanism, "--by", "process", "--interval", 30, "--",
                     PYTHON, "-c", FAILING)
    assert result.returncode == 0, result.stderr
    own, call = json.loads(result.stdout), only(check(json.loads(path.read_text()))["calls"])
    errors = call["errors"]
    failed = sum(n for name, n in errors.items() if name != "ERESTARTSYS")
    assert call["sends"] == own["sends"]
    assert (errors["EAGAIN"], errors["ERESTARTSYS"]) == (own["EAGAIN"], own["EINTR"])
    names = ", ".join(f"{name} {n}" for name, n in errors.items() if name != "ERESTARTSYS")
    lines = result.stderr.splitlines()
    assert f"failed: observed, sendto: {names}" in lines
    assert only([line for line in lines if line.startswith("interrupted: ")]).startswith(
        f"interrupted: observed, sendto: {own['EINTR']} sends by a signal (ERESTARTSYS)")
    for row in ("sendto +", PYTHON.rsplit("/", 1)[1] + r"\S* +\d+ +"):  # by syscall, by process
        assert re.search(rf"^{row}.* {failed}(?: +0 +-)?$", result.stderr, re.M), row


def test_a_command_killed_by_a_signal(untouched):
    result = analyze("--", "sh", "-c", "kill -9 $$")
    assert result.returncode == 128 + 9


@pytest.mark.parametrize("args,words,status", [
    (["--pid", "0"], ["--pid 0"], 2),
    (["--pid", "4194305000"], ["--pid 4194305000"], 2),
    (["--pid", "4194303"], ["4194303", "no such process"], 2),
    (["--comm", "sixteen-letters-"], ["15 characters"], 2),
    (["--cgroup", "/no/such/group"], ["/no/such/group", "no such control group"], 2),
    (["--comm", "no-such-program"], ["no-such-program", "no process of this name"], 2),
    (["--cgroup", "/proc"], ["/proc", "control group"], 2),
    (["--all", "--comm", "x"], ["give one of"], 2),
    (["--all", "--variant", "twocopy"], ["--duration"], 2),
    (["--all", "--mechanism", "none"], ["--mechanism none"], 2),
    (["--", "/no/such/program"], ["/no/such/program"], 127),
    (["--", "/etc/passwd"], ["/etc/passwd"], 126),
])
def test_wrong_use_is_one_line(args, words, status, untouched):
    result = analyze(*args)
    assert result.returncode == status, result.stderr
    line = only(result.stderr.splitlines())
    for word in words:
        assert word in line


MEMORY_KIB = 24 << 10


def test_the_observer_is_small():
    """The peak memory includes libraries and, at the start, all of the kernel's types, which libbpf reads."""
    if "san" in ANALYZE:
        pytest.skip("a sanitizer holds more")
    result = analyze("--mechanism", "tracepoint", "--", "sh", "-c", "cat /proc/$PPID/status")
    assert not result.returncode, result.stderr
    peak = re.search(r"^VmHWM:\s*(\d+) kB$", result.stdout, re.MULTILINE)
    assert "Name:\tanalyze" in result.stdout and int(peak[1]) <= MEMORY_KIB
