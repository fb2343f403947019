# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Draws flame graphs: kernel functions of sends, as wide as their share of the samples. Also draws how two
variants or result sets differ, which speedscope does not (it reads the file of --folded).
"""

import collections
from dataclasses import replace

import altair as alt
import polars as pl

from analysis import stages, words
from analysis.figures import labels, style
from analysis.figures.base import Data, Drawn, Figure, NotDrawn
from analysis.figures.cells import shared_setting
from analysis.tables.profile import SAMPLES_LEAST
from analysis.tables.variants import in_order

TITLE = "Kernel functions of sends"
COMPARED = "Kernel functions of sends, compared"
ROW, ASIDE = 16, 60
SMALL = 0.002  # functions with a smaller share of the samples are left out
LETTERS = "#111111"  # the same on a dark page, because the rectangles are light there, too
# Colours of time off the CPU: the colours of its stages are too pale for flame graphs.
OFF = {"blocked": "#5e81c8", "lock_wait": "#3f4f9e", "preempted": "#8fd0e8"}
SEVERAL, SEVERAL_COLOR = "several stages", "#ececec"
KEYS = ["setting", "threads", "message_bytes"]


class Node:
    """A function with one chain of callers: the number of its samples, the same by stage, and its callees."""

    def __init__(self):
        self.samples, self.stages, self.callees = 0, collections.Counter(), {}

    def add(self, functions, stage, samples):
        node = self
        for name in (None, *functions):
            node = node if name is None else node.callees.setdefault(name, Node())
            node.samples += samples
            node.stages[stage] += samples

    @property
    def stage(self):
        """The stage that has more than 90 % of the samples, in words; SEVERAL if none has."""
        (name, samples), *_ = self.stages.most_common(1)
        return stages.words(name) if samples > 0.9 * self.samples else SEVERAL

    @property
    def off(self):
        """The number of samples that represent time off the CPU."""
        return sum(self.stages[stage] for stage in OFF)

    def rows(self, whole, begin=0.0, depth=0, path=()):
        """Yields a rectangle for each function: path, stage, depth, begin and end as shares of the whole, and more."""
        for name, node in sorted(self.callees.items()):
            share = node.samples / whole
            if share >= SMALL:
                yield {"path": (*path, name), "function": name, "depth": depth, "begin": begin,
                       "end": begin + share, "samples": node.samples,
                       "own": node.samples - sum(callee.samples for callee in node.callees.values()),
                       "stage": node.stage, "percent": 100 * node.samples / whole}
                yield from node.rows(whole, begin, depth + 1, (*path, name))
            begin += share


def below(functions: list[str], first: str | None) -> list[str]:
    """Returns the stack from `first` on; all of it without `first`. Variants differ in the callers of tcp_sendmsg."""
    return functions[functions.index(first):] if first in functions else functions


def trees(data: Data, first: str | None = None) -> tuple[pl.DataFrame, dict[str, Node]]:
    """Returns the runs of the configuration with most samples, and a tree for each variant with enough samples."""
    stacks = data.details.stacks.join(data.sending.select("run_id", "variant", *KEYS), on="run_id")
    stacks = stacks.with_columns(pl.col("variant").fill_null("observed"))
    if stacks.is_empty():
        return data.sending.clear(), {}
    most = stacks.group_by(KEYS).agg(pl.col("samples").sum()).sort("samples", descending=True).head(1)
    stacks = stacks.join(most.select(KEYS), on=KEYS, how="semi", nulls_equal=True)
    found = {}
    for variant, functions, stage, samples in stacks.select(
            "variant", "functions", "stage", "samples").iter_rows():
        found.setdefault(variant, Node()).add(
            below(functions.split(";"), first), stage, samples)
    runs = data.sending.join(stacks.select("run_id"), on="run_id", how="semi")
    return runs, {name: found[name] for name in in_order(list(found))
                  if found[name].samples >= SAMPLES_LEAST}


SEARCH = alt.param(name="search", value="", bind=alt.binding(input="search", name="function: "))


def flames(rows: list[dict], title: str, number: int, color: alt.Color, tooltips: list[alt.Tooltip],
           width: int) -> alt.TopLevelMixin:
    """Returns a flame graph. A click on a function shows it at full width, a double click restores the graph."""
    pick = alt.selection_point(name=f"pick{number}", fields=["begin", "end"], on="click", clear="dblclick")
    low = f"(isValid({pick.name}.begin) ? {pick.name}.begin[0] : 0)"
    high = f"(isValid({pick.name}.end) ? {pick.name}.end[0] : 1)"
    deepest = max(row["depth"] for row in rows) + 1
    across = alt.Scale(domainMin=alt.ExprRef(low), domainMax=alt.ExprRef(high), nice=False, zero=False)
    up = alt.Scale(domain=[0, deepest], nice=False)
    base = alt.Chart(alt.Data(values=[{key: value for key, value in row.items() if key != "path"} |
                                      {"top": row["depth"] + 1} for row in rows]))
    found = f"{SEARCH.name} !== '' && indexof(lower(datum.function), lower({SEARCH.name})) >= 0"
    bars = base.mark_bar(clip=True, stroke=style.PAPER, strokeWidth=0.5, cursor="pointer").encode(
        x=alt.X("begin:Q", title=None, axis=None, scale=across), x2="end:Q", y=alt.Y("depth:Q", title=None, axis=None,
                                                                                           scale=up),
        y2="top:Q", tooltip=tooltips,
        color=alt.condition(found, alt.value("#ff00ff"), color)).add_params(pick)
    # Each rectangle shows as many letters of the function's name as fit into its visible part.
    seen = f"(min(datum.end, {high}) - max(datum.begin, {low}))"
    texts = base.transform_calculate(left=f"max(datum.begin, {low})", middle="datum.depth + 0.5").transform_filter(
        f"{seen} / ({high} - {low}) > 0.03").mark_text(
        align="left", baseline="middle", dx=3, fontSize=10, clip=True, color=LETTERS,
        limit=alt.ExprRef(f"max(1, {seen} / ({high} - {low}) * {width - ASIDE} - 6)")).encode(
        x=alt.X("left:Q", title=None, axis=None, scale=across), y=alt.Y("middle:Q", title=None, axis=None, scale=up),
        text="function:N")
    return alt.layer(bars, texts).properties(width=width - ASIDE, height=deepest * ROW, title=title)


def _graph_titles(runs: pl.DataFrame, found: dict[str, Node]) -> dict[str, str]:
    named = labels.variants(runs) if runs["variant"].null_count() == 0 else {}
    return {name: f"{named.get(name, name)}: {tree.samples - tree.off:,.0f} samples" + (
        f"; {100 * tree.off / tree.samples:.0f} % of the time off the CPU" if tree.off else "")
            for name, tree in found.items()}


_HOW = "click a function for its callees, double click for all; callees stand above their callers"
_TOOLTIPS = [alt.Tooltip("function:N"), alt.Tooltip("stage:N", title="stage"),
             alt.Tooltip("samples:Q", format=",d"), alt.Tooltip("percent:Q", title="% of the samples", format=".1f")]


def _drawn(graphs: list[alt.TopLevelMixin], title: str, runs: pl.DataFrame, how: str, description: str,
           width: int) -> Drawn:
    """Returns the graphs one below the other, with one search field."""
    chart = alt.vconcat(*graphs).add_params(SEARCH).resolve_scale(x="independent", y="independent")
    return Drawn(style.themed(chart, title, [shared_setting(runs), f"{how}; {_HOW}"], description, width),
                 title, description)


def draw_functions(data: Data, width: int) -> Drawn | NotDrawn:
    runs, found = trees(data)
    if not found:
        return NotDrawn(TITLE, "no run has samples enough: --profile takes them")
    drawn = {name: list(tree.rows(tree.samples)) for name, tree in found.items()}
    met = {row["stage"] for rows in drawn.values() for row in rows}
    colors = {stages.words(stage.name): OFF.get(stage.name, stage.color) for stage in stages.STAGES} | {
        SEVERAL: SEVERAL_COLOR}
    shown = [stage for stage in colors if stage in met]
    color = alt.Color("stage:N", title="stage", sort=shown, scale=alt.Scale(
        domain=shown, range=[colors[stage] for stage in shown]))
    graphs = [flames(drawn[name], title, number, color, _TOOLTIPS, width)
              for number, (name, title) in enumerate(_graph_titles(runs, found).items())]
    heaviest = [f"{max(rows, key=lambda row: row['own'])['function']} ({name})" for name, rows in drawn.items()]
    description = (f"Flame graphs of {words.listed(list(found))}: kernel functions by their share of the samples "
                   f"in sends; the heaviest by themselves: {words.listed(heaviest)}. {shared_setting(runs)}.")
    return _drawn(graphs, TITLE, runs, "width: share of the samples in sends, and of time off the CPU in samples",
                  description, width)


def differences(tree: Node, reference: Node) -> list[dict]:
    """Returns the rectangles of a tree, with the share of each path in the reference."""
    def share(path):
        node = reference
        for name in path:
            node = node.callees.get(name)
            if node is None:
                return 0.0
        return 100 * node.samples / reference.samples
    return [row | {"before": (before := share(row["path"])), "difference": row["percent"] - before}
            for row in tree.rows(tree.samples)]


def _draw_differences(pairs: dict[str, tuple[Node, Node]], titles: dict[str, str], first: str,
                      runs: pl.DataFrame, width: int) -> Drawn:
    """Draws each tree, coloured by its differences from a reference. pairs: (tree, reference) by name. first: the name
    of the references."""
    color = alt.Color("difference:Q", title=f"points more than {first}", scale=alt.Scale(
        domain=[-20, 0, 20], range=["#5e9bd1", "#eeeeee", "#e0604c"], clamp=True))
    tooltips = [*_TOOLTIPS, alt.Tooltip("before:Q", title=f"% in {first}", format=".1f")]
    graphs = [flames(differences(tree, reference), titles[name], number, color, tooltips, width)
              for number, (name, (tree, reference)) in enumerate(pairs.items())]
    description = (f"Flame graphs of {words.listed(list(pairs))}, coloured by how much more or "
                   f"less of the samples a function has than in {first}. {shared_setting(runs)}.")
    return _drawn(graphs, COMPARED, runs,
                  f"red: a larger share of the samples than in {first}, blue: a smaller one", description, width)


def draw_compared(data: Data, width: int) -> Drawn | NotDrawn:
    runs, found = trees(data, "tcp_sendmsg")
    if len(found) < 2:
        return NotDrawn(COMPARED, "no two variants have samples enough: --profile takes them")
    (first, reference), *others = found.items()
    return _draw_differences({name: (tree, reference) for name, tree in others}, _graph_titles(runs, found), first,
                             runs, width)


def draw_sets(a: Data, b: Data, width: int) -> Drawn | NotDrawn:
    """Draws the variants of B, compared with A, for the sizes and threads with most samples in A."""
    runs, before = trees(a, "tcp_sendmsg")
    same = ["threads", "message_bytes"]
    _, after = trees(replace(b, runs=b.runs.join(runs, on=same, how="semi", nulls_equal=True)), "tcp_sendmsg")
    pairs = {name: (tree, before[name]) for name, tree in after.items() if name in before}
    if not pairs:
        return NotDrawn(COMPARED, f"no variant has {SAMPLES_LEAST} samples of sends in both, with the same sizes and "
                        "threads: --profile takes them")
    titles = {name: f"{name}: {tree.samples - tree.off:,.0f} samples of B, {reference.samples - reference.off:,.0f} of A"
              for name, (tree, reference) in pairs.items()}
    return _draw_differences(pairs, titles, "A", runs, width)


FIGURE = Figure("functions", draw_functions)
FIGURE_COMPARED = Figure("functions-compared", draw_compared)
