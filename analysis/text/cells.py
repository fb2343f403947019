# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Records in cells, the repeats of one load each, and what is read of a cell."""

from itertools import chain

from analysis import judge, words
from analysis.findings import facts

from .hist import Hist, shared
from .record import at, count, frozen, number, rows, safe_text, same, string, value
from .spread import spread, total

# What is equal where variants are compared.
LOAD = "load/message_bytes", "load/connections", "load/threads", "load/fields", "load/link"
MACHINE = "host/name", "host/kernel", "host/cpu"


def cpu_per_byte(record):
    """User and system time, in seconds, of both ends for each byte received; None if not known."""
    received = value(record, "app/received_bytes")
    if received <= 0 or at(record, "app/receiver") is None:
        return None
    return (value(record, "app/user_s") + value(record, "app/system_s") +
            value(record, "app/receiver/user_s") + value(record, "app/receiver/system_s")) / received


def _repeat(record):
    """What is equal of two runs that are a pair: the repeat, and the machine that made it."""
    return value(record, "run/repeat"), frozen([at(record, path) for path in MACHINE])


def speed(record):
    serves = at(record, "serving/answers_per_s") is not None
    return number(record, "serving/answers_per_s" if serves else "app/throughput_bps")


# What cells are compared by, and whether more of it is better.
JUDGED = {"throughput": (speed, 1), "cpu": (cpu_per_byte, -1)}


class Cell:
    """The records of one load's repeats. title: "zerocopy", or "zerocopy 16K x4" where sizes or
    threads differ. reference: the cell of the same load with which others are compared: its first
    variant. comparisons: judge.comparison's objects against it by metric, see JUDGED. alone: no cell has
    its number of fields, though others have its size, threads and link.
    """

    def __init__(self, cells):
        self.cells, self.records, self.title, self.reference, self.comparisons = cells, [], "", self, {}
        self.alone = False
        self._hists = {}

    def add(self, record):
        """One that a sweep made again takes the place of the disturbed one."""
        made = [at(record, "run/seed"), at(record, "run/repeat")]
        for place, older in enumerate(self.records if made[0] is not None else ()):
            if (at(older, "noise/disturbed") is not None and
                    same([at(older, "run/seed"), at(older, "run/repeat")], made)):
                self.records[place] = record
                break
        else:
            self.records.append(record)
        self._hists = {}

    @property
    def record(self):
        """The first one: for what all repeats have in common."""
        return self.records[0]

    def at(self, path):
        return at(self.record, path)

    def rows(self, path):
        """Yields the rows of a list over all repeats."""
        for record in self.records:
            yield from rows(record, path)

    def numbers(self, path):
        """One a repeat, or None."""
        return [number(record, path) for record in self.records]

    def sum(self, path, otherwise=None):
        """The sum of a number over the repeats; what stands in for it if any lacks it."""
        found = self.numbers(path)
        return otherwise if None in found else total(found)

    def counter(self, scope, event, pmu=None):
        """The sum of a counter over the repeats, scaled; None if any lacks it. pmu None: of all."""
        found = [[number(row, "value") for row in rows(record, "counters")
                  if (string(row, "scope"), string(row, "event")) == (scope, event)
                  and pmu in (None, string(row, "pmu"))] for record in self.records]
        return None if any(None in values or not values for values in found) else total(chain(*found))

    def spread(self, path):
        """Of a number, over the repeats that have it."""
        return spread([one for one in self.numbers(path) if one is not None])

    @property
    def disturbed(self):
        """By repeat, why its run or that of the reference is left out of comparisons."""
        return {value(record, "run/repeat"): string(record, "noise/disturbed")
                for record in (*self.records, *self.reference.records)
                if at(record, "noise/disturbed") is not None}

    def against_reference(self, read, better):
        """A Sample of a number's ratios to the reference's, of pairs of undisturbed runs of the same
        repeat on one machine. read: takes a record, gives the number or None. better: 1 more of it is, -1 less.
        """
        of_reference, disturbed, logs, repeats = {}, self.disturbed, [], []
        for record in self.reference.records:
            of_reference.setdefault(_repeat(record), record)
        for record in self.records:
            repeat = value(record, "run/repeat")
            if repeat not in disturbed:
                logs += judge.ratio_logs([(read(record) or 0, read(of_reference.get(_repeat(record))) or 0)])
                repeats += [repeat] * (len(logs) - len(repeats))
        first_look = max(count(record, "run/first_look") for record in self.records)
        return judge.paired(logs, better, repeats=repeats, first_look=first_look)

    def hist(self, path):
        """A histogram over the repeats."""
        if path not in self._hists:
            self._hists[path] = Hist(*(at(record, path) for record in self.records))
        return self._hists[path]

    @property
    def wall(self):
        """Of all timed sends."""
        if None not in self._hists:
            self._hists[None] = Hist(*(at(call, "wall_ns") for call in self.rows("calls")))
        return self._hists[None]

    @property
    def lost_flags(self):
        return facts.lost_flags(self.records)

    @property
    def skipped_looks(self):
        return facts.skipped_looks(self.records)


