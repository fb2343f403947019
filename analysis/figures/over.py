# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Figures of metrics over one axis: a line a name, panels of what else differs; a row of FIGURES each."""

from collections.abc import Callable
from dataclasses import dataclass

import altair as alt
import polars as pl

from analysis import sweeps, words
from analysis.figures import labels, lines, style
from analysis.figures.base import Data, Drawn, Figure, NotDrawn
from analysis.figures.cells import cells, shared_setting, spans, with_setting

LEVELS = {"l1d": "L1 data cache", "llc": "last-level cache"}
MEMORY = "memory_bytes_per_byte"
# Fewer numbers of records make no course.
FEWEST_RECORDS = 3


@dataclass(frozen=True)
class Metric:
    """A column of the table, what its axis is called (unit in brackets), and the unit's factor."""
    column: str
    title: str
    scale: float = 1.0


@dataclass(frozen=True)
class Over:
    """What lies along the axis (a column), what lines are named by, what divides the panels."""
    x: str
    axis: Callable[[list[int]], alt.X]
    values: Callable[[list[int]], str]
    name: str
    legend: str
    runs: Callable[[Data], pl.DataFrame]
    panel_keys: list[str]
    panel_texts: list[pl.Expr]
    apart: float = lines.APART

    @property
    def cell(self) -> list[str]:
        """What is equal where names are compared."""
        return [*self.panel_keys, self.x]

    @property
    def keys(self) -> list[str]:
        return [*self.cell, self.name]


def threads_text() -> pl.Expr:
    """1 thread, 2 threads."""
    return pl.format("{} thread{}", pl.col("threads"),
                     pl.when(pl.col("threads") == 1).then(pl.lit("")).otherwise(pl.lit("s")))


def size_text() -> pl.Expr:
    """1K a message."""
    return pl.col("message_bytes").map_elements(lambda size: f"{style.size_text(size)} a message",
                                                return_dtype=pl.String)


def with_misses_per_kib(runs: pl.DataFrame) -> pl.DataFrame:
    """The runs with sender_LEVEL_misses_per_kib: load misses for each KiB of payload."""
    kib = pl.when(pl.col("bytes") > 0).then(pl.col("bytes") / 1024)
    return runs.with_columns((pl.col(f"sender_{level}_misses").cast(pl.Float64) / kib)
                             .alias(f"sender_{level}_misses_per_kib") for level in LEVELS)


def with_cpu_per_answer(runs: pl.DataFrame) -> pl.DataFrame:
    """The runs with server_cpu_ms_per_answer: the sender's CPU time over answers."""
    return runs.with_columns(
        (pl.when(pl.col("messages") > 0).then(pl.col("sender_cpu_s") * 1e3 / pl.col("messages")))
        .alias("server_cpu_ms_per_answer"))


def of_one_source(runs: pl.DataFrame) -> pl.DataFrame:
    """Memory traffic that was counted; where all of it is an estimate, that."""
    estimated = pl.col("memory_is_estimate").fill_null(False)
    counted = runs.filter(pl.col(MEMORY).is_not_null() & ~estimated).height
    return runs.with_columns(pl.when(~estimated).then(MEMORY).alias(MEMORY)) if counted else runs


def of_records(data: Data) -> pl.DataFrame:
    """The runs whose messages are of several numbers of records of one size.

    With the columns record, its size in words, and sent_by, the variant with what was copied.
    """
    runs = data.sending.filter(pl.col("field_size_bytes").is_not_null()).filter(pl.col("fields").n_unique().over(
        "field_size_bytes", "variant", "threads", "workload", "link") >= FEWEST_RECORDS)
    # The size of a record is a line here, and the number of them lies along the axis.
    runs = with_setting(runs.drop("setting"), beside=("fields", "field_size_bytes"))
    named = labels.variants(runs) if runs.height else {}
    return of_one_source(runs).with_columns(
        pl.format("{} bytes", pl.col("field_size_bytes").map_elements(
            style.size_text, return_dtype=pl.String)).alias("record"),
        pl.col("variant").replace(named).alias("sent_by"))


def by_size(data: Data) -> pl.DataFrame:
    """The runs that are of no more than two numbers of fields: others go by their records."""
    records = of_records(data)["run_id"].implode()
    return with_misses_per_kib(of_one_source(data.sending.filter(~pl.col("run_id").is_in(records))))


SIZE = Over("message_bytes", style.size_axis,
            lambda sizes: f"{words.listed([style.size_text(s) for s in sizes])} bytes a message",
            "variant", "send variant", by_size, ["setting", "threads"],
            [threads_text(), pl.col("setting")])
THREADS = Over("threads", lambda counts: style.count_axis(counts, "sending threads"),
               lambda counts: labels.counted(counts, "thread"),
               "variant", "send variant", by_size, ["setting", "message_bytes"],
               [size_text(), pl.col("setting")])
CONNECTIONS = Over("connections", lambda counts: style.count_axis(counts, "connections at once"),
                   lambda counts: labels.counted(counts, "connection"), "server_model", "server model",
                   lambda data: with_cpu_per_answer(data.serving), ["setting"], [pl.col("setting")])
RECORDS = Over("fields", lambda counts: style.linear_axis(counts, "records of a message"),
               lambda counts: f"{min(counts)} to {max(counts)} records a message",
               "variant", "send variant", of_records, ["record", "setting", "threads"],
               [pl.col("record"), threads_text(), pl.col("setting")], apart=0)


