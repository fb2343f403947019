# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How the ways of serving many connections compare."""

import itertools
from operator import attrgetter

import polars as pl

from analysis.figures import labels
from analysis.figures.base import Data
from analysis.figures.servers import with_cpu_per_answer
from analysis.figures.style import order
from analysis.judge import Judgment
from analysis.report import comparisons, text
from analysis.report.base import Answer, Question, Table
from analysis.report.comparisons import Comparison
from analysis.stats import interval

KEYS = ["setting", "connections"]
# column, factor, what it is, unit
METRICS = (("messages_per_s", 1.0, "answers per second", "1/s"),
           ("message_p50_ns", 1e-6, "p50, connect to answer", "ms"),
           ("message_p99_ns", 1e-6, "p99, connect to answer", "ms"),
           ("server_cpu_ms_per_answer", 1.0, "server CPU per answer", "ms"),
           ("sender_waited_share", 100.0, "server waiting for a CPU", "%"),
           ("sender_task_clock_ns", 1e-6, "server task clock", "ms"),
           ("sender_cpus_utilised", 1.0, "server CPUs utilised", ""),
           ("sender_context_switches", 1.0, "server context switches", ""),
           ("sender_cpu_migrations", 1.0, "server CPU migrations", ""),
           ("sender_page_faults", 1.0, "server page faults", ""),
           ("sender_ipc", 1.0, "server instructions per cycle", ""),
           ("sender_branch_miss_rate", 100.0, "server branch misses", "%"),
           ("sender_cycles", 1e-6, "server cycles", "million"),
           ("sender_instructions", 1e-6, "server instructions", "million"),
           ("receiver_user_s", 1e3, "client user CPU", "ms"),
           ("receiver_system_s", 1e3, "client kernel CPU", "ms"),
           *((f"receiver_{name}", factor, f"client {what}", unit) for name, factor, what, unit in (
               ("task_clock_ns", 1e-6, "task clock", "ms"),
               ("cpus_utilised", 1.0, "CPUs utilised", ""),
               ("context_switches", 1.0, "context switches", ""),
               ("cpu_migrations", 1.0, "CPU migrations", ""),
               ("page_faults", 1.0, "page faults", ""),
               ("cycles", 1e-6, "cycles", "million"),
               ("instructions", 1e-6, "instructions", "million"),
               ("ipc", 1.0, "instructions per cycle", ""),
               ("branch_miss_rate", 100.0, "branch misses", "%"))))


def _ranking(found: list[Comparison], models: list[str]) -> str:
    """Of one number of connections: who is significantly ahead of whom."""
    beaten: dict[str, list[str]] = {}
    for c in found:
        if c.sign:
            ahead, behind = (c.a, c.b) if c.sign > 0 else (c.b, c.a)
            beaten.setdefault(ahead, []).append(
                f"{behind} ({text.times(c.estimate if c.sign > 0 else _turned(c.estimate))})")
    if not beaten:
        few = not any(c.estimate.has_interval for c in found)
        return "fewer than 6 repeats, so no difference can be significant" if few else \
            f"no significant difference between {labels.listed(models)}"
    return "; ".join(f"{model} significantly answers more than {labels.listed(beaten[model])}"
                     for model in models if model in beaten)


def _turned(found: Judgment) -> Judgment:
    """Of b to a, where it is of a to b, with an interval."""
    return found._replace(value=1 / found.value, low=1 / found.high, high=1 / found.low)


def _where(connections: list[int], setting: str) -> str:
    said = f"with {labels.counted(connections, 'connection')}"
    return f"{said} ({setting})" if setting else said


def _pair(c: Comparison) -> str:
    return f"({c.a} / {c.b}, {_where([c.cell['connections']], c.cell['setting'])})"


def _rankings(found: list[Comparison], models: list[str]) -> list[str]:
    """A sentence a setting and ranking: numbers of connections with the same are said together."""
    groups: dict[tuple, list[Comparison]] = {}
    for c in found:
        groups.setdefault((c.cell["setting"], c.cell["connections"]), []).append(c)
    alike: dict[tuple[str, str], list[int]] = {}
    for (setting, connections), cells in sorted(groups.items()):
        alike.setdefault((setting, _ranking(cells, models)), []).append(connections)
    return [f"{text.starting(_where(connections, setting))}: {ranking}."
            for (setting, ranking), connections in alike.items()]


def _tables(runs: pl.DataFrame) -> tuple[Table, ...]:
    """One of the server and one of its client, each if anything of it was measured."""
    client = [m for m in METRICS if m[2].startswith("client")]
    server = [m for m in METRICS if m not in client]
    made = (_table(runs, whose, metrics)
            for whose, metrics in (("Server", server), ("Client", client)))
    return tuple(table for table in made if table)


def _table(runs: pl.DataFrame, whose: str, metrics: list[tuple]) -> Table | None:
    measured = [m for m in metrics if runs.select(pl.col(m[0]).count()).item()]
    if not measured:
        return None
    rows, estimates = [], []
    for (setting, connections, model), part in sorted(
            runs.group_by("setting", "connections", "server_model"), key=lambda item: item[0]):
        values = [interval.median(part[column].drop_nulls() * factor)
                  if part[column].count() else None for column, factor, *_ in measured]
        estimates += [value for value in values if value]
        rows.append((setting, str(connections), model,
                     *(text.estimate(value) if value else "not measured" for value in values)))
    return Table(f"{whose}, medians over repeats; {text.level(estimates)}",
                 ("configuration", "connections", "server model",
                  *(f"{what} ({unit})" if unit else what for _, _, what, unit in measured)),
                 tuple(rows)).without_empty()


def _short(found: list[Comparison]) -> str:
    significant = sum(bool(c.sign) for c in found)
    if not significant:
        return "No server model significantly answers more than another in these data."
    wins: dict[str, int] = {}
    for c in found:
        if c.sign:
            ahead = c.a if c.sign > 0 else c.b
            wins[ahead] = wins.get(ahead, 0) + 1
    best = max(wins, key=wins.get)
    return (f"{significant} of {text.plural(len(found), 'comparison')} of two models show a "
            f"significant difference; {best} is ahead in {wins[best]} of them. Answers per second: "
            f"{comparisons.extremes(found, _pair)}.")


def answer(data: Data) -> Answer:
    runs = with_cpu_per_answer(data.serving)
    models = order(runs["server_model"].unique().to_list()) if runs.height else []
    found = comparisons.compare(runs, KEYS, "server_model",
                                list(itertools.combinations(models, 2)), "messages_per_s")
    if not runs.height:
        return Answer("These data have no runs that served many connections.", not_shown=(
            "How server models compare: no run served many connections.",))
    if not found:
        return Answer("These data have one server model only.", not_shown=(
            "How server models compare: no number of connections was served by two of them.",),
            tables=_tables(runs))
    said = _rankings(found, models)
    missing = []
    if runs["sender_cycles"].is_null().all():
        missing.append("Cycles, instructions and branch misses: no run counted them.")
    missing.append("Where the difference comes from: the runs of two models differ in the model "
                   "and in no other option, and these data show no more about causes.")
    return Answer(_short(found), (*said, f"({text.starting(comparisons.note(found))}.)"),
                  tuple(missing), _tables(runs))


QUESTION = Question("servers", "How do server models compare as connections grow?",
                    ("servers",), answer, attrgetter("serving"))
