# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Which cache level gains from fewer copies."""

import polars as pl

from analysis.figures import labels, style
from analysis.figures.base import Data
from analysis.figures.cache_misses import LEVELS, with_misses_per_kib
from analysis.report import comparisons, text
from analysis.report.base import Answer, Question, Table
from analysis.report.comparisons import Comparison

KEYS = ["setting", "threads", "message_bytes"]
FEWER = ("onecopy", "zerocopy")
TWO = "twocopy"


def _column(level: str) -> str:
    return f"sender_{level}_misses_per_kib"


def _gain(found: list[Comparison]) -> list[float]:
    """Misses less per KiB, in each cell where there are significantly fewer."""
    return [c.median_b.value - c.median_a.value for c in found if c.sign < 0]


def _sentences(found: dict[str, list[Comparison]], runs: pl.DataFrame) -> list[str]:
    said = []
    for variant in FEWER:
        name = labels.variants(runs.filter(pl.col("variant") == variant)).get(variant, variant)
        for level, words in LEVELS.items():
            cells = [c for c in found[level] if c.a == variant]
            if not cells:
                continue
            fewer, more = ([c for c in cells if c.sign == sign] for sign in (-1, 1))
            parts = [f"significantly {word} in {len(some)} (ratios of medians {text.number(low)} "
                     f"to {text.number(high)})" for some, word in ((fewer, "fewer"), (more, "more"))
                     if some for low, high in [_ends([c.estimate.value for c in some])]]
            said.append(f"Load misses of the {words} with {name}, against {TWO}: "
                        f"{labels.listed(parts + comparisons.rest(cells))} of "
                        f"{text.plural(len(cells), 'configuration')}.")
    return said


def _ends(values: list[float]) -> tuple[float, float]:
    return min(values), max(values)


def _verdict(found: dict[str, list[Comparison]], runs: pl.DataFrame) -> str:
    # Of the variants with fewer copies, the first that was compared.
    first = next(v for v in FEWER if any(c.a == v for cells in found.values() for c in cells))
    name = labels.variants(runs.filter(pl.col("variant") == first))[first]
    gains = {level: _gain([c for c in cells if c.a == first]) for level, cells in found.items()}
    gains = {level: sorted(values)[len(values) // 2] for level, values in gains.items() if values}
    if not gains:
        return f"At no cache level does {name} significantly miss less than {TWO}."
    best = max(gains, key=gains.get)
    others = [f"{LEVELS[level]} {text.number(value)}" for level, value in gains.items()
              if level != best]
    than = f" (the other: {labels.listed(others)})" if others else \
        "; no other level is significantly better"
    return (f"Fewer copies save most in the {LEVELS[best]}: {text.number(gains[best])} "
            f"load misses per KiB with {name}, the middle of configurations with a "
            "significant "
            f"difference{than}.")


def _table(found: dict[str, list[Comparison]], runs: pl.DataFrame) -> Table:
    rows = [(LEVELS[level], c.cell["setting"], str(c.cell["threads"]),
             style.size_text(c.cell["message_bytes"]), c.a, text.estimate(c.median_a),
             copied, text.estimate(c.median_b), text.times(c.estimate),
             comparisons.verdict(c, "more", "fewer"))
            for level, cells in found.items()
            for c, copied in zip(cells, comparisons.copied(runs, cells))]
    every = [c for cells in found.values() for c in cells]
    return Table(f"Load misses of the sender per KiB; {text.level([c.estimate for c in every])}; "
                 "corrected for the comparisons of each level",
                 ("cache", "configuration", "threads", "size (bytes)", "variant", "its misses",
                  "of it", TWO, f"ratio to {TWO}", "misses are"), tuple(rows)).without_empty()


def answer(data: Data) -> Answer:
    runs = with_misses_per_kib(data.sending)
    present = [variant for variant in FEWER if (runs["variant"] == variant).any()]
    found = {level: comparisons.compare(runs, KEYS, "variant", [(v, TWO) for v in present],
                                        _column(level)) for level in LEVELS}
    if not any(found.values()):
        return Answer("These data give no answer: no run counted cache misses.", not_shown=(
            "Which cache level gains from fewer copies: no run of variants that can be compared "
            "counted misses of a cache.",))
    missing = [f"The {words}: no run counted its misses." for level, words in LEVELS.items()
               if not found[level]]
    return Answer(_verdict(found, runs), tuple(_sentences(found, runs)),
                  (*missing, "Levels between the first and the last: the records have no counter "
                   "of them.", "What a miss costs: a count says nothing about its time."),
                  (_table(found, runs),))


QUESTION = Question("caches", "Which cache level gains most from fewer copies?",
                    ("cache-misses",), answer)
