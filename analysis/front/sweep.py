# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Makes the runs of a sweep. A folder keeps each run's record. A run that the folder has is not made again."""

import time

from analysis.compare import judge
from analysis.derive.record import command_line
from analysis.faults import FAILED, SYSTEM, Fault
from analysis.front import results
from analysis.front.folder import Folder
from analysis.front.output import Stream
from analysis.front.plan import budget_of, is_mine, order, seed_of, shard_of, without_twins
from analysis.front.runs import GUESS_S, Interrupted, Runs, is_disturbed, random_seed
from analysis.tables.schemas import FAILURE_SCHEMA, SCHEMA
from analysis.words import counted

AGAIN_MAX = 3  # a disturbed run is made again at most this many times
# These options change what is measured.
_MEASURING = ("tier", "events", "call_counters", "by", "by_max", "stages", "packets", "sample", "profile",
              "memory", "cost")
_HEAD = ("schema", "version", "started_s", "started_ns", "run", "host", "load")


class Sweep(Runs):
    """Runs that each add one record to the folder, or nothing if they are interrupted."""

    def __init__(self, channel, begin, complain):
        super().__init__(channel, begin, complain)
        self.shard, self.shards = shard_of(self.options["shard"])
        seed = seed_of(self.options["order_seed"])
        self.seed = random_seed() if seed is None else seed
        self.budget = budget_of(self.options["budget"])
        self.cells = without_twins(self.cells)
        self.numbers = {cell["cell"]: place for place, (_, cell) in enumerate(self.cells)}
        self.mine = {place for place, (_, cell) in enumerate(self.cells)
                     if is_mine(cell, self.shard, self.shards)}
        self.outcomes = {}  # (place, repeat) -> (measured, failed or skipped; the error or "")
        self.disturbed = {}  # (place, repeat) -> how often a disturbed run was made again
        self.failed = set()  # (place, repeat) of runs that failed when this sweep made them again
        self.deadline = float("inf")  # after it, no runs beyond the plan are made
        self.kept = results.Cells()
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
        """Returns the number of planned runs and of those that --decide made beyond the plan."""
        return self._planned() + sum(place in self.mine and repeat > self.options["repeat"]
                                     for place, repeat in self.outcomes)

    def _count(self, outcome):
        return sum(place in self.mine and found[0] == outcome for (place, _), found in self.outcomes.items())

    def _note(self, record):
        """Notes the outcome of a record of the folder. If a failed or disturbed run was made again, the later record
        counts.
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
            if is_disturbed(record):
                self.disturbed[key] = self.disturbed.get(key, -1) + 1
            else:
                self.disturbed.pop(key, None)
        elif key in self.disturbed:
            self.outcomes[key] = ("measured", "")  # the repetition failed, so the disturbed measurement counts
        else:
            self.outcomes[key] = ("skipped" if record.get("outcome") == "skipped" else "failed",
                                  record.get("error") or "")

    def make(self):
        """Makes all runs that the folder lacks. Returns the exit status."""
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
        self._set_progress(len(self.mine), runs, left, lines=True)
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
        """Makes the missing runs of a repeat at these places, until the budget is spent."""
        for place in order(len(self.cells), self.seed, repeat):
            if (place in places and (place, repeat) not in self.outcomes and
                    time.monotonic() < self.deadline):
                self._make(place, repeat)

    def _make_again(self):
        """Makes runs again that were disturbed since this sweep began."""
        for time_ in range(AGAIN_MAX):
            again = [key for key, times in self.disturbed.items() if times <= time_ and key not in self.read]
            if again and time.monotonic() < self.deadline:
                self.progress.repeats(len(again), self.deadline - time.monotonic())
            for key in again:
                if time.monotonic() < self.deadline:
                    self._make(*key)

    def _decide(self):
        """Repeats the configurations of inconclusive comparisons until all are decided or the time is over.
        judge.looks() has the numbers of repeats after which they are judged."""
        looks = judge.looks(self.options["repeat"])
        before, made, fails = 0, next(looks, 0), set()
        for look in looks:
            fails |= self._failing(range(before + 1, made + 1))
            places = self._inconclusive(fails)
            if not places or time.monotonic() >= self.deadline:
                return
            for repeat in range(1, look + 1):  # from 1, because these places may lack repeats of an earlier look
                self._make_block(places, repeat)
            self._make_again()
            before, made = made, look

    def _inconclusive(self, fails):
        """Returns the places of the configurations of inconclusive comparisons, unless one of the two is in fails."""
        self._sort()
        pairs = [{self.numbers[one[side]] for side in ("of", "against")} for one in self.kept.comparisons
                 if one["verdict"] == judge.INCONCLUSIVE]
        return set().union(*(pair for pair in pairs if not pair & fails)) & self.mine

    def _failing(self, repeats):
        """Returns the places of configurations that had runs in these repeats, none of which was measured."""
        made = [(place, outcome) for (place, repeat), (outcome, _) in self.outcomes.items() if repeat in repeats]
        return {place for place, _ in made} - {place for place, outcome in made if outcome == "measured"}

    def _sort(self):
        """Sorts the cells of the report in the order of the plan."""
        self.kept.sort([cell["cell"] for _, cell in self.cells])

    def _make(self, place, repeat):
        number, cell = self.cells[place]
        label = f"{cell['label']} #{repeat}"
        self.progress.runs = max(self.progress.runs, self.progress.done + 1)
        # The last run may have to be made again, unless the budget is 0.
        last = self.progress.runs == self.progress.done + 1 and self.budget == 0
        raw = self._run(number, repeat, label, label, last)
        error = raw["error"]
        if raw.get("interrupted"):
            raise Interrupted
        if not error:
            self.progress.end(True, _done_word(raw["app"]))
            self.failed.discard((place, repeat))
            record = results.record_of(raw)
            record["run"]["first_look"] = self.options["repeat"] if self.options["decide"] else None
            self._keep(record)
            return
        skipped = raw.get("outcome") == "skipped" or raw.get("exit_status") == SYSTEM
        if not skipped:
            self.complain(f"{label}: {error}")
            if (place, repeat) in self.disturbed:
                self.failed.add((place, repeat))
        elif not any(found[0] == "skipped" for key, found in self.outcomes.items() if key[0] == place):
            self.complain(f"skipped: {error}")  # printed once for all repeats
        outcome = "skipped" if skipped else "failed"
        self.progress.end(False, outcome)
        self._keep(results.record_of({**{key: raw[key] for key in _HEAD}, "outcome": outcome, "error": error}))

    def _keep(self, record):
        self.folder.add(record)
        self._note(record)

    def finish(self):
        """Prints the report of all runs in the folder, also of earlier sweeps. Returns the exit status."""
        if not self.progress:  # the folder could not be opened and read
            return self.status
        out = Stream("stdout")
        measured, failed, skipped = map(self._count, ("measured", "failed", "skipped"))
        runs = self._runs()
        missing = [f"{measured + failed + skipped:,} of {counted(runs, 'run')} were made; the same command goes on from "
                   "here"] if measured + failed + skipped < runs else []
        if failed:
            missing.append(f"{failed:,} of {counted(runs, 'run')} failed; --retry repeats them")
        self.kept.unfinished = "; ".join(missing)
        self._sort()
        if len(self.kept) and not self.status:  # if writing a record failed, this would fail, too
            self._keep_comparisons()
        results.print_report(self.kept, results.SUMMARY, out, self._failures() + (
            f"{measured:,} of {counted(runs, 'run')} measured, {failed} failed, {skipped} skipped; order seed "
            f"{self.seed}; records in {self.folder.name}\n") + self._what_is_open())
        status = FAILED if failed or self.failed else SYSTEM if skipped and not measured else 0
        if not out.check(self.complain):
            status = status or FAILED
        return self.status or status

    def _what_is_open(self):
        """Returns the counts of verdicts, and for each kind of unfinished run a line with its remedy."""
        text, found = "", [one["verdict"] for one in self.kept.comparisons]
        if found:
            counts = ", ".join(f"{found.count(verdict)} {verdict}" for verdict in judge.SIGNS)
            text += f"{counted(len(found), 'comparison')} (throughput and CPU time per byte): {counts}\n"
        if judge.INCONCLUSIVE in found and not self.options["decide"]:
            text += "inconclusive: the same command with --decide repeats these until they are decided\n"
        elif judge.INCONCLUSIVE in found:
            more = "--retry and " * bool(self._count("failed"))
            text += f"inconclusive: the same command with {more}a larger --budget goes on\n"
        if self.disturbed:
            text += (f"{counted(len(self.disturbed), 'run')} on a busy machine in no comparison: the same command with "
                     "--retry repeats them\n")
        return text

    def _keep_comparisons(self):
        try:
            self.folder.write_comparisons(self.kept.comparisons)
        except Fault as error:
            self.complain(str(error))
            self.status = FAILED

    def _failures(self):
        """Returns a line for the failed runs of each configuration, and one for the skipped runs."""
        text = ""
        for place, (_, cell) in enumerate(self.cells):
            made = [found for (at, _), found in sorted(self.outcomes.items()) if at == place]
            for outcome in "failed", "skipped":
                errors = [error for found, error in made if found == outcome]
                if errors:
                    text += f"{outcome}: {cell['cell']}, {len(errors)} of {counted(len(made), 'run')}: {errors[0]}\n"
        return text


def _done_word(app):
    if "serving" in app and app["serving"]:
        return f"{app['serving']['answers_per_s']:.0f} requests/s"
    if app.get("throughput_bps") is not None:
        return f"{app['throughput_bps'] / 1e9:.2f} Gbit/s"
    return "done"
