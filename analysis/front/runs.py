# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Requests the runs of a command line from the engine, one by one, and reports them. A grid reports its records when
all runs have ended; a sweep (sweep.py) also keeps each record in a folder.
"""

import collections
import importlib
import os

from analysis.faults import FAILED, FOUND, SYSTEM, USAGE, Fault
from analysis.front.channel import INTERRUPTED
from analysis.front.output import LineFile, Stream, json_line, why
from analysis.front.plan import order, without_twins
from analysis.front.progress import Progress
from analysis.words import counted

GUESS_S = 0.5  # the assumed time that a run takes in addition to its window


def random_seed():
    return int.from_bytes(os.urandom(4), "little")


def _codes(names):
    """Returns the codes and severities of --fail-on. Raises Fault."""
    if names is None:
        return set()
    from analysis.tables.findings import BY_CODE, SEVERITIES  # imported late, because most runs do not need it
    found = set(names.split(","))
    for name in found:
        if name not in BY_CODE and name not in SEVERITIES:
            raise Fault(f"--fail-on {name}: there is no such finding: give codes of findings.md, such as ignored, or "
                        f"severities ({', '.join(SEVERITIES)})", USAGE)
    return found


def is_disturbed(record):
    return (record.get("noise") or {}).get("disturbed") is not None


class Interrupted(Exception):
    """A signal ended the runs."""


class Runs:
    """The common part of a grid and a sweep. begin: the engine's first line."""

    def __init__(self, channel, begin, complain):
        self.channel, self.begin, self.complain = channel, begin, complain
        self.cells, self.options = begin["cells"], begin["options"]
        self.live = None  # a Live; None until the first run was requested
        self.kept = None  # the Cells of the records; None until the first run was requested
        self.seed = None  # the seed of the order of runs; None: the order does not depend on a seed
        self.progress = None
        self.status = 0

    def _set_progress(self, configurations, runs, left, lines):
        # The length of an observation is not known.
        self.progress = Progress(0 if self.begin["observes"] else runs, configurations, runs - left,
                                 self.begin["cells"][0]["seconds"] + GUESS_S,
                                 not self.begin["interval"] and not self.begin["command_runs"], lines)

    @property
    def _results(self):
        from analysis.front import results  # imported late; results.py has the reason
        return results

    def _run(self, number, repeat, label, live_label, last):
        """Requests a run from the engine. Returns the run's raw line, or its failure. last: whether no other run
        follows. Raises Interrupted.
        """
        self.progress.begin(label)
        self.channel.send({"run": number, "repeat": repeat, "last": last, "seed": self.seed})
        if not self.live:
            to_stderr = self.options["json"] == "-" or self.begin["command_runs"]
            self.live = self._results.Live(Stream("stderr" if to_stderr else "stdout"))
            if self.kept is None:
                self.kept = self._results.Cells()
        self.live.begin(live_label)
        while True:
            answer = self.channel.receive(self.progress.tick)
            if answer["schema"] == INTERRUPTED:
                self.progress.clear()
                raise Interrupted
            if answer["schema"] != "sendpath.interval/1":
                self.progress.clear()
                return self._results.completed(answer)
            self.live.add(answer)


