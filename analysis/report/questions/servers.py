# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Answers how server models of many connections compare, why, and what made answers slow."""

import itertools

import polars as pl

from analysis import words
from analysis.compare import judge
from analysis.compare.pairs import Comparison
from analysis.figures import over
from analysis.figures.base import Data
from analysis.report.base import Answer, Table
from analysis.report.questions import common
from analysis.stats import interval
from analysis.summary import compare
from analysis.tables.variants import in_order

KEYS = ["setting", "connections"]
MORE = "sudo ./analyze sweep --grid servers --out DIR"
# A client waits this long until it retransmits a SYN for the first time.
SLOW_NS = 1e9
# Run-queue delays, or CPU times of an answer, within this factor do not explain a difference.
ALIKE = 1.25
# column, factor, words. The server's columns begin with sender_, and the client's columns with receiver_.
SIDES = (("user_s", 1e3, "user (ms)"), ("system_s", 1e3, "system (ms)"), ("task_clock_ns", 1e-6, "task clock (ms)"),
         ("cpus_utilised", 1.0, "CPUs utilised"), ("context_switches", 1.0, "context switches"),
         ("cpu_migrations", 1.0, "CPU migrations"), ("page_faults", 1.0, "page faults"),
         ("cycles", 1e-6, "cycles (million)"), ("stalled_frontend_cycles", 1e-6, "stalled, front (million)"),
         ("stalled_backend_cycles", 1e-6, "stalled, back (million)"), ("instructions", 1e-6, "instructions (million)"),
         ("ipc", 1.0, "instructions per cycle"), ("branches", 1e-6, "branches (million)"),
         ("branch_misses", 1e-6, "branch misses (million)"), ("branch_miss_rate", 100.0, "branch misses (%)"))
SERVER = (("messages_per_s", 1.0, "requests per second"), ("elapsed_s", 1.0, "elapsed (s)"),
          ("server_cpu_ms_per_answer", 1.0, "CPU per answer (ms)"),
          ("sender_waited_share", 100.0, "run-queue delay (%)"),
          *((f"sender_{column}", *more) for column, *more in SIDES))
CLIENT = (("message_p50_ns", 1e-6, "answer p50 (ms)"), ("message_p99_ns", 1e-6, "answer p99 (ms)"),
          *((f"{phase}_p99_ns", 1e-6, f"{phase} p99 (ms)") for phase in ("connect", "accept", "work")),
          ("receiver_waited_share", 100.0, "run-queue delay (%)"),
          *((f"receiver_{column}", *more) for column, *more in SIDES))


def _where(cell: dict) -> str:
    return words.counted(cell["connections"], "connection") + (f" ({cell['setting']})" if cell["setting"] else "")


def _pair(one: Comparison) -> str:
    return f"{_where(one.configuration)} ({one.a} against {one.b})"


def _tables(runs: pl.DataFrame, whose: str, metrics: tuple) -> tuple[Table, ...]:
    measured = [m for m in metrics if m[0] in runs.columns and runs[m[0]].count()]
    rows = [(setting, str(connections), model, *(
        words.estimate(interval.median(part[column].drop_nulls() * factor)) if part[column].count() else ""
        for column, factor, _ in measured)) for (setting, connections, model), part in sorted(
            runs.group_by("setting", "connections", "server_model"), key=lambda item: item[0])]
    return (Table(f"{whose}, medians over repeats", ("configuration", "connections", "server model",
                  *(what for *_, what in measured)), tuple(rows)).without_empty(),) if measured else ()


def _leaders(found: list[Comparison], models: list[str]) -> dict[tuple, str]:
    """Returns, by configuration, the model that is significantly better than all others; "" if none is."""
    ahead: dict[tuple, dict[str, int]] = {}
    for c in found:
        wins = ahead.setdefault(tuple(c.configuration.values()), dict.fromkeys(models, 0))
        if c.verdict in (judge.BETTER, judge.WORSE):
            wins[c.a if c.verdict == judge.BETTER else c.b] += 1
    return {cell: next((model for model, many in wins.items() if many == len(models) - 1), "")
            for cell, wins in ahead.items()}


def models(data: Data) -> Answer:
    question, runs = "Which server model answers most as connections grow?", over.with_cpu_per_answer(data.serving)
    names = in_order(runs["server_model"].unique().to_list()) if runs.height else []
    if len(names) < 2:
        return Answer(question, "One server model was run." if names else "No run served many connections.",
                      verdict=None, next=MORE)
    found = compare(runs, KEYS, "server_model", list(itertools.combinations(names, 2)), "messages_per_s")
    by_leader: dict[str, list[str]] = {}
    for cell, model in sorted(_leaders(found, names).items()):
        by_leader.setdefault(model, []).append(str(cell[1]))
    parts = [f"{words.starting(model)} answers most at {words.listed(at)} connections"
             for model, at in by_leader.items() if model]
    if by_leader.get(""):
        parts.append(f"{'n' if parts else 'N'}o model is shown to be ahead of all others at "
                     f"{words.listed(by_leader[''])} connections")
    decided = [c for c in found if c.verdict in (judge.BETTER, judge.WORSE)]
    tables = (*_tables(runs, "Server", SERVER), *_tables(runs, "Client", CLIENT),
              *common.tables("Requests per second", found, runs, "server_model"))
    number = common.extremes("requests per second were", decided or found, _pair)
    return Answer(question, f"{'; '.join(parts)}." if found else common.NO_PAIRS,
                  number, next=common.decides(runs, found),
                  verdict=judge.BETTER if set(by_leader) - {""} else common.overall(found),
                  caveats=common.discarded(data.serving), tables=tables)