def _dips(over: Over, found: pl.DataFrame, runs: pl.DataFrame, metric: str) -> pl.Series:
    """Of each cell of found, whether throughput dips there."""
    bottoms = set()
    for course in sweeps.courses(runs, metric, "fields", counters=()) if over is RECORDS else ():
        mine = runs.filter(pl.all_horizontal([
            pl.col(key).eq_missing(pl.lit(value)) for key, value in course.conditions.items()]))
        bottoms |= {(*mine.select(*over.panel_keys, over.name).row(0), dip.bottom) for dip in course.dips}
    return pl.Series("dip", [row in bottoms for row in found.select(
        *over.panel_keys, over.name, over.x).iter_rows()], dtype=pl.Boolean)


def _chart(over: Over, found: pl.DataFrame, named: dict[str, str], metric: Metric,
           runs: pl.DataFrame, width: int) -> tuple[alt.TopLevelMixin, tuple[str, ...]]:
    # The axis's column stays: the panels may be sorted by it.
    found = found.with_columns(pl.col(over.x).alias("x"), pl.col(over.name).alias("name"))
    if metric.column == "throughput_bps":
        found = found.with_columns(_dips(over, found, runs, metric.column))
    found, panels, notes = lines.panels_of(found, over.panel_texts, over.panel_keys, runs)
    axis = over.axis(found["x"].unique().sort().to_list())
    if "dip" in found.columns and found["dip"].any():
        notes = (*notes, "rings: dips")
    return lines.draw(found, named, over.legend, axis, metric.title, panels, width, apart=over.apart), notes


def draw_over(data: Data, over: Over, title: str, metrics: list[Metric], why_not: str,
              width: int, told: tuple[str, ...] = ()) -> Drawn | NotDrawn:
    """Metrics below each other, those that were measured; why_not where none was."""
    runs = over.runs(data)
    measured = {m: cells(runs, over.keys, m.column, m.scale) for m in metrics}
    measured = {m: found for m, found in measured.items() if not found.is_empty()}
    if not measured:
        return NotDrawn(title, why_not)
    drawn = runs.filter(pl.any_horizontal([pl.col(m.column).is_not_null() for m in measured]))
    named = labels.variants(drawn, over.name)
    several = drawn.select(over.panel_keys).n_unique() > 1
    beside = 1 if several else max(1, min(len(measured), width // lines.PANEL))
    charts, notes = zip(*(_chart(over, found, named, m, drawn, width // beside)
                          for m, found in measured.items()))
    every = pl.concat(measured.values())
    notes = (*told, *dict.fromkeys(note for some in notes for note in some))
    subtitle = [shared_setting(drawn), labels.intervals(every), *notes]
    description = (
        f"{words.listed([m.title for m in measured])} over "
        f"{over.values(every[over.x].unique().sort().to_list())}, for "
        f"{words.listed(list(named.values()))}. {shared_setting(drawn)}; {labels.intervals(every)}.")
    chart = charts[0] if len(charts) == 1 else alt.concat(*charts, columns=beside, spacing=24)
    return Drawn(style.themed(chart, title, subtitle, description, width), title, description, notes)


def draw_latency(data: Data, width: int) -> Drawn | NotDrawn:
    """By threads; where there is one number of them, by size."""
    metrics = [Metric("message_p50_ns", "p50 of a message (µs)", 1e-3),
               Metric("message_p99_ns", "p99 of a message (µs)", 1e-3)]
    timed = by_size(data).filter(pl.col("message_p50_ns").is_not_null())
    span, *others = spans(timed, "message_span") or [None]
    if others:
        timed = timed.filter(pl.col("message_span") == span)
        data = Data(data.runs.filter(pl.col("message_span") == span))
    told = (f"span {span}; not drawn: times of the span {', '.join(others)}",) if others else ()
    over, what = (THREADS, "sending threads") if timed["threads"].n_unique() > 1 else (SIZE, "message size")
    return draw_over(data, over, f"Time of a message by {what}", metrics, "no run timed its messages", width,
                     told)


def _figure(name: str, over: Over, title: str, why_not: str, *metrics: Metric) -> Figure:
    return Figure(name, lambda data, width: draw_over(data, over, title, list(metrics), why_not, width))


THROUGHPUT = Metric("throughput_bps", "throughput (Gbit/s)", 1e-9)
TRAFFIC = Metric(MEMORY, "memory bytes per byte sent")
FIGURES = (
    _figure("throughput", SIZE, "Throughput by message size", "no run sent messages of several sizes",
            THROUGHPUT),
    Figure("latency", draw_latency),
    _figure("cpu", SIZE, "CPU time per GiB by message size", "no run measured CPU time",
            Metric("sender_cpu_s_per_gib", "sender (CPU s/GiB)"),
            Metric("receiver_cpu_s_per_gib", "receiver (CPU s/GiB)")),
    _figure("cycles", SIZE, "Cycles per byte by message size", "no run counted cycles",
            Metric("sender_cycles_per_byte", "sender (cycles/byte)"),
            Metric("receiver_cycles_per_byte", "receiver (cycles/byte)")),
    _figure("cache-misses", SIZE, "Cache misses by message size", "no run counted misses of a cache",
            *(Metric(f"sender_{level}_misses_per_kib", f"{words} load misses (1/KiB)")
              for level, words in LEVELS.items())),
    _figure("memory", SIZE, "Memory traffic per transmitted byte",
            "no run measured the machine's memory traffic", TRAFFIC),
    _figure("records", RECORDS, "Messages of records by their number",
            "no run sent messages of several numbers of records of one size", THROUGHPUT, TRAFFIC),
    _figure("servers", CONNECTIONS, "Server models by connections",
            "no run served many connections by a server model",
            Metric("messages_per_s", "requests per second (1/s)"),
            Metric("message_p50_ns", "p50, connect to answer (ms)", 1e-6),
            Metric("message_p99_ns", "p99, connect to answer (ms)", 1e-6),
            Metric("server_cpu_ms_per_answer", "server (CPU ms/answer)")),
)
