# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""At which sizes one way of sending overtakes another: sentences for two questions."""

import polars as pl

from analysis.figures import labels, style
from analysis.figures.base import Data
from analysis.judge import MOST_REPEATS
from analysis.report import comparisons, text
from analysis.report.base import Answer, Table
from analysis.report.comparisons import Comparison
from analysis.stats import crossover

KEYS = ["setting", "threads", "message_bytes"]
MOST_LISTED = 8


def _when(threads: list[int], setting: str) -> str:
    said = f"with {labels.counted(threads, 'thread')}"
    return f"{said} ({setting})" if setting else said


def at(cell: dict[str, object]) -> str:
    """with 2 threads (veth)"""
    return _when([cell["threads"]], cell["setting"])


def about(value: float) -> str:
    """A size between those tried, two digits of it, in bytes: 9.8K."""
    unit = 1024 if value >= 1024 else 1
    unit = unit * 1024 if value >= 1024 * 1024 else unit
    return style.size_text(unit * float(f"{value / unit:.2g}"))


def _crossing(found: crossover.Crossing, a: str, b: str) -> str:
    does = "overtakes" if found.direction > 0 else "falls behind"
    return (f"{a} {does} {b} at about {about(found.size)} bytes ({about(found.low)} to "
            f"{about(found.high)}; between {style.size_text(found.before)} and "
            f"{style.size_text(found.after)})")


def _sizes(sizes: list[int]) -> str:
    """256, 1K and 4K; of many how many, and from which to which."""
    if len(sizes) <= MOST_LISTED:
        return labels.listed([style.size_text(size) for size in sizes])
    return f"{len(sizes)} sizes from {style.size_text(sizes[0])} to {style.size_text(sizes[-1])}"


def _inconclusive(found: crossover.Crossovers) -> str:
    """Where the data are inconclusive, and how many repeats would do."""
    if len(found.inconclusive) > MOST_LISTED:
        fewest = min((more for _, more in found.inconclusive if more is not None), default=None)
        repeats = f"over {MOST_REPEATS:,d}" if fewest is None else f"{fewest:,d}"
        return (f"inconclusive at {_sizes([size for size, _ in found.inconclusive])} ({repeats} "
                "repeats might do at the clearest of them)")
    sizes = [f"{style.size_text(size)} ({'over ' if more is None else ''}"
             f"{more or MOST_REPEATS:,d})" for size, more in found.inconclusive]
    return ("inconclusive (in brackets: how many repeats might do, if the difference is as large as it "
            f"seems) at {labels.listed(sizes)}")


def _sure_sides(found: crossover.Crossovers, a: str, b: str) -> list[str]:
    parts = []
    for sign, does in ((1, "faster"), (-1, "slower")):
        sizes = [value for value, s in zip(found.sizes, found.signs) if s == sign]
        if sizes:
            parts.append(f"{a} is {does} than {b} at {_sizes(sizes)}")
    return parts


def _same(found: crossover.Crossovers, a: str, b: str) -> str:
    return f"{a} and {b} are the same within {comparisons.MARGIN} at {_sizes(found.same)}"


def sentence(found: crossover.Crossovers, a: str, b: str, when: str) -> str:
    """What can be said of a against b under one condition."""
    if found.answer == crossover.NEVER:
        does = "is faster than" if found.side > 0 else "never overtakes"
        rest = " at every size tried" if found.side > 0 else \
            ", within the sizes tried: it is significantly slower at each of them"
        return f"{when}, {a} {does} {b}{rest}."
    if found.answer == crossover.CROSSES:
        parts = [_crossing(crossing, a, b) for crossing in found.crossings]
    else:
        parts = _sure_sides(found, a, b)
        if not parts and not found.same:
            parts = [f"no crossing of {a} and {b} is significant"]
        if not found.has_interval:
            return (f"{when}, it is open whether {a} overtakes {b}: with "
                    f"{text.plural(found.repeats, 'usable repeat')}, the data are insufficient for "
                    "an interval.")
    if found.same:
        parts.append(_same(found, a, b))
    if found.inconclusive:
        parts.append(_inconclusive(found))
    return f"{when}, {'; '.join(parts)}."


def _row(comparison: Comparison, copied: str) -> tuple[str, ...]:
    cell = comparison.cell
    return (cell["setting"], str(cell["threads"]), style.size_text(cell["message_bytes"]),
            text.estimate(comparison.median_a), copied,
            text.estimate(comparison.median_b), text.times(comparison.estimate),
            comparisons.verdict(comparison))


def table(found: list[Comparison], runs: pl.DataFrame, a: str, b: str) -> Table:
    """A row a cell."""
    header = ("configuration", "threads", "size (bytes)", f"{a} (Gbit/s)", f"of {a}",
              f"{b} (Gbit/s)", f"{a} / {b}", f"{a} is")
    return Table(f"Throughput, medians; {comparisons.note(found)}", header,
                 tuple(map(_row, found, comparisons.copied(runs, found)))).without_empty()


