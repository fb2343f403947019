# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Answers questions about runs that send messages: which variant is faster from which size, and why."""

import polars as pl

from analysis import hosts, stages, words
from analysis.compare import answers, judge
from analysis.figures import judged, over, style
from analysis.figures.base import Data
from analysis.figures.judged import Kind
from analysis.findings import facts, rules, sentences
from analysis.findings.rules import Finding
from analysis.report.base import Answer
from analysis.report.questions import common
from analysis.stats import interval
from analysis.summary import compare
from analysis.tables.variants import in_order, in_words

PEER = "On another path: sudo ./analyze advise --peer HOST:PORT"
MOST_CROSSINGS = 4
# The costs that are compared with those of the first variant.
COSTS = (("send_mean_ns", "kernel time of a send"), ("sender_cpu_s_per_gib", "CPU time of the sender per GiB"),
         ("receiver_cpu_s_per_gib", "of the receiver"))


def kind_of(data: Data) -> Kind:
    """Returns the kind of the grid: records, or else sizes."""
    return next(kind for kind in judged.KINDS if kind.over.runs(data).height or kind.name == "sizes")


def where(kind: Kind, cell: dict) -> str:
    at = words.counted(int(kind.x(cell)), "record") if kind.name == "records" else kind.say(kind.x(cell))
    threads = f", {words.counted(cell['threads'], 'thread')}" if cell.get("threads", 1) > 1 else ""
    return f"{at}{threads}" + (f" ({cell['setting']})" if cell.get("setting") else "")


def copies_of(zero: pl.DataFrame) -> list[Finding]:
    """Returns the findings about copies, from the sums of these runs; none if no run counted copies."""
    counted = zero.filter(pl.col("zc_copied").is_not_null() & (pl.col("zc_completions") > 0))
    requests, done, copied, unflagged = (counted[f"zc_{name}"] for name in (
        "requests", "completions", "copied", "unflagged"))
    causes = [facts.Row(facts.BY_NAME.get(cause, facts.UNCLASSIFIED), device.removeprefix("-"), sends=sends)
              for cause, device, sends in sorted(hosts.sum_causes(counted.lazy()).collect().iter_rows(),
                                                 key=lambda one: (-one[2], one))]
    return rules.of_facts([facts.Facts(
        requests=float(requests.sum()), completions=float(done.sum()), copied=float(copied.sum()), causes=causes,
        unflagged=None if unflagged.null_count() else float(unflagged.sum()))])


def copied_sentence(zero: pl.DataFrame, copies: list[Finding]) -> str:
    """Returns, by the kernel's count, for example "all 6,351,328 zero-copy sends were copied (loopback, lo)"."""
    why = sentences.paragraphs(copies)[0][0] if copies else "how many sends were copied was not counted"
    refused = zero["zc_refused"].drop_nulls().sum()
    return why + (f"; {words.whole(refused)} more {'was' if refused == 1 else 'were'} refused" if refused else "")


def is_final(copies: list[Finding]) -> bool:
    """Returns whether no setting prevents the copies."""
    return sentences.is_final([one for one in copies if sentences.is_copied(one)])


def costs(kind: Kind, runs: pl.DataFrame, a: str, b: str) -> tuple[list[str], list]:
    """Returns texts such as "kernel time of a send 1.4 to 5.1 times", and the comparisons for a table."""
    parts, made = [], []
    for column, what in COSTS:
        of = runs.filter(pl.col("send_span") == runs["send_span"].drop_nulls().mode().sort()[0]) if (
            column == "send_mean_ns" and runs["send_span"].count()) else runs
        found = compare(of, kind.over.configuration, "variant", [(a, b)], column, -1)
        values = [c.judgment.value for c in found if c.judgment.n]
        if values:
            low, high = (words.number(end) for end in (min(values), max(values)))
            parts.append(f"{what} {low if low == high else f'{low} to {high}'} times")
            made.append((what, found))
    return parts, made


