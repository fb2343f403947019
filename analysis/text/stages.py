# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Prints where the time of a send goes: bars of the CPU time, to the same scale for all loads of one message size, then
a table, with off-CPU time at its end. If no hook sees the kernel's functions, samples divide the CPU time.
"""

from analysis import words
from analysis.tables.profile import SAMPLES_LEAST
from analysis.tables.stages import STAGES

from . import table
from .calls import call_name, same_call, span_words
from .spread import half_width
from .table import DETAILED_MAX
from .record import at, count, flag, frozen, rows, string, value

BAR_WIDTH = 42
SMALL_SHARE = 0.0005  # shown() leaves out stages with a smaller share of the time in the call
ON_CPU = [stage for stage in STAGES if stage.on_cpu]
OFF_CPU = [stage for stage in STAGES if not stage.on_cpu]
BESIDE = (("zerocopy/error_queue/read_ns", "reading a notification"),
          ("zerocopy/wake_up_ns", "waking who waits for one"),
          ("receiver/copy_ns", "a copy to the receiver's memory"))


class Account:
    """Sums over the divided sends of one kind of call, in a cell's repeats. of: the sums by stage. first: the row of
    this kind in the first record's calls. counter: the number of the counter that is summed; None: time in ns is.
    samples: how many samples divided the CPU time; 0: hooks measured the stages.
    """

    def __init__(self, cell, first, counter=None):
        self.cell, self.first = cell, first
        self.title = cell.title
        if len(rows(cell.record, "calls")) > 1:
            self.title = f"{cell.title}, {call_name(first)}"
        self.sends = self.bytes = self.wall = self.cpu = 0.0
        self.of = {}
        for call in cell.rows("calls"):
            stages = at(call, "stages")
            if stages is None or not same_call(call, first):
                continue
            self.sends += value(stages, "sends")
            self.bytes += value(stages, "bytes")
            self.wall += value(stages, "wall_ns/sum")
            self.cpu += value(call, "cpu_ns/sum")
            for part in rows(stages, "parts"):
                self._add(part, counter)
        self.samples = 0
        if counter is None and "copy" not in self.of:
            self._divide_by_samples()

    def _divide_by_samples(self):
        """Divides the CPU time in proportion to the samples of each stage, unless there are too few samples."""
        found = {}
        for stack in self.cell.rows("profile/stacks"):
            if (string(stack, "syscall") == string(self.first, "syscall") and string(stack, "stage")
                    and flag(stack, "zerocopy") == flag(self.first, "zerocopy")):
                found[string(stack, "stage")] = found.get(string(stack, "stage"), 0) + count(stack, "samples")
        if sum(found.values()) >= SAMPLES_LEAST:
            self.samples = sum(found.values())
            off_cpu = {stage.name: self.of[stage.name] for stage in OFF_CPU if stage.name in self.of}
            self.of = off_cpu | {stage.name: self.cpu * found.get(stage.name, 0) / self.samples for stage in ON_CPU}

    def _add(self, part, counter):
        metrics = [at(part, "ns")] if counter is None else rows(part, "counters")[counter:counter + 1]
        for metric in metrics:
            if metric is not None:
                name = string(part, "stage")
                self.of[name] = self.of.get(name, 0.0) + value(metric, "sum")

    def per_send(self, total):
        return total / self.sends

    def texts(self, total, whole):
        """Returns the microseconds per send, and the share of whole if it is above 0. All times have the same number of
        decimals, which gives the largest time three digits, so that decimal points are aligned.
        """
        most = self.per_send(self.wall) / 1e3
        decimals = 2 if most < 10 else 1 if most < 1000 else 0
        return [words.decimal(self.per_send(total) / 1e3, decimals),
                f"{100 * total / whole:.1f} %" if whole > 0 else ""]


def collect(cells, counter=None):
    """Returns an Account for each kind of call with divided sends, for each cell."""
    found = []
    for cell in cells:
        for call in rows(cell.record, "calls"):
            if at(call, "stages") is not None:
                account = Account(cell, call, counter)
                if account.sends > 0:
                    found.append(account)
    return found


def bar(account, scale):
    """Returns the letters of a bar. Rounds the sum up to each stage's end, so that rounding errors do not add up."""
    text, total = "", 0.0
    for stage in ON_CPU if scale > 0 else ():
        total += account.per_send(account.of.get(stage.name, 0.0))
        end = int(max(min(1.0, total / scale), 0.0) * BAR_WIDTH + 0.5)
        text += stage.letter * (end - len(text))
    return text