def crossovers(found: list[Comparison]) -> dict[tuple, crossover.Crossovers]:
    """What comparisons by KEYS, of one pair of variants, say of each (setting, threads)."""
    groups: dict[tuple, list[Comparison]] = {}
    for comparison in found:
        groups.setdefault((comparison.cell["setting"], comparison.cell["threads"]),
                          []).append(comparison)
    return {key: crossover.find([c.cell["message_bytes"] for c in group],
                                comparisons.log_table(group), [c.estimate for c in group])
            for key, group in groups.items()}


def runs_of(data: Data, *variants: str) -> pl.DataFrame:
    """The runs that sent by these variants."""
    return data.sending.filter(pl.col("variant").is_in(variants))


def answer(data: Data, a: str, b: str) -> Answer:
    """Whether and where a overtakes b, for each number of threads and setting."""
    runs = data.sending.with_columns((pl.col("throughput_bps") / 1e9).alias("gbps"))
    found = comparisons.compare(runs, KEYS, "variant", [(a, b)], "gbps")
    if not found:
        return Answer(f"These data have no pairs of {a} and {b} runs.",
                      not_shown=(f"Anything of {a} against {b}: no size was run with both in one "
                                 "repeat.",))
    made = crossovers(found)
    # What is the same with several numbers of threads is said once.
    alike: dict[tuple[str, str], list[int]] = {}
    for setting, threads in made:
        cell = {"setting": setting, "threads": threads}
        said = sentence(made[setting, threads], comparisons.named(runs, cell, a), b, "")
        alike.setdefault((setting, said), []).append(threads)
    sentences = [text.starting(_when(threads, setting) + said)
                 for (setting, said), threads in alike.items()]
    short = f"{_short(made, runs, a, b)} {_ratios(found, runs)}".strip()
    return Answer(short, tuple(sentences), _not_shown(found, runs),
                  (table(found, runs, a, b),))


def _ratios(found: list[Comparison], runs: pl.DataFrame) -> str:
    """The least and the greatest ratio of throughputs, as a sentence."""
    ends = comparisons.extremes(found, lambda c: (
        f"at {style.size_text(c.cell['message_bytes'])} bytes {at(c.cell)}"))
    a, b = found[0].a, found[0].b
    name = labels.variants(runs.filter(pl.col("variant") == a))[a]
    return f"Throughput of {name} / {b}: {ends}." if ends else ""


def _short(made: dict[tuple, crossover.Crossovers], runs: pl.DataFrame, a: str, b: str) -> str:
    name = labels.variants(runs.filter(pl.col("variant") == a)).get(a, a)
    if not any(found.has_interval for found in made.values()):
        return (f"Whether {name} overtakes {b} is open: with fewer than 6 usable repeats, the data "
                "are insufficient for an interval.")
    crossings = [c for found in made.values() for c in found.crossings]
    answers = {found.answer for found in made.values()}
    sides = {found.side for found in made.values()}
    if crossings:
        up = [c for c in crossings if c.direction > 0]
        sizes = list(dict.fromkeys(about(c) for c in sorted(c.size for c in up)))
        told = (f"overtakes {b} at about {' to '.join(dict.fromkeys((sizes[0], sizes[-1])))} bytes"
                if up else f"falls behind {b} as messages grow")
        crossed = len([found for found in made.values() if found.crossings])
        return (f"{name} {told}, significantly in {crossed} of "
                f"{text.plural(len(made), 'configuration')} (threads and link).")
    if answers == {crossover.NEVER} and len(sides) == 1:
        return (f"{name} is faster than {b} at every size tried." if 1 in sides else
                f"{name} never overtakes {b}, within the sizes tried.")
    if answers == {crossover.NEVER}:
        return _short_by_setting(made, runs, a, b)
    ahead = sum(sign > 0 for found in made.values() for sign in found.signs)
    behind = sum(sign < 0 for found in made.values() for sign in found.signs)
    total = sum(len(found.signs) for found in made.values())
    same = sum(len(found.same) for found in made.values())
    return (f"No size at which {name} overtakes {b} was found: of {text.plural(total, 'configuration')}, "
            f"it is significantly faster in {ahead}, significantly slower in {behind} and the same "
            f"within {comparisons.MARGIN} in {same}; {total - ahead - behind - same} "
            f"{'is' if total - ahead - behind - same == 1 else 'are'} inconclusive.")


def _short_by_setting(made: dict[tuple, crossover.Crossovers], runs: pl.DataFrame, a: str,
                      b: str) -> str:
    """Where a is ahead at every size in some settings, and behind at every size in others."""
    parts = []
    for (setting, threads), found in made.items():
        name = comparisons.named(runs, {"setting": setting, "threads": threads}, a)
        when = at({"setting": setting, "threads": threads})
        does = "is faster than" if found.side > 0 else "never overtakes"
        parts.append(f"{when}, {name} {does} {b}")
    return f"At every size tried: {'; '.join(parts)}."


def _not_shown(found: list[Comparison], runs: pl.DataFrame) -> tuple[str, ...]:
    sizes = sorted({c.cell["message_bytes"] for c in found})
    said = [f"Sizes below {style.size_text(sizes[0])} and above {style.size_text(sizes[-1])} "
            "bytes; between two sizes a straight line is assumed."]
    if set(runs["link"].drop_nulls()) == {"loopback"}:
        said.append("Other links: all of these runs went over loopback.")
    return tuple(said)
