# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Draws metrics over one axis: a line per name, a panel per other setting. FIGURES has a row for each figure."""

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
# A curve over records needs at least this many points.
FEWEST_RECORDS = 3


@dataclass(frozen=True)
class Metric:
    """A column of the table, the title of its axis with the unit, and the factor that converts to this unit."""
    column: str
    title: str
    scale: float = 1.0


@dataclass(frozen=True)
class Over:
    """The column of the axis (x), the column that names the lines (name), and the columns that divide the panels."""
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
    def configuration(self) -> list[str]:
        """The columns that must be equal for names to be compared."""
        return [*self.panel_keys, self.x]

    @property
    def keys(self) -> list[str]:
        return [*self.configuration, self.name]


def threads_text() -> pl.Expr:
    """Returns an expression for "1 thread", "2 threads"."""
    return pl.format("{} thread{}", pl.col("threads"),
                     pl.when(pl.col("threads") == 1).then(pl.lit("")).otherwise(pl.lit("s")))


def size_text() -> pl.Expr:
    """Returns an expression for "1K a message"."""
    return pl.col("message_bytes").map_elements(lambda size: f"{style.size_text(size)} a message",
                                                return_dtype=pl.String)


def with_misses_per_kib(runs: pl.DataFrame) -> pl.DataFrame:
    """Returns the runs with columns sender_LEVEL_misses_per_kib: load misses per KiB of payload."""
    kib = pl.when(pl.col("bytes") > 0).then(pl.col("bytes") / 1024)
    return runs.with_columns((pl.col(f"sender_{level}_misses").cast(pl.Float64) / kib)
                             .alias(f"sender_{level}_misses_per_kib") for level in LEVELS)


def with_cpu_per_answer(runs: pl.DataFrame) -> pl.DataFrame:
    """Returns the runs with a column server_cpu_ms_per_answer: the sender's CPU time per answer."""
    return runs.with_columns(
        (pl.when(pl.col("messages") > 0).then(pl.col("sender_cpu_s") * 1e3 / pl.col("messages")))
        .alias("server_cpu_ms_per_answer"))


def of_one_source(runs: pl.DataFrame) -> pl.DataFrame:
    """Returns the runs without their estimates of memory traffic, unless they have nothing but estimates."""
    estimated = pl.col("memory_is_estimate").fill_null(False)
    counted = runs.filter(pl.col(MEMORY).is_not_null() & ~estimated).height
    return runs.with_columns(pl.when(~estimated).then(MEMORY).alias(MEMORY)) if counted else runs


def of_records(data: Data) -> pl.DataFrame:
    """Returns the runs of sweeps over the number of records, in messages of records of one size.

    Adds the columns record, which is a record's size in words, and sent_by, the variant with its copied share.
    """
    runs = data.sending.filter(pl.col("field_size_bytes").is_not_null()).filter(pl.col("fields").n_unique().over(
        "field_size_bytes", "variant", "threads", "workload", "link") >= FEWEST_RECORDS)
    # Here the size of a record names a line, and the number of records is the axis.
    runs = with_setting(runs.drop("setting"), beside=("fields", "field_size_bytes"))
    named = labels.variants(runs) if runs.height else {}
    return of_one_source(runs).with_columns(
        pl.format("{} bytes", pl.col("field_size_bytes").map_elements(
            style.size_text, return_dtype=pl.String)).alias("record"),
        pl.col("variant").replace(named).alias("sent_by"))


def by_size(data: Data) -> pl.DataFrame:
    """Returns the runs that of_records() leaves out."""
    records = of_records(data)["run_id"].implode()
    return with_misses_per_kib(of_one_source(data.sending.filter(~pl.col("run_id").is_in(records))))


SIZE = Over("message_bytes", style.size_axis,
            lambda sizes: f"{words.listed([style.size_text(s) for s in sizes])} bytes a message",
            "variant", "send variant", by_size, ["setting", "threads"],
            [threads_text(), pl.col("setting")])
THREADS = Over("threads", lambda counts: style.count_axis(counts, "sending threads"),
               lambda counts: labels.counts_text(counts, "thread"),
               "variant", "send variant", by_size, ["setting", "message_bytes"],
               [size_text(), pl.col("setting")])
CONNECTIONS = Over("connections", lambda counts: style.count_axis(counts, "connections at once"),
                   lambda counts: labels.counts_text(counts, "connection"), "server_model", "server model",
                   lambda data: with_cpu_per_answer(data.serving), ["setting"], [pl.col("setting")])
RECORDS = Over("fields", lambda counts: style.linear_axis(counts, "records of a message"),
               lambda counts: f"{min(counts)} to {max(counts)} records a message",
               "variant", "send variant", of_records, ["record", "setting", "threads"],
               [pl.col("record"), threads_text(), pl.col("setting")], apart=0)


def _dips(over: Over, found: pl.DataFrame, runs: pl.DataFrame, metric: str) -> pl.Series:
    """Returns for each row of found whether throughput has a dip there."""
    bottoms = set()
    for course in sweeps.courses(runs, metric, "fields", counters=()) if over is RECORDS else ():
        mine = runs.filter(pl.all_horizontal([
            pl.col(key).eq_missing(pl.lit(value)) for key, value in course.conditions.items()]))
        bottoms |= {(*mine.select(*over.panel_keys, over.name).row(0), dip.bottom) for dip in course.dips}
    return pl.Series("dip", [row in bottoms for row in found.select(
        *over.panel_keys, over.name, over.x).iter_rows()], dtype=pl.Boolean)


