# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Prints a histogram by powers of two, in the form of bcc, for each syscall and kind of send. The percentiles are
computed from the finer buckets.
"""

from analysis import words
from analysis.derive.hist import COARSE
from analysis.tables.stages import OF_NAME

from .calls import call_name, same_call, span_words
from .hist import Hist
from .record import at, rows, string, value
from .spread import total

BAR_WIDTH = 34


def drawn(hist):
    """Yields a line for each bucket of a Hist, and a line with the mean, percentiles and the maximum."""
    octaves = hist.octaves()
    most = max(octaves.values(), default=0)
    yield f"  {'nsecs':>24} : {'count':<12} distribution"
    for power, many in octaves.items():
        bar = "*" * (many * BAR_WIDTH // most)
        yield (f"  {1 << power if power else 0:10} -> {(2 << power) - 1:<10} : {many:<12,} "
               f"|{bar:<{BAR_WIDTH}}|")
    points = ("p50", 500), ("p90", 900), ("p99", 990), ("p99.9", 999)
    yield (f"  mean {words.time(hist.mean)}, " +
           "".join(f"{name} {words.time(float(hist.percentile(per_mille)))}, "
                   for name, per_mille in points) + f"max {words.time(float(hist.max))}")


def counted(calls):
    """Yields the counters' means per send. calls: the records' rows of one kind of call."""
    counters = [at(call, "counters") for call in calls]
    events = rows(counters[-1], "events")
    if not events:
        return
    sends, left_out = (total(value(one, key) for one in counters) for key in ("sends", "left_out"))
    sums = [total(value(one, f"events/{i}/sum") for one in counters) for i in range(len(events))]
    means = [f"{string(event, 'event')} {words.whole(each / sends)}" for event, each in zip(events, sums) if sends > 0]
    yield (f"  per send:{' ' if means else ''}{', '.join(means)} (mean of {words.counted(sends, 'send')}; "
           f"left out, as they lost their CPU meanwhile: {words.whole(left_out)})")


def of_call(cell, first):
    """Yields the histogram of one kind of call over a cell's repeats. first: the kind's row in the first record."""
    calls = [row for row in cell.rows("calls") if same_call(row, first)]
    sends = total(value(row, "sends") for row in calls)
    one_in = value(calls[-1], "timed_one_in")
    hist = Hist(*(at(row, "wall_ns") for row in calls))
    yield f"kernel time of a send: {cell.title}, {call_name(first)}, {words.counted(sends, 'send')}"
    if hist.count:
        text, timed = f"  {span_words(string(first, 'wall_ns/span'))}", float(hist.count)
        if one_in > 1:
            text += (f"; a sample of one in {words.whole(one_in)}, chosen at random: "
                     f"{words.counted(timed, 'send')}")
        elif sends > timed:
            text += f"; not timed: {words.whole(sends - timed)}, which failed before, or whose start was missed"
        yield text
        yield from drawn(hist)
        yield from counted(calls)
    yield ""


def histograms(cells):
    """Yields a histogram for each syscall and kind of send."""
    for cell in cells:
        for row in rows(cell.record, "calls"):
            yield from of_call(cell, row)


SIDE_MAX = 4  # the most histograms side by side
ROWS_MAX = 12
SMALL = 0.004  # a bucket at an end with a smaller share of the sends is folded into its neighbour
DIGITS = 8  # the least width of a bucket's edges, in digits


def folded(hists, rows_max):
    """Yields (begin, end, counts) of at most rows_max buckets, the same for all hists. end None: the bucket has no end.
    Nearly empty buckets at either end are folded into one.
    """
    octaves = [hist.octaves() for hist in hists]
    powers = sorted(set().union(*octaves))
    used = [power for power in powers if any(
        found.get(power, 0) > SMALL * hist.count for found, hist in zip(octaves, hists))]
    if not used:
        return
    first, last = used[0], min(used[-1], used[0] + rows_max - 1)
    for power in range(first, last + 1):
        low = 0 if power == first and powers[0] < first or not power else 1 << power
        high = None if power == last and powers[-1] > last else (2 << power) - 1
        yield low, high, [sum(many for other, many in found.items() if min(max(other, first), last) == power)
                          for found in octaves]


def side_by_side(cells):
    """Yields the kernel time of sends: a histogram with a column for each variant or kind of call."""
    found = [(cell.title if len(cells) > 1 else call_name(call),
              Hist(*(at(row, "wall_ns") for row in cell.rows("calls") if same_call(row, call))))
             for cell in cells for call in rows(cell.record, "calls")]
    found = [(title, hist) for title, hist in found if hist.count]
    # Times for several message sizes, or of several spans, are not comparable.
    spans = {string(row, "wall_ns/span") for cell in cells for row in cell.rows("calls")}
    if not found or len(found) > SIDE_MAX or len(spans - {""}) > 1 or cells.vary("load/message_bytes"):
        return
    buckets = list(folded([hist for _, hist in found], ROWS_MAX if len(found) > 1 else ROWS_MAX // 2))
    digits = max(DIGITS, *(len(str(edge)) for low, high, _ in buckets for edge in (low, high or 0)))
    edges_width = 2 * digits + len(" -> ")
    bar = (80 - edges_width) // len(found) - 8
    yield f"kernel time of a send, ns, {span_words(max(spans))}"
    yield " " * edges_width + "".join(f"  {title[:bar + 5]:<{bar + 6}}" for title, _ in found).rstrip()
    most = max(many / hist.count for _, _, counts in buckets for many, (_, hist) in zip(counts, found))
    for low, high, counts in buckets:
        edges = f"{low:>{digits}} -> {'more' if high is None else high:<{digits}}"
        parts = [(many / hist.count, "*" * round(bar * many / hist.count / most))
                 for many, (_, hist) in zip(counts, found)]
        yield (edges + "".join(f"  {100 * share:4.1f}%{stars:<{bar + 1}}" if share else " " * (bar + 8)
                               for share, stars in parts)).rstrip()


def of_stage(cell, first, name):
    """Yields the histogram of a stage of one kind of divided sends, over a cell's repeats."""
    hist = Hist(*(at(part, "ns") for row in cell.rows("calls") if same_call(row, first)
                  for part in rows(row, "stages/parts") if string(part, "stage") == name), sub_bits=COARSE)
    if not hist.sum:
        return
    yield (f"{OF_NAME[name].words if name in OF_NAME else name} of a send: {cell.title}, {call_name(first)}, in "
           f"{words.counted(float(hist.count), 'send')}")
    yield from drawn(hist)
    yield ""


def stage_histograms(cells):
    for cell in cells:
        for row in rows(cell.record, "calls"):
            for part in rows(row, "stages/parts"):
                yield from of_stage(cell, row, string(part, "stage"))
