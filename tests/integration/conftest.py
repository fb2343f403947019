# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the integration tests share: the real binaries, and probes for what this kernel allows.

They run anywhere: on the build machine, and inside the lab's guests. The environment
says what differs: SENDPATH_CALLS (sends per exactness case), SENDPATH_MECHANISMS (mechanisms
to force, space-separated; default: those the doctor finds here).
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
# Programs to observe, from tests/programs.
PROGRAMS = pathlib.Path(BUILD if os.path.exists(os.path.join(BUILD, "tests/programs"))
                        and BUILD != str(ROOT) else ROOT / "build") / "tests/programs"
VARIANTS = ("twocopy", "onecopy", "zerocopy")

# They are about the kernels of the lab and its networks.
if "SENDPATH_LAB" not in os.environ:
    collect_ignore = ["test_smoke.py", "test_topology.py"]


# Programs inherit ignored signals. nohup ignores SIGHUP, and a script that puts the tests into the background
# SIGINT and SIGQUIT.
for ignored, handler in ((signal.SIGHUP, signal.SIG_DFL), (signal.SIGQUIT, signal.SIG_DFL),
                         (signal.SIGINT, signal.default_int_handler)):
    signal.signal(ignored, handler)

# Emulated, on a machine that is busy itself, a run may take a minute to begin.
PATIENCE_S = 180 if "SENDPATH_LAB" in os.environ else 60


def run(*args, timeout=2 * PATIENCE_S, **kwargs):
    """Run a command to its end; text output captured."""
    return subprocess.run([str(a) for a in args], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=timeout, check=False, **kwargs)


def git(*args):
    """In the clone, which may be another user's than root's."""
    return run("git", "-c", f"safe.directory={ROOT}", "-C", ROOT, *args)


def _derived(line):
    """What --json prints of a raw line; other lines are a command's."""
    if not line.startswith('{"schema":"sendpath.raw/'):
        return line
    raw = json.loads(line)
    return "" if "outcome" in raw or not raw["window"] else json.dumps(texts.record_of(completed(raw))) + "\n"


def analyze(*args, **kwargs):
    """Runs it. In a guest, where Python takes a second to start, this process makes the records of
    raw lines, as the front does."""
    if "SENDPATH_LAB" not in os.environ or args[:2] != ("--json", "-") or "--interval" in args:
        return run(ANALYZE, *args, **kwargs)
    result = run(ANALYZE, "--raw", *args[2:], **kwargs)
    result.stdout = "".join(map(_derived, result.stdout.splitlines(keepends=True)))
    return result


analyze.program = ANALYZE


@pytest.fixture
def open_path():
    """A temporary folder that other users may enter, as tmp_path is not: it is in a folder that pytest closes to
    other users whenever it starts, perhaps beside this test."""
    with tempfile.TemporaryDirectory(prefix="sendpath-test-") as folder:
        os.chmod(folder, 0o755)
        yield pathlib.Path(folder)


def copy_programs(folder):
    """Copies the analyzer, and what it needs for a run."""
    (folder / "loadgen").mkdir()
    shutil.copy(ANALYZE, folder / "analyze")
    shutil.copy(LOADGEN, folder / "loadgen/loadgen")
    (folder / "analysis").mkdir()
    subprocess.run(["cp", "-r", *(part for part in (ROOT / "analysis").iterdir() if part.name != ".venv"),
                    folder / "analysis"], check=True)


def records(*args, **kwargs):
    """Run a measurement that must succeed; its records, each checked against the schema."""
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
    """Every send that did not fail is in the row of its size."""
    for call in record["calls"] or []:
        sends, size = (sum(row[column] for row in call["sizes"]) for column in (2, 3))
        assert (sends, size) == (call["sends"] - sum(call["errors"].values()), call["bytes"]), call
        assert all(n and low * n <= of_bytes <= high * n
                   for low, high, n, of_bytes in call["sizes"]), call


# Warnings of what else a machine does.
NOISE = {"steal", "others", "slowdown", "sender_waited", "receiver_waited", "retransmitted",
         "zero_windows"}
NOTHING_LOST = {"calls": 0, "completions": 0, "flags": 0, "groups": 0}


def losses(record):
    """What was lost; for stacks there must always be room, where any are taken."""
    assert record["lost"]["stacks"] in (0, None)
    return {key: count for key, count in record["lost"].items() if key != "stacks"}


