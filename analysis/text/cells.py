# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Groups records into cells, and reads the numbers of a cell. A cell has the repeats of one load."""

from itertools import chain

from analysis import words
from analysis.compare import judge, pairs, settings
from analysis.tables.variants import in_order

from .hist import Hist, shared
from .record import at, count, frozen, members, number, rows, safe_text, same, string, value, warning
from .spread import spread, total


def cpu_per_byte(record):
    """Returns the user and system time of both ends for each byte received, in seconds; None if not known."""
    received = value(record, "app/received_bytes")
    if received <= 0 or at(record, "app/receiver") is None:
        return None
    return (value(record, "app/user_s") + value(record, "app/system_s") +
            value(record, "app/receiver/user_s") + value(record, "app/receiver/system_s")) / received


def speed(record):
    serves = at(record, "serving/answers_per_s") is not None
    return number(record, "serving/answers_per_s" if serves else "app/throughput_bps")


# Cells are compared by these metrics. 1: more is better; -1: less is better.
JUDGED = {"throughput": (speed, 1), "cpu": (cpu_per_byte, -1)}

SETTINGS = (*settings.MACHINE, *settings.LOAD)
NAMES = settings.columns(SETTINGS)
FIELDS = NAMES.index("fields")
WHOLE = {"cpus", "connections", "message_bytes", "fields", "threads", "inflight", "working_set_bytes"}


def configuration_of(record):
    """Returns the values of SETTINGS. Each can be hashed, and is safe to print."""
    def read(column, path):
        found = at(record, path)
        if column in WHOLE or column == "duration_s":
            known = number(record, path)
            return known if known is None or column == "duration_s" else count(record, path)
        return None if found is None else safe_text(str(found))

    def of_memory(key):
        return string(record, f"load/{key}") if key == "file_dir" else at(record, f"load/{key}")

    others = {"address_family": settings.address_family(string(record, "load/address")),
              "socket_options": settings.socket_options(members(record, "load/socket")),
              "memory_options": settings.memory_options(of_memory),
              "pinned": bool(at(record, "load/pinning/sender"))}
    others = {column: safe_text(value) if isinstance(value, str) else value for column, value in others.items()}
    return tuple(read(one.column, one.path) if one.path else others[one.column] for one in SETTINGS)


def way_of(record):
    """Returns the value in which compared loads differ: the server model (workload procinfo) or the variant."""
    return string(record, "load/server_model" if string(record, "load/workload") == "procinfo" else "load/variant")


FAILED = "load_failed"  # the code of the warning that a load failed, so that its numbers do not show its speed


def _identity(record):
    """Returns a value that is equal for a disturbed run and its repetitions; None for runs without a seeded order."""
    seed = at(record, "run/seed")
    return None if seed is None else frozen([seed, at(record, "run/repeat")])


class Cell:
    """The records of one load's repeats. title: "zerocopy", or "zerocopy 16K x4" if sizes or threads differ.
    reference: the cell of this configuration whose variant is first in tables/variants.py. comparisons: by metric,
    the objects of judge.comparison() against the reference. alone: whether no other cell has this configuration, but
    other cells differ from it only in the number of fields.
    """

    def __init__(self, cells):
        self.cells, self.title, self.reference, self.comparisons = cells, "", self, {}
        self.added = []  # all added records, from which the property `records` removes superseded ones
        self._is_settled = True
        self.alone = False
        self.configuration = ()  # values of SETTINGS
        self.way = None  # variant or server model
        self.compared = {}  # the pairs.Comparison against the reference, by metric (see JUDGED)
        self._hists = {}

    def add(self, record):
        self.added.append(record)
        self._is_settled = False
        self._hists = {}

    @property
    def records(self):
        """Returns the added records that no later record superseded. Finds them only here, so that the time of add()
        does not grow with the number of records.
        """
        if not self._is_settled:
            left_out = pairs.superseded((_identity(one), at(one, "noise/disturbed") is not None) for one in self.added)
            self.added = [one for one, is_left_out in zip(self.added, left_out) if not is_left_out]
            self._is_settled = True
        return self.added

    @property
    def record(self):
        """Returns the first record, for values that all repeats have in common."""
        return self.records[0]

    def at(self, path):
        return at(self.record, path)

    def rows(self, path):
        """Yields the rows of a list over all repeats."""
        for record in self.records:
            yield from rows(record, path)

    def numbers(self, path):
        """Returns a number of each repeat; None for a repeat without it."""
        return [number(record, path) for record in self.records]

    def sum(self, path, otherwise=None):
        """Returns the sum of a number over the repeats, or `otherwise` if a repeat lacks the number."""
        found = self.numbers(path)
        return otherwise if None in found else total(found)

    def counter(self, scope, event, pmu=None):
        """Returns the sum of a counter, scaled, over the repeats; None if a repeat lacks it. pmu: None for all PMUs."""
        found = [[number(row, "value") for row in rows(record, "counters")
                  if (string(row, "scope"), string(row, "event")) == (scope, event)
                  and pmu in (None, string(row, "pmu"))] for record in self.records]
        return None if any(None in values or not values for values in found) else total(chain(*found))

    def spread(self, path):
        """Returns the Spread of a number over the repeats that have it."""
        return spread([one for one in self.numbers(path) if one is not None])

    @property
    def disturbed(self):
        """Returns {repeat: why its run, or the reference's run, is left out of comparisons}."""
        return {value(record, "run/repeat"): string(record, "noise/disturbed")
                for record in (*self.records, *self.reference.records)
                if at(record, "noise/disturbed") is not None}

    def runs(self, read):
        """Yields the runs for pairs.compare(). read: returns the compared number of a record, or None."""
        for record in self.records:
            yield pairs.Run(self.configuration, self.way, count(record, "run/repeat"), str(at(record, "run/seed")),
                            at(record, "noise/disturbed") is not None, count(record, "run/first_look"), read(record))

    def hist(self, path):
        """Returns the Hist of a histogram over the repeats."""
        if path not in self._hists:
            self._hists[path] = Hist(*(at(record, path) for record in self.records))
        return self._hists[path]

    @property
    def wall(self):
        """Returns the Hist of all timed sends, in ns."""
        if None not in self._hists:
            self._hists[None] = Hist(*(at(call, "wall_ns") for call in self.rows("calls")))
        return self._hists[None]


