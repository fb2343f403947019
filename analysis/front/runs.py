# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The runs of a command line, asked of the engine one by one, and what becomes of each.

A grid reports records when all runs are over; a sweep keeps each in a folder, and what the folder has
is not run again.
"""

import collections
import importlib
import os
import time

from analysis import judge
from analysis.faults import FAILED, FOUND, SYSTEM, USAGE, Fault
from analysis.front.output import LineFile, Stream, json_line, why
from analysis.front.plan import budget_of, is_mine, order, seed_of, shard_of, without_twins
from analysis.front.progress import Progress
from analysis.tables.renamed import FAILURE_SCHEMA, SCHEMA

GUESS_S = 0.5  # of a run beside its window
AGAIN_MAX = 3  # times that a disturbed run is made again
# What of the options changes what is measured.
_MEASURING = ("tier", "events", "call_counters", "by", "by_max", "stages", "packets", "sample", "profile",
              "memory", "cost")
_HEAD = ("schema", "version", "started_s", "started_ns", "run", "host", "load")


def _import_reports():
    """What records and reports are made with: of a first run, while the engine loads its programs."""
    global Cells, DETAILS, Live, REPORT, Run, SUMMARY, Timeline, command_line, completed, counted, folded, \
        lay_out, record_of, report
    from analysis.derive.record import command_line, record_of
    from analysis.derive.run import Run
    from analysis.derive.timeline import Timeline
    from analysis.front.host import completed
    from analysis.front.live import Live
    from analysis.text.cells import Cells
    from analysis.text.layout import lay_out
    from analysis.text.profile import folded
    from analysis.text.report import DETAILS, REPORT, SUMMARY, report
    from analysis.text.units import counted


def _random_seed():
    return int.from_bytes(os.urandom(4), "little")


def _codes(names):
    """The codes and severities of --fail-on. Raises Fault."""
    if names is None:
        return set()
    from analysis.tables.findings import BY_CODE, SEVERITIES  # imported late: most runs do not need it
    found = set(names.split(","))
    for name in found:
        if name not in BY_CODE and name not in SEVERITIES:
            raise Fault(f"--fail-on {name}: there is no such finding: give codes of findings.md, such as ignored, or "
                        f"severities ({', '.join(SEVERITIES)})", USAGE)
    return found


def _is_disturbed(record):
    return (record.get("noise") or {}).get("disturbed") is not None


class Interrupted(Exception):
    """A signal ended the runs."""


class _Runs:
    """What a grid and a sweep have in common. begin: the engine's first line."""

    def __init__(self, channel, begin, complain):
        self.channel, self.begin, self.complain = channel, begin, complain
        self.cells, self.options = begin["cells"], begin["options"]
        self.live = None  # until a run was asked for
        self.kept = None  # Cells of the records, likewise
        self.seed = None  # of their order; None: that of the options
        self.progress = None
        self.status = 0

    def _set_progress(self, runs, left, lines):
        # Nobody knows how long an observation takes.
        self.progress = Progress(0 if self.begin["observes"] else runs, runs - left,
                                 self.begin["cells"][0]["seconds"] + GUESS_S,
                                 not self.begin["interval"] and not self.begin["command_runs"], lines)

    def _run(self, number, repeat, label, live_label, last):
        """The engine's answer to a request for a run. last: no other will follow. Raises Interrupted."""
        self.progress.begin(label)
        self.channel.say({"run": number, "repeat": repeat, "last": last, "seed": self.seed})
        if not self.live:
            _import_reports()
            to_stderr = self.options["json"] == "-" or self.begin["command_runs"]
            self.live = Live(Stream("stderr" if to_stderr else "stdout"))
            if self.kept is None:
                self.kept = Cells()
        self.live.begin(live_label)
        while True:
            said = self.channel.hear(self.progress.tick)
            if said["schema"] == "sendpath.interrupted/1":
                self.progress.clear()
                raise Interrupted
            if said["schema"] != "sendpath.interval/1":
                self.progress.clear()
                return completed(said)
            self.live.add(said)

    def _print(self, cells, extent, stream):
        stream.write(lay_out(report(cells, extent), stream.colour()))


