# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Why zero-copy does not always win: what was copied, what a send and its completion cost."""

import polars as pl

from analysis import stages, words
from analysis.figures import fallback, labels, style
from analysis.figures.base import Data
from analysis.figures.cells import cells, send_spans
from analysis.report import comparisons, overtakes, text
from analysis.report.base import Answer, Question, Table
from analysis.report.comparisons import Comparison
from analysis.stats import interval

KEYS = ["setting", "threads", "message_bytes"]
ZERO, TWO = "zerocopy", "twocopy"
SETTINGS_SHOWN = 4


def _copies(zero: pl.DataFrame) -> list[str]:
    """How many sends were copied, and why, by the kernel's own count."""
    counted = zero.filter(pl.col("zc_copied").is_not_null() & (pl.col("zc_completions") > 0))
    completed, copied = counted["zc_completions"].sum(), counted["zc_copied"].sum()
    if not completed:
        return []
    told = [f"Of {text.plural(completed, 'zero-copy send')} that completed, the kernel copied "
            f"{text.count(copied)} after all ({words.percent(copied / completed)} copied)."]
    causes = fallback.causes(counted["fallback_causes"].to_list())
    if causes:
        told.append("Why: " + labels.listed([
            f"{fallback.cause_text(name)} ({text.plural(count, 'send')})"
            for name, count in causes]) + ". docs/causes.md explains what the kernel does there.")
    elif copied:
        told.append("No cause was seen for any of these copies.")
    unflagged = counted["zc_unflagged"].drop_nulls().sum()
    if unflagged:
        told.append(f"{text.count(unflagged)} of them were copied without a flag: the application "
                    "was told that they were not copied.")
    refused = zero["zc_refused"].drop_nulls().sum()
    if refused:
        told.append(f"{text.plural(refused, 'zero-copy send')} "
                    f"{'was' if refused == 1 else 'were'} refused before anything was sent "
                    f"({labels.copied(zero) or '0 % of the others copied'}).")
    return told


def _range(found: list[Comparison]) -> str:
    """The ratios of cells in which there is a significant difference."""
    values = [c.estimate.value for c in found]
    low, high = text.number(min(values)), text.number(max(values))
    return low if low == high else f"{low} to {high}"


def _cost(found: list[Comparison], what: str, name: str) -> list[str]:
    """One sentence on a cost of zero-copy against two-copy, over all cells."""
    if not found:
        return []
    more = [c for c in found if c.sign > 0]
    less = [c for c in found if c.sign < 0]
    if not any(c.estimate.has_interval for c in found):
        return []
    parts = []
    for some, word in ((more, "more"), (less, "less")):
        if some:
            parts.append(f"significantly {word} in {len(some)} (medians of {_range(some)} times)")
    return [f"{what} of {name}, against {TWO}: {labels.listed(parts + comparisons.rest(found))} of "
            f"{text.plural(len(found), 'configuration')}."]


def _completion(zero: pl.DataFrame, name: str) -> list[str]:
    timed = zero.filter(pl.col("completion_p50_ns").is_not_null())
    if timed.is_empty():
        return []
    span = timed["completion_span"].drop_nulls().unique().sort().to_list()
    p50, p99 = (interval.median(timed[f"completion_{q}_ns"].drop_nulls() / 1e3)
                for q in ("p50", "p99"))
    return [f"The kernel held the memory of a send of {name} for {text.number(p50.value)} µs at "
            f"the p50 and {text.number(p99.value)} µs at the p99 after the send began (medians of "
            f"{text.plural(p50.n, 'run')} of all sizes and threads; span {', '.join(span)}): for "
            "that long the program may not write to it."]


def _outcome(found: list[Comparison], name: str) -> str:
    ahead, behind = (sum(c.sign == sign for c in found) for sign in (1, -1))
    return (f"{text.starting(name)} moves significantly more data than {TWO} in {ahead}, and "
            f"significantly less "
            f"in {behind}, of {text.plural(len(found), 'configuration')} (size, threads, options)"
            + "".join(f"; it is {part}" for part in comparisons.rest(found)) + ".")


COSTS = (
    ("send_mean_ns", 1e-3, "kernel time of a send (µs)", "Mean kernel time of a send"),
    ("send_cpu_ns", 1e-3, "CPU time in a send (µs)", "Mean time on the CPU in a send"),
    ("sender_cpu_s_per_gib", 1.0, "sender (CPU s/GiB)", "CPU time of the sender per GiB"),
    ("receiver_cpu_s_per_gib", 1.0, "receiver (CPU s/GiB)", "CPU time of the receiver per GiB"),
)


