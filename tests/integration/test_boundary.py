# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests that engine, front, load and COMMAND may end at any moment: nothing is left, and the status is right."""

import contextlib
import fcntl
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import termios

import pytest

from conftest import ANALYZE, NONE, PATIENCE_S, Child, check, eventually, needs_bpf, run
from test_errors import children, descend, front_of, state
from test_interval import assert_adds_up, lines

pytestmark = [needs_bpf, pytest.mark.usefixtures("untouched")]

INT, TERM, KILL = signal.SIGINT, signal.SIGTERM, signal.SIGKILL
PIPE_BYTES = 4096


def descendants(pid):
    found = children(pid)
    for child in found:
        found = found + descendants(child)
    return found


def has_programs(pid):
    """Returns whether the process holds several BPF programs. Probes and the look-up of symbols hold one."""
    with contextlib.suppress(OSError):
        return sum("bpf-prog" in os.readlink(fd) for fd in pathlib.Path(f"/proc/{pid}/fd").iterdir()) > 1
    return False


def waits_to_write(pid):
    with contextlib.suppress(OSError):
        return "pipe_write" in pathlib.Path(f"/proc/{pid}/wchan").read_text()
    return False


def full_pipe():
    """Returns the reader's and the writer's end of a pipe that accepts nothing more."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    os.write(writer, b"x" * PIPE_BYTES)
    return reader, writer


class Job(Child):
    """Runs analyze on a terminal, so that Ctrl-C works. Its standard output is a full pipe that nobody reads."""

    def __init__(self, *words, **options):
        self.ours, theirs = os.openpty()
        self.out = None
        if "stdout" not in options:
            self.out, options["stdout"] = full_pipe()
        self.descendants = set()

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
        """Waits until condition(pid) is true; then notes all descendants of the process."""
        assert eventually(lambda: self.poll() is not None or condition(self.pid)), "waited in vain"
        assert self.poll() is None, self.stderr.read()
        self.descendants = set(descendants(self.pid))
        return self

    def type(self, key):
        """Types Ctrl-C. The terminal sends the signal some time later, and then echoes the key, which is awaited."""
        os.write(self.ours, key)
        echo = b""
        with contextlib.suppress(OSError):  # the process has ended
            while not echo.endswith(b"^C"):
                echo += os.read(self.ours, 64)

    def ends(self):
        """Waits for the end of the process; returns standard error and status. No descendant may be left."""
        try:
            status = self.wait(PATIENCE_S)
            assert eventually(lambda: all(state(pid) in "XZ" for pid in self.descendants), 10), [
                pathlib.Path(f"/proc/{pid}/cmdline").read_bytes() for pid in self.descendants
                if state(pid) not in "XZ"]
        finally:
            for pid in self.descendants:
                if state(pid) not in "XZ":
                    os.kill(pid, KILL)
        return self.stderr.read(), status


# The rate is fixed, so that sends continue to the end, and leave CPU time to the other tests.
LOAD = ANALYZE, "--variant", "zerocopy", "--rate", 1000, "--duration", 60, "--warmup", 0


def load_sends(pid):
    """Returns whether the receiver has waited a hundred times. At this rate, sends use hardly any CPU time."""
    with contextlib.suppress(OSError, IndexError):  # the receiver has not started yet, or has ended
        tasks = pathlib.Path(f"/proc/{descend(pid, 2)[1]}/task").glob("*/status")
        return sum(int(re.search(r"^voluntary_ctxt_switches:\t(\d+)", status.read_text(), re.M)[1])
                   for status in tasks) >= 100
    return False


def command_runs(pid):
    return any(pathlib.Path(f"/proc/{child}/comm").read_text() == "sleep\n"
               for child in children(pid) if os.path.exists(f"/proc/{child}"))


def several_runs(folder):
    def some(_):
        written = [path for path in (folder / "out", folder / "out/runs.jsonl") if path.is_file()]
        return written and written[0].read_text().count("\n") > 2

    return some


MANY = "--messages", 20, "--warmup", 0, "--repeat", 1000, *NONE
# For each moment, functions that get the test's folder: one returns the command line, one the condition to await.
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
    """Asserts that all records are complete, and that the folder has no other file."""
    out = folder / "out"
    files = [out] if out.is_file() else sorted(out.iterdir()) if out.exists() else []
    assert {path.name for path in files} <= {"out", "plan.json", "runs.jsonl", "comparisons.json"}
    assert sorted(folder.iterdir()) == ([out] if out.exists() else [])
    for path in files:
        for line in path.read_text().splitlines(keepends=True):
            assert line.endswith("\n") and json.loads(line)
    return files


def own_lines(errors):
    """Returns the program's own lines: not a sweep's progress, nor an observed command's report."""
    return [line for line in errors.splitlines() if line.startswith("analyze: ")]