def retransmitted(runs: pl.DataFrame, a: str, b: str) -> str:
    """Returns, in words, the segments that a retransmitted; "" unless their share is at least five times that of b."""
    sums = {variant: runs.filter(pl.col("variant") == variant).select(
        pl.col("retransmits", "out_segments", "dsacks", "out_of_order").sum()).row(0) for variant in (a, b)}
    (many, of, again, late), (few, other, *_) = sums[a], sums[b]
    if not of or not other or many < 10 or many / of < 5 * few / other:
        return ""
    needless = (f", {words.percent(again / many)} of them needlessly: {words.whole(late)} segments arrived out of "
                "order, overtaken while the kernel copied their data") if late and 2 * again > many else ""
    return (f"it retransmitted {words.whole(many)} segments ({words.percent(many / of)}){needless}; {in_words(b)} "
            f"{words.whole(few)} ({words.percent(few / other)})")


def overtakes(data: Data, a: str, b: str) -> Answer:
    """Answers at which size, or number of records, a overtakes b."""
    kind = kind_of(data)
    runs = kind.over.runs(data)
    by = "number of records" if kind.name == "records" else "size"
    question = f"At which {by} does {in_words(a)} overtake {in_words(b)}?"
    found = compare(runs, kind.over.configuration, kind.over.name, [(a, b)], kind.metric)
    both = runs.filter(pl.col("variant").is_in([a, b]))
    if not found and both["variant"].n_unique() < 2:
        return Answer(question, "These data have no pairs of the two.", verdict=None, next=(
            f"sudo ./analyze sweep --grid sizes --variant {b},{a} --out DIR"))
    if not found:
        return Answer(question, common.NO_PAIRS, verdict=judge.INCONCLUSIVE,
                      next=common.decides(both, []), caveats=common.discarded(data.sending))
    decided, threads_ = answers.decisive(found)
    crossings = judged.crossovers(kind, decided)
    zero = runs.filter(pl.col("variant") == a) if a == "zerocopy" else runs.clear()
    verdict, copies = common.overall(decided), copies_of(zero)
    if crossings:
        parts = [f"{'from' if one.direction > 0 else 'no longer from'} about {kind.about(one.size)} "
                 f"({kind.about(one.low)} to {kind.about(one.high)}){_when(cell)}"
                 for _, cell, one in crossings[:MOST_CROSSINGS]]
        answer = words.sentence(", ".join(parts) + answers.over(threads_) + (
            f", and {len(crossings) - MOST_CROSSINGS} more crossings" if len(crossings) > MOST_CROSSINGS else ""))
    else:
        few = answers.few_repeats(in_words(a), found, threads_)
        shown = answers.overview(in_words(a), in_words(b), decided, threads_)
        shown = f"never: {shown}" if all(c.verdict == judge.WORSE for c in decided) else shown
        answer = " ".join(filter(None, (words.sentence(shown) if not few or threads_ else "", few)))
    parts, made = costs(kind, runs, a, b)
    why = ([copied_sentence(zero, copies)] if a == "zerocopy" else
           [f"{', '.join(parts)} that of {in_words(b)}"] if parts else [])
    tables = common.tables(f"{words.starting(kind.what)} of {in_words(a)} (Gbit/s); a ratio is of pairs, its interval "
                           f"decides: docs/statistics.md", found, runs, kind.over.name, 1e-9)
    for what, some in made:
        tables += common.tables(f"{words.starting(what)} of {in_words(a)}", some, runs, kind.over.name)
    return Answer(question, answer, common.extremes("throughput was", decided, lambda c: where(kind, c.configuration)),
                  words.sentence(*why),
                  PEER if is_final(copies) and not crossings and not answers.few_repeats(in_words(a), found)
                  else common.decides(runs, found), verdict,
                  common.discarded(data.sending), tables=tables)


def _when(cell: dict) -> str:
    parts = [words.counted(cell["threads"], "thread")] if cell.get("threads") else []
    parts += [f"records of {style.size_text(cell['field_size_bytes'])}"] if "field_size_bytes" in cell else []
    return (f" with {', '.join(parts)}" if parts else "") + (f" on {cell['setting']}" if cell.get("setting") else "")


def one_copy(data: Data) -> Answer:
    return overtakes(data, "onecopy", "twocopy")


def zero_copy(data: Data) -> Answer:
    return overtakes(data, "zerocopy", "twocopy")