def _table(costs: list[tuple[str, list[Comparison]]], runs: pl.DataFrame) -> Table:
    rows = [(c.cell["setting"], str(c.cell["threads"]), style.size_text(c.cell["message_bytes"]),
             title, text.estimate(c.median_a),
             copied, text.estimate(c.median_b), text.times(c.estimate),
             comparisons.verdict(c, "more", "less"))
            for title, found in costs
            for c, copied in zip(found, comparisons.copied(runs, found))]
    every = [c for _, found in costs for c in found]
    return Table(f"What {ZERO} costs; {text.level([c.estimate for c in every])}; corrected for the "
                 "comparisons of each cost", (
                     "configuration", "threads", "size (bytes)", "cost", ZERO, f"of {ZERO}", TWO,
                     f"{ZERO} / {TWO}", f"{ZERO} is"), tuple(rows)).without_empty()


# What zero-copy is to save, and what it pays for that.
SAVED = ("fragment", "copy")
PAID = (("pin", "pinning"), ("request", "bookkeeping"), ("deep_copy", "the deep copy"),
        ("completion", "completions"))


def _divided(data: Data, runs: pl.DataFrame) -> list[tuple[dict, dict[str, dict[str, float]]]]:
    """Cells with both variants divided, and µs of each stage by variant: medians of runs' means."""
    times = stages.per_send(data.details.stages).join(
        runs.select("run_id", "variant", *KEYS), on="run_id")
    found: dict[tuple, dict[str, dict[str, float]]] = {}
    for row in cells(times, [*KEYS, "variant", "stage"], "ns", 1e-3).to_dicts():
        of = found.setdefault(tuple(row[key] for key in KEYS), {})
        of.setdefault(row["variant"], {})[row["stage"]] = row["median"]
    return [(dict(zip(KEYS, key)), of) for key, of in found.items() if ZERO in of and TWO in of]


def _on_cpu(times: dict[str, float]) -> float:
    return sum(value for name, value in times.items()
               if name not in stages.OF_NAME or stages.OF_NAME[name].on_cpu)


def _account(cell: dict, zero: dict[str, float], two: dict[str, float]) -> str:
    """What zero-copy saves in the kernel at one size, what it pays, and what is left."""
    def more(*names: str) -> float:
        return sum(zero.get(name, 0) - two.get(name, 0) for name in names)

    where = f"At {words.size(cell['message_bytes'])}" + (
        f" with {cell['threads']} threads" if cell["threads"] > 1 else "")
    total = _on_cpu(zero) - _on_cpu(two)
    end = (f"{text.number(abs(total))} µs {'more' if total > 0 else 'less'} on the CPU in the "
           f"call than {TWO}")
    if "copy" not in zero or "copy" not in two:
        return (f"{where}, network softirqs take {text.number(zero.get('softirq', 0))} µs of the "
                f"send, {text.number(two.get('softirq', 0))} of one of {TWO}; in all it is {end}. "
                "Tracepoints cannot divide the rest.")
    paid = [f"{text.number(more(name))} for {word}" for name, word in PAID if more(name) > 0]
    rest = total - more(*SAVED, *(name for name, _ in PAID))
    return (f"{where}, a send saves {text.number(-more(*SAVED))} µs of copying and pages, and pays "
            f"{labels.listed([*paid, f'{text.number(rest)} for the rest'])}: {end}.")


def _stage_table(divided: list[tuple[dict, dict[str, dict[str, float]]]]) -> Table:
    rows = [(cell["setting"], str(cell["threads"]), style.size_text(cell["message_bytes"]),
             stages.words(name), *(
                 part for variant in (ZERO, TWO) for part in _part(of[variant], name, cell)))
            for cell, of in divided for name in stages.OF_NAME
            if any(of[variant].get(name) for variant in (ZERO, TWO))]
    heads = [f"{variant} {what}" for variant in (ZERO, TWO) for what in ("µs", "%", "ns/byte")]
    return Table("Where the kernel time of a send goes; % of the time on the CPU; medians of runs",
                 ("configuration", "threads", "size (bytes)", "stage", *heads),
                 tuple(rows)).without_empty()


def _part(times: dict[str, float], name: str, cell: dict) -> tuple[str, str, str]:
    if name not in times:
        return "", "", ""
    share = times[name] / _on_cpu(times) if stages.OF_NAME[name].on_cpu else None
    return (text.number(times[name]), "" if share is None else f"{100 * share:.1f}",
            text.number(1e3 * times[name] / cell["message_bytes"]))