def adds_up(record):
    """Every accepted send is in one of the sums, none of which is below 0."""
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
    """The number of zero-copy sockets whose sends are followed: see Bounds in docs/run-record.md."""
    release = [int(part) for part in re.findall(r"\d+", os.uname().release)[:2]]
    return 65536 if release >= [6, 1] else 16384


def completes(mechanism):
    """Does this mechanism see completions on this kernel?"""
    return re.search(rf"^completion\t{mechanism}\t[^\n]*\t(attached|may miss)\t", _all_ways(), re.M)


def hook(record, name):
    return only([h for h in record["plan"]["hooks"] if h["name"] == name])


def reason(record, name):
    """What the plan says that this hook could miss, or why it is not there; "" if nothing."""
    return hook(record, name)["reason"] or ""


def lossy(record):
    """The plan says that some may go by unseen."""
    reasons = " ".join(reason(record, name) for name in ("send", "completion", "skb copy"))
    return any(word in reasons for word in ("preempts", "loses returns", "skipped where"))


def note(record, cause):
    """For the page of causes: where this one was seen."""
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


def _of_another_worker(process):
    """Workers of pytest-xdist are children of one process."""
    pid, parent = 0, int(process.name)
    while "PYTEST_XDIST_WORKER" in os.environ and parent > 1 and pid != os.getpid():
        pid, parent = parent, int(pathlib.Path(f"/proc/{parent}/stat").read_text().rpartition(")")[2].split()[1])
        if parent == os.getppid():
            return pid != os.getpid()
    return False


def _running(of_others):
    """Yields (folder in /proc, command line) of each process that runs one of the programs under test, either
    those of this process's tests or those of other tests, which run at the same time."""
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # it has ended
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                # A program that only reads records holds nothing of the kernel.
                if re.match(r"\S*/(analyze (?!table|compare|report)|loadgen/loadgen )", line) and \
                        (_of_another_clone(entry) or _of_another_worker(entry)) == of_others:
                    yield entry, line


def processes():
    """pid -> command line of every process of ours that runs one of the programs under test."""
    return {int(process.name): line for process, line in _running(of_others=False)}


def _programs_of_others():
    held = set()
    for process, _ in _running(of_others=True):
        with contextlib.suppress(OSError):  # it has ended
            for file in (process / "fdinfo").iterdir():
                held.update(map(int, re.findall(r"^prog_id:\s*(\d+)$", file.read_text(), re.M)))
    return held


def programs():
    """Ids of the BPF programs that the kernel holds, except those that other tests hold."""
    result = run("bpftool", "-j", "prog", "list")
    assert result.returncode == 0, result.stderr
    return {p["id"] for p in json.loads(result.stdout or "[]")} - _programs_of_others()