class Cells:
    """Iterates over the cells, in the order of their first records."""

    def __init__(self):
        self._cells = {}
        self._is_named = False

    def __iter__(self):
        return iter(self._cells.values())

    def __len__(self):
        return len(self._cells)

    def add(self, record):
        """Adds a record, as json.loads gives it, to those of its cell. What it is made of is copied."""
        cell = self._cells.setdefault(string(record, "run/cell"), Cell(self))
        like = cell if cell.records else next(iter(self))
        cell.add(shared(record, like.records[0] if like.records else None))
        self._is_named = False

    def sort(self, names):
        """Orders the cells as their names are ordered there."""
        places = {safe_text(name): place for place, name in enumerate(names)}
        ordered = dict(sorted(self._cells.items(), key=lambda item: places.get(item[0], len(places))))
        self._is_named = self._is_named and list(ordered) == list(self._cells)
        self._cells = ordered

    def name(self):
        """Gives each cell its title and reference, and has them judged, once all records are there. A
        second time only if there are more of them or their order is another: judging takes long.
        """
        if self._is_named:
            return
        self._is_named = True
        loads, firsts = {}, {}
        for cell in self:
            cell.title = self._title(cell)
            loads.setdefault(frozen([cell.at(path) for path in LOAD]), []).append(cell)
        for cells in loads.values():
            for cell in cells:
                cell.reference = cells[0]
            but_fields = frozen([cells[0].at(path) for path in LOAD if path != "load/fields"])
            first = firsts.setdefault(but_fields, cells[0])
            cells[0].alone = len(cells) == 1 and cells[0] is not first
        compared = [cell for cell in self if cell is not cell.reference]
        rows = judge.rows([{path.rpartition("/")[2]: frozen(cell.at(path)) for path in LOAD} | {
            "field_size_bytes": value(cell.record, "load/message_bytes") / max(value(cell.record, "load/fields"), 1)} | {
            f"{key} {i}": frozen(one.at(f"load/{key}")) for key in ("variant", "server_model")
            for i, one in enumerate((cell, cell.reference))} for cell in compared])
        for name, (read, better) in JUDGED.items():
            found = judge.judge_rows([cell.against_reference(read, better) for cell in compared], rows)
            for cell, judgment in zip(compared, found):
                cell.comparisons[name] = judge.comparison(
                    string(cell.record, "run/cell"), string(cell.reference.record, "run/cell"), name,
                    judgment, list(cell.disturbed.values()))

    def _title(self, cell):
        record = cell.record
        if self.serving:
            title = (f"{string(record, 'load/server_model')}, "
                     f"{words.counted(value(record, 'load/connections'), 'connection')}")
        else:
            title = string(record, "load/variant") if cell.at("load") is not None else "observed"
            if self.vary("load/message_bytes"):
                title += f" {words.size(count(record, 'load/message_bytes'))}"
            if self.vary("load/threads"):
                title += f" x{value(record, 'load/threads'):.0f}"
        if self.vary("load/link"):
            title += f", {string(record, 'load/link')}"
        return title

    def runs(self):
        """Pairs of each record and its cell's title, of several repeats with the number."""
        for cell in self:
            for i, record in enumerate(cell.records, 1):
                yield record, f"{cell.title}, repeat {i}" if len(cell.records) > 1 else cell.title

    @property
    def comparisons(self):
        """All of them, as they stand in a record."""
        self.name()
        return [one for cell in self for one in cell.comparisons.values()]

    @property
    def record(self):
        """The first one: for what all runs have in common."""
        return next(iter(self)).record

    @property
    def repeats(self):
        """The most records that a cell has."""
        return max(len(cell.records) for cell in self)

    @property
    def serving(self):
        """Do these serve many connections (instead of sending messages)?"""
        return string(self.record, "load/workload") == "procinfo"

    @property
    def link(self):
        """Where the workload went: its link, or the receiver's address."""
        if self.vary("load/link"):
            return "links as listed"
        linked = at(self.record, "load/link") is not None
        return string(self.record, "load/link" if linked else "load/address")

    def vary(self, path):
        """Has a value of the loads several distinct ones?"""
        return any(not same(at(self.record, path), cell.at(path)) for cell in self)

    def sum(self, path):
        """The sum of a number over the cells of which every repeat has it."""
        return total(cell.sum(path, 0.0) for cell in self)
