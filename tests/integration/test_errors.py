# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests bad input and failures: one clear line, the right status, nothing left behind."""

import contextlib
import json
import os
import pathlib
import re
import select
import signal
import socket
import subprocess

import pytest

from conftest import ANALYZE, LOADGEN, NONE, PATIENCE_S, analyze, check, eventually, needs_bpf, processes, run

pytestmark = pytest.mark.usefixtures("untouched")

USAGE = [
    (["--variant", "fourcopy"], "fourcopy"),
    (["--variant", ""], "--variant"),
    (["--size", "0"], "0"),
    (["--size", "9E"], "9E"),
    (["--size", "32M"], "32M"),
    (["--size", "1K", "--fields", "3", "--field-size", "100"], "--size"),
    (["--threads", "0"], "--threads 0"),
    (["--threads", "-1"], "-1"),
    (["--duration", "fast"], "fast"),
    (["--repeat", "0"], "--repeat 0"),
    (["--mechanism", "magic"], "--mechanism magic"),
    (["--rcvlowat", "2G"], "--rcvlowat 2G"),
    (["--rcvlowat", "0"], "--rcvlowat 0"),
    (["--address", "nowhere"], "nowhere"),
    (["--port", "65536"], "65536"),
    (["--events", "no_such_event"], "no_such_event"),
    (["--call-counters", "no_such_event"], "no_such_event"),
    (["--call-counters", "cpu-clock,page-faults,faults,cs,task-clock"], "more than 4"),
    (["--cost", "--mechanism", "none"], "--mechanism none"),
    (["--call-counters", "cpu-clock", "--mechanism", "none"], "--mechanism none"),
    (["--call-counters", "cpu-clock,context-switches"], "--call-counters context-switches: would"),
    (["--call-counters", "cs"], "--call-counters cs: would always be 0"),
    (["--call-counters", "cpu-migrations"], "--call-counters cpu-migrations: would always be 0"),
    (["--no-such-option"], "there is no option --no-such-option (--help=all lists them)"),
    (["--varient", "twocopy"], "--varient: did you mean --variant"),
    (["--variant", "twocopy", "--durations=3"], "--durations: did you mean --duration"),
    (["sweep", "--our", "x"], "--our: did you mean --out"),
    (["advise", "--bugdet", "1"], "did you mean --budget?"),
    (["derive", "x", "--detials"], "did you mean --details?"),
    (["derive", "x", "--rew"], "unrecognized arguments: --rew (analyze derive --help)"),
    (["analyse"], "there is no command analyse"),
    (["reprot", "x"], "did you mean report?"),
    (["ls", "-l"], "put -- before it: analyze -- ls"),
    (["--"], "name the command to observe after it"),
    (["--duration", "1", "--"], "name the command to observe after it"),
    ([], "--variant"),
    (["doctor", "who"], "who"),
]


def one_line(result, *words):
    lines = result.stderr.splitlines()
    assert len(lines) == 1, result.stderr
    for word in words:
        assert word in lines[0]


@pytest.mark.parametrize("args,word", USAGE, ids=lambda x: " ".join(x) if isinstance(x, list) else "")
def test_wrong_usage(args, word):
    result = analyze(*args)
    assert result.returncode == 2, result.stderr
    assert result.stdout == ""
    one_line(result, word)


@pytest.mark.parametrize("program", [ANALYZE, LOADGEN], ids=["analyze", "loadgen"])
def test_short_help(program):
    short, long = run(program, "-h"), run(program, "--help")
    assert (short.returncode, short.stdout, short.stderr) == (0, long.stdout, "")
    assert short.stdout.startswith("Usage: ")


ESCAPE = "\x1b[31m"
# A short run that measures nothing: of loadgen, and of analyze.
SHORT = {LOADGEN: ("--variant", "twocopy", "--messages", "10"),
         ANALYZE: ("--variant", "twocopy", "--messages", "10", *NONE)}