def at(moment, folder):
    words, condition = MOMENTS[moment]
    return Job(*words(folder), stdout=subprocess.DEVNULL).awaits(condition(folder))


def expected(moment, sig):
    """Returns the expected status: an observed command's own, once it runs."""
    return 128 + sig if moment.startswith("command") else -sig


@ALL
def test_the_engine_is_killed(moment, tmp_path):
    with at(moment, tmp_path) as job:
        job.kill()
        if moment == "command":  # the user's command continues, as it does if time(1) is killed
            job.descendants = {pid for pid in job.descendants if not descends_to_sleep(pid)}
        _, status = job.ends()
    assert status == -KILL
    whole_records(tmp_path)


def descends_to_sleep(pid):
    with contextlib.suppress(OSError):
        if pathlib.Path(f"/proc/{pid}/comm").read_text() == "sleep\n":
            os.kill(pid, KILL)
            return True
    return False


@pytest.mark.slow
@ALL
def test_the_engine_gets_sigterm(moment, tmp_path):
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
        fronts = [pid for pid in job.descendants if pid == front_of(job.pid)] or sorted(job.descendants)[:1]
        os.kill(fronts[0], KILL)
        errors, status = job.ends()
    assert status == 1
    assert "ended early" in "".join(own_lines(errors)) and len(own_lines(errors)) == 1, errors
    whole_records(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("sig", [signal.SIGHUP, signal.SIGQUIT])
@pytest.mark.parametrize("moment", ["window", "command", "advise"])
def test_other_signals_end_it(moment, sig, tmp_path):
    with at(moment, tmp_path) as job:
        job.send_signal(sig)
        _, status = job.ends()
    assert status == expected(moment, sig)


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["window", "grid", "command"])
def test_a_terminal_that_goes_ends_it(moment, tmp_path):
    with at(moment, tmp_path) as job:
        os.close(job.ours)
        job.ours = None
        _, status = job.ends()
    assert status == expected(moment, signal.SIGHUP)
    whole_records(tmp_path)


def test_nohup_keeps_it_going(tmp_path):
    with Job("nohup", *LOAD[:-3], 1, *LOAD[-2:], *NONE, stdout=subprocess.DEVNULL).awaits(load_sends) as job:
        os.close(job.ours)
        job.ours = None
        job.send_signal(signal.SIGHUP)
        errors, status = job.ends()
    assert status == 0, errors


