# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests analyze top: its sums, its lines in a pipe, and that it restores the terminal."""

import collections
import contextlib
import fcntl
import json
import os
import pathlib
import re
import signal
import struct
import subprocess
import termios

import pytest

from conftest import (ANALYZE, LOADGEN, MECHANISMS, PATIENCE_S, ROOT, Child, Receiver, analyze, completes,
                      copy_programs, eventually, line_of, needs_bpf, only, run)
from test_by import inside
from test_errors import front_of
from test_observe import group  # noqa: F401 (a fixture)

from analysis.derive.groups import SUMS

pytestmark = [needs_bpf, pytest.mark.usefixtures("untouched")]

# Replaces analysis/__main__.py by a front that requests the run, and prints the engine's lines.
PRINTER = f"""import json, sys
sys.path.insert(0, {str(ROOT)!r})
from analysis.front.channel import Channel
channel = Channel(3)
channel.receive()
channel.send({{"run": 0, "repeat": 1, "last": True}})
schema = "sendpath.interval/1"
while schema == "sendpath.interval/1":
    line = channel.receive()
    schema = line["schema"]
    print(json.dumps(line), flush=True)
channel.send({{"end": True}})
"""


@pytest.fixture(scope="module", name="printer")
def _printer(tmp_path_factory):
    """A copy of the analyzer that prints the engine's lines."""
    folder = tmp_path_factory.mktemp("printer")
    copy_programs(folder)
    (folder / "analysis/__main__.py").write_text(PRINTER)
    return folder / "analyze"


def signed(count):
    return count - (count >> 63 << 64)


def sums_of(groups):
    """Sums [key, counts, ...] lists by key. Returns {key: counts that are not 0}."""
    sums = collections.defaultdict(collections.Counter)
    for key, counts, *_ in groups:
        key = tuple(sorted((name, value) for name, value in key.items() if value))
        sums[key].update({name: signed(counts.get(name, 0)) for name in SUMS})
    return {key: {name: count for name, count in found.items() if count} for key, found in sums.items()
            if any(found.values())}


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_lines_of_a_run_add_up_to_its_groups(printer, mechanism):
    with Child([printer, "top", "--all", "--interval", "0.1", "--mechanism", mechanism], stdout=subprocess.PIPE,
               text=True) as job:
        lines = [json.loads(line_of(job.stdout))]  # the window is open
        for variant in "zerocopy", "twocopy":
            assert run(LOADGEN, "--variant", variant, "--messages", 3000, "--warmup", 0).returncode == 0
            lines.append(json.loads(line_of(job.stdout)))
        job.send_signal(signal.SIGINT)
        rest, _ = job.communicate(timeout=PATIENCE_S)
    *more, raw = map(json.loads, rest.splitlines())
    lines += more
    assert lines[-1]["last"] and not any(line["last"] for line in lines[:-1]) and len(lines) > 3
    groups = [one for line in lines for one in line["groups"]["groups"]]
    found = sums_of(groups)
    assert found == sums_of(raw["maps"]["groups"])
    assert not raw["maps"]["groups_rest"]["sends"] and not any(line["groups"]["rest"][1] for line in lines)
    loads = [counts for counts in found.values() if counts.get("bytes") == 3000 * 16384]
    assert [counts["sends"] for counts in loads] == [3000, 3000]
    zerocopy = only([counts for counts in loads if counts.get("requests") == 3000])
    if completes(mechanism):
        assert zerocopy["completions"] == 3000


def top(*words, **options):
    return analyze("top", "--interval", 0.2, *words, **options)


# Without targets, top also sees the programs of other tests, whose events the kernel may skip.
LOST = re.compile(r"analyze: dropped events: \d.*\n")
BLOCK = re.compile(r"^([\d,]+\.\d) s: (.*)$", re.M)
FIRST = r"^\d\.\d s: no TCP sends$"


def find(pattern, stream):
    """Returns what a pattern finds in the lines of a stream."""
    read = []
    for line in stream:
        read.append(line)
        if found := re.search(pattern, line):
            return found
    raise AssertionError("".join(read))


def test_a_pipe_gets_plain_lines():
    with Receiver() as receiver, Child(receiver.sender("--steps"), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       text=True) as program:
        line_of(program.stdout)
        with Child([ANALYZE, "top", "--pid", str(program.pid), "--interval", "0.2"], stdout=subprocess.PIPE,
                   stderr=subprocess.PIPE, text=True) as job:
            find(FIRST, job.stdout)
            program.stdin.write("send 50\n")
            program.stdin.flush()
            line_of(program.stdout)
            program.communicate("quit\n", timeout=PATIENCE_S)
            text, errors = job.communicate(timeout=PATIENCE_S)  # the window ends with the program
    assert (job.returncode, errors) == (0, "") and text.isascii() and "\x1b" not in text
    rows = re.findall(rf"^peer +{program.pid} +.* 100 % .* lo$", text, re.M)
    assert rows and "by 1 process; 100 % of zero-copy sends copied" in text
    assert max(map(len, text.splitlines())) <= 80 and "process             pid sends/s Gbit/s" in text