def why_not(data: Data) -> Answer:
    question, runs = "Why does zero-copy not always win?", data.sending
    zero = runs.filter(pl.col("variant") == "zerocopy")
    if zero.is_empty():
        return Answer(question, "No run sent with zero-copy.", verdict=None,
                      next="sudo ./analyze sweep --grid sizes --out DIR")
    others = [one for one in in_order(runs["variant"].unique().to_list()) if one != "zerocopy"]
    parts, _ = costs(kind_of(data), runs, "zerocopy", others[0]) if others else ([], [])
    why = [f"against {in_words(others[0])}: {', '.join(parts)}" if parts else "",
           retransmitted(runs, "zerocopy", others[0]) if others else "", _account(data, runs)]
    completion = zero["completion_p50_ns"].drop_nulls()
    held = (f"a buffer may be reused after {words.number(completion.median() / 1e3)} µs (median)"
            if completion.len() else "")
    stages_known = data.details.stages.height
    copies = copies_of(zero)
    next_ = PEER if is_final(copies) else "" if stages_known else common.again(runs, "--stages")
    unseen = ("copies without a flag were not seen in all runs: more may have been copied",
              ) if zero["zc_unflagged"].is_null().any() else ()
    return Answer(question, words.starting(copied_sentence(zero, copies)) + ".", held, words.sentence(*why),
                  next_, caveats=unseen)


# Stages that zero-copy saves, and stages that it adds.
SAVED = ("fragment", "copy")
PAID = (("pin", "pinning"), ("request", "bookkeeping"), ("deep_copy", "the deep copy"),
        ("completion", "completions"))


def _account(data: Data, runs: pl.DataFrame) -> str:
    """Returns, in words, the kernel time that zero-copy saves at the largest size, the time that it adds, and the
    difference; "" if sends were not divided into stages."""
    times = stages.per_send(data.details.stages).join(
        runs.select("run_id", "variant", "message_bytes"), on="run_id")
    times = times.filter(pl.col("variant").is_in(["zerocopy", "twocopy"]))
    times = times.filter(pl.col("variant").n_unique().over("message_bytes") == 2)
    if times.is_empty():
        return ""
    size = times["message_bytes"].max()
    means = {(variant, stage): value for variant, stage, value in times.filter(
        pl.col("message_bytes") == size).group_by("variant", "stage").agg(pl.col("ns").median() / 1e3).iter_rows()}

    def more(*names: str) -> float:
        return sum(means.get(("zerocopy", one), 0) - means.get(("twocopy", one), 0) for one in names)
    total = more(*{stage for _, stage in means if stage not in stages.OF_NAME or stages.OF_NAME[stage].on_cpu})
    end = f"{words.number(abs(total))} µs {'more' if total > 0 else 'less'} on the CPU than two-copy"
    if ("zerocopy", "copy") not in means and ("zerocopy", "pin") not in means:
        return f"at {style.size_text(size)} a send takes {end}; tracepoints cannot divide it"
    paid = [f"{words.number(more(stage))} for {what}" for stage, what in PAID if more(stage) > 0]
    rest = total - more(*SAVED, *(stage for stage, _ in PAID))
    return (f"at {style.size_text(size)} a send saves {words.number(-more(*SAVED))} µs of copying and pays "
            f"{words.listed([*paid, f'{words.number(rest)} for the rest'])}: {end}")