def bars(accounts):
    """Yields a bar for each account. All bars of a message size have the scale of the longest of them."""
    width = max(len(account.title) for account in accounts)
    scales = {}
    for account in accounts:
        size = frozen(account.cell.at("load/message_bytes"))
        scales[size] = max(scales.get(size, 0.0), account.per_send(account.cpu))
    for account in accounts:
        scale = scales[frozen(account.cell.at("load/message_bytes"))]
        yield (f"  {account.title:<{width}} {words.time(account.per_send(account.cpu)):>8}  |"
               f"{bar(account, scale)}")


def shown(accounts, stages):
    """Returns the stages, except those below SMALL_SHARE in all accounts; "unaccounted" always stays."""
    return [stage for stage in stages if stage.name == "unaccounted" or
            any(account.of.get(stage.name, 0.0) > SMALL_SHARE * account.wall for account in accounts)]


def times(accounts):
    def row(label, texts):
        return [label, *(text for account in accounts for text in texts(account))]

    def of_stage(stage):
        def texts(account):
            if stage.name not in account.of:
                return "-", ""
            return account.texts(account.of[stage.name], account.cpu if stage.on_cpu else 0.0)
        return row(f"{stage.letter} {stage.words}", texts)

    return table.lines([
        row("us per send", lambda account: (account.title, "of CPU")),
        *map(of_stage, shown(accounts, ON_CPU)),
        row("on the CPU", lambda account: account.texts(account.cpu, account.cpu)),
        *map(of_stage, shown(accounts, OFF_CPU)),
        row("in the call", lambda account: account.texts(account.wall, 0.0)),
        row("ns per byte on the CPU", lambda account: (
            words.figure(account.cpu / account.bytes, 3) if account.bytes > 0 else "-", ""))])


def counted(cells, event, counter):
    """Returns the lines of an event's mean per send, by stage. counter: the event's number."""
    accounts = collect(cells, counter)

    def of_stage(stage):
        return [stage.words, *(
            words.whole(account.per_send(account.of[stage.name])) if stage.name in account.of else "-"
            for account in accounts)]
    return table.lines([[f"{event} per send", *(account.title for account in accounts)],
                        *map(of_stage, shown(accounts, ON_CPU))])


def beside(cells):
    """Yields the kernel time that sends cost outside of their calls."""
    for cell in cells:
        parts = [f"{what} {words.time(hist.mean)} ({hist.count:,} times)"
                for what, hist in ((what, cell.hist(path)) for path, what in BESIDE) if hist.count]
        if parts:
            yield f"besides, {cell.title}: {', '.join(parts)}"


def method(accounts):
    """Returns, in words, how samples divided the time, and the widest interval of a share; "" if hooks divided it."""
    sampled = [account for account in accounts if account.samples]
    if not sampled:
        return ""
    width = max(half_width(account.samples * account.of[stage.name] / account.cpu, account.samples)
                for account in sampled for stage in ON_CPU if account.cpu > 0)
    least = min(account.samples for account in sampled)
    return (f"; from at least {words.counted(least, 'sample')} ({string(sampled[0].cell.record, 'profile/event')}): "
            f"shares within {100 * width:.1f} points (95 %)")


def stages(cells):
    """Yields where the time of sends went, if the time was divided into stages."""
    accounts = collect(cells)
    if not accounts:
        return
    first = accounts[0].first
    one_in = value(first, "stages/one_in")
    yield "where the kernel time of a send goes, on the CPU" + (
        f"; of one send in {words.whole(one_in)}, chosen at random" if one_in > 1 else "")
    yield f"  {span_words(string(first, 'stages/span'))}{method(accounts)}"
    yield from bars(accounts)
    if len(cells) <= DETAILED_MAX:
        yield ""
        yield from times(accounts)
        for i, event in enumerate(rows(first, "counters/events")):
            yield ""
            yield from counted(cells, string(event, "event"), i)
        yield from beside(cells)
    else:
        # There is no table, so this line explains the letters of the bars.
        yield "  " + ", ".join(f"{stage.letter} {stage.words}" for stage in shown(accounts, ON_CPU))