def _not_shown(zero: pl.DataFrame, costs: dict[str, list[Comparison]],
               compared: bool) -> tuple[str, ...]:
    said = [] if compared else ["Whether zero-copy moves less: no configuration has 6 pairs with "
                                f"{TWO}, so the data are insufficient for an interval."]
    rates = zero["fallback_rate"].drop_nulls()
    if rates.is_empty():
        said.append("Whether zero-copy sends were copied: no run could count it.")
    elif rates.min() == 1:
        said.append("What zero-copy would be worth where the kernel does not copy: here every "
                    "completed zero-copy send was copied.")
    if zero["zc_unflagged"].is_null().any():
        said.append("Copies without a flag, in some runs: more may have been copied.")
    if zero["error_queue_ns_per_send"].is_null().all():
        said.append("What reading completions from the error queue costs: no hook here times it.")
    said += [f"{what}: not measured in pairs." for column, _, _, what in COSTS
             if not costs[column] and column != "send_cpu_ns"]
    if zero["send_cpu_ns"].is_null().all():
        said.append("Where the kernel time of a send goes: analyze --stages shows it.")
    said.append("Which share of the difference each of these costs has: that several are higher "
                "together does not show which caused which.")
    return tuple(said)


def _of_setting(setting: str, zero: pl.DataFrame, throughput: list[Comparison],
                costs: dict[str, list[Comparison]]) -> list[str]:
    """The sentences on one setting: what differs between settings is not thrown together."""
    mine = zero.filter(pl.col("setting") == setting)
    name = labels.variants(mine)[ZERO]

    def here(found):
        return [c for c in found if c.cell["setting"] == setting]

    said = []
    if any(c.estimate.has_interval for c in here(throughput)):
        said.append(_outcome(here(throughput), name))
    said += _copies(mine)
    for column, _, _, what in COSTS:
        said += _cost(here(costs[column]), what, name)
    return [text.of_setting(setting, sentence) for sentence in said + _completion(mine, name)]


def _short(zero: pl.DataFrame) -> str:
    said = []
    if zero["fallback_rate"].n_unique() == 1 and zero["fallback_rate"].count():
        return _copies(zero)[0]  # of all settings the same
    for setting in zero["setting"].unique().sort().to_list():
        counted = _copies(zero.filter(pl.col("setting") == setting))
        said.append(text.of_setting(setting, counted[0] if counted else
                                    f"how much of {ZERO} was copied was not counted."))
    if len(said) > SETTINGS_SHOWN:
        return f"It differs between {len(said)} configurations; the section lists each."
    return text.starting(" ".join(said))


def answer(data: Data) -> Answer:
    runs = data.sending
    zero = runs.filter(pl.col("variant") == ZERO)
    if zero.is_empty():
        return Answer("These data have no zero-copy runs.",
                      not_shown=("Anything of zero-copy: no run sent with it.",))
    of_one_span, costs = runs.filter(pl.col("send_span").is_in(send_spans(runs)[:1])), {}
    for column, scale, _, _ in COSTS:
        of = of_one_span if column.startswith("send_") else runs
        costs[column] = comparisons.compare(of.with_columns(pl.col(column) * scale), KEYS,
                                            "variant", [(ZERO, TWO)], column)
    throughput = comparisons.compare(runs, KEYS, "variant", [(ZERO, TWO)], "throughput_bps")
    compared = any(c.estimate.has_interval for c in throughput)
    sentences = [sentence for setting in zero["setting"].unique().sort().to_list()
                 for sentence in _of_setting(setting, zero, throughput, costs)]
    divided = _divided(data, runs)
    sentences += [text.of_setting(cell["setting"], _account(cell, of[ZERO], of[TWO]))
                  for cell, of in divided]
    tables = tuple([_table([(title, costs[column]) for column, _, title, _ in COSTS], runs)]
                   if any(costs.values()) else [])
    tables += (_stage_table(divided),) if divided else ()
    short = _short(zero)
    if divided and len({cell["setting"] for cell, _ in divided}) == 1:
        cell, of = max(divided, key=lambda one: one[0]["message_bytes"])
        short += " " + _account(cell, of[ZERO], of[TWO])
    return Answer(short, tuple(sentences), _not_shown(zero, costs, compared), tables)


QUESTION = Question("why-not-zero-copy", "Why does zero-copy not always win?",
                    ("fallback", "kernel-time", "functions", "functions-compared", "cycles",
                     "distributions"), answer,
                    lambda data: overtakes.runs_of(data, ZERO, TWO))