class Grid(_Runs):
    """Repeats are interleaved: A B C A B C. Where their number is the one that decides comparisons, blocks
    after the first have a random order, and disturbed runs are made again at the end, at most half as
    many as were planned.
    """

    def __init__(self, channel, begin, complain):
        super().__init__(channel, begin, complain)
        self.reported = 0
        if begin["decides"]:
            self.seed = _random_seed()
        numbers = [number for number, _ in without_twins(self.cells)]
        # Numbers of configurations and repeats, in order. The first block names the configurations.
        self.planned = collections.deque(
            (numbers[place], repeat) for repeat in range(1, self.options["repeat"] + 1) for place in
            (range(len(numbers)) if self.seed is None or repeat == 1 else
             order(len(numbers), self.seed, repeat)))
        self.runs = len(self.planned)
        self.spare = self.runs // 2 if begin["decides"] else 0
        self.skipped = set()
        self.held = None  # the latest record of several configurations: of the last one are the comparisons
        self.fail_on = _codes(self.options["fail_on"])
        self.files = {}  # by the option that names them
        self.trace = self.tracks = None  # of --out
        self.text = Stream("stderr" if begin["command_runs"] else "stdout")
        if "-" in (self.options["json"], self.options["folded"]):
            self.text = None

    def _cannot_write(self, option, error, remedy=""):
        self.complain(f"--{option}: cannot write {self.options[option]}: {why(error)}{remedy}")
        return False

    def _open_files(self):
        for option in "json", "folded", "out":
            try:
                if self.options[option] is not None:
                    self.files[option] = LineFile(self.options[option])
            except OSError as error:
                return self._cannot_write(option, error, "; name a file that can be written" +
                                          (", or -" if option != "out" else ""))
        if "out" in self.files:
            self.trace = importlib.import_module("analysis.front.trace")
            self.trace.check(self.options["out"])
            self.tracks = self.trace.Tracks()
        return True

    def make(self):
        """All runs. The exit status."""
        if not self._open_files():
            return FAILED
        self._set_progress(self.runs, self.runs, lines=False)
        try:
            while self.planned and self._make(*self.planned.popleft()):
                pass
        except Interrupted:
            if self.runs > 1 and not self.begin["observes"]:
                self.complain(f"interrupted: {self.reported} of {self.progress.runs} runs stand in the result")
        finally:  # however it ended
            if self.held:
                self.held["comparisons"] = self.kept.comparisons or None
            if not self._write_held():
                self.status = FAILED
        return self.status

    def _make(self, number, repeat):
        """One run. False: no others are to be made."""
        label = self.cells[number]["label"]
        if self.options["repeat"] > 1:
            label += f" #{repeat}"
        said = self._run(number, repeat, label, label if self.runs > 1 else "", not self.planned and not self.spare)
        outcome = said.get("outcome")
        if outcome == "skipped":
            # What this system cannot do is said once.
            if number not in self.skipped:
                self.complain(f"skipped: {said['error']}")
            self.skipped.add(number)
            self.progress.end(False, "")
            return True
        if outcome:
            self.complain(said["error"])
            self.status = FAILED
            return False
        return self._conclude(said, number, repeat)

    def _conclude(self, raw, number, repeat):
        """What was measured is reported, be it interrupted or failed."""
        if raw["error"]:
            self.complain(raw["error"])
        self.progress.end(not raw["error"], "")
        status = raw["exit_status"] if raw["error"] else 0
        if self.tracks and "timeline" in raw:
            self.tracks.add(Timeline(Run(raw)), (raw["load"] or {}).get("variant") or "observed")
        whole = not raw["error"] and not raw["interrupted"]
        written = not raw["window"] or self._report(record_of(raw), (number, repeat) if whole else None)
        if not written:
            status = FAILED
        if self.begin["observes"]:
            status = status or raw["command_status"]
        self.status = status or self.status
        if raw["interrupted"] and not self.begin["observes"]:
            raise Interrupted
        # What this system cannot do the next run would not either.
        return written and (self.begin["observes"] or status not in (USAGE, SYSTEM))

    def _report(self, record, again):
        """again: what is made again if it was disturbed; None: it is not."""
        self.reported += 1
        self.kept.add(record)
        if self.spare and again and _is_disturbed(record):
            self.spare -= 1
            self.planned.append(again)
            self.progress.runs += 1
        if "json" not in self.files:
            return True
        if not self._write_held():
            return False
        self.held = record
        return len(self.kept) > 1 or self._write_held()

    def _write_held(self):
        record, self.held = self.held, None
        try:
            if record:
                self.files["json"].add(json_line(record))
        except OSError as error:
            return self._cannot_write("json", error)
        return True

    def _close(self, option, file):
        try:
            if option == "folded" and self.reported:
                self.kept.name()
                lines = folded(self.kept)
                file.replace("".join(f"{line}\n" for line in lines).encode("ascii"))
            if option == "out" and self.kept:
                file.replace(self.trace.made(self.options["out"], self.tracks))
            file.close()
        except OSError as error:
            return self._cannot_write(option, error)
        return True

    def _found(self):
        """The codes of --fail-on that the report has."""
        from analysis.findings.rules import of_records
        return {finding.code: None for cell in self.kept for finding in of_records(cell.records)
                if not self.fail_on.isdisjoint((finding.code, finding.severity))}

    def finish(self):
        """Reports. The exit status."""
        if self.live:
            self.live.end()
        for option, file in self.files.items():
            if not self._close(option, file):
                self.status = FAILED
        if self.text and self.reported:
            self._print(self.kept, DETAILS if self.options["details"] else REPORT, self.text)
            if not self.text.check(self.complain):
                self.status = self.status or FAILED
        found = self._found() if self.fail_on and self.reported else {}
        if found:
            self.complain(f"--fail-on: found {', '.join(found)}")
            self.status = self.status or FOUND
        return self.status


