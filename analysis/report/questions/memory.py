# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How much memory traffic a transmitted byte costs."""

import polars as pl

from analysis.figures import labels, style
from analysis.figures.base import Data
from analysis.report import comparisons, text
from analysis.report.base import Answer, Question, Table
from analysis.report.comparisons import Comparison

KEYS = ["setting", "threads", "message_bytes"]
METRIC = "memory_bytes_per_byte"


def _sentence(found: list[Comparison], runs: pl.DataFrame, variant: str) -> str:
    name = labels.variants(runs.filter(pl.col("variant") == variant))[variant]
    less, more = ([c for c in found if c.sign == sign] for sign in (-1, 1))
    parts = [f"significantly {word} in {len(some)} "
             f"({text.number(min(c.estimate.value for c in some))} to "
             f"{text.number(max(c.estimate.value for c in some))} times)"
             for some, word in ((less, "less"), (more, "more")) if some]
    return (f"Memory bytes moved per byte by {name}, against {found[0].b}: "
            f"{labels.listed(parts + comparisons.rest(found))} of "
            f"{text.plural(len(found), 'configuration')}.")


def _table(found: list[Comparison], runs: pl.DataFrame) -> Table:
    rows = [(c.cell["setting"], str(c.cell["threads"]), style.size_text(c.cell["message_bytes"]),
             c.a, text.estimate(c.median_a),
             copied, text.estimate(c.median_b), text.times(c.estimate),
             comparisons.verdict(c, "more", "less"))
            for c, copied in zip(found, comparisons.copied(runs, found))]
    return Table(f"Memory bytes per byte; {comparisons.note(found)}",
                 ("configuration", "threads", "size (bytes)", "variant", "its bytes per byte",
                  "of it", found[0].b, "ratio", "it is"), tuple(rows)).without_empty()


def answer(data: Data) -> Answer:
    runs = data.sending.filter(pl.col(METRIC).is_not_null())
    if runs.is_empty():
        return Answer("These data give no answer: no run measured memory traffic.", not_shown=(
            "Memory bytes per transmitted byte: no run measured the machine's memory traffic.",))
    estimates = runs["memory_is_estimate"].fill_null(False)
    if estimates.any() and not estimates.all():
        runs = runs.filter(~pl.col("memory_is_estimate").fill_null(False))
    estimated = bool(estimates.all())
    variants = [v for v in ("onecopy", "zerocopy") if (runs["variant"] == v).any()]
    found = comparisons.compare(runs, KEYS, "variant", [(v, "twocopy") for v in variants], METRIC)
    said = [_sentence([c for c in found if c.a == v], runs, v) for v in variants
            if any(c.a == v for c in found)]
    missing = ["Which program moved it: the counters are of the whole machine."]
    if estimated:
        said.insert(0, "All of it is an estimate, made from misses of the last-level cache, which "
                       "leave out what is prefetched.")
        missing.append("Counted memory traffic: no run had such counters.")
    short = said[0] if said else "Memory traffic was measured of one variant only."
    return Answer(short, tuple(said), tuple(missing),
                  (_table(found, runs),) if found else ())


QUESTION = Question("memory", "How many bytes move through memory for each byte sent?",
                    ("memory", "records"), answer)
