# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests that a sweep makes each run of its plan exactly once, whatever interrupts it."""

import collections
import datetime
import fcntl
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess

import jsonschema
import pytest

from conftest import (ANALYZE, NONE, PATIENCE_S, ROOT, analyze, check, eventually, needs_bpf, on_a_terminal, only,
                      run, unwrapped)
from test_errors import descend

pytestmark = [needs_bpf, pytest.mark.usefixtures("untouched")]

# Runs attach nothing where the plan and the folder do not depend on it.
QUICK = "--budget", "0", *NONE
# Four configurations, two blocks; a run takes some tenths of a second.
TINY = "--variant", "twocopy,onecopy", "--size", "256,4K", "--messages", "50", "--repeat", "2", "--warmup", "0", *QUICK
TINY_CELLS = {f"{variant},{size}B,8f,1t" for variant in ("twocopy", "onecopy")
              for size in (256, 4096)}

_SCHEMA = json.loads((ROOT / "docs/run-record.schema.json").read_text())
_FAILURE = jsonschema.Draft202012Validator(
    {**_SCHEMA["$defs"]["failure"], "$defs": _SCHEMA["$defs"]})


def sweep(out, *args, **kwargs):
    return analyze("sweep", "--out", out, *args, **kwargs)


def lines(out, name="runs.jsonl"):
    """Returns the records of a folder, each checked against its schema."""
    path = pathlib.Path(out) / name
    got = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    for record in got:
        if record["schema"] == "sendpath.run/3":
            check(record)
        else:
            _FAILURE.validate(record)
    return got


def runs(records):
    return [(r["run"]["repeat"], r["run"]["cell"]) for r in records]


def once(records, cells=TINY_CELLS, repeats=2):
    """Asserts that each run of the plan is there exactly once."""
    count = collections.Counter(runs(records))
    assert count == {(repeat, cell): 1 for cell in cells for repeat in range(1, repeats + 1)}