class Sweep(_Runs):
    """Each run ends as a record in the folder, or not at all."""

    def __init__(self, channel, begin, complain):
        super().__init__(channel, begin, complain)
        _import_reports()
        from analysis.front.folder import Folder  # imported late: a grid has none
        self.shard, self.shards = shard_of(self.options["shard"])
        seed = seed_of(self.options["order_seed"])
        self.seed = _random_seed() if seed is None else seed
        self.budget = budget_of(self.options["budget"])
        self.cells = without_twins(self.cells)
        self.numbers = {cell["cell"]: place for place, (_, cell) in enumerate(self.cells)}
        self.mine = {place for place, (_, cell) in enumerate(self.cells)
                     if is_mine(cell, self.shard, self.shards)}
        self.outcomes = {}  # (place, repeat) -> "measured", or failed, skipped and the error
        self.disturbed = {}  # of these why, and how often each was made again
        self.failed = set()  # of these, what failed in this sweep as it was made again
        self.deadline = float("inf")  # of runs beyond the plan
        self.kept = Cells()
        self.foreign = self.twice = self.elsewhere = 0
        self.folder = Folder(self.options["out"], complain)

    def _plan(self):
        return {"schema": "sendpath.plan/1", "version": self.begin["version"],
                "command": command_line(self.begin["command"]), "grid": self.options["grid"],
                "order_seed": self.seed, "repeat": self.options["repeat"],
                "shards": self.shards, "measuring": {key: self.options[key] for key in _MEASURING},
                "cells": [{key: cell[key] for key in ("cell", "group", "load")} for _, cell in self.cells]}

    def _planned(self):
        return len(self.mine) * self.options["repeat"]

    def _runs(self):
        """Those that are planned, and those that --decide made beyond them."""
        return self._planned() + sum(place in self.mine and repeat > self.options["repeat"]
                                     for place, repeat in self.outcomes)

    def _count(self, outcome):
        return sum(place in self.mine and found[0] == outcome for (place, _), found in self.outcomes.items())

    def _note(self, record):
        """What a record of the folder says of a run. What failed or was disturbed can be run again: the
        later word holds.
        """
        run = record["run"]
        key = self.numbers.get(run["cell"]), run["repeat"]
        measured = record["schema"] == SCHEMA
        if (key[0] is None or not 1 <= key[1] <= judge.MOST_REPEATS
                or not (measured or record["schema"] == FAILURE_SCHEMA)):
            self.foreign += 1
        elif self.outcomes.get(key, ("",))[0] == "measured" and key not in self.disturbed:
            self.twice += 1
        elif measured:
            self.outcomes[key] = ("measured", "")
            self.kept.add(record)
            if _is_disturbed(record):
                self.disturbed[key] = self.disturbed.get(key, -1) + 1
            else:
                self.disturbed.pop(key, None)
        elif key in self.disturbed:
            self.outcomes[key] = ("measured", "")  # what it came to before stands
        else:
            self.outcomes[key] = ("skipped" if record.get("outcome") == "skipped" else "failed",
                                  record.get("error") or "")

    def make(self):
        """All runs that are open. The exit status."""
        try:
            self.seed = self.folder.open(self._plan(), self.options["order_seed"] is not None,
                                         self.shard, self.shards)
            self._read()
            self._make_all()
        except Interrupted:
            pass
        except Fault as error:
            self.complain(str(error))
            self.status = error.status
        return self.status

    def _read(self):
        for record in self.folder.records():
            self._note(record)
            self.elsewhere += any(record["host"].get(key) != self.begin[of] for key, of in (
                ("name", "host"), ("kernel", "kernel")))
        if self.options["retry"]:
            self.outcomes = {key: found for key, found in self.outcomes.items()
                             if found[0] == "measured" and key not in self.disturbed}
        self.read = set(self.outcomes)
        runs = self._runs()
        left = runs - sum(map(self._count, ("measured", "failed", "skipped")))
        self._set_progress(runs, left, lines=True)
        name = self.folder.name
        if self.foreign:
            self.complain(f"{name} has {counted(self.foreign, 'record')} of no run of this plan: left alone")
        if self.twice:
            self.complain(f"{name} has {counted(self.twice, 'run')} twice: the first of each counts")
        if self.elsewhere:
            self.complain(f"{name} has {counted(self.elsewhere, 'run')} of another machine or kernel than this, "
                          f"{self.begin['host']} with Linux {self.begin['kernel']}: left in place; only runs of one "
                          "machine and kernel are compared")
        if 0 < left < runs:
            self.complain(f"going on: {runs - left} of {runs} runs are in {name}")

    def _make_all(self):
        begun = time.monotonic()
        for repeat in range(1, self.options["repeat"] + 1):
            self._make_block(self.mine, repeat)
        now = time.monotonic()
        guess = self._planned() * (self.begin["cells"][0]["seconds"] + GUESS_S)
        self.deadline = now + (max(now - begun, guess) if self.budget is None else self.budget)
        self._make_again()
        if self.options["decide"]:
            self._decide()

    def _make_block(self, places, repeat):
        """Of these the open ones, until the budget is spent."""
        for place in order(len(self.cells), self.seed, repeat):
            if (place in places and (place, repeat) not in self.outcomes and
                    time.monotonic() < self.deadline):
                self._make(place, repeat)

    def _make_again(self):
        """What was disturbed since this sweep began."""
        for time_ in range(AGAIN_MAX):
            again = [key for key, times in self.disturbed.items() if times <= time_ and key not in self.read]
            for key in again:
                if time.monotonic() < self.deadline:
                    self._make(*key)

    def _decide(self):
        """Repeats what is inconclusive, for one look after the other."""
        looks = judge.looks(self.options["repeat"])
        before, made, fails = 0, next(looks, 0), set()
        for look in looks:
            fails |= self._failing(range(before + 1, made + 1))
            places = self._inconclusive(fails)
            if not places or time.monotonic() >= self.deadline:
                return
            for repeat in range(1, look + 1):  # an earlier look may have left these out
                self._make_block(places, repeat)
            self._make_again()
            before, made = made, look

    def _inconclusive(self, fails):
        """The places of configurations that a comparison without a verdict is of, if neither fails."""
        self._sort()
        pairs = [{self.numbers[one[side]] for side in ("of", "against")} for one in self.kept.comparisons
                 if one["verdict"] == judge.INCONCLUSIVE]
        return set().union(*(pair for pair in pairs if not pair & fails)) & self.mine

    def _failing(self, repeats):
        """The places of configurations of which some of these repeats were made, and none was measured."""
        made = [(place, outcome) for (place, repeat), (outcome, _) in self.outcomes.items() if repeat in repeats]
        return {place for place, _ in made} - {place for place, outcome in made if outcome == "measured"}

    def _sort(self):
        """The cells as they are planned."""
        self.kept.sort([cell["cell"] for _, cell in self.cells])

    def _make(self, place, repeat):
        number, cell = self.cells[place]
        label = f"{cell['label']} #{repeat}"
        self.progress.runs = max(self.progress.runs, self.progress.done + 1)
        # It may have to be made again itself, unless there is no time for that.
        last = self.progress.runs == self.progress.done + 1 and self.budget == 0
        said = self._run(number, repeat, label, label, last)
        error = said["error"]
        if said.get("interrupted"):
            raise Interrupted
        if not error:
            self.progress.end(True, _done_word(said["app"]))
            self.failed.discard((place, repeat))
            record = record_of(said)
            record["run"]["first_look"] = self.options["repeat"] if self.options["decide"] else None
            self._keep(record)
            return
        skipped = said.get("outcome") == "skipped" or said.get("exit_status") == SYSTEM
        if not skipped:
            self.complain(f"{label}: {error}")
            if (place, repeat) in self.disturbed:
                self.failed.add((place, repeat))
        elif not any(found[0] == "skipped" for key, found in self.outcomes.items() if key[0] == place):
            self.complain(f"skipped: {error}")  # once, however many repeats there are
        outcome = "skipped" if skipped else "failed"
        self.progress.end(False, outcome)
        self._keep(record_of({**{key: said[key] for key in _HEAD}, "outcome": outcome, "error": error}))

    def _keep(self, record):
        self.folder.add(record)
        self._note(record)

    def finish(self):
        """Prints what stands in the folder, whoever ran it. The exit status."""
        if not self.progress:  # the folder could not be opened and read
            return self.status
        out = Stream("stdout")
        if len(self.kept):
            self._sort()
            self._print(self.kept, SUMMARY, out)
            if not self.status:  # a folder that refused a record takes no more
                self._keep_comparisons()
        for place, (_, cell) in enumerate(self.cells):
            for outcome in "failed", "skipped":
                self._print_failures(place, cell, outcome, out)
        measured, failed, skipped = map(self._count, ("measured", "failed", "skipped"))
        runs = self._runs()
        out.write(f"{measured:,} of {counted(runs, 'run')} measured, {failed} failed, {skipped} skipped; order seed "
                  f"{self.seed}; records in {self.folder.name}\n")
        if measured + failed + skipped < runs:
            out.write("not done: the same command goes on from here\n")
        out.write(self._what_is_open())
        status = FAILED if failed or self.failed else SYSTEM if skipped and not measured else 0
        if not out.check(self.complain):
            status = status or FAILED
        return self.status or status

    def _what_is_open(self):
        """Lines with the remedy."""
        text, found = "", [one["verdict"] for one in self.kept.comparisons]
        if found:
            counts = ", ".join(f"{found.count(verdict)} {verdict}" for verdict in judge.SIGNS)
            text += f"{counted(len(found), 'comparison')}: {counts}\n"
        if judge.INCONCLUSIVE in found and not self.options["decide"]:
            text += "inconclusive: the same command with --decide repeats these until they are decided\n"
        elif judge.INCONCLUSIVE in found:
            more = "--retry and " * bool(self._count("failed"))
            text += f"inconclusive: the same command with {more}a larger --budget goes on\n"
        if self.disturbed:
            text += (f"{counted(len(self.disturbed), 'disturbed run')} left out of comparisons: the same command "
                     "with --retry repeats what was disturbed\n")
        return text

    def _keep_comparisons(self):
        try:
            self.folder.write_comparisons(self.kept.comparisons)
        except Fault as error:
            self.complain(str(error))
            self.status = FAILED

    def _print_failures(self, place, cell, outcome, out):
        """One line for all repeats that came to the same."""
        made = [found for (at, _), found in sorted(self.outcomes.items()) if at == place]
        errors = [error for found, error in made if found == outcome]
        if errors:
            out.write(f"{outcome}: {cell['cell']}, {len(errors)} of {counted(len(made), 'run')}: {errors[0]}\n")


def _done_word(app):
    if "serving" in app and app["serving"]:
        return f"{app['serving']['answers_per_s']:.0f} requests/s"
    if app.get("throughput_bps") is not None:
        return f"{app['throughput_bps'] / 1e9:.2f} Gbit/s"
    return "done"