def test_it_ends_after_so_many_tables():
    done = top("--count", 2)
    assert (done.returncode, LOST.sub("", done.stderr)) == (0, "")
    assert len(BLOCK.findall(done.stdout)) == 2
    assert float(BLOCK.findall(done.stdout)[1][0]) >= 0.4


def test_rows_of_control_groups(group):  # noqa: F811
    with Receiver() as receiver, Child(receiver.sender("--steps", "--plain"), stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, text=True) as program:
        line_of(program.stdout)
        pathlib.Path(group, "cgroup.procs").write_text(str(program.pid), encoding="ascii")
        with Child([ANALYZE, "top", "--by", "cgroup", "--cgroup", group, "--interval", "0.2"], stdout=subprocess.PIPE,
                   text=True) as job:
            find(FIRST, job.stdout)
            program.stdin.write("send 50\n")
            program.stdin.flush()
            find("^control group +sends/s", job.stdout)
            find(rf"/{os.path.basename(group)} +[\d.]+ ", job.stdout)
            program.communicate("quit\n", timeout=PATIENCE_S)
            job.send_signal(signal.SIGINT)
            job.communicate(timeout=PATIENCE_S)


def test_ended_processes_make_room(group):  # noqa: F811
    """Only the kernel's table is bounded, and ended processes leave it: each process gets a row of its own."""
    with Receiver() as receiver, Child([ANALYZE, "top", "--cgroup", group, "--interval", "0.1", "--by-max", "8"],
                                       stdout=subprocess.PIPE, text=True) as job:
        find(FIRST, job.stdout)
        for _ in range(30):
            with Child(inside(group, *receiver.sender("--sends", 5, "--plain")), stdout=subprocess.DEVNULL) as sender:
                pass
            assert find(r"^(?:others|peer +(\d+)) ", job.stdout)[1] == str(sender.pid)
        job.send_signal(signal.SIGINT)
        job.communicate(timeout=PATIENCE_S)


def test_without_a_reader_it_ends():
    done = run("sh", "-c", f"{ANALYZE} top --interval 0.1 | head -1")
    assert len(done.stdout.splitlines()) == 1
    assert only(done.stderr.splitlines()) == ("analyze: cannot write the report to standard output (disk full, or pipe "
                                              "closed)")


@pytest.mark.parametrize("words, error", [
    (["--sort", "size"], "--sort size: unknown; there are sends, gbit, us, zero-copy, copied, refused"),
    (["--by", "port"], "--by device and port: does not apply to top"), (["--json", "x"], "--json: does not apply to top"),
    (["--duration", "3"], "--duration: does not apply to top"), (["--", "true"], "--: does not apply to top"),
    (["--count", "0"], "--count 0: give a whole number"), (["--raw"], "--raw with top"),
    (["--fail-on", "ignored"], "--fail-on ignored: leave it out"), (["--listen", "127.0.0.1:0"], "belongs to exporter")])
def test_wrong_use_is_one_line(words, error):
    done = analyze("top", *words)
    assert (done.returncode, done.stdout) == (2, "") and error in only(done.stderr.splitlines())


@pytest.mark.parametrize("words", [["--count", "2"], ["--sort", "us"]])
def test_its_options_are_no_others(words):
    done = analyze("--all", *words)
    assert done.returncode == 2 and f"{words[0]}: belongs to top" in only(done.stderr.splitlines())


ENTER, LEAVE = b"\x1b[?1049h\x1b[?25l", b"\x1b[?25h\x1b[?1049l"


class Screen:
    """Runs top on a terminal of its own. shown is the output that awaits() has not passed yet."""

    def __init__(self, *words, size=(24, 80), interval="0.1", **environment):
        self.ours, theirs = os.openpty()
        self.resize(*size)
        self.before = termios.tcgetattr(self.ours)
        self.shown = b""

        def own_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY)

        self.job = Child([ANALYZE, "top", "--interval", interval, *map(str, words)], stdin=theirs, stdout=theirs,
                         stderr=subprocess.PIPE, preexec_fn=own_terminal, env={**os.environ, "TERM": "xterm", **environment})
        os.close(theirs)
        os.set_blocking(self.ours, False)

    def __enter__(self):
        return self

    def __exit__(self, *details):
        self.job.__exit__(*details)
        os.close(self.ours)

    def resize(self, rows, columns):
        fcntl.ioctl(self.ours, termios.TIOCSWINSZ, struct.pack("4H", rows, columns, 0, 0))

    def read(self):
        with contextlib.suppress(OSError):  # there is no more output now, or the other end is closed
            while part := os.read(self.ours, 1 << 16):
                self.shown += part
        return self.shown

    def awaits(self, text):
        """Waits until top has written this text after the text of the last call."""
        assert eventually(lambda: text in self.read()), self.shown
        self.shown = self.shown[self.shown.index(text) + len(text):]

    def type(self, keys):
        os.write(self.ours, keys)

    def ends(self):
        """Waits for the end of top, and checks that the terminal is restored. Returns status and standard error, without
        the lines of LOST."""
        _, errors = self.job.communicate(timeout=PATIENCE_S)
        text = self.read()
        assert text.count(LEAVE) == 1 and text.endswith(LEAVE), text
        assert termios.tcgetattr(self.ours) == self.before
        return self.job.returncode, LOST.sub("", errors.decode())


