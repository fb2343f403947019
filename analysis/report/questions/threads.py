# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How threads interact with each variant, and with cache contention."""

import polars as pl

from analysis.figures import labels, style
from analysis.figures.base import Data
from analysis.figures.cache_misses import LEVELS, with_misses_per_kib
from analysis.judge import BUCKET
from analysis.report import comparisons, text
from analysis.report.base import Answer, Question, Table
from analysis.report.comparisons import Comparison

KEYS = ["setting", "message_bytes", "variant"]


def _against_fewest(runs: pl.DataFrame, metric: str, grain: float = 0.0) -> list[Comparison]:
    """Each number of threads against the fewest, for each setting, size and variant."""
    counts = runs["threads"].unique().sort().to_list()
    # connections follow threads: they are the same thing here.
    return comparisons.compare(runs, KEYS, "threads", [(n, counts[0]) for n in counts[1:]], metric,
                               grain)


def _size(comparison: Comparison) -> str:
    size, setting = (comparison.cell[key] for key in ("message_bytes", "setting"))
    return style.size_text(size) + (f" on {setting}" if setting else "")


def _per_variant(found: list[Comparison], runs: pl.DataFrame, what: str) -> list[str]:
    """A sentence a variant on what its metric does from the fewest threads to the most."""
    said = []
    if not any(c.estimate.has_interval for c in found):
        return said
    for variant, name in labels.variants(runs).items():
        mine = [c for c in found if c.cell["variant"] == variant]
        if not mine:
            continue
        most = max(c.a for c in mine)
        cells = [c for c in mine if c.a == most]
        parts = []
        for sign, word in ((1, "significantly rises"), (-1, "significantly falls")):
            significant = [c for c in cells if c.sign == sign]
            if significant:
                sizes = [f"{_size(c)} ({text.times(c.estimate)})" for c in significant]
                parts.append(f"{word} at {labels.listed(sizes)}")
        parts += [f"is {part} of {text.plural(len(cells), 'configuration')}"
                  for part in comparisons.rest(cells)]
        said.append(f"From {text.plural(cells[0].b, 'thread')} to {most}, the {what} of "
                    f"{name} {labels.listed(parts)}.")
    return said


def _contention(runs: pl.DataFrame) -> tuple[list[str], list[str]]:
    """What misses do as threads are added; and what was not counted."""
    runs = with_misses_per_kib(runs)
    said, missing = [], []
    for level, words in LEVELS.items():
        found = _against_fewest(runs, f"sender_{level}_misses_per_kib")
        if not found:
            missing.append(f"Contention for the {words}: no run counted its misses with several "
                           "numbers of threads.")
            continue
        more, fewer = (sum(c.sign == sign for c in found) for sign in (1, -1))
        parts = [f"significantly more in {more}", f"significantly fewer in {fewer}",
                 *comparisons.rest(found)]
        said.append(f"Load misses of the {words} per KiB, with more threads than {found[0].b}: "
                    f"{labels.listed(parts)} of {text.plural(len(found), 'configuration')}.")
    return said, missing


def _shared_cpus(runs: pl.DataFrame) -> list[str]:
    cpus, most = runs["cpus"].drop_nulls(), runs["threads"].max()
    if cpus.is_empty() or cpus.min() >= most:
        return []
    return [f"At most {most} sending threads ran on a machine with "
            f"{text.plural(cpus.min(), 'CPU')}, where more threads than CPUs take turns."]


def _table(found: list[Comparison], runs: pl.DataFrame, what: str, more: str,
           less: str) -> Table:
    rows = [(c.cell["setting"], c.cell["variant"], style.size_text(c.cell["message_bytes"]),
             f"{c.b} to {c.a}", text.estimate(c.median_b), text.estimate(c.median_a),
             copied, text.times(c.estimate), comparisons.verdict(c, more, less))
            for c, copied in zip(found, comparisons.copied(runs, found, "threads"))]
    return Table(f"{text.starting(what)} by threads; {comparisons.note(found)}",
                 ("configuration", "variant", "size (bytes)", "threads", "with the fewest",
                  "with more", "of it", "ratio", "with more it is"), tuple(rows)).without_empty()


def answer(data: Data) -> Answer:
    runs = data.sending.with_columns((pl.col("throughput_bps") / 1e9).alias("gbps"),
                                           (pl.col("message_p99_ns") / 1e3).alias("p99_us"))
    found = _against_fewest(runs, "gbps") if not runs.is_empty() else []
    if not found:
        return Answer("These data have one number of threads only.", not_shown=(
            "How threads interact: no load was run with two numbers of threads.",))
    late = _against_fewest(runs, "p99_us", BUCKET)
    said, missing = _contention(runs)
    up, down = (sum(c.sign == sign for c in found) for sign in (1, -1))
    short = (f"With more threads than {found[0].b}, throughput significantly rises in {up} "
             f"and significantly falls in {down} of {text.plural(len(found), 'configuration')} "
             f"(variant, size, threads{_aside(runs)}).")
    return Answer(short, (*_per_variant(found, runs, "throughput"),
                          *_per_variant(late, runs, "p99 of a message"),
                          *_shared_cpus(runs), *said),
                  (*missing, "Why throughput changes with threads: these runs vary nothing else."),
                  tuple(_table(some, runs, what, *words) for some, what, words in (
                      (found, "throughput (Gbit/s)", ("faster", "slower")),
                      (late, "p99 of a message (µs)", ("more", "less"))) if some))


def _aside(runs: pl.DataFrame) -> str:
    what = labels.copied(runs)
    return f"; zero-copy: {what}" if what else ""


QUESTION = Question("threads", "How do threads interact with each variant and with the caches?",
                    ("latency", "throughput"), answer)
