# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Engine, front, load and COMMAND end at any moment: nothing is left, and the status says how it was."""

import contextlib
import fcntl
import json
import os
import pathlib
import signal
import subprocess
import termios

import pytest

from conftest import ANALYZE, PATIENCE_S, Child, check, eventually, needs_bpf
from test_errors import busy, descend, is_front, state

pytestmark = [needs_bpf, pytest.mark.usefixtures("untouched")]

INT, TERM, KILL = signal.SIGINT, signal.SIGTERM, signal.SIGKILL
PIPE_BYTES = 4096


def children(pid):
    with contextlib.suppress(OSError):
        return [int(child) for path in pathlib.Path(f"/proc/{pid}/task").glob("*/children")
                for child in path.read_text().split()]
    return []


def descendants(pid):
    found = children(pid)
    for child in found:
        found = found + descendants(child)
    return found


def front_of(pid):
    with contextlib.suppress(OSError):
        return next((child for child in children(pid) if is_front(child)), None)
    return None


def has_programs(pid):
    with contextlib.suppress(OSError):
        return any("bpf-prog" in os.readlink(fd) for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir())
    return False


def waits_to_write(pid):
    with contextlib.suppress(OSError):
        return "pipe_write" in pathlib.Path(f"/proc/{pid}/wchan").read_text()
    return False


