# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests --memory: names of a machine's events and perf's output give bytes, or the reason why there are none.

The machines are recordings (tests/fixtures/memory, each with its source): a tree that replaces /sys, and a fake perf
that prints what was recorded, and notes its arguments.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess

import pytest

from conftest import (ANALYZE, MECHANISMS, NONE, ROOT, analyze, check, copy_programs, eventually, needs_bpf, only,
                      printed, processes, run)

pytestmark = [needs_bpf, pytest.mark.usefixtures("untouched")]

MACHINES = ROOT / "tests/fixtures/memory"
MIB = 1 << 20
LOAD = ("--variant", "twocopy", "--messages", "200", "--warmup", "0", *NONE)

FAKE_PERF = """#!/usr/bin/python3
import os, signal, sys, time
here = os.path.dirname(os.path.abspath(__file__))
def read(name):
    return open(os.path.join(here, name)).read()
def note(text):
    with open(os.path.join(here, "arguments"), "a") as file:
        file.write(text + "\\n")
if sys.argv[1:3] == ["list", "--raw-dump"]:
    print(read("list"))
    sys.exit()
note(" ".join(sys.argv[1:]))
note(next(x.split()[1] for x in open("/proc/self/status") if x.startswith("CapEff")))
option = dict(zip(sys.argv, sys.argv[1:]))
if os.path.exists(os.path.join(here, "fails")) and read("fails").split("'")[1] in option["-e"]:
    sys.stderr.write(read("fails"))
    sys.exit(129)
control, answers = map(int, option["--control"][3:].split(","))
def end(*_):
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # analyze also closes standard input
    note("end")
    events = [e.strip("/").split("/")[-1] for e in option["-e"].split(",")]
    for line in read("stat").splitlines():
        if any(name in line for name in events):
            os.write(int(option["--log-fd"]), (line + "\\n").encode())
    sys.exit()
signal.signal(signal.SIGINT, end)
signal.set_wakeup_fd(-1)
import select
while True:
    for fd in select.select([control, 0], [], [])[0]:
        try:
            word = os.read(fd, 100)
        except ConnectionResetError:  # analyze was killed before it read the answer
            end()
        if fd == 0 and not word:
            end()
        if fd == control and word:
            note(word.decode().strip() + " " + str(time.time()))
            try:
                os.write(answers, b"ack\\n\\0")
            except BrokenPipeError:  # analyze was killed before it could read this
                end()
        elif fd == control:
            end()
"""


class Machine:
    """A recorded machine. Its member environment makes analyze use the recorded /sys and the fake perf."""

    def __init__(self, folder, name):
        sections, section = {"sysfs": [], "list": [], "stat": []}, None
        for line in (MACHINES / name).read_text().splitlines():
            if line.startswith("["):
                section = line.strip("[]")
            elif section:
                sections[section].append(line)
        self.folder = folder
        for line in sections["sysfs"]:
            path, _, content = line.partition(" ")
            self.file(f"sys/bus/event_source/devices/{path}", content + "\n")
        self.file("bin/list", " ".join(sections["list"]))
        self.file("bin/stat", "".join(line + "\n" for line in sections["stat"]))
        self.file("bin/perf", FAKE_PERF)
        (folder / "bin/perf").chmod(0o755)
        self.environment = {**os.environ, "PATH": f"{folder}/bin:/usr/bin:/bin",
                            "SENDPATH_SYSFS": str(folder / "sys")}

    def file(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)

    def run(self, *args):
        return analyze(*args, "--memory", env=self.environment)

    def record(self, *args):
        result = self.run("--json", "-", *LOAD, *args)
        assert result.returncode == 0, result.stderr
        return check(json.loads(only(result.stdout.splitlines())))

    def arguments(self):
        path = self.folder / "bin/arguments"
        return path.read_text().splitlines() if path.exists() else []


@pytest.fixture
def machine(open_path):
    return lambda name: Machine(open_path, name)


def reasons(record):
    return {u["key"]: u["reason"] for u in record["unmeasured"] if u["key"].startswith("memory.")}


def test_nothing_without_the_option(machine):
    record = check(json.loads(analyze("--json", "-", *LOAD).stdout))
    assert record["memory"] is None and reasons(record) == {}


