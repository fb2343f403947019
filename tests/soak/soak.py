#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""A soak: an observation of the whole machine, a series of runs, the exporter and loadgen serve run while
processes, sockets, network namespaces, strangers, signals and a full disk come and go. Their memory and
descriptors must stay constant, each record must be valid, and nothing may be left behind.

The seed decides the actions, not their times. Status 0; 1 if a check fails; 3 if this system cannot; 130 after an
interrupt, with the results so far.
"""

import argparse
import collections
import contextlib
import json
import os
import pathlib
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import traceback

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[1:1] = [str(TESTS / "integration"), str(TESTS / "bench")]
# pylint: disable=wrong-import-position
import pytest

import disturbers
import held
import test_interval
from conftest import (ANALYZE, CAN_MEASURE, LOADGEN, PATIENCE_S, Child, Receiver, adds_up,
                      eventually, only, run)
from disturbers import Wrong
from exporter import Exporter
from printing import table
from test_serve import Serve, send

DISK_KIB = 256  # room for a few records
SERVE, EXPORTER, OBSERVATION, SERIES = "loadgen serve", "exporter", "observation", "series of runs"
COMMANDS = {
    OBSERVATION: ("--all", "--by", "process", "--by-max", 500),
    SERIES: ("--variant", "twocopy,zerocopy", "--size", "4K", "--repeat", 1000, "--duration", 0.3,
             "--warmup", 0),
}
# The exporter keeps the groups of processes that were killed before all their sends completed, until room is
# short.
ALLOWED = {EXPORTER: held.ALLOWED._replace(maps_memory=16384),
           # All samples of a quarter may fall into runs of the series. A leak would add up to more than this.
           SERIES: held.ALLOWED._replace(descriptors=25, programs=15, maps=25, links=15,
                                         maps_memory=20480)}
MARK = "SENDPATH_SOAK"  # in the environment of all processes that a soak starts


class Watched:
    """A program that runs for the whole soak, with samples of its memory and descriptors."""

    def __init__(self, name, process):
        self.name, self.process, self.samples = name, process, []

    def sample(self):
        if self.process.poll() is not None:
            raise Wrong(f"{self.name}: ended, status {self.process.returncode}")
        self.samples.append(held.held(self.process.pid))

    def rows(self):
        most = held.Held(*map(max, zip(*self.samples, strict=True)))
        figures = zip(held.FIGURES.values(), *held.first_and_last(self.samples), most, strict=True)
        return [[f"{self.name}: {figure}", *(f"{value:,}" for value in values)]
                for figure, *values in figures if any(values)]


class Soak:
    """Parameters of the disturbers, and their results."""

    def __init__(self, options, folder, disk):
        self.options, self.folder, self.disk = options, folder, disk
        self.stop, self.lock = threading.Event(), threading.Lock()
        self.counts, self.wrong, self.programs = collections.Counter(), [], []
        self.serve = self.sink = self.exporter = None

    def count(self, what, number=1):
        with self.lock:
            self.counts[what] += number

    def fail(self, why):
        self.wrong.append(why)

    def start(self, command, **options):
        """Starts a process in a session of its own, so that Ctrl-C in the terminal reaches only the soak."""
        return Child([str(word) for word in command], stdin=subprocess.DEVNULL,
                     start_new_session=True, **options)

    def pause(self, seconds, until=None):
        """Pauses for this many seconds, unless the soak or this process ends before."""
        eventually(lambda: self.stop.is_set() or (until and until.poll() is not None), seconds)

    def keep_doing(self, disturber):
        chance = random.Random(f"{self.options.seed} {disturber.__name__}")
        try:
            while not self.stop.is_set():
                disturber(self, chance)
        except pytest.skip.Exception as why:
            print(f"soak: {disturber.__name__} left out: {why}", flush=True)
        except (Wrong, AssertionError) as why:
            self.fail(f"{disturber.__name__}: {why}")
        except Exception:  # pylint: disable=broad-exception-caught
            self.fail(f"{disturber.__name__}: {traceback.format_exc()}")

    def output(self, name):
        return self.folder / f"{name}.out"

    def records(self, name):
        return self.folder / f"{name}.json"

    def lines(self, name):
        return test_interval.lines(self.output(name).read_text())


def start_watched(soak, stack):
    """Starts the watched programs, and waits until each works."""
    log = soak.output(SERVE)
    soak.serve = stack.enter_context(Serve(program=(
        "setsid", "sh", "-c", f'exec "$@" 2>"{log}"', "sh", LOADGEN, "serve")))
    soak.sink = stack.enter_context(Receiver("127.0.0.1", ("setsid",)))
    soak.exporter = stack.enter_context(Exporter(before=("setsid",)))
    soak.programs += [Watched(SERVE, soak.serve.process), Watched(EXPORTER, soak.exporter.process)]
    for name, options in COMMANDS.items():
        with open(soak.records(name), "wb") as records, open(soak.output(name), "wb") as output:
            process = stack.enter_context(soak.start(
                [ANALYZE, *options, "--interval", 1, "--json", "-"], stdout=records, stderr=output))
        soak.programs.append(Watched(name, process))
    for name in COMMANDS:
        if not eventually(lambda name=name: soak.lines(name) or soak.records(name).stat().st_size):
            raise Wrong(f"{name}: is not at work: {soak.output(name).read_text()}")
    for program in soak.programs:
        program.sample()


def watch(soak):
    """Takes samples of the watched programs once a second, in a short soak more often."""
    every = min(1, soak.options.seconds / 240)
    for _ in range(round(soak.options.seconds / every)):
        if soak.stop.wait(every) or soak.wrong:
            return
        for program in soak.programs:
            program.sample()


def disturb(soak):
    threads = [threading.Thread(target=soak.keep_doing, args=(disturber,))
               for disturber in disturbers.ALL]
    try:
        for thread in threads:
            thread.start()
        watch(soak)
    finally:
        soak.stop.set()
        for thread in threads:
            thread.join()


def serve_rests(soak):
    """Checks that serve, without strangers, has as many threads and descriptors as before, and still serves."""
    program = soak.programs[0]

    def holds():
        now = held.held(program.process.pid)
        return now.threads, now.descriptors

    before = program.samples[0].threads, program.samples[0].descriptors
    if not eventually(lambda: holds() == before):
        raise Wrong(f"{SERVE}: threads, descriptors {holds()} after all is over, {before} before")
    program.sample()
    result = send(soak.serve.peer, "--messages", 20)
    if result.returncode:
        raise Wrong(f"{SERVE}: serves nobody any more: {result.stderr}")


def interrupt(program):
    program.process.send_signal(signal.SIGINT)
    if program.process.wait(PATIENCE_S) != -signal.SIGINT:
        raise Wrong(f"{program.name}: status {program.process.returncode} after SIGINT")


def soak_through(soak):
    with contextlib.ExitStack() as stack:
        start_watched(soak, stack)
        disturb(soak)
        serve_rests(soak)
        for program in soak.programs[-len(COMMANDS):]:
            interrupt(program)


def judge_records(soak):
    observed = only(disturbers.records(soak.records(OBSERVATION)))
    adds_up(observed)
    lines = soak.lines(OBSERVATION)
    test_interval.assert_adds_up(lines, observed)
    if len(lines) < soak.options.seconds / 2:
        raise Wrong(f"{OBSERVATION}: {len(lines)} lines in {soak.options.seconds} s")
    soak.count("sends that the observation counted", sum(call["sends"] for call in observed["calls"]))
    series = disturbers.records(soak.records(SERIES))
    soak.count("runs of the series", len(series))
    soak.count("records", 1 + len(series))
    for name in SERVE, *COMMANDS:
        disturbers.no_crash(name, soak.output(name).read_text())


def judge_programs(soak):
    for program in soak.programs:
        for what in held.growth(program.samples, ALLOWED.get(program.name, held.ALLOWED)):
            soak.fail(f"{program.name}: {what}")


def bpf_of_nobody():
    """Returns programs, maps and links that the kernel has and no process has a descriptor of."""
    listed = set()
    for kind in "prog", "map", "link":
        result = run("bpftool", "-j", kind, "list")
        if result.returncode:
            raise Wrong(f"bpftool {kind} list: {result.stderr}")
        listed |= {(kind, entry["id"]) for entry in json.loads(result.stdout or "[]")}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError):  # it has ended, or we may not read it
            listed -= held.bpf_objects(pid).keys()
    return listed


def processes_of(mark):
    """Returns {pid: command line} of processes that a soak started."""
    found = {}
    for path in pathlib.Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):  # it has ended, or we may not read it
            if mark in (path / "environ").read_bytes().split(b"\0"):
                found[int(path.name)] = (path / "cmdline").read_bytes().replace(b"\0", b" ").decode()
    return found


def judge_rest(soak, bpf_before):
    """Judges that nothing remains after a grace period of the kernel."""
    mark = f"{MARK}={os.environ[MARK]}".encode()
    if not eventually(lambda: not processes_of(mark)):
        soak.fail(f"left behind: processes {processes_of(mark)}")
    stay = bpf_of_nobody() - bpf_before  # objects in every sample; other programs load and release theirs meanwhile

    def gone():
        stay.intersection_update(bpf_of_nobody())
        return not stay

    if not eventually(gone):
        soak.fail(f"left behind: BPF objects {stay}")
    if files := {path.name for path in soak.disk.iterdir()} - disturbers.FILES:
        soak.fail(f"left behind: {files}")


def print_results(soak):
    print(table(["held", "at first", "at last", "at most"],
                [row for program in soak.programs if program.samples for row in program.rows()]),
          end="\n\n")
    print(table(["came and went", ""],
                [[what, f"{number:,}"] for what, number in sorted(soak.counts.items())]), flush=True)
    for why in soak.wrong:  # last, because who runs many suites may see only the end
        print(f"soak: {why}", file=sys.stderr)


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=600, metavar="T",
                        help="how long (default 600; less than 30 shows no growth)")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32),
                        metavar="N", help="(default: one at random)")
    options = parser.parse_args()
    if options.seconds < 30:
        parser.error(f"--seconds {options.seconds}: give 30 or more")
    return options


@contextlib.contextmanager
def small_disk(folder):
    folder.mkdir()
    mounted = run("mount", "-t", "tmpfs", "-o", f"size={DISK_KIB}k", "tmpfs", folder)
    if mounted.returncode:
        raise Wrong(f"a small disk cannot be had: {mounted.stderr.strip()}")
    try:
        yield folder
    finally:
        run("umount", folder)


def carry_out(options, folder):
    """Runs a soak; returns its exit status."""
    bpf_before = bpf_of_nobody()
    with small_disk(folder / "disk") as disk:
        soak, interrupted = Soak(options, folder, disk), False
        try:
            soak_through(soak)
            judge_records(soak)
        except (Wrong, AssertionError) as why:
            soak.fail(why)
        except KeyboardInterrupt:
            interrupted = True
        if not interrupted:
            judge_programs(soak)
        judge_rest(soak, bpf_before)
        print_results(soak)
        return 130 if interrupted else int(bool(soak.wrong))


def main():
    options = parse_options()
    if os.geteuid() or not CAN_MEASURE:
        print("soak: needs root" if os.geteuid() else
              "soak: sends cannot be timed here: analyze doctor shows why", file=sys.stderr)
        return 3
    os.environ[MARK] = str(os.getpid())  # /proc does not show it in our own environment
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the soak sends SIGQUIT on purpose
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    print(f"seed {options.seed}, {options.seconds} s, Linux {os.uname().release}, "
          f"{os.cpu_count()} CPUs\n", flush=True)
    with tempfile.TemporaryDirectory(prefix="sendpath-soak-") as folder:
        try:
            return carry_out(options, pathlib.Path(folder))
        except Wrong as why:
            print(f"soak: {why}", file=sys.stderr)
            return 1


if __name__ == "__main__":
    sys.exit(main())
