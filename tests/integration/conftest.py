# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Shared by the integration tests: the built programs, and probes of this kernel's features.

The tests run anywhere: on the build machine, and inside the lab's guests. Environment variables adapt them:
SENDPATH_CALLS (sends per exactness case), SENDPATH_MECHANISMS (mechanisms to force, space-separated; default: the ones
that the doctor finds on this kernel).
"""

import contextlib
import ctypes
import functools
import json
import os
import pathlib
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import jsonschema
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "tests/fixtures"))

import texts  # noqa: E402 (not in the path before)
from analysis.front.host import completed  # noqa: E402 (texts adds the path)

BUILD = os.environ.get("SENDPATH_BIN", str(ROOT))
ANALYZE = os.path.join(BUILD, "analyze")
LOADGEN = os.path.join(BUILD, "loadgen/loadgen")
CALLS = int(os.environ.get("SENDPATH_CALLS", "20000"))
# The folder of the programs to observe, which are built from tests/programs.
PROGRAMS = pathlib.Path(BUILD if os.path.exists(os.path.join(BUILD, "tests/programs"))
                        and BUILD != str(ROOT) else ROOT / "build") / "tests/programs"
VARIANTS = ("twocopy", "onecopy", "zerocopy")
# The options of runs that attach no programs: they start faster, and suffice where a test does not count sends.
NONE = "--mechanism", "none"

# These files are run only in the lab: they test its kernels and networks.
if "SENDPATH_LAB" not in os.environ:
    collect_ignore = ["test_smoke.py", "test_topology.py"]


# Restores signals that programs would inherit as ignored. nohup ignores SIGHUP; a script that runs the tests in
# the background ignores SIGINT and SIGQUIT.
for ignored, handler in ((signal.SIGHUP, signal.SIG_DFL), (signal.SIGQUIT, signal.SIG_DFL),
                         (signal.SIGINT, signal.default_int_handler)):
    signal.signal(ignored, handler)

# In an emulator on a busy machine, a run may take a minute to begin.
PATIENCE_S = 180 if "SENDPATH_LAB" in os.environ else 60


def run(*args, timeout=2 * PATIENCE_S, **kwargs):
    """Runs a command to its end; captures its output as text."""
    return subprocess.run([str(a) for a in args], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=timeout, check=False, **kwargs)


def git(*args):
    """Runs git on the clone, which may belong to another user, while the tests run as root."""
    return run("git", "-c", f"safe.directory={ROOT}", "-C", ROOT, *args)


def _derived(line):
    """Returns what --json prints for a raw line. Returns any other line unchanged: a command printed it."""
    if not line.startswith('{"schema":"sendpath.raw/'):
        return line
    raw = json.loads(line)
    return "" if "outcome" in raw or not raw["window"] else json.dumps(texts.record_of(completed(raw))) + "\n"


def analyze(*args, **kwargs):
    """Runs analyze. In a guest, Python takes a second to start, so this process derives the records from raw lines, as
    the front would."""
    if "SENDPATH_LAB" not in os.environ or args[:2] != ("--json", "-") or "--interval" in args:
        return run(ANALYZE, *args, **kwargs)
    result = run(ANALYZE, "--raw", *args[2:], **kwargs)
    result.stdout = "".join(map(_derived, result.stdout.splitlines(keepends=True)))
    return result


analyze.program = ANALYZE


@pytest.fixture
def open_path():
    """A temporary folder that other users may enter. pytest's tmp_path is not: any pytest that starts during this test
    closes the folder above it to other users."""
    with tempfile.TemporaryDirectory(prefix="sendpath-test-") as folder:
        os.chmod(folder, 0o755)
        yield pathlib.Path(folder)


def copy_programs(folder):
    """Copies the analyzer, and the files that it needs for a run."""
    (folder / "loadgen").mkdir()
    shutil.copy(ANALYZE, folder / "analyze")
    shutil.copy(LOADGEN, folder / "loadgen/loadgen")
    (folder / "analysis").mkdir()
    subprocess.run(["cp", "-r", *(part for part in (ROOT / "analysis").iterdir() if part.name != ".venv"),
                    folder / "analysis"], check=True)


def records(*args, **kwargs):
    """Runs a measurement that must succeed. Returns its records, each checked against the schema."""
    result = analyze("--json", "-", *args, **kwargs)
    assert result.returncode == 0, result.stderr
    return [check(json.loads(line)) for line in result.stdout.splitlines()]


_VALIDATOR = jsonschema.Draft202012Validator(
    json.loads((ROOT / "docs/run-record.schema.json").read_text()))


def check(record):
    problems = [f"{e.json_path}: {e.message}" for e in _VALIDATOR.iter_errors(record)]
    assert not problems, problems
    sizes_add_up(record)
    return record


def sizes_add_up(record):
    """Asserts that every successful send is counted in the row of its size."""
    for call in record["calls"] or []:
        sends, size = (sum(row[column] for row in call["sizes"]) for column in (2, 3))
        assert (sends, size) == (call["sends"] - sum(call["errors"].values()), call["bytes"]), call
        assert all(n and low * n <= of_bytes <= high * n
                   for low, high, n, of_bytes in call["sizes"]), call


# Warnings about other activity of the machine.
NOISE = {"steal", "others", "slowdown", "sender_waited", "receiver_waited", "retransmitted",
         "zero_windows"}
NOTHING_LOST = {"calls": 0, "completions": 0, "flags": 0, "groups": 0}


def losses(record):
    """Returns the counts of what was lost, without stacks, of which none may ever be lost."""
    assert record["lost"]["stacks"] in (0, None)
    return {key: count for key, count in record["lost"].items() if key != "stacks"}


def adds_up(record):
    """Asserts that completed, ignored, refused and outstanding zero-copy sends add up to the requests, that each copy
    has a cause and each completion was reported or not read, and that no count is negative."""
    seen = record["zerocopy"]
    if not seen or seen["completions"] is None:
        return
    refused = sum(r["count"] for r in seen["refused"])
    assert seen["requests"] == (seen["completions"] + seen["ignored"] + refused +
                                seen["outstanding"]), seen
    assert 0 <= seen["copied"] <= seen["completions"], seen
    causes = sum(c["count"] for c in seen["causes"] or [])
    if not lossy(record) and not record["lost"]["flags"]:
        assert causes >= seen["copied"], seen
    reported = seen["notifications"]["reported"]
    if reported is not None:
        assert reported + seen["notifications"]["unread"] == seen["completions"], seen
    for count in (*record["lost"].values(), record["observed"] and record["observed"]["in_flight"],
                  seen["completions_before"]):
        assert not count or 0 <= count < 1 << 40, record["lost"]


def sockets_kept():
    """Returns how many zero-copy sockets can be followed at once: see Bounds in docs/run-record.md."""
    release = [int(part) for part in re.findall(r"\d+", os.uname().release)[:2]]
    return 65536 if release >= [6, 1] else 16384


def completes(mechanism):
    """Returns whether this mechanism can report completions on this kernel."""
    return re.search(rf"^completion\t{mechanism}\t[^\n]*\t(attached|may miss)\t", _all_ways(), re.M)


def hook(record, name):
    return only([h for h in record["plan"]["hooks"] if h["name"] == name])


def reason(record, name):
    """Returns why this hook may miss calls, or is absent, by the plan; "" if the plan has no reason."""
    return hook(record, name)["reason"] or ""


def lossy(record):
    """Returns whether the plan warns that some sends may be missed."""
    reasons = " ".join(reason(record, name) for name in ("send", "completion", "skb copy"))
    return any(word in reasons for word in ("preempts", "loses returns", "skipped where"))


def note(record, cause):
    """Appends the cause, kernel and mechanism to the file SENDPATH_SEEN, for docs/causes.md."""
    if "SENDPATH_SEEN" in os.environ:
        with open(os.environ["SENDPATH_SEEN"], "a", encoding="ascii") as seen:
            mechanism = hook(record, "skb copy")["mechanism"]
            seen.write(f"{cause}\t{record['host']['kernel']}\t{mechanism}\n")


def only(sequence):
    assert len(sequence) == 1, sequence
    return sequence[0]


def _of_another_clone(process):
    exe = pathlib.Path(os.readlink(process / "exe"))
    return any((folder / "tests/integration").is_dir() for folder in exe.parents if folder != ROOT)


def _of_another_session(process):
    """Returns whether the process descends from another pytest, or another worker of this one."""
    pid = int(process.name)
    while pid > 1 and pid != os.getpid():
        if b"pytest" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes():
            return True
        pid = int(pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    return False


def _running(of_others):
    """Yields (folder in /proc, command line) of each process that runs one of the programs under test. of_others:
    yields those of other tests, which run at the same time; else those of this process's tests."""
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # it has ended
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                # Excludes analyze table, compare and report, which read only files.
                if re.match(r"\S*/(analyze (?!table|compare|report)|loadgen/loadgen )", line) and \
                        (_of_another_clone(entry) or _of_another_session(entry)) == of_others:
                    yield entry, line