STEERING = [
    (ANALYZE, "--port", f"{ESCAPE}x"), (ANALYZE, "--variant", "a\nb"), (ANALYZE, f"--no-{ESCAPE}"),
    (ANALYZE, f"-{ESCAPE}"), (ANALYZE, f"--s={ESCAPE}"), (ANALYZE, f"--help={ESCAPE}"),
    (ANALYZE, "--pid", ESCAPE), (ANALYZE, "--events", ESCAPE), (ANALYZE, "--netns", ESCAPE),
    (ANALYZE, "--cgroup", f"/{ESCAPE}"), (ANALYZE, "--json", f"/no/{ESCAPE}"), (ANALYZE, ESCAPE),
    (ANALYZE, "--variant", "twocopy", "--messages", "1", "--peer", f"{ESCAPE}:1"),
    (ANALYZE, "--variant", "twocopy", "--messages", "1", "--socket", f"device={ESCAPE}"),
    (ANALYZE, "--", f"/no/{ESCAPE}"), (ANALYZE, "doctor", ESCAPE),
    (ANALYZE, "doctor", f"--hooks={ESCAPE}"), (ANALYZE, "sweep", "--grid", ESCAPE, "--out", "x"),
    (ANALYZE, "sweep", "--variant", "twocopy", "--out", f"/no/{ESCAPE}"),
    (ANALYZE, "exporter", "--listen", ESCAPE), (ANALYZE, "exporter", "--textfile", f"/no/{ESCAPE}"),
    (LOADGEN, "--port", ESCAPE), (LOADGEN, "--json", f"/no/{ESCAPE}"), (LOADGEN, f"--s={ESCAPE}"),
    (LOADGEN, "serve", f"--x={ESCAPE}"), (LOADGEN, "serve", "--key", ESCAPE),
    (LOADGEN, "serve", f"-{ESCAPE}"), (LOADGEN, "serve", ESCAPE),
]


@pytest.mark.parametrize("words", STEERING, ids=lambda words: repr(words[1:]))
def test_no_value_steers_a_terminal(words):
    """The value may come from a script that passes on what other users wrote."""
    result = run(*words)
    assert result.returncode and result.stdout == ""
    one_line(result)
    assert result.stderr.rstrip("\n").isprintable(), repr(result.stderr)


def test_words_of_a_command_are_its_own():
    """Words after -- and values of options are not read as options."""
    result = analyze("--json", "--no-such-file/x", "--", "true", "--no-such-option")
    assert "--no-such-file/x" in result.stderr and "no option" not in result.stderr


@needs_bpf
@pytest.mark.parametrize("program", [ANALYZE, LOADGEN], ids=["analyze", "loadgen"])
def test_occupied_port(program):
    with socket.socket() as occupied:
        occupied.bind(("127.0.0.1", 0))
        occupied.listen()
        port = occupied.getsockname()[1]
        result = run(program, "--variant", "twocopy", "--port", port, "--duration", "1")
    assert result.returncode == 1
    one_line(result, f"127.0.0.1:{port}", "--port")


@needs_bpf
def test_too_few_descriptors():
    result = run("prlimit", "--nofile=128", ANALYZE, "--variant", "twocopy", "--threads", "200",
                 "--messages", "1")
    assert result.returncode == 1
    one_line(result, "ulimit -n", "--threads")


@pytest.mark.parametrize("limit", [8, 20, 127])
def test_too_few_descriptors_for_the_analyzer(limit):
    result = run("prlimit", f"--nofile={limit}", ANALYZE, "--variant", "twocopy", "--messages", "1")
    assert result.returncode == 1
    one_line(result, f"limited to {limit}", "ulimit -n")


@needs_bpf
def test_a_small_stack_is_enough():
    if "san" in ANALYZE:
        pytest.skip("a sanitizer's frames are larger")
    result = run("prlimit", f"--stack={96 << 10}", ANALYZE, "--variant", "twocopy", "--messages", "1")
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("args", [("--variant", "twocopy"), ("doctor",), ("table", "x.json")],
                         ids=" ".join)
def test_no_proc(args):
    if "san" in ANALYZE:
        pytest.skip("a sanitizer needs /proc itself")
    if run("unshare", "-m", "true").returncode:
        pytest.skip("no mount namespace can be made here")
    result = run("unshare", "-m", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh",
                 ANALYZE, *args)
    assert result.returncode == 3
    one_line(result, "no /proc")


@needs_bpf
@pytest.mark.skipif("san" in ANALYZE, reason="a sanitizer maps terabytes")
@pytest.mark.uncounted
def test_too_little_memory_is_no_lack_of_types():
    """The kernel's types take most of this memory. With a megabyte less, the front could not start."""
    result = run("prlimit", "--as=17000000", ANALYZE, "--variant", "twocopy", "--messages", "1")
    if "shared libraries" in result.stderr:
        pytest.skip(result.stderr.strip())
    assert result.returncode == 1
    one_line(result, "memory")
    assert "no BTF" not in result.stderr