TABLE = b"so far"


def test_q_leaves_the_terminal_as_it_was():
    with Screen() as screen:
        screen.awaits(ENTER)
        screen.awaits(TABLE)
        assert termios.tcgetattr(screen.ours) != screen.before
        screen.resize(0, 0)  # a serial console reports no size
        screen.awaits(TABLE)
        screen.type(b"q")
        assert screen.ends() == (0, "")


@pytest.mark.parametrize("how", ["key", "SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"])
def test_signals_leave_the_terminal_as_it_was(how):
    sig = signal.SIGINT if how == "key" else getattr(signal, how)
    with Screen() as screen:
        screen.awaits(TABLE)
        if how == "key":
            screen.type(b"\x03")
        else:
            screen.job.send_signal(sig)
        assert screen.ends() == (-sig, "")


def test_a_signal_before_the_first_table_leaves_it_too():
    with Screen(interval="60") as screen:
        screen.awaits(b"Measuring")
        screen.type(b"\x03")
        assert screen.ends() == (-signal.SIGINT, "")


def test_two_signals_leave_it_too():
    with Screen() as screen:
        screen.awaits(TABLE)
        screen.type(b"\x03\x03")
        assert screen.ends() == (-signal.SIGINT, "")


def test_errors_leave_it_too():
    with Screen("--pid", 1 << 22) as screen:
        status, errors = screen.ends()
        assert status == 2 and "there is no such process" in only(errors.splitlines())


def test_a_terminal_that_goes_ends_it():
    with Screen() as screen:
        screen.awaits(TABLE)
        ours, screen.ours = screen.ours, os.open(os.devnull, os.O_RDONLY)
        os.close(ours)
        _, errors = screen.job.communicate(timeout=PATIENCE_S)
        assert screen.job.returncode == -signal.SIGHUP and b"Traceback" not in errors


def test_the_engine_is_killed():
    with Screen() as screen:
        screen.awaits(TABLE)
        front = front_of(screen.job.pid)
        screen.job.kill()
        assert eventually(lambda: not os.path.exists(f"/proc/{front}"))
        assert screen.ends() == (-signal.SIGKILL, "")


def test_the_last_process_ends():
    with Child(["sleep", "600"]) as program, Screen("--pid", program.pid) as screen:
        screen.awaits(TABLE)
        program.kill()
        assert screen.ends() == (0, "")


def test_so_many_tables_on_a_terminal():
    with Screen("--count", 3) as screen:
        assert screen.ends() == (0, "")


def lines_of(text):
    """Returns the lines of a screen that was drawn."""
    return [re.sub(rb"\x1b\[[\d;]*[mK]|\r", b"", line) for line in text.split(b"\n")]


def test_a_new_size_lays_it_out_again():
    with Screen(size=(24, 80)) as screen:
        screen.awaits(TABLE)
        screen.resize(5, 30)
        screen.awaits(b"sort: sguzcr")
        screen.shown = b""
        screen.awaits(b"\x1b[H")
        assert eventually(lambda: b"sort: sguzcr" in screen.read())
        drawn = lines_of(screen.shown.partition(b"\x1b[H")[0])
        assert len(drawn) == 5 and max(map(len, drawn)) <= 30
        screen.type(b"q")
        assert screen.ends() == (0, "")


def test_keys_sort_and_pause():
    with Screen("--sort", "us") as screen:
        screen.awaits(b"most us/send first")
        screen.type(b"s")
        screen.awaits(b"most sends/s first")
        screen.type(b"x")  # no key of top
        screen.type(b"p")
        screen.awaits(b"paused at ")
        screen.type(b"r")
        screen.awaits(b"most refused/s first; paused at ")
        screen.type(b"p")
        screen.awaits(TABLE)
        screen.type(b"q")
        assert screen.ends() == (0, "")


def test_a_terminal_without_escape_sequences_gets_lines():
    with Screen("--count", 1, TERM="dumb") as screen:
        assert screen.job.wait(PATIENCE_S) == 0
        assert b"s: " in screen.read() and b"\x1b" not in screen.shown
