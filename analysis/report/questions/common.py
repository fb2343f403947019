# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Makes texts that answers share: names, ratios, and commands that would decide more."""

import shlex
from collections import Counter

import polars as pl

from analysis import words
from analysis.compare import judge
from analysis.compare.answers import RESULTS
from analysis.compare.pairs import Comparison
from analysis.figures import labels, style
from analysis.report.base import Table
from analysis.stats import interval
from analysis.tables.variants import in_order

WAYS = ["variant", "server_model"]
# Options that are removed from a command: by decides(), for the same folder, and by again(), for another sweep.
_DECIDES = "retry", "decide", "json", "details", "folded"
_REPLACED = "out", "order-seed", *_DECIDES
NO_PAIRS = "Undecided: the machine was too busy in all pairs of runs."
NO_PMU = "On a machine with a PMU (see analyze doctor): {}"


def ratio_text(one: judge.Judgment) -> str:
    """Returns a ratio, such as "1.31 times (1.12 to 1.52)"."""
    bounds = (f" ({words.number(one.low)} to {words.number(one.high)})" if one.has_interval
                else f" ({words.counted(one.n, 'pair')}, no interval)")
    return f"{words.number(one.value)} times{bounds}"


def extremes(what: str, found: list[Comparison], where) -> str:
    """Returns a range of ratios, such as "throughput was between 0.5 times (0.4 to 0.6) at 1K and 2 times (1.9 to 2.1)
    at 64K"; "" without any ratio. Ratios without an interval count only if no ratio has one. what: such as "throughput
    was". where: returns the text after "at" for a comparison.
    """
    known = [c for c in found if c.judgment.has_interval] or [c for c in found if c.judgment.n]
    known = sorted(known, key=lambda c: c.judgment.value)
    ends = list(dict.fromkeys(f"{ratio_text(c.judgment)} at {where(c)}" for c in (known[:1] + known[-1:])))
    return f"{what} between {ends[0]} and {ends[1]}" if len(ends) == 2 else f"{what} {ends[0]}" if ends else ""


def counts(found: list[Comparison], better: str = RESULTS[judge.BETTER], worse: str = RESULTS[judge.WORSE]) -> str:
    """Returns, for example, "slower in 12, inconclusive in 6 of 18 configurations"."""
    total = Counter(c.verdict for c in found)
    parts = [f"{result} in {total[verdict]}" for verdict, result in (
        RESULTS | {judge.BETTER: better, judge.WORSE: worse}).items() if total[verdict]]
    return f"{', '.join(parts)} of {words.counted(len(found), 'configuration')}"


def overall(found: list[Comparison]) -> str:
    """Returns the verdict of the decided comparisons; "": they differ; INCONCLUSIVE: less than half are decided."""
    decided = [c.verdict for c in found if c.verdict != judge.INCONCLUSIVE]
    if 2 * len(decided) < len(found) or not decided:
        return judge.INCONCLUSIVE
    return decided[0] if len(set(decided)) == 1 else ""


def failed(amount: int) -> str:
    """Returns, for example, "1 run failed or was interrupted"."""
    return f"{words.counted(amount, 'run')} failed or {'was' if amount == 1 else 'were'} interrupted"


def _sweep(runs: pl.DataFrame, *without: str) -> str:
    """Returns the sweep command of these runs, without some options and their values."""
    made = shlex.split(_command(runs))
    if "sweep" not in made[1:2]:
        made.insert(1, "sweep")
    kept, left_out = [], False
    for word in made:
        if word.startswith("-"):
            left_out = word.lstrip("-").partition("=")[0] in without
        if not left_out:
            kept.append(word)
        elif "=" in word or not word.startswith("-"):
            left_out = False  # the word was the option's value
    return shlex.join(kept)


def _command(runs: pl.DataFrame) -> str:
    """Returns the command, of those that made these runs, that compared most variants or server models."""
    made = runs.filter(~pl.col("command").str.starts_with("analyze timeline "))  # a timeline compares nothing
    if made.is_empty():
        return f"analyze sweep --grid {'servers' if 'procinfo' in runs['workload'] else 'sizes'} --out DIR"
    most = made.group_by("command", maintain_order=True).agg(pl.struct(WAYS).n_unique())
    return most.sort(WAYS[0], descending=True, maintain_order=True)["command"][0]


def again(runs: pl.DataFrame, *more: str) -> str:
    """Returns the command of these runs with the options `more`, for another folder or machine."""
    command = _sweep(runs, *_REPLACED, *(option.split()[0].lstrip("-") for option in more))
    return " ".join(["sudo", f"./{command}", *more, "--out DIR"])


def decides(runs: pl.DataFrame, found: list[Comparison]) -> str:
    """Returns the command that may decide inconclusive comparisons, or make comparisons possible; "": all decided."""
    if found and not any(c.verdict == judge.INCONCLUSIVE for c in found):
        return ""
    compared = {value for c in found for value in (c.a, c.b, c.configuration.get("variant")) if isinstance(value, str)}
    if compared:
        runs = runs.filter(pl.any_horizontal(pl.col(WAYS).is_in(compared)))
    for way in WAYS:
        names, made = (set(some[way].drop_nulls()) for some in (runs, runs.filter(pl.col("command") == _command(runs))))
        if made and names > made:
            return again(runs, f"--{way.replace('_', '-')} {','.join(in_order(list(names)))}", "--decide")
    command = _sweep(runs, *_DECIDES)
    return f"sudo ./{command} --decide" + ("" if " --out" in command else " --out DIR")


def discarded(runs: pl.DataFrame) -> tuple[str, ...]:
    """Returns the number of runs that comparisons leave out, and the most frequent reason; (): no run is left out."""
    busy = runs.filter(pl.col("disturbed").is_not_null())
    if busy.is_empty():
        return ()
    return (f"{words.whole(busy.height)} of {words.counted(runs.height, 'run')} are in no comparison, because the "
            f"machine was busy: {busy['disturbed'].mode().sort()[0]}, for one",)


# Columns by the key of the configuration: the column's head, and a function that formats its values.
COLUMNS = {"setting": ("configuration", str), "variant": ("variant", str),
           "field_size_bytes": ("record (bytes)", style.size_text), "threads": ("threads", str),
           "message_bytes": ("size (bytes)", style.size_text), "connections": ("connections", str)}


def tables(caption: str, found: list[Comparison], runs: pl.DataFrame, way: str, scale: float = 1.0) -> tuple[Table, ...]:
    """Returns one table with a row per comparison; none without comparisons."""
    if not found:
        return ()
    columns = {key: column for key, column in COLUMNS.items() if key in found[0].configuration}
    copied = labels.copied_by(runs, [*found[0].configuration, way])
    rows = tuple((*(say(c.configuration[key]) for key, (_, say) in columns.items()), str(c.a),
                  words.estimate(interval.median(c.values_a), scale),
                  copied.get((*c.configuration.values(), c.a), ""), str(c.b),
                  words.estimate(interval.median(c.values_b), scale),
                  ratio_text(c.judgment), c.verdict, c.judgment.reason) for c in found)
    return (Table(caption, (*(head for head, _ in columns.values()), "of", "median", "copied", "against",
                            "its median", "ratio", "verdict", "why"), rows).without_empty(),)