class Cells:
    """The cells of all records, iterated in the order in which their first records were added. Cells of failed runs are
    iterated only if there are no others. unfinished: which planned runs are missing, in words.
    """

    def __init__(self):
        self._cells, self._failed = {}, {}
        self._is_named = False
        self.unfinished = ""

    def __iter__(self):
        return iter((self._cells or self._failed).values())

    def __len__(self):
        return len(self._cells or self._failed)

    @property
    def failed(self):
        """Returns the records of failed runs."""
        return [record for cell in self._failed.values() for record in cell.added]

    @property
    def all_failed(self):
        return not self._cells

    def add(self, record):
        """Adds a copy of a record, as json.loads returns it, to its cell."""
        configuration = configuration_of(record)
        cells = self._cells if warning(record, FAILED) is None else self._failed
        cell = cells.setdefault((string(record, "run/cell"), configuration), Cell(self))
        cell.configuration, cell.way = configuration, way_of(record)
        like = cell if cell.added else next(iter(self))
        cell.add(shared(record, like.added[0] if like.added else None))
        self._is_named = False

    def sort(self, names):
        """Orders the cells by the place of their run/cell in names."""
        places = {safe_text(name): place for place, name in enumerate(names)}
        ordered = dict(sorted(self._cells.items(), key=lambda item: places.get(item[0][0], len(places))))
        self._is_named = self._is_named and list(ordered) == list(self._cells)
        self._cells = ordered

    def name(self):
        """Sets each cell's title, reference and comparisons. Called after all records were added. Because judging takes
        long, a second call does nothing unless records were added or the order was changed.
        """
        if self._is_named:
            return
        self._is_named = True
        self._set_titles()
        loads, firsts = {}, {}
        for cell in self:
            cell.compared, cell.comparisons = {}, {}
            loads.setdefault(cell.configuration, []).append(cell)
        for configuration, cells in loads.items():
            of = {cell.way: cell for cell in reversed(cells)}
            reference = of[in_order(of)[0]]
            for cell in cells:
                cell.reference = reference
            first = firsts.setdefault(configuration[:FIELDS] + configuration[FIELDS + 1:], reference)
            reference.alone = len(cells) == 1 and reference is not first
        ways = dict.fromkeys((cell.way, cell.reference.way) for cell in self if cell.way != cell.reference.way)
        by_key = {(cell.configuration, cell.way): cell for cell in reversed(list(self))}
        for metric, (read, better) in JUDGED.items():
            found = pairs.compare(chain.from_iterable(cell.runs(read) for cell in self), NAMES, list(ways), better)
            for one in found:
                by_key[tuple(one.configuration.values()), one.a].compared[metric] = one
            for cell in self:
                if cell.way != cell.reference.way:
                    one = cell.compared.get(metric)
                    cell.comparisons[metric] = judge.comparison(
                        string(cell.record, "run/cell"), string(cell.reference.record, "run/cell"), metric,
                        one.judgment if one else judge.judge_one(judge.paired(())), list(cell.disturbed.values()))

    def _set_titles(self):
        """Sets distinct titles: appends to equal titles of several loads the settings in which the loads differ."""
        titles = {}
        for cell in self:
            cell.title = self._title(cell)
            titles.setdefault(cell.title, []).append(cell)
        for cells in titles.values():
            for cell in cells if len(cells) > 1 else ():
                others = [one.say(cell.configuration[place]) for place, one in enumerate(SETTINGS)
                          if cell.configuration[place] is not None
                          and len({other.configuration[place] for other in cells}) > 1]
                cell.title = ", ".join([cell.title, *others])

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
        """Yields each record with its cell's title, followed by the repeat's number if there are several repeats."""
        for cell in self:
            for i, record in enumerate(cell.records, 1):
                yield record, f"{cell.title}, repeat {i}" if len(cell.records) > 1 else cell.title

    @property
    def comparisons(self):
        """Returns the comparisons of all cells, in the form of a record."""
        self.name()
        return [one for cell in self for one in cell.comparisons.values()]

    @property
    def record(self):
        """Returns the first record, for values that all runs have in common."""
        return next(iter(self)).record

    @property
    def repeats(self):
        """Returns the largest number of records of a cell."""
        return max(len(cell.records) for cell in self)

    @property
    def serving(self):
        """Returns whether these loads serve many connections (instead of sending messages)."""
        return string(self.record, "load/workload") == "procinfo"

    @property
    def link(self):
        """Returns the link of the loads, or without one the receiver's address."""
        if self.vary("load/link"):
            return "links as listed"
        linked = at(self.record, "load/link") is not None
        return string(self.record, "load/link" if linked else "load/address")

    def vary(self, path):
        """Returns whether the cells differ in the value at a path."""
        return any(not same(at(self.record, path), cell.at(path)) for cell in self)

    def sum(self, path):
        """Returns the sum of a number over the cells in which every repeat has it."""
        return total(cell.sum(path, 0.0) for cell in self)