def _medians(runs: pl.DataFrame, column: str) -> dict[str, float]:
    found = dict(runs.group_by("server_model").agg(pl.col(column).median()).drop_nulls().iter_rows())
    return {model: found[model] for model in in_order(list(found))}


def why(data: Data) -> Answer:
    question, runs = "Why do they differ?", over.with_cpu_per_answer(data.serving)
    if runs.is_empty() or runs["server_model"].n_unique() < 2:
        return Answer(question, "", verdict=None)
    parts, why_ = [], []
    waits, cpu = _medians(runs, "sender_waited_share"), _medians(runs, "server_cpu_ms_per_answer")
    switches = _medians(runs.with_columns(pl.col("sender_context_switches") / pl.col("messages")),
                        "sender_context_switches")
    if waits and max(waits.values()) > max(0.05, ALIKE * min(waits.values())):
        top, low = max(waits, key=waits.get), min(waits, key=waits.get)
        parts.append(f"The {top} server waits for a CPU in {words.percent(round(waits[top], 4))} of its runnable time; "
                     f"{low} in {words.percent(round(waits[low], 4))}")
    if cpu:
        ends = f"{words.number(min(cpu.values()))} to {words.number(max(cpu.values()))} ms of CPU time"
        if max(cpu.values()) < ALIKE * min(cpu.values()):
            why_.append(f"all models spend {ends} on an answer: they are bound by the same work, the answer itself")
        else:
            why_.append("CPU time of an answer: " + ", ".join(
                f"{model} {words.number(ms)} ms" for model, ms in cpu.items()))
    if switches:
        why_.append("context switches per answer: " + ", ".join(
            f"{model} {words.number(many)}" for model, many in switches.items()))
    cpus = runs["cpus"].drop_nulls().min()
    few = f"On more than {words.counted(cpus, 'CPU')}: {common.again(runs)}" if cpus and cpus <= 2 else ""
    uncounted = common.NO_PMU.format(common.again(runs)) if runs["sender_cycles"].is_null().all() else ""
    ratios = compare(runs, KEYS, "server_model", [(m, list(cpu)[0]) for m in list(cpu)[1:]],
                            "server_cpu_ms_per_answer", -1) if cpu else []
    measured = len(waits) == runs["server_model"].n_unique()
    return Answer(question, f"{'; '.join(parts)}." if parts else "Their run-queue delays are alike." if measured else
                  "Run-queue delays were not measured for all of them.",
                  common.extremes("CPU time per answer was", ratios, _pair), words.sentence(*why_), few or uncounted)


COUNTS = (("listen_overflows", "overflows of a listen queue"), ("listen_drops", "connections turned away"),
          ("syn_retransmits", "retransmitted SYNs"), ("unanswered", "connections without an answer"))


def slow(data: Data) -> Answer:
    question, runs = "What were slow answers: a full listen queue, lost packets, or waiting?", data.serving
    if runs.is_empty():
        return Answer(question, "No run served many connections.", verdict=None, next=MORE)
    late = runs.filter(pl.col("answer_p99_ns") >= SLOW_NS)
    known = [(column, what) for column, what in COUNTS if runs[column].count()]
    some = [f"{words.whole(runs[column].sum())} {what}" for column, what in known if runs[column].sum()]
    worst = runs["answer_p99_ns"].max()
    number = f"slowest p99 {words.number(worst / 1e6)} ms" if worst is not None else ""
    none = [what for column, what in known if not runs[column].sum()]
    if not late.height:
        first = "No answer was timed" if worst is None else "None: no run's slowest hundredth of answers took a second"
        return Answer(question, f"{first}{'; but ' if some else ''}{', '.join(some)}.", number,
                      f"No {', no '.join(none)}." if none else "")
    phases = ", ".join(f"{phase} {words.number(late[f'{phase}_p99_ns'].median() / 1e6)} ms"
                       for phase in ("connect", "accept", "work") if late[f"{phase}_p99_ns"].count())
    late_runs = (f"In {words.counted(late.height, 'run')} of {words.whole(runs.height)} the slowest hundredth took a "
                 f"second or more ({', '.join(sorted(set(late['server_model'])))})")
    waited = late["sender_waited_share"].median()
    why_ = [f"p99 of each phase there: {phases}"] if phases else []
    why_ += [f"the server waited for a CPU {words.percent(round(waited, 4))} of the time"] if waited else []
    why_ += [f"none of: {', '.join(none)}"] if none else []
    what = ", ".join(some) or ("nothing was dropped or retransmitted, they waited" if known else
                               "drops and retransmissions were not counted")
    return Answer(question, f"{late_runs}: {what}.",
                  number, words.sentence(*why_),
                  common.again(runs, "--backlog 4096") if runs["listen_overflows"].sum() else "", judge.WORSE)