@pytest.mark.parametrize("name, source, read, write", [
    ("skylakex.txt", "memory controllers (uncore_imc)", 157.47 * MIB, 126.97 * MIB),
    ("client.txt", "memory controllers (uncore_imc)", 296.94 * MIB, 138.42 * MIB),
    ("zen4.txt", "memory controllers (amd_umc)", 357.3e6 * 1.003627268, 65.3e6 * 1.003627268),
    ("raptorlake.txt", "memory controllers (uncore_imc_free_running)", 3.72 * MIB, 0.15 * MIB),
    ("knightslanding.txt", "memory controllers (unc_m_cas_count)", 28.47 * MIB, 0.03 * MIB),
    ("dsu.txt", "L3 refills and write-backs (arm_dsu)", 706772970 * 64, 193709487 * 64)])
def test_reads_and_writes(machine, name, source, read, write):
    record = machine(name).record("--mechanism", MECHANISMS[0])
    memory = record["memory"]
    assert memory["source"] == source and memory["scope"] == "system"
    assert memory["read_bytes"] == pytest.approx(read, rel=5e-4, abs=1)
    assert memory["write_bytes"] == pytest.approx(write, rel=5e-4, abs=1)
    assert memory["bytes"] == pytest.approx(memory["read_bytes"] + memory["write_bytes"], abs=1)
    assert memory["bytes_per_byte"] == pytest.approx(
        memory["bytes"] / record["app"]["bytes"], rel=1e-4)
    assert memory["read_bytes_per_s"] == pytest.approx(
        memory["read_bytes"] / record["app"]["elapsed_s"], rel=1e-4)
    assert memory["is_estimate"] == (name == "dsu.txt")
    assert ("memory_estimate" in {w["code"] for w in record["warnings"]}) == memory["is_estimate"]
    assert all(e["status"] == "counted" for e in memory["events"])
    assert "memory.io_read_misses" in reasons(record) and memory["io_read_misses"] is None


def test_a_fabric_counts_reads_and_writes_together(machine):
    memory = machine("zen3.txt").record()["memory"]
    assert memory["bytes"] == (32346663 + 47551247 + 38975242 + 49934162) * 64
    assert memory["bytes"] / MIB == pytest.approx(10297.2, rel=1e-3)  # perf itself computed this number
    assert memory["read_bytes"] is None and memory["write_bytes"] is None
    assert [e["running"] for e in memory["events"]] == pytest.approx([0.5] * 8, abs=0.001)


def test_input_and_output(machine):
    record = machine("icelakex.txt").record()
    memory = record["memory"]
    assert memory["bytes"] == 150 * MIB
    assert (memory["io_read_misses"], memory["io_write_misses"], memory["io_own_misses"]) == (
        1000, 200, 30)
    assert memory["io_miss_read_bytes"] == 1030 * 64
    # One port was not counted, so the incoming sum is unknown. There is no counter for the outgoing direction.
    assert memory["io_in_bytes"] is None and memory["io_out_bytes"] is None
    assert reasons(record)["memory.io_in_bytes"] == "not counted: memory.events has the status of each event"
    assert reasons(record)["memory.io_out_bytes"].startswith("not supported")
    status = {e["event"]: e["status"] for e in memory["events"]}
    assert status["uncore_iio_free_running/bw_in_port1/"] == "not counted"


def test_perf_counts_the_window_alone(machine):
    here = machine("skylakex.txt")
    record = here.record("--mechanism", MECHANISMS[0])
    command, _, first, opened, closed, end = here.arguments()
    assert ("stat -x; -a -D -1 -e uncore_imc/cas_count_read/,uncore_imc/cas_count_write/ "
            "--control fd:") in command
    assert [x.split()[0] for x in (first, opened, closed, end)] == ["disable", "enable", "disable",
                                                                  "end"]
    assert float(closed.split()[1]) - float(opened.split()[1]) >= record["app"]["elapsed_s"]


@pytest.mark.skipif(os.geteuid() != 0, reason="not root: sudo cannot be played")
def test_perf_may_count_for_the_caller_of_sudo(machine, open_path):
    """perf runs as sudo's caller, with the capability that counting needs and few others."""
    here = machine("skylakex.txt")
    copy_programs(open_path)
    (open_path / "bin").chmod(0o777)
    result = run(open_path / "analyze", "--memory", *LOAD, "--json", "-",
                 env={**here.environment, "SUDO_UID": "65534", "SUDO_GID": "65534"})
    assert result.returncode == 0, result.stderr
    assert check(json.loads(result.stdout))["memory"]["bytes"] > 0
    perfmon, admin = 1 << 38, 1 << 21
    may = int(here.arguments()[1], 16)
    assert may & perfmon and not may & ~(perfmon | admin)
    assert (open_path / "bin/arguments").stat().st_uid == 65534


def test_not_permitted(machine):
    record = machine("unpermitted.txt").record()
    assert record["memory"]["read_bytes"] is None and record["memory"]["source"] is None
    assert {e["status"] for e in record["memory"]["events"]} == {"not supported"}