@needs_bpf
@pytest.mark.parametrize("program, status", [(ANALYZE, 1), (LOADGEN, 2)], ids=["analyze", "loadgen"])
def test_a_fifo_without_a_reader_is_reported(tmp_path, program, status):
    path = tmp_path / "fifo"
    os.mkfifo(path)
    result = run(program, *SHORT[program], "--json", path)
    assert result.returncode == status
    one_line(result, str(path), "start its reader")


@needs_bpf
def test_standard_output_by_name_is_what_was_opened(tmp_path):
    """The record and the report do not overwrite each other."""
    with open(tmp_path / "out", "w+", encoding="utf-8") as out:
        result = subprocess.run([ANALYZE, *SHORT[ANALYZE], "--json", "/dev/stdout"], stdin=subprocess.DEVNULL, stdout=out, check=False)
        assert result.returncode == 0
        out.seek(0)
        record, report = out.read().split("\n", 1)
    check(json.loads(record))
    assert report.startswith("sendpath ")


@needs_bpf
@pytest.mark.parametrize("path", ["/nonexistent/runs.json", "/proc/runs.json", "/", "/tmp/none/"])
def test_file_that_cannot_be_written(path):
    result = analyze(*SHORT[ANALYZE], "--json", path)
    assert result.returncode == 1
    one_line(result, str(path), "--json")


@needs_bpf
def test_full_disk_ends_the_runs_and_not_the_report(tmp_path):
    result = analyze(*SHORT[ANALYZE], "--repeat", "5", "--json", "/dev/full")
    assert result.returncode == 1
    one_line(result, "/dev/full", "No space")
    assert "twocopy" in result.stdout and "5 runs" not in result.stdout


@needs_bpf
@pytest.mark.uncounted
def test_a_limit_of_the_file_leaves_no_half_record(tmp_path):
    """Besides the record that is there already, only one of the new records fits."""
    path = tmp_path / "runs.json"
    first = analyze(*SHORT[ANALYZE], "--json", path)
    assert first.returncode == 0, first.stderr
    room = 2 * path.stat().st_size + path.stat().st_size // 2
    result = run("prlimit", f"--fsize={room}", ANALYZE, *SHORT[ANALYZE], "--repeat", "3", "--json", path)
    assert result.returncode == 1
    one_line(result, str(path), "File too large")
    assert "twocopy" in result.stdout
    lines = path.read_text().splitlines(keepends=True)
    assert len(lines) == 2 and all(json.loads(line) and line[-1] == "\n" for line in lines)


@needs_bpf
@pytest.mark.uncounted
def test_no_room_for_the_first_record_leaves_no_file(tmp_path):
    path = tmp_path / "runs.json"
    result = run("prlimit", "--fsize=100", ANALYZE, *SHORT[ANALYZE], "--json", path)
    assert result.returncode == 1
    one_line(result, str(path), "File too large")
    assert not path.exists()


@needs_bpf
def test_no_file_before_there_is_a_record(tmp_path):
    path = tmp_path / "runs.json"
    job = Running("--variant", "twocopy", "--duration", "30", *NONE, "--json", path)
    job.children()
    assert not path.exists()
    job.process.kill()
    job.finish()
    assert not path.exists()


@needs_bpf
@pytest.mark.parametrize("program", [ANALYZE, LOADGEN], ids=["analyze", "loadgen"])
def test_no_symbolic_link_is_followed(tmp_path, program):
    """Root may name a path in a folder in which another user has put a link."""
    other, link = tmp_path / "other", tmp_path / "runs.json"
    other.write_text("kept\n")
    link.symlink_to(other)
    for path in (str(link), "/proc/self/cwd/runs.json"):
        result = run(program, *SHORT[program], "--json", path, cwd=tmp_path)
        assert result.returncode == (1 if program == ANALYZE else 2)
        one_line(result, path, "symbolic link")
        assert other.read_text() == "kept\n"
    result = run(program, *SHORT[program], "--json", "/dev/stdout")
    assert result.returncode == 0 and '{"' in result.stdout, result.stderr


@needs_bpf
def test_failed_run_leaves_no_empty_file(tmp_path):
    path = tmp_path / "runs.json"
    with socket.socket() as occupied:
        occupied.bind(("127.0.0.1", 0))
        occupied.listen()
        analyze("--variant", "twocopy", "--port", occupied.getsockname()[1], "--json", path)
    assert not path.exists()


@needs_bpf
def test_half_a_line_of_a_killed_run_spoils_no_other(tmp_path):
    path = tmp_path / "runs.json"
    path.write_text('{"half": ')
    for _ in range(2):
        result = analyze(*SHORT[ANALYZE], "--json", path)
        assert result.returncode == 0, result.stderr
    half, *rest = path.read_text().splitlines()
    assert half == '{"half": ' and len([check(json.loads(line)) for line in rest]) == 2