def start(out, *args):
    return subprocess.Popen([ANALYZE, "sweep", "--out", str(out), *map(str, args)],
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def recorded(out, at_least):
    path = out / "runs.jsonl"
    return lambda: path.exists() and path.read_bytes().count(b"\n") >= at_least


@pytest.fixture(scope="module", name="finished_once")
def _finished_once(tmp_path_factory):
    folder = tmp_path_factory.mktemp("finished")
    result = sweep(folder, *TINY, "--order-seed", "4")
    assert result.returncode == 0, result.stderr
    once(lines(folder))
    return folder, result


@pytest.fixture(name="finished")
def _finished(finished_once, tmp_path):
    """Returns a folder with all runs of TINY, in the order of seed 4."""
    shutil.copytree(finished_once[0], tmp_path, dirs_exist_ok=True)
    return tmp_path


def generator_of(job):
    """Returns the load generator of a sweep, once there is one."""
    found = []
    assert eventually(lambda: found.extend(descend(job.pid, 1)) or found)
    return found[0]


def test_blocks_and_seed(tmp_path):
    """Every block has each configuration once; the order depends on the seed and the block."""
    orders = {}
    for name, seed in (("a", 7), ("b", 7), ("c", 8)):
        result = sweep(tmp_path / name, *TINY, "--order-seed", seed)
        assert result.returncode == 0, result.stderr
        assert f"8 of 8 runs measured, 0 failed, 0 skipped; order seed {seed};" in result.stdout
        got = lines(tmp_path / name)
        once(got)
        assert [r["run"]["repeat"] for r in got] == [1] * 4 + [2] * 4
        assert {r["run"]["seed"] for r in got} == {seed}
        assert all(r["complete"] for r in got)
        orders[name] = runs(got)
    assert orders["a"] == orders["b"] != orders["c"]


def is_left(out):
    """Returns whether the sweep has ended. After a killed engine, its processes may hold the lock for a moment."""
    with open(out / "runs.jsonl", "rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
    return True


def test_resumes_after_a_kill(tmp_path):
    with start(tmp_path, *TINY) as job:
        assert eventually(recorded(tmp_path, 3))
        job.kill()
    assert eventually(lambda: is_left(tmp_path))
    before = (tmp_path / "runs.jsonl").read_bytes()
    seed = json.loads((tmp_path / "plan.json").read_text())["order_seed"]
    # Cuts the file as a crash within a write does.
    last = before[:-1].rfind(b"\n") + 1
    (tmp_path / "runs.jsonl").write_bytes(before[:last + 100])
    result = sweep(tmp_path, *TINY)
    assert result.returncode == 0, result.stderr
    assert "ended in half a record" in result.stderr and "going on: " in result.stderr
    assert (tmp_path / "runs.jsonl.half").read_bytes() == before[last:last + 100]
    assert (tmp_path / "runs.jsonl").read_bytes().startswith(before[:last])
    got = lines(tmp_path)
    once(got)
    assert {r["run"]["seed"] for r in got} == {seed}


@pytest.mark.parametrize("kept, cut", [(0, 0), (0, 1), (1, 0), (1, 1), (1, 300), (1, -1)])
def test_resumes_wherever_it_was_cut(tmp_path, kept, cut):
    """Keeps `kept` whole lines, then `cut` bytes of the next; -1: all of that line except the newline."""
    args = ("--variant", "twocopy,null", "--messages", "10", "--repeat", "1", "--warmup", "0", *QUICK)
    assert sweep(tmp_path, *args).returncode == 0
    path = tmp_path / "runs.jsonl"
    rows = path.read_bytes().splitlines(keepends=True)
    part = rows[kept][:cut] if cut else b""
    path.write_bytes(b"".join(rows[:kept]) + part)
    result = sweep(tmp_path, *args)
    assert result.returncode == 0, result.stderr
    assert ("ended in half a record" in result.stderr) == bool(part)
    if part:
        assert (tmp_path / "runs.jsonl.half").read_bytes() == part
    assert path.read_bytes().startswith(b"".join(rows[:kept]))
    once(lines(tmp_path), {"twocopy,16384B,8f,1t", "null,16384B,8f,1t"}, 1)


def test_a_finished_sweep_runs_nothing(finished_once):
    folder, first = finished_once
    before = (folder / "runs.jsonl").read_bytes()
    again = sweep(folder, *TINY)
    assert again.returncode == 0 and again.stderr == ""
    assert again.stdout == first.stdout
    assert (folder / "runs.jsonl").read_bytes() == before


def test_interrupted(tmp_path):
    """A run in progress is not recorded, because the next sweep repeats it. The summary has the completed runs."""
    args = ("--variant", "twocopy,onecopy", "--duration", "0.5", "--repeat", "2", "--warmup", "0", *QUICK)
    with start(tmp_path, *args) as job:
        assert eventually(recorded(tmp_path, 1))
        generator_of(job)
        job.send_signal(signal.SIGINT)
        out, _ = job.communicate(timeout=PATIENCE_S)
    assert job.returncode == -signal.SIGINT
    assert out.startswith("Incomplete: ") and "the same command goes on from here" in out
    before = lines(tmp_path)
    assert 1 <= len(before) < 4
    result = sweep(tmp_path, *args)
    assert result.returncode == 0, result.stderr
    once(lines(tmp_path), {"twocopy,16384B,8f,1t", "onecopy,16384B,8f,1t"})


def test_a_failed_run_is_kept_and_reported(tmp_path):
    args = ("--variant", "twocopy,onecopy", "--duration", "0.5", "--repeat", "1", *QUICK)
    with start(tmp_path, *args) as job:
        os.kill(generator_of(job), signal.SIGKILL)
        out, err = job.communicate(timeout=PATIENCE_S)
    assert job.returncode == 1
    assert "killed by signal 9" in err and out.startswith("Incomplete: 1 of 2 runs failed; --retry repeats them.\n")
    failed = only([r for r in lines(tmp_path) if r["schema"] == "sendpath.failure/1"])
    assert failed["outcome"] == "failed" and "killed by signal 9" in failed["error"]
    assert f"failed: {failed['run']['cell']}, 1 of 1 run: " in out
    again = sweep(tmp_path, *args)
    assert again.returncode == 1 and again.stdout == out
    assert len(lines(tmp_path)) == 2
    retried = sweep(tmp_path, *args, "--retry")
    assert retried.returncode == 0 and "2 of 2 runs measured, 0 failed" in retried.stdout
    assert (1, failed["run"]["cell"]) in runs(lines(tmp_path))[2:]  # a disturbed run may be repeated, too
    assert sweep(tmp_path, *args).returncode == 0


def test_a_run_without_a_window_is_dated_by_its_beginning(tmp_path):
    begun = datetime.datetime.now(datetime.timezone.utc)
    sweep(tmp_path / "failed", "--peer", "127.0.0.1:1", "--variant", "write", "--messages", "100", "--repeat", "2",
          *QUICK)
    sweep(tmp_path / "skipped", "--socket", "congestion=nosuch", "--variant", "write", "--messages", "100", "--repeat",
          "2", *QUICK)
    made = lines(tmp_path / "failed") + lines(tmp_path / "skipped")
    assert [record["schema"] for record in made] == 4 * ["sendpath.failure/1"]
    for record in made:
        started = datetime.datetime.fromisoformat(record["started"].replace("Z", "+00:00"))
        assert begun <= started <= datetime.datetime.now(datetime.timezone.utc)
        assert record["run"]["id"].startswith(f"{int(started.timestamp())}.{started.microsecond:06}-")


def test_impossible_runs_are_skipped_with_a_message(tmp_path):
    """The client cannot have a thread for each of 1,025 connections, so all models skip this number."""
    result = sweep(tmp_path, "--workload", "procinfo", "--server-model", "all", "--connections",
                   "2,1025", "--client-model", "threaded", "--messages", "1", "--repeat", "2", *NONE)
    assert result.returncode == 0, result.stderr
    assert len([x for x in result.stderr.splitlines() if ": skipped: " in x]) == 4
    skipped = [r for r in lines(tmp_path) if r["schema"] == "sendpath.failure/1"]
    assert {(r["outcome"], r["load"]["connections"]) for r in skipped} == {("skipped", 1025)}
    assert sorted(r["load"]["server_model"] for r in skipped) == sorted(
        2 * ["iterative", "threaded", "select", "epoll"])
    assert "8 of 16 runs measured, 0 failed, 8 skipped" in result.stdout
    assert re.search(r"^skipped: procinfo,epoll,1025c,.*, 2 of 2 runs: --client-model threaded",
                     unwrapped(result.stdout), re.M)


def test_shards_are_a_partition(tmp_path):
    for shard in ("1/2", "2/2"):
        result = sweep(tmp_path, *TINY, "--shard", shard, "--order-seed", "3")
        assert result.returncode == 0, result.stderr
        assert "4 of 4 runs measured" in result.stdout
    first, second = lines(tmp_path, "runs-1-of-2.jsonl"), lines(tmp_path, "runs-2-of-2.jsonl")
    once(first + second)
    for shard in (first, second):
        assert len({r["load"]["message_bytes"] for r in shard}) == 1
        assert {r["load"]["variant"] for r in shard} == {"twocopy", "onecopy"}
    whole = sweep(tmp_path, *TINY)
    assert whole.returncode == 2 and "its N of --shard I/N is 2, not 1" in whole.stderr


@pytest.mark.parametrize("change, word", [
    (("--repeat", "1"), "--repeat is 2, not 1"), (("--order-seed", "5"), "--order-seed is 4, not 5"),
    (("--size", "1K"), "its loads are others"), (("--warmup", "0.1"), "its loads are others"),
    (("--events", "PERF_COUNT_SW_PAGE_FAULTS"), "its options of measuring are others")])
def test_another_plan_is_refused(finished_once, finished, change, word):
    made_in, _ = finished_once
    before = (finished / "runs.jsonl").read_bytes()
    result = sweep(finished, *TINY, "--order-seed", "4", *change)
    assert result.returncode == 2
    assert word in only(result.stderr.splitlines())
    assert result.stderr.endswith(" ".join(("sweep", "--out", str(made_in), *TINY,
                                            "--order-seed", "4")) + "\n")
    assert (finished / "runs.jsonl").read_bytes() == before


def test_two_in_one_folder_are_refused(tmp_path):
    with start(tmp_path, "--variant", "twocopy", "--duration", "30", *QUICK) as job:
        generator_of(job)
        result = sweep(tmp_path, "--variant", "twocopy", "--duration", "30", *QUICK)
        job.send_signal(signal.SIGTERM)
        job.communicate(timeout=PATIENCE_S)
    assert result.returncode == 1
    assert "another sweep writes to it now" in only(result.stderr.splitlines())
    assert lines(tmp_path) == []


def test_damage_in_the_middle_is_reported(finished):
    path = finished / "runs.jsonl"
    rows = path.read_text().splitlines(keepends=True)
    rows[1] = rows[1][:50] + "\n"
    foreign = json.dumps({**json.loads(rows[0]), "run": {"cell": "x", "repeat": 1}}) + "\n"
    path.write_text("".join(rows) + foreign)
    result = sweep(finished, *TINY)
    assert result.returncode == 0
    assert "line 2: no record" in result.stderr
    assert "1 record of no run of this plan" in result.stderr
    once([json.loads(x) for x in path.read_text().splitlines()
          if x not in (rows[1].strip(), foreign.strip())])


def changed(line, path, text):
    """Returns the line (JSON) with `text` as the value at a path."""
    record = json.loads(line)
    *blocks, key = path.split("/")
    place = record
    for block in blocks:
        place = place[block]
    place[key] = "CHANGED"
    return json.dumps(record).replace('"CHANGED"', text)


@pytest.mark.parametrize("path, text, word", [
    ("run/repeat", "NaN", "a number is not finite"),
    ("run/repeat", "1.5", "/run/repeat is not of type int"),
    ("run/cell", "7", "/run/cell is not of type string"),
    ("calls", "{}", "/calls is not of type array"),
    ("app", "[]", "/app is not of type object"),
    ("load", "null", "/load is not of type object"),
    ("app/throughput_bps", "Infinity", "a number is not finite")])
def test_an_invalid_record_is_reported_and_its_run_made_again(finished, path, text, word):
    file = finished / "runs.jsonl"
    rows = file.read_text().splitlines()
    rows[2] = changed(rows[2], path, text)
    file.write_text("".join(row + "\n" for row in rows))
    result = sweep(finished, *TINY)
    assert result.returncode == 0, result.stderr
    assert f"runs.jsonl, line 3: {word}: left as it is, its run is made again" in result.stderr
    once([json.loads(x) for i, x in enumerate(file.read_text().splitlines()) if i != 2])


@pytest.mark.parametrize("path, text", [
    ("app", "null"), ("calls", "null"), ("calls", "[null, {}]"), ("tcp", "null"),
    ("app/throughput_bps", '"fast"'), ("calls", '[{"wall_ns": [], "errors": 3}]'),
    ("host/kernel", '"5.4\\u001b[2J"'), ("load/variant", '"\\u001b[2Jx"')])
def test_what_was_not_measured_ends_no_summary(finished, path, text):
    file = finished / "runs.jsonl"
    file.write_text("".join(changed(x, path, text) + "\n" for x in file.read_text().splitlines()))
    result = sweep(finished, *TINY)
    assert result.returncode == 0, result.stderr
    assert "8 of 8 runs measured" in result.stdout and "\x1b" not in result.stdout + result.stderr


@pytest.mark.parametrize("make, why", [
    (os.mkfifo, "it is not a regular file"), (os.mkdir, "it is not a regular file"),
    (lambda path: os.mknod(path, 0o20600, os.makedev(1, 5)), "it is not a regular file"),
    (lambda path: path.symlink_to("/dev/null"), "it is a symbolic link")],
    ids=["fifo", "folder", "device", "link"])
@pytest.mark.parametrize("name", ["plan.json", "runs.jsonl", "runs.jsonl.half"])
def test_what_is_no_file_is_refused_at_once(finished_once, tmp_path, name, make, why):
    if name.endswith(".half"):
        shutil.copytree(finished_once[0], tmp_path, dirs_exist_ok=True)
        os.truncate(tmp_path / "runs.jsonl", 100)
    make(tmp_path / name)
    result = sweep(tmp_path, *TINY, timeout=PATIENCE_S)
    assert result.returncode == 1
    line = only(result.stderr.splitlines())
    assert name in line and (why in line or "Is a directory" in line)


def test_another_kernel_is_reported(finished):
    """After a reboot into an update, the sweep continues with a warning."""
    path = finished / "runs.jsonl"
    rows = [json.loads(x) for x in path.read_text().splitlines()]
    rows[0]["host"]["kernel"] = "5.4.0"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows[:-1]))
    result = sweep(finished, *TINY)
    assert result.returncode == 0
    assert "has 1 run of another machine or kernel than this" in result.stderr
    once(lines(finished))