def test_perf_that_fails_does_not_end_the_run(machine):
    here = machine("skylakex.txt")
    here.file("bin/fails", "event syntax error: 'uncore_imc/cas_count_read/'\n  \\___ parser error\n")
    record = here.record()
    assert record["memory"]["bytes"] is None and record["complete"]
    assert reasons(record)["memory.read_bytes"] == (
        "perf: event syntax error: 'uncore_imc/cas_count_read/'")


def test_what_perf_refuses_of_devices_leaves_memory(machine):
    """perf lists an event and then refuses it, as it does with metrics. The counts of memory remain."""
    here = machine("icelakex.txt")
    here.file("bin/fails", "event syntax error: 'unc_cha_tor_inserts.io_miss_itom'\n")
    record = here.record()
    assert record["memory"]["bytes"] == 150 * MIB and record["memory"]["io_read_misses"] is None
    assert reasons(record)["memory.io_read_misses"] == (
        "perf: event syntax error: 'unc_cha_tor_inserts.io_miss_itom'")
    assert reasons(record)["memory.io_in_bytes"].startswith("perf: event syntax error")


@pytest.fixture
def bare(machine, open_path):
    """A machine without an uncore."""
    here = machine("skylakex.txt")
    shutil.rmtree(open_path / "sys/bus")
    here.file("bin/list", "cycles instructions")
    here.file("sys/devices/system/cpu/cpu0/cache/index3/coherency_line_size", "64\n")
    return here


def test_nothing_to_count_or_to_estimate_from_is_an_error(bare):
    result = bare.run("--json", "-", *LOAD)
    if result.returncode == 0:
        pytest.skip("this machine has a PMU, whose LLC misses are an estimate")
    assert (result.returncode, result.stdout) == (3, "")
    assert "no counters of the memory system, and no LLC misses" in only(
        result.stderr.splitlines())


def test_an_estimate_without_an_uncore(bare):
    """The estimate uses LLC misses if they are counted, else it is null with the reason."""
    result = bare.run("--json", "-", *LOAD)
    if result.returncode == 3:
        pytest.skip(result.stderr.strip())
    record = check(json.loads(only(result.stdout.splitlines())))
    memory = record["memory"]
    assert bare.arguments() == [] and memory["events"] == []
    misses = [c for c in record["counters"] if c["event"] == "LLC-load-misses"]
    if any(c["status"] == "not supported" for c in misses):
        assert memory["read_bytes"] is None and memory["is_estimate"] is None
        assert "no LLC misses to estimate from" in reasons(record)["memory.read_bytes"]
    else:
        assert memory["is_estimate"] and memory["scope"] == "sender and receiver"
        assert memory["read_bytes"] == 64 * sum(c["value"] for c in misses)
        assert memory["write_bytes"] is None


def test_text(machine, tmp_path):
    text = machine("skylakex.txt").run(*LOAD, "--json", tmp_path / "record").stdout
    assert text == printed(json.loads((tmp_path / "record").read_text()))
    assert "memory" not in analyze(*LOAD).stdout


def test_in_a_sweep(machine, tmp_path):
    result = machine("skylakex.txt").run("sweep", "--out", tmp_path / "out", *LOAD, "--repeat", "2",
                                          "--budget", 0)
    assert result.returncode == 0, result.stderr
    rows = [json.loads(x) for x in (tmp_path / "out/runs.jsonl").read_text().splitlines()]
    assert [check(r)["memory"]["read_bytes"] for r in rows] == [round(157.47 * MIB)] * 2


def test_perf_ends_with_us_however_we_end(machine):
    here, before = machine("skylakex.txt"), processes()
    with subprocess.Popen([ANALYZE, "--variant", "twocopy", "--duration", "60", *NONE, "--memory"],
                          env=here.environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as job:
        assert eventually(lambda: any(x.startswith("enable") for x in here.arguments()))
        job.send_signal(signal.SIGKILL)
    assert eventually(lambda: here.arguments()[-1] == "end")
    assert eventually(lambda: processes().keys() <= before.keys())


def test_without_perf(tmp_path):
    result = analyze(*LOAD, "--memory", env={**os.environ, "PATH": str(tmp_path)})
    assert result.returncode == 3
    assert only(result.stderr.splitlines()).endswith(
        "--memory: perf is missing: install it (Debian: linux-perf)")


def test_every_recording_names_its_source():
    for path in pathlib.Path(MACHINES).iterdir():
        assert path.read_text().splitlines()[1].startswith("# Source: "), path