CLOSED = [(fds, "".join(f" {fd}{'<' if fd == 0 else '>'}&-" for fd in fds))
          for fds in ((0,), (1,), (2,), (0, 1, 2))]


@needs_bpf
@pytest.mark.parametrize("fds, closed", CLOSED, ids=[str(fds) for fds, _ in CLOSED])
@pytest.mark.parametrize("program", [ANALYZE, LOADGEN], ids=["analyze", "loadgen"])
def test_closed_standard_streams(tmp_path, program, fds, closed):
    """No file that the program opens takes the number of the closed stream."""
    path = tmp_path / "runs.json"
    result = run("sh", "-c", f'exec "$@"{closed}', "sh", program, *SHORT[program], "--json", path)
    assert result.returncode == 0, result.stderr
    assert json.loads(path.read_text())
    assert bool(result.stdout) == (1 not in fds)


@needs_bpf
@pytest.mark.parametrize("words", [
    (ANALYZE, "--help"), (ANALYZE, "--version"), (ANALYZE, "doctor"), (ANALYZE, "doctor", "--help"),
    (ANALYZE, "doctor", "--hooks=send"), (ANALYZE, *SHORT[ANALYZE]),
    (LOADGEN, "--version")], ids=lambda words: " ".join(words[1:]))
def test_a_full_standard_output_is_reported(words):
    result = run("sh", "-c", 'exec "$@" > /dev/full', "sh", *words)
    assert result.returncode == 1
    one_line(result, "standard output", "full")


def test_without_root():
    if os.geteuid():
        pytest.skip("not root: nothing to give up")
    result = run("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", ANALYZE,
                 "--variant", "twocopy")
    assert result.returncode == 3
    one_line(result, "CAP_BPF", "sudo")


def test_doctor_has_a_help():
    done = analyze("doctor", "--help")
    assert done.returncode == 0 and "--hooks" in done.stdout and not done.stderr


def test_doctor_without_root_reports_it():
    if os.geteuid():
        pytest.skip("not root: nothing to give up")
    result = run("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", ANALYZE,
                 "doctor")
    assert result.returncode == 3
    assert re.search(r"^capabilities +not enough", result.stdout, re.M)
    assert re.search(r"^device +lo", result.stdout, re.M)


def other_types():
    """Places besides /sys/kernel/btf where libbpf looks for the kernel's types."""
    release = os.uname().release
    names = [f"/boot/vmlinux-{release}", f"/lib/modules/{release}/vmlinux-{release}",
             f"/lib/modules/{release}/build/vmlinux", f"/usr/lib/modules/{release}/kernel/vmlinux",
             f"/usr/lib/debug/boot/vmlinux-{release}",
             f"/usr/lib/debug/boot/vmlinux-{release}.debug",
             f"/usr/lib/debug/lib/modules/{release}/vmlinux"]
    return [name for name in names if os.path.exists(name)]


@pytest.mark.skipif(other_types(), reason=f"the kernel's types are in {other_types()} too")
def test_without_btf():
    hidden = run("unshare", "-m", "sh", "-c",
                 f"mount -t tmpfs none /sys/kernel/btf && exec {ANALYZE} --variant twocopy")
    if "mount:" in hidden.stderr or "unshare:" in hidden.stderr:
        pytest.skip("no mount namespace of our own here: " + hidden.stderr.strip())
    assert hidden.returncode == 3
    one_line(hidden, "BTF")


class Running:
    """A measurement in the background that has started: the load's processes exist."""

    def __init__(self, *args):
        self.before = set(processes())
        self.process = subprocess.Popen(
            [ANALYZE, *map(str, args)], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)

    def children(self):
        """Returns the pids of sender and receiver, once data flow in a window."""
        found = []

        def up():
            found[:] = descend(self.process.pid, 2)
            return self.process.poll() is not None or (len(found) == 2 and busy(found[1]))

        assert eventually(up) and len(found) == 2, self.process.poll()
        return found

    def finish(self):
        out, err = self.process.communicate(timeout=PATIENCE_S)
        return out, err


def gone(*pids):
    return eventually(lambda: all(state(p) in "XZ" for p in pids))


def is_front(pid):
    """Returns whether the process is the front: it requests runs and reports them."""
    return b"analysis/__main__.py\0front" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()


