# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Whether slow answers came of the listen queue, of lost packets, or of waiting for the server."""

from operator import attrgetter

import polars as pl

from analysis.figures import labels
from analysis.figures.base import Data
from analysis.report import text
from analysis.report.base import Answer, Question, Table
from analysis.stats import interval

# A first retransmitted SYN makes a client wait for this long.
SLOW_NS = 1e9
COUNTS = (("listen_overflows", "overflows of a listen queue"),
          ("listen_drops", "connections turned away by a listener"),
          ("syn_retransmits", "retransmitted SYNs or SYN-ACKs"),
          ("retransmits", "retransmitted segments"))
PHASES = (("connect_p99_ns", "connecting"), ("accept_p99_ns", "waiting to be accepted"),
          ("work_p99_ns", "waiting for the server and its work"),
          ("answer_p99_ns", "all, connect to answer"))


def _counts(runs: pl.DataFrame) -> list[str]:
    said = []
    zero = []
    for column, words in COUNTS:
        counted = runs[column].drop_nulls()
        if counted.is_empty():
            continue
        if counted.sum():
            with_some = runs.filter(pl.col(column) > 0)
            slow = with_some.filter(pl.col("answer_p99_ns") >= SLOW_NS).height
            said.append(
                f"{text.starting(words)}: {text.count(counted.sum())}, in "
                f"{text.plural(with_some.height, 'run')} of {text.count(len(counted))} "
                f"({labels.listed(sorted(set(with_some['server_model'])))}); in {slow} of these "
                "runs the slowest hundredth of answers took a second or more.")
        else:
            zero.append(words)
    if zero:
        what = labels.listed(zero).replace(" and ", " or ")
        said.append(f"In none of these runs were there {what}: they explain no slow answer here.")
    return said


def _phases(slow: pl.DataFrame) -> list[str]:
    """Which phase of the slow runs is as long as the whole answer."""
    timed = slow.drop_nulls([column for column, _ in PHASES])
    if timed.is_empty():
        return []
    parts = [f"{words} {text.number(interval.median(timed[column]).value / 1e6)} ms"
             for column, words in PHASES]
    return [f"The p99 of each phase in the {text.plural(timed.height, 'run')} with answers that "
            f"slow (medians; phases of one answer need not be the slowest together): "
            f"{labels.listed(parts)}."]


def _waiting(slow: pl.DataFrame) -> list[str]:
    """Whether the server waited for a CPU, which is not its own doing."""
    known = slow["sender_waited_share"].drop_nulls()
    if known.is_empty():
        return []
    return [f"In {'this run' if len(known) == 1 else 'these runs'} the server waited for a CPU in "
            f"{text.number(known.median() * 100)} % of the time in which it could run (median): "
            "that part of the time of its answers is not the server's own work."]


def _table(runs: pl.DataFrame) -> Table:
    columns = [(c, w, 1e-6, " (ms)") for c, w in PHASES] + [(c, w, 1.0, "") for c, w in COUNTS]
    rows = []
    for (setting, connections, model), part in sorted(
            runs.group_by("setting", "connections", "server_model"), key=lambda item: item[0]):
        cells = []
        for column, _, factor, unit in columns:
            values = part[column].drop_nulls()
            if values.is_empty():
                cells.append("not measured")
            elif unit:
                cells.append(text.estimate(interval.median(values * factor)))
            else:
                cells.append(text.count(values.sum()))
        rows.append((setting, str(connections), model, *cells))
    return Table("p99 of each phase, medians over repeats; sums of counts over repeats",
                 ("configuration", "connections", "server model",
                  *(words + unit for _, words, _, unit in columns)), tuple(rows)).without_empty()


def answer(data: Data) -> Answer:
    runs = data.serving
    if runs.is_empty():
        return Answer("These data have no runs that served many connections.", not_shown=(
            "What made answers slow: no run served many connections.",))
    slow = runs.filter(pl.col("answer_p99_ns") >= SLOW_NS)
    unanswered = runs["unanswered"].drop_nulls().sum()
    said = [f"In {text.count(slow.height) if slow.height else 'none'} of "
            f"{text.plural(runs.height, 'run')} the slowest hundredth of answers took a second or "
            "more."]
    if unanswered:
        said.append(f"{text.plural(unanswered, 'connection')} got no answer and "
                    f"{'was' if unanswered == 1 else 'were'} given up.")
    said += _counts(runs) + _phases(slow) + _waiting(slow)
    missing = ["Which single answer waited for what: counts are of whole runs, so that they come "
               "together is correlation."]
    uncounted = [words for column, words in COUNTS if runs[column].is_null().all()]
    if uncounted:
        missing.append(f"{text.starting(labels.listed(uncounted))}: not counted here.")
    return Answer(said[0], tuple(said), tuple(missing), (_table(runs),))


QUESTION = Question("slow-answers", "What were slow answers: a full listen queue, lost packets, or "
                    "waiting for the server?", ("servers",), answer,
                    attrgetter("serving"))