def full_pipe():
    """Its reader's and its writer's end; it takes nothing more."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    os.write(writer, b"x" * PIPE_BYTES)
    return reader, writer


class Job(Child):
    """Owns a terminal that signals can come from. Standard output is a pipe that nobody reads."""

    def __init__(self, *words, **options):
        self.ours, theirs = os.openpty()
        self.out = None
        if "stdout" not in options:
            self.out, options["stdout"] = full_pipe()
        self.known = set()

        def own_terminal():
            os.setsid()
            fcntl.ioctl(theirs, termios.TIOCSCTTY)

        super().__init__([str(word) for word in words], stdin=theirs, stderr=subprocess.PIPE, text=True,
                         preexec_fn=own_terminal, **options)
        os.close(theirs)
        if self.out is not None:
            os.close(options["stdout"])

    def __exit__(self, *rest):
        super().__exit__(*rest)
        for fd in self.ours, self.out:
            if fd is not None:
                os.close(fd)

    def awaits(self, condition):
        """Until it holds; whoever descends from the process by then is known."""
        assert eventually(lambda: self.poll() is not None or condition(self.pid)), "waited in vain"
        assert self.poll() is None, self.stderr.read()
        self.known = set(descendants(self.pid))
        return self

    def type(self, key):
        os.write(self.ours, key)

    def ends(self):
        """Its standard error, and status; nobody that descended from it is left."""
        try:
            status = self.wait(PATIENCE_S)
            assert eventually(lambda: all(state(pid) in "XZ" for pid in self.known), 10), [
                pathlib.Path(f"/proc/{pid}/cmdline").read_bytes() for pid in self.known
                if state(pid) not in "XZ"]
        finally:
            for pid in self.known:
                if state(pid) not in "XZ":
                    os.kill(pid, KILL)
        return self.stderr.read(), status


LOAD = ANALYZE, "--variant", "zerocopy", "--duration", 60, "--warmup", 0


def load_sends(pid):
    found = descend(pid, 2)
    return len(found) == 2 and busy(found[1])


def command_runs(pid):
    return any(pathlib.Path(f"/proc/{child}/comm").read_text() == "sleep\n"
               for child in children(pid) if os.path.exists(f"/proc/{child}"))


def several_runs(folder):
    def some(_):
        written = [path for path in (folder / "out", folder / "out/runs.jsonl") if path.is_file()]
        return written and written[0].read_text().count("\n") > 2

    return some


MANY = "--messages", 20, "--warmup", 0, "--repeat", 1000
# Words of the program with a folder of the test's, and what the moment is told by.
MOMENTS = {
    "before Python": (lambda _: LOAD, lambda _: children),
    "loading": (lambda _: LOAD, lambda _: has_programs),
    "warm-up": (lambda _: (*LOAD[:-1], 60), lambda _: load_sends),
    "window": (lambda _: LOAD, lambda _: load_sends),
    "intervals": (lambda _: (*LOAD, "--interval", 0.1), lambda _: load_sends),
    "grid": (lambda folder: (ANALYZE, "--variant", "twocopy,onecopy", *MANY, "--json", folder / "out"),
             several_runs),
    "sweep": (lambda folder: (ANALYZE, "sweep", "--variant", "twocopy,onecopy", *MANY, "--out",
                              folder / "out"), several_runs),
    "observation": (lambda _: (ANALYZE, "--pid", os.getpid()), lambda _: has_programs),
    "command": (lambda _: (ANALYZE, "--", "sleep", "600"), lambda _: command_runs),
    "command loading": (lambda _: (ANALYZE, "--", "sleep", "600"), lambda _: has_programs),
    "advise": (lambda _: (ANALYZE, "advise"), lambda _: lambda pid: len(descend(pid, 2)) == 2),
    "advise begins": (lambda _: (ANALYZE, "advise"), lambda _: children),
}
ALL = pytest.mark.parametrize("moment", MOMENTS)


def whole_records(folder):
    """What was written is whole, and there is nothing beside it."""
    out = folder / "out"
    files = [out] if out.is_file() else sorted(out.iterdir()) if out.exists() else []
    assert {path.name for path in files} <= {"out", "plan.json", "runs.jsonl"}
    assert sorted(folder.iterdir()) == ([out] if out.exists() else [])
    for path in files:
        for line in path.read_text().splitlines(keepends=True):
            assert line.endswith("\n") and json.loads(line)
    return files


def own_lines(errors):
    """Beside those of a sweep's progress, and an observed command's report."""
    return [line for line in errors.splitlines() if line.startswith("analyze: ")]


def at(moment, folder):
    words, condition = MOMENTS[moment]
    return Job(*words(folder), stdout=subprocess.DEVNULL).awaits(condition(folder))


def expected(moment, sig):
    """Of an observed command its own status, once it is let run."""
    return 128 + sig if moment.startswith("command") else -sig


@ALL
def test_the_engine_is_killed(moment, tmp_path):
    with at(moment, tmp_path) as job:
        job.kill()
        if moment == "command":  # it is the user's: it goes on, as under time
            job.known = {pid for pid in job.known if not descends_to_sleep(pid)}
        _, status = job.ends()
    assert status == -KILL
    whole_records(tmp_path)


def descends_to_sleep(pid):
    with contextlib.suppress(OSError):
        if pathlib.Path(f"/proc/{pid}/comm").read_text() == "sleep\n":
            os.kill(pid, KILL)
            return True
    return False


@ALL
def test_the_engine_is_told_to_end(moment, tmp_path):
    with at(moment, tmp_path) as job:
        job.terminate()
        errors, status = job.ends()
    assert status in {expected(moment, TERM), -TERM}, errors
    assert "Traceback" not in errors and len(own_lines(errors)) <= 1
    whole_records(tmp_path)


@ALL
def test_control_c_ends_all_of_it(moment, tmp_path):
    with at(moment, tmp_path) as job:
        job.type(b"\x03")
        errors, status = job.ends()
    assert status in {expected(moment, INT), -INT}, errors
    assert "Traceback" not in errors
    whole_records(tmp_path)


@ALL
def test_the_front_is_killed(moment, tmp_path):
    with at(moment, tmp_path) as job:
        fronts = [pid for pid in job.known if pid == front_of(job.pid)] or sorted(job.known)[:1]
        os.kill(fronts[0], KILL)
        errors, status = job.ends()
    assert status == 1
    assert "ended early" in "".join(own_lines(errors)) and len(own_lines(errors)) == 1, errors
    whole_records(tmp_path)


@pytest.mark.parametrize("sig", [signal.SIGHUP, signal.SIGQUIT])
@pytest.mark.parametrize("moment", ["window", "command", "advise"])
def test_other_signals_end_it(moment, sig, tmp_path):
    with at(moment, tmp_path) as job:
        job.send_signal(sig)
        _, status = job.ends()
    assert status == expected(moment, sig)


@pytest.mark.parametrize("sig", [KILL, TERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_load_that_is_killed_is_said(sig):
    with Job(*LOAD, stdout=subprocess.DEVNULL).awaits(load_sends) as job:
        os.kill(descend(job.pid, 1)[0], sig)
        errors, status = job.ends()
    assert (status, len(errors.splitlines())) == (1, 1)
    assert f"killed by signal {int(sig)} " in errors


@pytest.mark.parametrize("sig", [KILL, TERM])
@pytest.mark.parametrize("moment", ["command", "command loading"])
def test_a_command_that_is_killed_has_its_own_status(moment, sig, tmp_path):
    with at(moment, tmp_path) as job:
        command = next(pid for pid in children(job.pid) if pid != front_of(job.pid))
        os.kill(command, sig)
        errors, status = job.ends()
    assert status == 128 + sig, errors


def test_a_second_control_c_ends_at_once_whoever_does_not_read():
    """The first closes the window, whose last line and report nobody reads."""
    with Job(*LOAD, "--interval", 0.1).awaits(load_sends) as job:
        job.type(b"\x03")
        job.awaits(lambda pid: waits_to_write(front_of(pid)))
        job.type(b"\x03")
        errors, status = job.ends()
    assert (errors, status) == ("", -INT)


@pytest.mark.parametrize("words", [
    ("--variant", "twocopy", "--messages", 10), ("--", "true"),
    ("advise", "--budget", 1)], ids=["load", "command", "advise"])
@pytest.mark.parametrize("how", ["terminal", "engine"])
def test_one_signal_ends_a_report_that_nobody_reads(words, how):
    # A command's report goes to standard error.
    with Job("sh", "-c", 'exec "$@" 2>&1', "sh", ANALYZE, *words).awaits(lambda pid: waits_to_write(front_of(pid))) as job:
        if how == "terminal":
            job.type(b"\x03")
        else:
            job.terminate()
        errors, status = job.ends()
    assert (errors, status) == ("", -INT if how == "terminal" else -TERM)


def test_what_was_measured_is_reported_when_the_engine_is_killed(tmp_path):
    with at("grid", tmp_path) as job:
        out = tmp_path / "out"
        job.kill()
        job.ends()
    assert [check(json.loads(line)) for line in out.read_text().splitlines()]


def test_a_record_that_nobody_reads_is_whole(tmp_path):
    """A signal while it is written waits for its reader; a second one does not."""
    os.mkfifo(tmp_path / "fifo")
    reader = os.open(tmp_path / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    os.set_blocking(reader, True)
    with Job(ANALYZE, "--variant", "twocopy", "--messages", 10, "--json", tmp_path / "fifo",
             stdout=subprocess.DEVNULL).awaits(lambda pid: waits_to_write(front_of(pid))) as job:
        job.type(b"\x03")
        with open(reader, encoding="ascii") as fifo:
            text = fifo.read()
        errors, status = job.ends()
    assert (errors, status) == ("", -INT)
    assert check(json.loads(text))
