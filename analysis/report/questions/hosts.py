# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Answers which hosts of a fleet are outliers, and why."""

import polars as pl

from analysis import hosts, words
from analysis.figures.base import Data
from analysis.hosts import Outlier
from analysis.report.base import Answer, Table
from analysis.stats import outliers

PAIRS_SHOWN = 100
UNKNOWN = "these data do not show why"
QUESTION = "Which hosts are outliers, and why?"


def _value(one: Outlier) -> str:
    if one.metric == hosts.COPIED:
        return (f"{words.percent(one.value)} of its completed zero-copy sends, "
                f"{words.percent(one.middle)} at the median of the hosts")
    return f"{hosts.WORDS[one.metric]} is {words.number(one.value / one.middle)} times the median of the hosts"


def _outlier_text(one: Outlier) -> str:
    """Returns, for example, "host c: packet tap on eth0 (100 % of ...)."."""
    causes = words.listed(list(one.causes)) or UNKNOWN
    if one.metric == hosts.COPIED:
        return f"host {one.host}: {causes} ({_value(one)})."
    return f"host {one.host}: its {_value(one)}; {causes}."


def _rule(count: int) -> str:
    return (f"A host is an outlier where it is away from the median of the {count} hosts by more than "
            f"{outliers.limit(count):g} robust standard deviations, more where fewer hosts are measured "
            f"({outliers.NORMAL_MAD} times the median absolute deviation), and by {100 * hosts.LEAST_SHARE:.0f} points of copied sends or "
            f"{hosts.LEAST_FACTOR:g} times of the others' time or throughput; as a sender.")


def _pairs(data: Data, apart: set[str]) -> Table:
    """Returns a table of pairs of hosts, outliers first, as many as fit on a page."""
    found = hosts.rates(data.fleet)
    causes = data.fleet.causes.sort("sends", "cause", descending=[True, False]).group_by(hosts.PAIR, maintain_order=True).agg(
        pl.struct("cause", "device"))
    why = {row[:2]: ", ".join(dict.fromkeys(hosts.cause_text(**one) for one in row[2]))
           for row in causes.iter_rows()}
    rows = sorted(found.iter_rows(named=True), key=lambda row: row["host"] not in apart)
    left = len(rows) - PAIRS_SHOWN
    return Table(
        "Pairs of hosts; times and rates as ratios to the median of the hosts with the same configuration"
        + (f"; {words.counted(left, 'pair')} left out" if left > 0 else ""),
        ("sender", "receiver", "runs", "zero-copy sends copied", "why", "kernel time", "throughput"),
        tuple((row["host"], row["receiver"], words.whole(row["runs"]), words.percent(row[hosts.COPIED]),
               why.get((row["host"], row["receiver"]), ""), words.number(row[hosts.TIME]),
               words.number(row[hosts.RATE])) for row in rows[:PAIRS_SHOWN]))


def _not_shown(data: Data) -> tuple[str, ...]:
    found, sums = hosts.rates(data.fleet), data.fleet.sums
    count, of = len(data.fleet.hosts), len(found)
    parts = []
    for column, how in ((hosts.COPIED, "had zero-copy sends whose copies could be counted"),
                        (hosts.TIME, "was timed"), (hosts.RATE, "measured it")):
        null = found[column].null_count()
        if null:
            disturbed = sums["disturbed"].sum()
            parts.append(f"{words.starting(hosts.WORDS[column])} of {words.whole(null)} of {words.counted(of, 'pair')}: "
                         f"no run of these {how}"
                         + (f" with little else going on ({words.counted(disturbed, 'run')} of "
                            f"{words.whole(sums['runs'].sum())} had too much)"
                            if column != hosts.COPIED and disturbed else "") + ".")
    if sums["unseen"].sum():
        parts.append("Copies without a flag, in some runs: more may have been copied.")
    if of < count * (count - 1):
        parts.append(f"Pairs that were not measured: {words.whole(of)} of "
                     f"{words.whole(count * (count - 1))} were.")
    parts.append("Whether a slow pair is slow for its receiver: hosts are judged as senders.")
    return tuple(parts)


def _compared(data: Data) -> list[str]:
    """Returns, in words, the metrics that are known of enough hosts to find outliers."""
    found = hosts.rates(data.fleet)
    return [what for column, what in hosts.WORDS.items()
            if found.filter(pl.col(column).is_not_null())["host"].n_unique() >= outliers.FEWEST_HOSTS]


def answer(data: Data) -> Answer:
    names = data.fleet.hosts
    if len(names) < 2:
        return Answer(QUESTION, "These runs are not of several hosts.", verdict=None)
    found = hosts.find_outliers(data.fleet)
    apart = list(dict.fromkeys(one.host for one in found))
    parts = [_rule(len(names)), *map(_outlier_text, found)]
    if len(names) < outliers.FEWEST_HOSTS:
        short = f"{len(names)} hosts are too few to find an outlier: {outliers.FEWEST_HOSTS} are needed."
        parts = [short]
    elif not _compared(data):
        short = (f"Whether one of {len(names)} hosts is an outlier is open: each metric was "
                 f"measured on fewer than {outliers.FEWEST_HOSTS} of them.")
    elif not found:
        short = f"None of {len(names)} hosts is an outlier by {words.listed(_compared(data))}."
    else:
        are = "is an outlier" if len(apart) == 1 else "are outliers"
        short = (f"{len(apart)} of {len(names)} hosts {are}: "
                 + _outlier_text(found[0])
                 + (f" The section lists all {len(found)} findings." if len(found) > 1 else ""))
    if any(one.metric == hosts.COPIED for one in found):
        parts.append("docs/causes.md explains what the kernel does there, and what helps.")
    everywhere = _everywhere(data)
    return Answer(QUESTION, short, details=(*parts, *everywhere, *_not_shown(data)),
                  tables=(_pairs(data, set(apart)),))


def _everywhere(data: Data) -> list[str]:
    """Returns a list of one sentence about causes of copies that most hosts have, and so no outlier; []: none."""
    by_cause = hosts.shares(data.fleet).filter(pl.col("share") > hosts.LEAST_SHARE).group_by(
        "cause").agg(pl.len().alias("hosts")).sort("hosts", "cause", descending=[True, False])
    most = [f"{hosts.cause_text(row['cause'], None)} on {row['hosts']}" for row in by_cause.to_dicts()
            if 2 * row["hosts"] > len(data.fleet.hosts)]
    return [f"Copies that most hosts have, of {len(data.fleet.hosts)}: {words.listed(most)}."] if most else []
