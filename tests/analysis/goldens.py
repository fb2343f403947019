# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Writes the expected texts of reports on planted data to tests/fixtures/analysis, a file for each kind of report:
analysis/.venv/bin/python tests/analysis/goldens.py"""

import contextlib
import functools
import json
import pathlib
import sys
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEPT = ROOT / "tests/fixtures/analysis"
sys.path.insert(0, str(ROOT))

import polars as pl  # noqa: E402 (these need the path)

import made  # noqa: E402
import planted  # noqa: E402
from analysis import result_sets, result_sets_text  # noqa: E402
from analysis.advice import Read, parse  # noqa: E402
from analysis.figures import FIGURES  # noqa: E402
from analysis.figures.base import Data, NotDrawn  # noqa: E402
from analysis.report.build import build  # noqa: E402
from analysis.report.write import markdown  # noqa: E402
from analysis.table import empty  # noqa: E402
from analysis.report.questions import (RECORDS, SENDING, SERVERS, hosts, sending, servers,  # noqa: E402
                                       unexpected)

TAP = {"zc_copied": 1000, "fallback_causes": "packet_tap@eth0:1000"}
UNCAUSED = {"zc_copied": 900, "fallback_causes": ""}


def changed(change):
    """Returns the planted data of sends, after applying `change` to each row."""
    return planted.data(list(map(change, planted.sends())))


def updated(row, columns):
    """Returns the row with other values; a value that is a function gets the row."""
    return {**row, **{name: value(row) if callable(value) else value
                      for name, value in columns.items()}}


def of(variant, **columns):
    """Returns a function for changed(): it gives the rows of a variant other values."""
    return lambda row: updated(row, columns) if row["variant"] == variant else row


def falls_behind():
    return changed(of("onecopy", throughput_bps=lambda row: row["throughput_bps"] * (
        planted.CROSSING / row["message_bytes"])**0.5))


def the_same():
    return changed(of("onecopy", throughput_bps=lambda row: row["throughput_bps"] * (
        planted.CROSSING / row["message_bytes"])**(0.25 if row["message_bytes"] < 65536 else 0)))


def two_links():
    return planted.data(planted.sends() + [
        {**row, "link": "veth", "throughput_bps": row["throughput_bps"] * (
            8 if row["variant"] == "zerocopy" else 1)} for row in planted.sends(rate=0.0, seed=3)])


def divided(seen=None):
    rows = planted.sends()
    return planted.data(rows, stages=planted.stages(rows, seen))


def by_tracepoints():
    seen = {variant: {"softirq": 300, "unaccounted": 500} for variant in planted.DIVIDED}
    return divided({**seen, "zerocopy": {"softirq": 3000, "unaccounted": 900}})


def slow_with_threads():
    def change(row):
        if row["variant"] == "zerocopy" and row["threads"] == 4:
            row["message_p99_ns"] *= 50
        return row
    return changed(change)


def falls_at_64k():
    def change(row):
        if row["variant"] == "onecopy":
            falls = row["message_bytes"] == 65536
            row["throughput_bps"] *= 0.2 if falls else 1
            row["sender_context_switches"] = 900 if falls else 90
        return row
    return changed(change)


def first_row(**columns):
    first, *rest = planted.sends()
    return planted.data([updated(first, columns), *rest])


def busy_hosts(variants):
    return planted.data([{**row, "disturbed": "busy"} for row in planted.hosts(c=TAP)
                         if row["variant"] in variants])


VARIANTS = "twocopy", "onecopy", "zerocopy"
ZERO_COPY = sending.zero_copy, sending.why_not
QUESTIONS = (*SENDING, sending.memory, *SERVERS)
# The questions and the data of each case.
CASES = {
    "all": (QUESTIONS, planted.all_data),
    "one-copy falls behind": ((sending.one_copy,), falls_behind),
    "one-copy that is the same but once": ((sending.one_copy,), the_same),
    "too few repeats for so many sizes": (
        (sending.one_copy, sending.threads), lambda: planted.data(planted.sends(repeats=7))),
    "too few repeats for any": ((sending.one_copy,), lambda: planted.data(planted.sends(repeats=5))),
    "zero-copy that is not copied": (ZERO_COPY, lambda: planted.data(planted.sends(rate=0.0))),
    "two links, of which one copies": ((*ZERO_COPY, sending.threads), two_links),
    "time divided into stages": ((sending.why_not,), divided),
    "time divided by tracepoints": ((sending.why_not,), by_tracepoints),
    "copies without a flag, and refusals": (
        (sending.why_not,), lambda: changed(of("zerocopy", zc_unflagged=700, zc_refused=5))),
    "a p99 that threads cost": ((sending.threads,), slow_with_threads),
    "a fall, and what moves with it": ((unexpected.answer,), falls_at_64k),
    "an outlier": ((unexpected.answer,),
                   lambda: first_row(throughput_bps=lambda row: row["throughput_bps"] * 0.1)),
    "a failed run": ((unexpected.answer,),
                     lambda: first_row(complete=False, error="the receiver is gone")),
    "no counters": ((sending.caches, sending.memory), lambda: planted.data(planted.sends(counters=False))),
    "two server models": ((servers.models, servers.why), lambda: planted.data(
        [row for row in planted.servers() if row["server_model"] != "select"])),
    "retransmitted SYNs": ((servers.slow,),
                           lambda: planted.data(planted.servers(syns=3, slow=True))),
    "slow answers without them": ((servers.slow,), lambda: planted.data(planted.servers(slow=True))),
    "a host with a tap": ((hosts.answer,), lambda: planted.data(planted.hosts(c=TAP))),
    "all hosts with a tap": ((hosts.answer,), lambda: planted.data(
        planted.hosts(**{name: TAP for name in "abcdef"}))),
    "a slow host with another kernel": ((hosts.answer,), lambda: planted.data(
        planted.hosts(b={"send_mean_ns": 40_000.0, "kernel": "5.10"}))),
    "a slow host": ((hosts.answer,), lambda: planted.data(planted.hosts(b={"throughput_bps": 1e6}))),
    "a host with copies of unknown cause": ((hosts.answer,), lambda: planted.data(planted.hosts(e=UNCAUSED))),
    "three hosts": ((hosts.answer,), lambda: planted.data(planted.hosts("abc", b=TAP))),
    "messages of records": (RECORDS, lambda: planted.data(planted.records(repeats=11))),
    "busy hosts": ((hosts.answer,), lambda: busy_hosts(VARIANTS)),
    "busy hosts that copy": ((hosts.answer,), lambda: busy_hosts(VARIANTS[:1])),
}


def answers(name):
    """Returns the answers of a case."""
    questions, make = CASES[name]
    data = make()
    return [question(data) for question in questions]


def answers_text():
    lines = []
    for case in CASES:
        lines += [f"== {case}"]
        for one in answers(case):
            lines += [f"{one.question} [{one.verdict}] {one.answer}",
                      *(f"  {name}: {said}" for name, said in (
                          ("number", one.number), ("why", one.why), ("next", one.next)) if said),
                      *(f"  caveat: {line}" for line in one.caveats), *(f"  {line}" for line in one.details)]
    return "\n".join(lines) + "\n"


def runs(repeats=8, factor=1.0, seed=1, noise=0.03, **columns):
    """Returns a table of two-copy and zero-copy runs. Zero-copy has 2 * factor times the throughput of two-copy."""
    return made.sweep({"twocopy": lambda x: 1e9, "zerocopy": lambda x: factor * 2e9},
                      (1024, 16384, 262144), repeats, noise, seed=seed, **columns)


def of_link(frame, link, copied):
    """Returns the table as measured over this link, with `copied` as the copied share of zero-copy sends."""
    is_zero_copy = pl.col("variant") == "zerocopy"
    return frame.with_columns(
        link=pl.lit(link, pl.String), fallback_rate=pl.when(is_zero_copy).then(copied),
        fallback_causes=pl.when(is_zero_copy).then(pl.lit("loopback@lo:7" if copied else "")))


# Pairs of result sets for the command compare.
COMPARED = {
    "loopback against a network": lambda: (
        of_link(runs(factor=0.3), "loopback", 1.0), of_link(runs(), None, 0.0)),
    "slower by another kernel": lambda: (runs(), runs(factor=0.7, seed=2, kernel="6.99")),
    "the same twice": lambda: (runs(), runs(seed=2)),
    "too noisy to tell": lambda: (runs(noise=0.2), runs(noise=0.2, factor=0.8, seed=5)),
    "loads that one lacks": lambda: (runs(), runs().filter(pl.col("message_bytes") != 1024)),
}


def compare_texts():
    return "".join(f"== {name}\n{result_sets_text.text(result_sets.compare(*make()))}\n"
                   for name, make in COMPARED.items())


SAYS = "Use MSG_ZEROCOPY for sends of 64K and more: less CPU time per byte."
COPIED = "Do not use MSG_ZEROCOPY on this path, at any size: every send is copied."


def ratios(against, metric, kind="from", worse=4096, better=65536, values=(2.5, 0.6, 0.5)):
    """Returns an answer as advise writes it, with its ratios."""
    return {"against": against, "metric": metric, "kind": kind, "worse": worse, "better": better,
            "ratios": [{"size": size, "n": n, "effect": value, "interval": [value - 0.1, value + 0.2],
                        "verdict": "better" if value < 0.9 else "worse"}
                       for size, n, value in zip((4096, 65536, 1 << 20), (11, 16, 22), values)]}


# Advice as advise writes it, with a key of a later version.
ADVICE = {
    "schema": "sendpath.advise/3",
    "path": {"words": "none of 300 zero-copy sends via eth0 was copied.", "copied": 0.0,
             "final": False, "traced": True, "cause": None, "device": "eth0", "optmem_max": 131072,
             "memlock_bytes": 8388608, "receiver_limited": 0.75, "warnings": ["the CPU was busy"]},
    "answers": [ratios("twocopy", "cpu"), ratios("onecopy", "cpu", worse=None),
                ratios("twocopy", "throughput", "unknown", better=None, values=(0.3,)),
                ratios("onecopy", "throughput", "alike", None, None, (1.1, 1.2))],
    "blocks": 34, "elapsed_s": 58.9, "seconds_more": 5.86, "interrupted": False, "later": {},
    "recommendation": SAYS}
ON_LOOPBACK = {**ADVICE, "recommendation": COPIED, "answers": [], "blocks": 0, "elapsed_s": 0.9,
               "seconds_more": None, "path": {
                   **ADVICE["path"], "words": "300 of 300 were copied: loopback, lo.", "copied": 1.0,
                   "final": True, "cause": "loopback", "device": "lo"}}
NOT_ASKED = {**ADVICE, "interrupted": True, "path": {**ADVICE["path"], "traced": False, "copied": None}}
PROGRAM = {"what": "pid 4711", "seconds": 2.12, "exit_status": None, "device": "lo",
           "device_share": 1.0, "lost": 0,
           "classes": [{"low": low, "high": 2 * low - 1, "sends": 7, "bytes": 9,
                        "zerocopy_sends": low, "zerocopy_bytes": 9, "other_sends": 0,
                        "other_bytes": 0} for low in (64, 4096)]}
# For each kind of answer: the largest worse size, the smallest better size, and the ratios.
KINDS = {"always": (None, 4096, (0.8, 0.6, 0.5)), "never": (1 << 20, None, (2.5, 1.6, 1.5)),
         "irregular": (1 << 20, 4096), "alike": (None, None)}
ADVICES = (ADVICE, ON_LOOPBACK, NOT_ASKED, {**ADVICE, "program": PROGRAM},
           {**ON_LOOPBACK, "path": None, "program": PROGRAM},
           *({**ADVICE, "answers": [ratios("twocopy", "cpu", kind, *sizes)]}
             for kind, sizes in KINDS.items()))


def of_advice(*datas):
    """Returns the report on these advices."""
    read = [Read(f"{n}.json", parse(json.dumps(data).encode())) for n, data in enumerate(datas)]
    return build(Data(empty()), None, [], ["F"], read)


@functools.cache
def whole_report():
    """Returns the report on all planted data, whose pictures take seconds to draw."""
    return build(planted.all_data(), "Title", ["x.jsonl: 1 left out"], ["DIR"])


def figure_texts():
    """Returns title, description and notes of each figure, or the reason why there is none."""
    data, lines = planted.all_data(), []
    pictures = {picture.name: picture for picture in whole_report().all_pictures}
    for figure in FIGURES:
        drawn = pictures.get(figure.name) or figure.draw(data, figure.width)
        said = [drawn.reason] if isinstance(drawn, NotDrawn) else [drawn.description, *drawn.notes]
        lines += [f"{figure.name}: {drawn.title}", *(f"  {line}" for line in said)]
    return "\n".join(lines) + "\n"


@contextlib.contextmanager
def undrawn():
    """Draws nothing while it is active: reports that are built then have pictures of only names and words."""
    with mock.patch("analysis.report.build.spec"), mock.patch("analysis.report.build.svg"), \
            mock.patch("analysis.figures.advice.alt"), mock.patch("analysis.figures.advice.lines"):
        yield


def advice_page():
    with undrawn():
        return markdown(of_advice(*ADVICES))


GOLDENS = {"answers.txt": answers_text, "compare.txt": compare_texts, "figures.txt": figure_texts,
           "advice_page.md": advice_page}


if __name__ == "__main__":
    for file, text in GOLDENS.items():
        (KEPT / file).write_text(text(), encoding="utf-8")