class Grid(Runs):
    """Runs with interleaved repeats: A B C A B C. If the number of repeats is the default that is enough to decide
    comparisons, all blocks except the first have a random order, and disturbed runs are made again at the end, at most
    half as many as were planned.
    """

    def __init__(self, channel, begin, complain):
        super().__init__(channel, begin, complain)
        self.reported = 0
        if begin["decides"]:
            self.seed = random_seed()
        numbers = [number for number, _ in without_twins(self.cells)]
        # (configuration, repeat) in order. The first block has the order of the command line, which reports have, too.
        self.planned = collections.deque(
            (numbers[place], repeat) for repeat in range(1, self.options["repeat"] + 1) for place in
            (range(len(numbers)) if self.seed is None or repeat == 1 else
             order(len(numbers), self.seed, repeat)))
        self.runs, self.configurations = len(self.planned), len(numbers)
        self.spare = self.runs // 2 if begin["decides"] else 0
        self.skipped = set()
        self.unmade = None  # why a run has no record
        self.held = None  # the newest record, if it is not yet written: the last record gets the comparisons
        self.fail_on = _codes(self.options["fail_on"])
        self.files = {}  # LineFiles by the option that names them
        self.trace = self.tracks = None  # the module trace and its Tracks; None without --out
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
        """Makes all runs. Returns the exit status."""
        if not self._open_files():
            return FAILED
        self._set_progress(self.configurations, self.runs, self.runs, lines=False)
        try:
            while self.planned and self._make(*self.planned.popleft()):
                pass
        except Interrupted:
            if self.runs > 1 and not self.begin["observes"]:
                self.unmade = "interrupted"
                self.complain(f"interrupted: {self.reported} of {self.progress.runs} runs stand in the result")
        finally:  # an error must not lose the record
            if self.held:
                self.held["comparisons"] = self.kept.comparisons or None
            if not self._write_held():
                self.status = FAILED
        return self.status

    def _make(self, number, repeat):
        """Makes one run. Returns whether the next run is to be made."""
        label = self.cells[number]["label"]
        if self.options["repeat"] > 1:
            label += f" #{repeat}"
        raw = self._run(number, repeat, label, label if self.runs > 1 else "", not self.planned and not self.spare)
        outcome = raw.get("outcome")
        if outcome == "skipped":
            # A load that this system cannot run is reported only once, not for each repeat.
            if number not in self.skipped:
                self.complain(f"skipped: {raw['error']}")
            self.skipped.add(number)
            self.progress.end(False, "")
            return True
        if outcome:
            self.complain(raw["error"])
            self.unmade = raw["error"]
            self.status = FAILED
            return False
        return self._conclude(raw, number, repeat)

    def _conclude(self, raw, number, repeat):
        """Reports what was measured, even by an interrupted or failed run. Returns whether to make the next run."""
        if raw["error"]:
            self.complain(raw["error"])
            self.unmade = self.unmade if raw["window"] else raw["error"]
        self.progress.end(not raw["error"], "")
        status = raw["exit_status"] if raw["error"] else 0
        if self.tracks and "timeline" in raw:
            self.tracks.add(self._results.timeline_of(raw), (raw["load"] or {}).get("variant") or "observed")
        whole = not raw["error"] and not raw["interrupted"]
        written = not raw["window"] or self._report(self._results.record_of(raw), (number, repeat) if whole else None)
        if not written:
            status = FAILED
        if self.begin["observes"]:
            status = status or raw["command_status"]
        self.status = status or self.status
        if raw["interrupted"] and not self.begin["observes"]:
            raise Interrupted
        # After these errors, the next run would fail as well.
        return written and (self.begin["observes"] or status not in (USAGE, SYSTEM))

    def _report(self, record, again):
        """Adds a record to the report and the file. again: (configuration, repeat) to plan if it was disturbed."""
        self.reported += 1
        self.kept.add(record)
        if self.spare and again and is_disturbed(record):
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
                lines = self._results.folded(self.kept)
                file.replace("".join(f"{line}\n" for line in lines).encode("ascii"))
            if option == "out" and self.kept:
                file.replace(self.trace.made(self.options["out"], self.tracks))
            file.close()
        except OSError as error:
            return self._cannot_write(option, error)
        except Fault as error:
            self.complain(str(error))
            return False
        return True

    def _found(self):
        """Returns the codes of findings that --fail-on names."""
        from analysis.findings.rules import of_records
        return {finding.code: None for cell in self.kept for finding in of_records(cell.records)
                if not self.fail_on.isdisjoint((finding.code, finding.severity))}

    def finish(self):
        """Completes the files and prints the report. Returns the exit status."""
        if self.live:
            self.live.end()
        for option, file in self.files.items():
            if not self._close(option, file):
                self.status = FAILED
        if self.text and self.reported:
            if self.unmade is not None:
                self.kept.unfinished = ": ".join(filter(None, [
                    f"{self.reported} of {counted(self.progress.runs, 'run')} {'was' if self.reported == 1 else 'were'} "
                    "made", self.unmade]))
            extent = self._results.DETAILS if self.options["details"] else self._results.REPORT
            self._results.print_report(self.kept, extent, self.text)
            if not self.text.check(self.complain):
                self.status = self.status or FAILED
        found = self._found() if self.fail_on and self.reported and not self.kept.all_failed else {}
        if found:
            self.complain(f"--fail-on: found {', '.join(found)}")
            self.status = self.status or FOUND
        return self.status