class Receiver:
    """tests/programs/sink on a port of its own; received is what it says at the end."""

    def __init__(self, address="127.0.0.1", prefix=(), *options):
        self.address = address
        self.process = subprocess.Popen(
            [*prefix, str(PROGRAMS / "sink"), "--address", address, *options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.port = json.loads(self.process.stdout.readline())["port"]
        self.received = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        out, _ = self.process.communicate(timeout=PATIENCE_S)
        self.received = json.loads(out)

    def sender(self, *options):
        """The command line of a sender to it."""
        return [str(PROGRAMS / "peer"), "--address", self.address, "--port",
                str(self.port), *map(str, options)]


@contextlib.contextmanager
def veth_pair():
    """Two namespaces with a veth between them: commands that run in the one and the other, and
    the address of the other. Its devices are near0 and far0."""
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
    """The file of a module's PROGRAM."""
    path = tmp_path / "program.py"
    path.write_text(request.module.PROGRAM)
    return path


# For programs: the notifications in a socket's error queue, the ids of the sends and whether they were copied.
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


class Child(subprocess.Popen):
    """With it, a test that fails ends what it started: to wait for it would be for ever."""

    def __exit__(self, kind, *rest):
        if kind is not None:
            self.kill()
        super().__exit__(kind, *rest)


def on_a_terminal(command, **options):
    """Run it with a terminal for standard error: its status, what the terminal got, and what
    standard output did where that is a pipe."""
    ours, theirs = pty.openpty()
    with Child(command, stdin=subprocess.DEVNULL, stderr=theirs, text=True, **options) as job:
        os.close(theirs)
        shown = b""
        try:
            while chunk := os.read(ours, 4096):
                shown += chunk
        except OSError:  # how a terminal says that its other end is gone
            pass
        out = job.stdout and job.stdout.read()
    os.close(ours)
    return job.returncode, shown, out


def unwrapped(text):
    """The text report with the lines that are broken at 80 columns whole again."""
    return re.sub(r"(?<=\S)\n {2,}(?=\S)", " ", text)


def printed(*records):
    """The text report of run records: its sentences are compared in tests/unit/test_text.py."""
    return texts.printed(records)


def verdict_of(report):
    """What stands below the headline."""
    parts = unwrapped(report).split("\n\n")
    return parts[next(i for i, part in enumerate(parts) if part.startswith("sendpath ")) + 1]


def eventually(condition, seconds=PATIENCE_S):
    """Wait for a condition that has no event to wait on; what it is then, or False."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > deadline:
            return False
        select.select([], [], [], 0.01)
    return found


def doctor(*options):
    """What the doctor says. In a guest it takes seconds, and every suite asks the same: the first
    answer is kept for the boot."""
    if "SENDPATH_LAB" not in os.environ:
        return analyze("doctor", *options)
    name = "-".join(["sendpath-doctor", BUILD.replace("/", "_"), *options])
    kept = pathlib.Path("/run", name)
    if not kept.exists():
        said = analyze("doctor", *options)
        kept.write_text(json.dumps([said.args, said.returncode, said.stdout, said.stderr]))
    return subprocess.CompletedProcess(*json.loads(kept.read_text()))


_doctor = doctor()
CAN_MEASURE = _doctor.returncode == 0


@functools.cache
def _ways():
    """Takes seconds where all is emulated: asked only if it is needed."""
    return doctor("--hooks=send").stdout


@functools.cache
def _all_ways():
    return doctor("--hooks=completion").stdout


def _sees_sends(way):
    return re.search(rf"^send\t{way}\t(attached|may miss)\t", _ways(), re.M)


MECHANISMS = os.environ.get("SENDPATH_MECHANISMS", "").split() or [
    mechanism for mechanism in ("fentry", "kprobe", "tracepoint") if _sees_sends(rf"{mechanism}\t[^\n]*")]

# Those of them that see sends by any syscall, and by none.
SEND_MECHANISMS = [mechanism for mechanism in MECHANISMS if mechanism != "tracepoint"
              or _sees_sends(r"tracepoint\t[^\n]*sock_send_length[^\n]*")]

needs_bpf = pytest.mark.skipif(
    not CAN_MEASURE, reason="sends cannot be timed here: " + " / ".join(
        line for line in _doctor.stdout.splitlines() if "unavailable" in line or "not enough" in line))


ORPHANS_S = 10  # a process that another worker's test has just orphaned ends within this time


@pytest.fixture
def untouched():
    """Fails the test if it leaves a process behind, and so perhaps a port."""
    before = processes().keys()
    yield
    assert eventually(lambda: processes().keys() <= before, ORPHANS_S), processes()


CLONE_NEWNET = 0x40000000


@pytest.fixture(scope="session", autouse=True)
def own_network():
    """Gives a worker of pytest-xdist a network namespace, so that no other worker's packet tap, listener or
    TCP counter is seen by its tests."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET):
            pytest.exit(f"no network namespace for a worker: {os.strerror(ctypes.get_errno())}", 1)
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


@pytest.fixture(scope="session", autouse=True)
def no_program_is_left():
    """Fails the last test of the session if a BPF program outlived its process: by a pin, or an attachment."""
    before = programs()
    yield
    # The kernel frees programs after a grace period.
    assert eventually(lambda: programs() <= before), run("bpftool", "prog", "list").stdout


@pytest.fixture(scope="session")
def prometheus():
    """The folder of Debian's prometheus and promtool: not installed, which would start a service."""
    fetched = run(ROOT / "tests/lab/fetch-package", "prometheus", timeout=300)
    if fetched.returncode == 77:
        pytest.skip(fetched.stderr.strip())
    assert fetched.returncode == 0, fetched.stderr
    return pathlib.Path(fetched.stdout.strip(), "usr/bin")


def pytest_report_header():
    return [f"kernel: {os.uname().release}; mechanisms: {' '.join(MECHANISMS)}; "
            f"calls per exact case: {CALLS}"]