def test_full_disk(tmp_path):
    """The disk has 64 KiB. Records that fit are complete, and the message has the command to continue."""
    if run("unshare", "-m", "true").returncode:
        pytest.skip("no mount namespace can be made here")
    disk = tmp_path / "disk"
    disk.mkdir()
    result = run("unshare", "-m", "sh", "-c",
                 'mount -t tmpfs -o size=64k none "$1" && "$2" sweep --out "$1/out" '
                 '--variant twocopy --messages 50 --warmup 0 --repeat 8 --mechanism none; s=$?; '
                 'cat "$1/out/runs.jsonl"; exit $s', "sh", disk, ANALYZE)
    assert result.returncode == 1
    assert "No space left on device; free some space" in result.stderr
    kept = [check(json.loads(x)) for x in result.stdout.splitlines() if x.startswith("{")]
    assert [r["run"]["repeat"] for r in kept] == list(range(1, len(kept) + 1))
    assert 0 < len(kept) < 8 and f"{len(kept)} of 8 runs measured" in result.stdout


def test_bar_on_a_terminal_only(tmp_path):
    quiet = sweep(tmp_path / "a", *TINY)
    lines_left = [x for x in quiet.stderr.splitlines() if re.match(r"\[\d/8\] .*: .*, .* s; .* left$", x)]
    assert len(lines_left) == 8 and "\x1b" not in quiet.stderr + quiet.stdout
    status, text, _ = on_a_terminal([ANALYZE, "sweep", "--out", tmp_path / "b", *TINY],
                                    stdout=subprocess.DEVNULL)
    assert status == 0
    assert re.search(rb"\r\[#{5}\.{5}\] 4/8 of 4 configurations, \d+ s left: \w+copy \w+ x1 #2: "
                     rb"\d+\.\d s\x1b\[K", text)
    assert text.endswith(b"\r\x1b[K")


@pytest.mark.parametrize("args, word", [
    ((), "--out is missing"), (("--out", "x", "--grid", "none"), "copies, sizes, servers, records"),
    (("--out", "x", "--shard", "2"), "--shard 2: give I/N"),
    (("--out", "x", "--shard", "3/2"), "--shard 3/2: give I/N"),
    (("--out", "x", "--order-seed", "-1"), "--order-seed -1: give a whole number"),
    (("--out", "x", "--json", "y"), "--json y: "), (("--out", "x", "--pid", "1"), "sweep"),
    (("--out", "x", "--interval", "1"), "--interval"),
    (("--out", "x", "--grid", "servers", "--size", "1K"), "--size does not apply to --workload procinfo")])
def test_wrong_usage(args, word):
    result = analyze("sweep", *args)
    assert result.returncode == 2
    assert word in only(result.stderr.splitlines())


def test_its_options_are_its_own():
    result = analyze("--variant", "onecopy", "--out", "x")
    assert result.returncode == 2 and "belongs to sweep" in only(result.stderr.splitlines())
