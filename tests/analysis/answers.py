# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Answers to data of which the answer is known, as tests/fixtures/text/answers.txt keeps them:
`analysis/.venv/bin/python tests/analysis/answers.py` writes it anew."""

import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
KEPT = ROOT / "tests/fixtures/text/answers.txt"
sys.path.insert(0, str(ROOT))

import planted  # noqa: E402 (it needs the path)
from analysis.report.questions import (QUESTIONS, caches, hosts, memory, one_copy,  # noqa: E402
                                       servers, slow_answers, threads, unexpected,
                                       why_not_zero_copy, zero_copy)

TAP = {"zc_copied": 1000, "fallback_causes": "packet_tap@eth0:1000"}
UNCAUSED = {"zc_copied": 900, "fallback_causes": ""}


def changed(change, rows=None):
    """Data of rows (of all sends, if not given), each as a function of it changes it."""
    return planted.data([change(dict(row)) or row for row in rows or planted.sends()])


def of(variant, **columns):
    """A change of the rows of a variant; a column's value may be a function of the one before."""
    def change(row):
        if row["variant"] == variant:
            row.update({name: value(row) if callable(value) else value
                        for name, value in columns.items()})
        return row
    return change


def falls_behind():
    return changed(of("onecopy", throughput_bps=lambda row: row["throughput_bps"] * (
        planted.CROSSING / row["message_bytes"])**0.5))


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
    rows = planted.sends()
    rows[0].update({name: value(rows[0]) if callable(value) else value
                    for name, value in columns.items()})
    return planted.data(rows)


def busy_hosts(variants):
    return planted.data([{**row, "disturbed": "busy"} for row in planted.hosts(c=TAP)
                         if row["variant"] in variants])


VARIANTS = "twocopy", "onecopy", "zerocopy"
ZERO_COPY = zero_copy, why_not_zero_copy
# What is planted: which questions are asked, and of which data.
CASES = {
    "all": (QUESTIONS, planted.all_data),
    "one-copy falls behind": ((one_copy,), falls_behind),
    "zero-copy that is not copied": (ZERO_COPY, lambda: planted.data(planted.sends(rate=0.0))),
    "two links, of which one copies": ((*ZERO_COPY, threads), two_links),
    "time divided into stages": ((why_not_zero_copy,), divided),
    "time divided by tracepoints": ((why_not_zero_copy,), by_tracepoints),
    "copies without a flag, and refusals": (
        (why_not_zero_copy,), lambda: changed(of("zerocopy", zc_copied_silent=700, zc_refused=5))),
    "a p99 that threads cost": ((threads,), slow_with_threads),
    "a fall, and what moves with it": ((unexpected,), falls_at_64k),
    "an outlier": ((unexpected,),
                   lambda: first_row(throughput_bps=lambda row: row["throughput_bps"] * 0.1)),
    "a failed run": ((unexpected,),
                     lambda: first_row(complete=False, error="the receiver is gone")),
    "no counters": ((caches, memory), lambda: planted.data(planted.sends(counters=False))),
    "two server models": ((servers,), lambda: planted.data(
        [row for row in planted.servers() if row["server_model"] != "select"])),
    "retransmitted SYNs": ((slow_answers,),
                           lambda: planted.data(planted.servers(syns=3, slow=True))),
    "slow answers without them": ((slow_answers,), lambda: planted.data(planted.servers(slow=True))),
    "a host with a tap": ((hosts,), lambda: planted.data(planted.hosts(c=TAP))),
    "all hosts with a tap": ((hosts,), lambda: planted.data(
        planted.hosts(**{name: TAP for name in "abcdef"}))),
    "a slow host with another kernel": ((hosts,), lambda: planted.data(
        planted.hosts(b={"send_mean_ns": 40_000.0, "kernel": "5.10"}))),
    "a slow host": ((hosts,), lambda: planted.data(planted.hosts(b={"throughput_bps": 1e6}))),
    "a host with copies of unknown cause": ((hosts,), lambda: planted.data(planted.hosts(e=UNCAUSED))),
    "three hosts": ((hosts,), lambda: planted.data(planted.hosts("abc", b=TAP))),
    "busy hosts": ((hosts,), lambda: busy_hosts(VARIANTS)),
    "busy hosts that copy": ((hosts,), lambda: busy_hosts(VARIANTS[:1])),
}


def answers(name):
    """(question's name, its answer) of a case."""
    modules, make = CASES[name]
    data = make()
    for module in modules:
        question = getattr(module, "QUESTION", module)
        yield question.name, question.answer(data)


def text():
    lines = []
    for case in CASES:
        lines += [f"== {case}"]
        for name, answer in answers(case):
            lines += [f"{name}: {answer.short}", *(f"  {line}" for line in answer.sentences),
                      *(f"  not shown: {line}" for line in answer.not_shown)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    KEPT.write_text(text(), encoding="utf-8")