def processes():
    """Returns {pid: command line} of this test process's own programs under test."""
    return {int(process.name): line for process, line in _running(of_others=False)}


def descriptors(pid):
    """Yields the text of each file in /proc/PID/fdinfo: lines of a name and a value."""
    with contextlib.suppress(OSError):  # the process has ended
        for file in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
            with contextlib.suppress(OSError):  # it was closed
                yield file.read_text()


def _programs_of_others():
    return {int(number) for process, _ in _running(of_others=True) for text in descriptors(process.name)
            for number in re.findall(r"^prog_id:\s*(\d+)$", text, re.M)}


def programs():
    """Returns the ids of the kernel's BPF programs, except those that other tests hold."""
    result = run("bpftool", "-j", "prog", "list")
    assert result.returncode == 0, result.stderr
    return {p["id"] for p in json.loads(result.stdout or "[]")} - _programs_of_others()


class Receiver:
    """Runs tests/programs/sink on a free port. At the end of the with block, received is sink's report."""

    def __init__(self, address="127.0.0.1", prefix=(), *options):
        self.address = address
        self.process = subprocess.Popen(
            [*prefix, str(PROGRAMS / "sink"), "--address", address, *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = json.loads(line_of(self.process.stdout))["port"]
        self.received = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        out, _ = self.process.communicate(timeout=PATIENCE_S)
        self.received = json.loads(out)

    def sender(self, *options):
        """Returns the command line of a peer that sends to this receiver."""
        return [str(PROGRAMS / "peer"), "--address", self.address, "--port",
                str(self.port), *map(str, options)]


@contextlib.contextmanager
def veth_pair():
    """Creates two namespaces connected by a veth pair (near0, far0). Yields a command prefix for each, and the address
    of far0."""
    near, far = (f"sendpath-{end}-{os.getpid()}" for end in ("near", "far"))
    at = {end: ("ip", "netns", "exec", end) for end in (near, far)}
    try:
        for command in ([["ip", "netns", "add", end] for end in (near, far)] + [
                ["ip", "-n", near, "link", "add", "near0", "type", "veth",
                 "peer", "name", "far0", "netns", far],
                ["ip", "-n", near, "address", "add", "198.18.7.1/24", "dev", "near0"],
                ["ip", "-n", far, "address", "add", "198.18.7.2/24", "dev", "far0"],
                ["ip", "-n", near, "link", "set", "near0", "up"],
                ["ip", "-n", far, "link", "set", "far0", "up"]]):
            result = run(*command)
            if result.returncode:
                pytest.skip(f"no veth here: {result.stderr.strip()}")
        yield at[near], at[far], "198.18.7.2"
    finally:
        for end in (near, far):
            run("ip", "netns", "del", end)


@pytest.fixture
def program(request, tmp_path):
    """Writes PROGRAM of the test's module to a file; returns the path."""
    path = tmp_path / "program.py"
    path.write_text(request.module.PROGRAM)
    return path


# Code for programs: yields a socket's notifications, each with its ids and whether the sends were copied.
NOTIFICATIONS = """
import socket, struct

def notifications(s):
    while True:
        try:
            _, control, _, _ = s.recvmsg(0, 512, socket.MSG_ERRQUEUE | socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        for _, _, data in control:
            _, origin, _, code, _, first, last = struct.unpack("IBBBBII", data[:16])
            assert origin == 5, origin
            yield first, last, code
"""


def line_of(pipe):
    """Returns the next line of a process. Reads byte by byte: communicate() leaves out what readline() read ahead."""
    line = b""
    while not line.endswith(b"\n") and (byte := os.read(pipe.fileno(), 1)):
        line += byte
    return line.decode()


class Child(subprocess.Popen):
    """A process that is killed if its with block fails; Popen would wait for its end forever."""

    def __exit__(self, kind, *rest):
        if kind is not None:
            self.kill()
        super().__exit__(kind, *rest)


def on_a_terminal(command, **options):
    """Runs a command whose standard error is a terminal. Returns the status, the terminal's text, and standard output
    if that is a pipe."""
    ours, theirs = pty.openpty()
    with Child(command, stdin=subprocess.DEVNULL, stderr=theirs, text=True, **options) as job:
        os.close(theirs)
        shown = b""
        try:
            while chunk := os.read(ours, 4096):
                shown += chunk
        except OSError:  # the other end of the terminal is closed
            pass
        out = job.stdout and job.stdout.read()
    os.close(ours)
    return job.returncode, shown, out


def unwrapped(text):
    """Returns the text report after joining the lines that were wrapped at 80 columns."""
    return re.sub(r"(?<=\S)\n {2,}(?=\S)", " ", text)


def printed(*records):
    """Returns the text report of run records. tests/unit/test_text.py compares its sentences."""
    return texts.printed(records)


def verdict_of(report):
    """Returns the paragraph below the headline, which has the verdict."""
    parts = unwrapped(report).split("\n\n")
    return parts[next(i for i, part in enumerate(parts) if part.startswith("sendpath ")) + 1]


def eventually(condition, seconds=PATIENCE_S):
    """Polls a condition that has no event to wait for. Returns its first true value, or False when the time is up."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > deadline:
            return False
        select.select([], [], [], 0.01)
    return found


def doctor(*options):
    """Returns the doctor's output. In a guest the doctor takes seconds, and every suite needs the same output, so the
    first one is kept until the next boot."""
    if "SENDPATH_LAB" not in os.environ:
        return analyze("doctor", *options)
    name = "-".join(["sendpath-doctor", BUILD.replace("/", "_"), *options])
    kept = pathlib.Path("/run", name)
    if not kept.exists():
        done = analyze("doctor", *options)
        kept.write_text(json.dumps([done.args, done.returncode, done.stdout, done.stderr]))
    return subprocess.CompletedProcess(*json.loads(kept.read_text()))


_doctor = doctor()
CAN_MEASURE = _doctor.returncode == 0


@functools.cache
def _ways():
    """Returns the doctor's lines about the send hook. Called only if needed: an emulator takes seconds."""
    return doctor("--hooks=send").stdout


@functools.cache
def _all_ways():
    return doctor("--hooks=completion").stdout


def _sees_sends(way):
    return re.search(rf"^send\t{way}\t(attached|may miss)\t", _ways(), re.M)


MECHANISMS = os.environ.get("SENDPATH_MECHANISMS", "").split() or [
    mechanism for mechanism in ("fentry", "kprobe", "tracepoint") if _sees_sends(rf"{mechanism}\t[^\n]*")]

# Mechanisms that see all TCP sends: those by any syscall, and those without one (io_uring).
SEND_MECHANISMS = [mechanism for mechanism in MECHANISMS if mechanism != "tracepoint"
              or _sees_sends(r"tracepoint\t[^\n]*sock_send_length[^\n]*")]

needs_bpf = pytest.mark.skipif(
    not CAN_MEASURE, reason="sends cannot be timed here: " + " / ".join(
        line for line in _doctor.stdout.splitlines() if "unavailable" in line or "not enough" in line))


ORPHANS_S = 10  # a process orphaned by another worker's test has ended by then


@pytest.fixture
def untouched():
    """Fails the test if a process remains after it, which may hold a port."""
    before = processes().keys()
    yield
    assert eventually(lambda: processes().keys() <= before, ORPHANS_S), processes()


CLONE_NEWNET = 0x40000000


@pytest.fixture(scope="session", autouse=True)
def own_network():
    """Gives a worker of pytest-xdist a network namespace, so that other workers' packet taps, listeners and TCP
    counters do not affect its tests."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET):
            pytest.exit(f"no network namespace for a worker: {os.strerror(ctypes.get_errno())}", 1)
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


@pytest.fixture(scope="session", autouse=True)
def no_program_is_left():
    """Fails the last test of the session if a BPF program outlived its process: because of a pin, or an attachment."""
    before = programs()
    yield
    # The kernel frees programs after a grace period.
    assert eventually(lambda: programs() <= before), run("bpftool", "prog", "list").stdout


@pytest.fixture(scope="session")
def prometheus():
    """The folder of Debian's prometheus and promtool, unpacked because installing would start a service."""
    fetched = run(ROOT / "tests/lab/fetch-package", "prometheus", timeout=300)
    if fetched.returncode == 77:
        pytest.skip(fetched.stderr.strip())
    assert fetched.returncode == 0, fetched.stderr
    return pathlib.Path(fetched.stdout.strip(), "usr/bin")


def pytest_report_header():
    return [f"kernel: {os.uname().release}; mechanisms: {' '.join(MECHANISMS)}; "
            f"calls per exact case: {CALLS}"]