def caches(data: Data) -> Answer:
    question, kind = "Which cache level gains most from fewer copies?", kind_of(data)
    runs = over.with_misses_per_kib(data.sending)
    found = {level: [c for a in ("onecopy", "zerocopy") for c in compare(
        runs, kind.over.configuration, "variant", [(a, "twocopy")], f"sender_{level}_misses_per_kib", -1)]
        for level in over.LEVELS}
    if not any(found.values()):
        return Answer(question, "Not answered: no run counted cache misses.", verdict=None,
                      next=common.NO_PMU.format(common.again(runs)))
    saved = {level: sorted(interval.median(c.values_b).value - interval.median(c.values_a).value for c in some if c.verdict == judge.BETTER)
             for level, some in found.items()}
    middles = {level: values[len(values) // 2] for level, values in saved.items() if values}
    answer, verdict = "None is shown to gain.", judge.INCONCLUSIVE
    if middles:
        best = max(middles, key=middles.get)
        verdict, answer = judge.BETTER, (
            f"The {over.LEVELS[best]}: {words.number(middles[best])} load misses less per KiB, the middle of "
            f"{words.counted(len(saved[best]), 'configuration')}.")
    tables = sum((common.tables(f"Load misses per KiB, {over.LEVELS[level]}", some, runs, "variant")
                  for level, some in found.items()), ())
    number = "; ".join(f"{over.LEVELS[level]}: {common.counts(some, 'fewer', 'more')}"
                       for level, some in found.items() if some)
    return Answer(question, answer, number, "", common.decides(runs, [c for some in found.values() for c in some]),
                  verdict, common.discarded(data.sending), tables=tables)


def threads(data: Data) -> Answer:
    question, runs = "How do threads interact with each variant?", data.sending
    counts = runs["threads"].unique().sort().to_list()
    if len(counts) < 2:
        return Answer(question, "Not answered: one number of threads was run.", verdict=None,
                      next=common.again(runs, "--threads 1,2,4,8"))
    found = compare(runs, ["setting", "message_bytes", "variant"], "threads",
                           [(n, counts[0]) for n in counts[1:]], "throughput_bps")
    cpus = runs["cpus"].drop_nulls().min()
    scarce = cpus is not None and cpus <= 2
    more = f"With {counts[-1] if len(counts) == 2 else 'more'} threads instead of {counts[0]}"
    verdict = common.overall(found)
    answer = (f"{more}, no difference could be shown ({words.counted(len(found), 'configuration')})."
              if {c.verdict for c in found} == {judge.INCONCLUSIVE} else
              f"{more}, throughput is {common.counts(found, 'more', 'less')}.")
    if scarce:
        answer = (f"{answer} No scaling can be seen on {words.counted(cpus, 'CPU')}: a sender and its receiver keep "
                  "both busy.")
    waits = runs.group_by("threads").agg(pl.col("sender_waited_share").median()).drop_nulls().sort("threads").rows()
    why = ("The sender waited for a CPU " + ", ".join(
        f"{words.percent(round(share, 3))} of the time with {words.counted(n, 'thread')}"
        for n, share in waits) + " (medians)."
        if len(waits) > 1 else "")
    next_ = (f"On a machine with {2 * counts[-1]} CPUs: {common.again(runs)}" if scarce
             else common.decides(runs, found))
    parts = common.extremes("throughput was", found, lambda c: (
        f"{style.size_text(c.configuration['message_bytes'])} by {in_words(c.configuration['variant'])}"
        + (f" with {c.a} threads" if len(counts) > 2 else "")))
    return Answer(question, answer, parts, why, next_, verdict,
                  common.discarded(data.sending),
                  tables=common.tables("Throughput by threads (Gbit/s)", found, runs, "threads", 1e-9))


def memory(data: Data) -> Answer:
    question, kind = "How many bytes move through memory for each byte sent?", kind_of(data)
    runs = over.of_one_source(data.sending)
    runs = runs.filter(pl.col(over.MEMORY).is_not_null())
    if runs.is_empty():
        return Answer(question, "Not answered: no run measured memory traffic.", verdict=None,
                      next="On a machine whose memory controller counts (docs/memory.md): "
                           + common.again(data.sending, "--memory"))
    found = compare(runs, kind.over.configuration, "variant",
                           [(a, "twocopy") for a in ("onecopy", "zerocopy")], over.MEMORY, -1)
    medians = {variant: part[over.MEMORY].median() for (variant,), part in runs.group_by("variant")}
    answer = ", ".join(f"{in_words(one)} {words.number(medians[one])}" for one in in_order(list(medians)))
    caveats = ("memory traffic is an estimate, made from misses of the last-level cache, which leave out what is "
               "prefetched",) if runs["memory_is_estimate"].fill_null(False).all() else ()
    return Answer(question, f"{words.starting(answer)} (medians of all runs).",
                  common.extremes("the ratio to two-copy was", found, lambda c: where(kind, c.configuration)),
                  "The counters are of the whole machine.", common.decides(runs, found), common.overall(found),
                  (*caveats, *common.discarded(data.sending)),
                  tables=common.tables("Memory bytes per byte sent", found, runs, "variant"))