def _panels_chart(over: Over, found: pl.DataFrame, named: dict[str, str], metric: Metric,
           runs: pl.DataFrame, width: int) -> tuple[alt.TopLevelMixin, tuple[str, ...]]:
    # The column over.x is kept beside its copy x, because panels may be sorted by it.
    found = found.with_columns(pl.col(over.x).alias("x"), pl.col(over.name).alias("name"))
    if metric.column == "throughput_bps":
        found = found.with_columns(_dips(over, found, runs, metric.column))
    found, panels, notes = lines.panels_of(found, over.panel_texts, over.panel_keys, runs)
    axis = over.axis(found["x"].unique().sort().to_list())
    if "dip" in found.columns and found["dip"].any():
        notes = (*notes, "rings: dips")
    return lines.draw_lines(found, named, over.legend, axis, metric.title, panels, width, apart=over.apart), notes


def draw_over(data: Data, over: Over, title: str, metrics: list[Metric], why_not: str,
              width: int, legend_notes: tuple[str, ...] = ()) -> Drawn | NotDrawn:
    """Draws the metrics that were measured. why_not: the reason that NotDrawn has if none was measured."""
    runs = over.runs(data)
    measured = {m: cells(runs, over.keys, m.column, m.scale) for m in metrics}
    measured = {m: found for m, found in measured.items() if not found.is_empty()}
    if not measured:
        return NotDrawn(title, why_not)
    drawn = runs.filter(pl.any_horizontal([pl.col(m.column).is_not_null() for m in measured]))
    named = labels.variants(drawn, over.name)
    several = drawn.select(over.panel_keys).n_unique() > 1
    beside = 1 if several else max(1, min(len(measured), width // lines.PANEL))
    charts, notes = zip(*(_panels_chart(over, found, named, m, drawn, width // beside)
                          for m, found in measured.items()))
    every = pl.concat(measured.values())
    notes = (*legend_notes, *dict.fromkeys(note for some in notes for note in some))
    subtitle = [shared_setting(drawn), labels.intervals(every), *notes]
    description = (
        f"{words.listed([m.title for m in measured])} over "
        f"{over.values(every[over.x].unique().sort().to_list())}, for "
        f"{words.listed(list(named.values()))}. {shared_setting(drawn)}; {labels.intervals(every)}.")
    chart = charts[0] if len(charts) == 1 else alt.concat(*charts, columns=beside, spacing=24)
    return Drawn(style.themed(chart, title, subtitle, description, width), title, description, notes)


def draw_latency(data: Data, width: int) -> Drawn | NotDrawn:
    """Draws latencies over threads, or over sizes if all runs have the same number of threads."""
    metrics = [Metric("message_p50_ns", "p50 of a message (µs)", 1e-3),
               Metric("message_p99_ns", "p99 of a message (µs)", 1e-3)]
    timed = by_size(data).filter(pl.col("message_p50_ns").is_not_null())
    span, *others = spans(timed, "message_span") or [None]
    if others:
        timed = timed.filter(pl.col("message_span") == span)
        data = Data(data.runs.filter(pl.col("message_span") == span))
    legend_notes = (f"span {span}; not drawn: times of the span {', '.join(others)}",) if others else ()
    over, what = (THREADS, "sending threads") if timed["threads"].n_unique() > 1 else (SIZE, "message size")
    return draw_over(data, over, f"Time of a message by {what}", metrics, "no run timed its messages", width,
                     legend_notes)


def _metric_figure(name: str, over: Over, title: str, why_not: str, *metrics: Metric) -> Figure:
    return Figure(name, lambda data, width: draw_over(data, over, title, list(metrics), why_not, width))


THROUGHPUT = Metric("throughput_bps", "throughput (Gbit/s)", 1e-9)
TRAFFIC = Metric(MEMORY, "memory bytes per byte sent")
FIGURES = (
    _metric_figure("throughput", SIZE, "Throughput by message size", "no run sent messages of several sizes",
            THROUGHPUT),
    Figure("latency", draw_latency),
    _metric_figure("cpu", SIZE, "CPU time per GiB by message size", "no run measured CPU time",
            Metric("sender_cpu_s_per_gib", "sender (CPU s/GiB)"),
            Metric("receiver_cpu_s_per_gib", "receiver (CPU s/GiB)")),
    _metric_figure("cycles", SIZE, "Cycles per byte by message size", "no run counted cycles",
            Metric("sender_cycles_per_byte", "sender (cycles/byte)"),
            Metric("receiver_cycles_per_byte", "receiver (cycles/byte)")),
    _metric_figure("cache-misses", SIZE, "Cache misses by message size", "no run counted misses of a cache",
            *(Metric(f"sender_{level}_misses_per_kib", f"{words} load misses (1/KiB)")
              for level, words in LEVELS.items())),
    _metric_figure("memory", SIZE, "Memory traffic per transmitted byte",
            "no run measured the machine's memory traffic", TRAFFIC),
    _metric_figure("records", RECORDS, "Messages of records by their number",
            "no run sent messages of several numbers of records of one size", THROUGHPUT, TRAFFIC),
    _metric_figure("servers", CONNECTIONS, "Server models by connections",
            "no run served many connections by a server model",
            Metric("messages_per_s", "requests per second (1/s)"),
            Metric("message_p50_ns", "p50, connect to answer (ms)", 1e-6),
            Metric("message_p99_ns", "p99, connect to answer (ms)", 1e-6),
            Metric("server_cpu_ms_per_answer", "server (CPU ms/answer)")),
)