@pytest.mark.parametrize("sig", [KILL, TERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_load_that_is_killed_is_reported(sig):
    with Job(*LOAD, *NONE, stdout=subprocess.DEVNULL).awaits(load_sends) as job:
        os.kill(descend(job.pid, 1)[0], sig)
        errors, status = job.ends()
    assert (status, len(errors.splitlines())) == (1, 1)
    assert f"killed by signal {int(sig)} " in errors


@pytest.mark.slow
@pytest.mark.parametrize("sig", [KILL, TERM])
@pytest.mark.parametrize("moment", ["command", "command loading"])
def test_a_command_that_is_killed_has_its_own_status(moment, sig, tmp_path):
    with at(moment, tmp_path) as job:
        command = next(pid for pid in children(job.pid) if pid != front_of(job.pid))
        os.kill(command, sig)
        errors, status = job.ends()
    assert status == 128 + sig, errors


def test_a_second_control_c_ends_at_once_without_a_reader():
    """After the first Ctrl-C, the window closes, and the last line and the report wait for a reader."""
    with Job(*LOAD, "--interval", 0.1).awaits(load_sends) as job:
        job.type(b"\x03")
        job.awaits(lambda pid: waits_to_write(front_of(pid)))
        job.type(b"\x03")
        errors, status = job.ends()
    assert (errors, status) == ("", -INT)


@pytest.mark.parametrize("words", [
    ("--variant", "twocopy", "--messages", 10, *NONE), ("--", "true"),
    ("advise", "--budget", 1)], ids=["load", "command", "advise"])
@pytest.mark.parametrize("how", ["terminal", "engine"])
def test_one_signal_ends_an_unread_report(words, how):
    # A command's report goes to standard error.
    with Job("sh", "-c", 'exec "$@" 2>&1', "sh", ANALYZE, *words).awaits(
            lambda pid: waits_to_write(front_of(pid))) as job:
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


def test_an_unread_record_is_complete(tmp_path):
    """After one signal, the write of the record waits for the reader; a second signal ends it at once."""
    os.mkfifo(tmp_path / "fifo")
    reader = os.open(tmp_path / "fifo", os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
    os.set_blocking(reader, True)
    with Job(ANALYZE, "--variant", "twocopy", "--messages", 10, *NONE, "--json", tmp_path / "fifo",
             stdout=subprocess.DEVNULL).awaits(lambda pid: waits_to_write(front_of(pid))) as job:
        job.type(b"\x03")
        with open(reader, encoding="ascii") as fifo:
            text = fifo.read()
        errors, status = job.ends()
    assert (errors, status) == ("", -INT)
    assert check(json.loads(text))


def drain(reader):
    text = b""
    while part := os.read(reader, 1 << 16):
        text += part
    return text[PIPE_BYTES:].decode()


def test_an_absent_reader_delays_no_window(tmp_path):
    """The reader reads only after the window. Lines that did not fit into the pipe are included in the last line."""
    path = tmp_path / "records"
    with Job(ANALYZE, "--variant", "zerocopy", "--duration", 2, "--warmup", 0, "--interval", 0.1,
             "--json", path) as job:
        # The window is over when the last line waits for the reader.
        job.awaits(lambda pid: waits_to_write(front_of(pid)))
        found = lines(drain(job.out))
        assert job.ends() == ("", 0)
    record, = [check(json.loads(line)) for line in path.read_text().splitlines()]
    assert 2 <= record["app"]["elapsed_s"] < 10
    assert 1 <= len(found) <= 3
    assert_adds_up(found, record)


def test_a_stopped_front_delays_no_window():
    """The engine's lines, which the front does not read, do not fill the socket between them."""
    with Job(*LOAD[:-3], 3, *LOAD[-2:], "--interval", 0.1, "--json", "-").awaits(load_sends) as job:
        front, load = front_of(job.pid), descend(job.pid, 1)[0]
        os.kill(front, signal.SIGSTOP)
        assert eventually(lambda: state(load) in "XZ")
        os.kill(front, signal.SIGCONT)
        assert check(json.loads(drain(job.out)))["app"]["elapsed_s"] < 10
        errors, status = job.ends()
    assert status == 0
    assert lines(errors)


WORDS = "--variant", "twocopy", "--messages", 10, "--warmup", 0, *NONE


@pytest.fixture
def planted(tmp_path):
    """A folder of modules that create the file `ran` when they run."""
    for name in "json", "os", "typing", "select", "text/__init__", "front/__init__", "sitecustomize":
        path = tmp_path / "planted" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    yield tmp_path / "planted"
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("names", [(), ("LC_ALL",), ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "HOME")],
                         ids=["nothing", "C", "Python's"])
def test_the_environment_is_nothing_to_python(planted, names):
    environment = {name: "C" if name == "LC_ALL" else str(planted) for name in names}
    done = run(ANALYZE, *WORDS, env=environment, cwd=planted)
    assert (done.returncode, done.stderr) == (0, "")
    assert "twocopy" in done.stdout


@pytest.mark.parametrize("locale", ["C", "en_US.ISO-8859-1"])
def test_names_are_bytes_in_every_locale(tmp_path, locale):
    if locale != "C":
        made = run("localedef", "-i", "en_US", "-f", "ISO-8859-1", tmp_path / locale)
        if not (tmp_path / locale).exists():
            pytest.skip(f"no such locale can be made: {made.stderr.strip()}")
    environment = {**os.environ, "LC_ALL": locale, "LOCPATH": str(tmp_path)}
    name = b"\xc3\xa9\xff\xe2\x82\xac"
    for words in (("--json", os.fsencode(tmp_path) + b"/" + name),
                  ("--json", os.fsencode(tmp_path) + b"/of-" + name, b"--", b"./no\xff\n\x1b[31m")):
        with Child([ANALYZE, *map(str, WORDS[:0 if b"--" in words else None]), *words], env=environment,
                   stdout=subprocess.PIPE, stderr=subprocess.PIPE) as job:
            _, errors = job.communicate(timeout=PATIENCE_S)
        if b"--" in words:
            assert job.returncode == 127
            assert errors == b"analyze: ./no\\xff\\x0a\\x1b[31m: No such file or directory\n"
        else:
            assert (job.returncode, errors) == (0, b"")
            assert name in os.listdir(os.fsencode(tmp_path))
    done = run(ANALYZE, "--comm", os.fsdecode(b"x\xff"), "--duration", 1, env=environment)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1) and r"x\xff" in done.stderr


def test_a_name_of_a_command_steers_no_terminal(tmp_path):
    name = os.fsdecode(b"tr\xffue\n\x1b[31m")
    shutil.copy(shutil.which("true"), tmp_path / name)
    done = run(ANALYZE, "--", tmp_path / name)
    assert done.returncode == 0 and "\x1b" not in done.stderr and r"tr\xffue\x0a\x1b[31m" in done.stderr


def test_a_full_standard_error_leaves_the_status(tmp_path):
    out = tmp_path / "none/out"
    done = run("sh", "-c", 'exec "$@" 2> /dev/full', "sh", ANALYZE, *WORDS, "--json", out)
    assert done.returncode == 1
    done = run("sh", "-c", 'exec "$@" 2> /dev/full', "sh", ANALYZE, "sweep", *WORDS, "--repeat", 2,
               "--out", tmp_path / "out")
    assert done.returncode == 0 and "2 of 2 runs measured" in done.stdout


def test_a_full_output_of_raw_lines_is_reported():
    done = run("sh", "-c", 'exec "$@" > /dev/full', "sh", ANALYZE, *WORDS, "--raw")
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1 and "standard output" in done.stderr


def in_namespace(script, *words, **options):
    """Runs the script in a mount namespace of its own."""
    done = run("unshare", "-m", "sh", "-c", f'{script} || exit 77; exec "$@"', "sh", *words, **options)
    if done.returncode == 77 or "unshare:" in done.stderr:
        pytest.skip(f"no mount namespace of our own here: {done.stderr.strip()}")
    return done


@pytest.mark.parametrize("words", [("--json",), ("sweep", "--out")], ids=" ".join)
def test_a_full_disk_ends_the_runs_and_not_the_report(tmp_path, words):
    *command, option = words
    done = in_namespace(f"mount -t tmpfs -o size=64K none {tmp_path}", ANALYZE, *command, *WORDS,
                        "--repeat", 10, option, tmp_path / "out")
    assert done.returncode == 1
    assert len(own_lines(done.stderr)) == 1 and "No space left on device" in done.stderr
    assert "twocopy" in done.stdout


def test_without_python_there_are_raw_lines(tmp_path):
    hide = "mount --bind /dev/null /usr/bin/python3"
    for words, status in ((WORDS, 3), (("advise",), 3), (("derive", tmp_path), 3), ((*WORDS, "--raw"), 0)):
        done = in_namespace(hide, ANALYZE, *words)
        assert done.returncode == status
        assert len(done.stderr.splitlines()) == (1 if status else 0)
        assert "/usr/bin/python3" in done.stderr if status else json.loads(done.stdout)["window"]