def children(pid):
    with contextlib.suppress(OSError):
        return [int(child) for path in pathlib.Path(f"/proc/{pid}/task").glob("*/children")
                for child in path.read_text().split()]
    return []


def front_of(pid):
    """Returns the front of this process, once it runs Python."""
    with contextlib.suppress(OSError):
        return next((child for child in children(pid) if is_front(child)), None)
    return None


def is_engine(pid):
    with contextlib.suppress(OSError):  # it has ended
        return os.path.basename(os.readlink(f"/proc/{pid}/exe")) == "analyze"
    return False


def descend(pid, levels):
    """Returns the first child of a load or an observation, its first child, and so on."""
    found = []
    for _ in range(levels):
        try:
            # The order matters: a child, such as the front, looks like the engine until it executes its program.
            loads = [child for child in children(pid) if not is_engine(child) and
                     not is_front(child)]
        except OSError:
            break
        if not loads:
            break
        pid = loads[0]
        found.append(pid)
    return found


def state(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "X"


def ticks(pid):
    """Returns the CPU time of a process, in clock ticks; 0 if it has ended."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return 0
    return int(fields[11]) + int(fields[12])


def busy(pid, since=0):
    """Returns whether the process has used five more ticks of CPU time than `since`, which shows that data flow."""
    return ticks(pid) >= since + 5


def rests(pid):
    """Returns whether no thread of the process runs for a fifth of a second."""
    def switches():
        return [re.findall(r"ctxt_switches:\t(\d+)", path.read_text())
                for path in pathlib.Path(f"/proc/{pid}/task").glob("*/status")]

    before = switches()
    select.select([], [], [], 0.2)
    return switches() == before


@needs_bpf
@pytest.mark.parametrize("variant", ["twocopy", "zerocopy"])
def test_receiver_dies_in_mid_run(tmp_path, variant):
    path = tmp_path / "runs.json"
    job = Running("--variant", variant, "--duration", "30", "--warmup", "0", "--json", path)
    _, receiver = job.children()
    os.kill(receiver, signal.SIGKILL)
    out, err = job.finish()
    assert job.process.returncode == 1
    assert len(err.splitlines()) == 1 and "receiver" in err and "9" in err
    record = check(json.loads(path.read_text()))
    assert record["app"]["error"]
    assert sum(c["sends"] for c in record["calls"]) > 0
    assert "Gbit/s" in out


@needs_bpf
def test_sender_dies_in_mid_run(tmp_path):
    path = tmp_path / "runs.json"
    job = Running("--variant", "onecopy", "--duration", "30", "--warmup", "0", "--json", path)
    sender, receiver = job.children()
    os.kill(sender, signal.SIGKILL)
    _, err = job.finish()
    assert job.process.returncode == 1
    assert len(err.splitlines()) == 1 and "killed by signal 9" in err
    record = check(json.loads(path.read_text()))
    assert record["app"] is None
    assert sum(c["sends"] for c in record["calls"]) > 0
    assert gone(receiver)


@needs_bpf
@pytest.mark.parametrize("sig", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_run_reports_what_was_measured(tmp_path, sig):
    path = tmp_path / "runs.json"
    job = Running("--variant", "twocopy,onecopy", "--duration", "150", "--warmup", "0", "--json",
                  path)
    job.children()
    job.process.send_signal(sig)
    out, err = job.finish()
    assert job.process.returncode == -sig
    assert err == "analyze: interrupted: 1 of 16 runs stand in the result\n"
    record = check(json.loads(path.read_text()))
    assert "interrupted" in {w["code"] for w in record["warnings"]}
    assert record["calls"][0]["sends"] == record["app"]["send_calls"] > 0
    assert "interrupted" in out


@needs_bpf
def test_killed_run_leaves_nothing():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    job = Running("--variant", "zerocopy", "--duration", "30", "--port", port)
    pids = job.children()
    job.process.kill()
    job.finish()
    assert job.process.returncode == -signal.SIGKILL
    assert gone(*pids), processes()
    with socket.socket() as again:
        again.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        again.bind(("127.0.0.1", port))
        again.listen()


@needs_bpf
def test_stopped_receiver_does_not_hang_an_interrupted_run():
    job = Running("--variant", "twocopy", "--duration", "30", "--warmup", "0", *NONE)
    _, receiver = job.children()
    os.kill(receiver, signal.SIGSTOP)
    job.process.send_signal(signal.SIGINT)
    try:
        job.finish()
    finally:
        left = not gone(receiver)
        if left:
            os.kill(receiver, signal.SIGKILL)
    assert not left
    assert job.process.returncode == -signal.SIGINT
