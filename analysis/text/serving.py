# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Prints loads of many connections: a row for each server model and number of connections, and why answers are slow."""

from analysis import words

from . import table
from .answer import discarded
from .columns import middle, percentile, spread, text, total, whole
from .comparison import ratio
from .record import value

SLOW_NS = 900_000_000  # a little less than the second after which a SYN is retransmitted
WAITED_MUCH = 0.1
RATE = "serving/answers_per_s"
TOOK = "app/elapsed_s"
ANSWER, CONNECT, ACCEPT, WORK = (f"serving/{key}_ns" for key in ("answer", "connect", "accept", "work"))

MOST_EXPLAINED = 3


def cpu_each(cell):
    """Returns the CPU time of the server for each answer, in ms."""
    found = [cell.sum(path) for path in ("app/user_s", "app/system_s", "serving/answered")]
    return words.figure(1e3 * (found[0] + found[1]) / found[2], 3) if None not in found and found[2] else None


# Columns: the condition under which the column is shown ("": always), its head, its function of a cell.
COLUMNS = (
    ("", "model", text("load/server_model")),
    ("", "connections", whole("load/connections")),
    ("links", "link", text("load/link")),
    ("one", "requests/s", middle(RATE, 1)),
    ("repeats", "requests/s (range)", spread(RATE, 1)),
    ("one", "elapsed s", middle(TOOK, 1, 3)),
    ("repeats", "elapsed s (range)", spread(TOOK, 1, 3)),
    ("", "answer ms p50", percentile(ANSWER, 500, 1e6)),
    ("", "p99", percentile(ANSWER, 990, 1e6)),
    ("", "max", percentile(ANSWER, None, 1e6)),
    ("", "connect p99", percentile(CONNECT, 990, 1e6)),
    ("", "accept p50", percentile(ACCEPT, 500, 1e6)),
    ("", "p99", percentile(ACCEPT, 990, 1e6)),
    ("", "work p50", percentile(WORK, 500, 1e6)),
    ("", "drops", total("tcp/listen_drops")),
    ("", "SYNs again", total("tcp/syn_retransmits")),
)


BRIEF = (
    COLUMNS[0],
    ("", "conns", whole("load/connections")),
    COLUMNS[2],
    ("", "requests/s", middle(RATE, 1)),
    ("models", "ratio", ratio("throughput")),
    ("", "ms p50", percentile(ANSWER, 500, 1e6)),
    ("", "p99", percentile(ANSWER, 990, 1e6)),
    ("", "CPU ms", cpu_each),
    ("", "SYN resent", total("tcp/syn_retransmits")),
)


def brief(cells):
    """Yields a table that fits a line, and why answers in some configurations were slow."""
    links = cells.vary("load/link")
    when = {"", "links" if links else "", "models" if cells.vary("load/server_model") else ""}
    yield from table.of(cells, table.shown(BRIEF, when), 3 if links else 2)
    yield "ms: from connect() to the end of the answer; CPU ms: of the server, per answer"
    yield from discarded(cells)
    yield ""
    slow = list(filter(None, map(explained, cells)))
    yield from slow[:MOST_EXPLAINED]
    if len(slow) > MOST_EXPLAINED:
        yield f"and {len(slow) - MOST_EXPLAINED} more configurations with slow answers (--details)"


def explained(cell):
    """Returns, in words, why answers were slow or missing; "" if none was."""
    full, drops, again, lost = (cell.sum(path, 0.0) for path in (
        "tcp/listen_overflows", "tcp/listen_drops", "tcp/syn_retransmits", "serving/unanswered"))
    waited = cell.spread("noise/sender_waited_share").middle
    answers = cell.hist(ANSWER)
    slow = answers.slower_than(SLOW_NS)
    if full + drops + again + lost + slow <= 0:
        return ""
    parts = [f"{cell.title}: {slow:,} of {words.counted(float(answers.count), 'answer')} took a second "
            "or more"]
    if full > 0:
        parts.append(f"the listen queue (--backlog {value(cell.record, 'load/backlog'):.0f}) was full "
                    f"{words.counted(full, 'time')}")
    if drops > full:
        parts.append(f"dropped: {words.counted(drops - full, 'SYN')}")
    if again > 0:
        parts.append(f"retransmitted after 1, 2, 4 s: {words.counted(again, 'SYN')} or SYN-ACKs")
    if lost > 0:
        parts.append("established for the client and never answered, because the server had dropped the "
                    f"end of the handshake: {words.counted(lost, 'connection')}")
    if full + drops + again + lost <= 0:
        parts.append("nothing was dropped or retransmitted: they waited for the server")
    if waited >= WAITED_MUCH:
        parts.append(f"the server itself waited for a CPU in {100 * waited:.0f} % of its runnable time")
    return "; ".join(parts)


def detailed(cells):
    """Yields the table with all columns, and why answers were slow."""
    links = cells.vary("load/link")
    when = {"", "repeats" if cells.repeats > 1 else "one", "links" if links else ""}
    yield from table.of(cells, table.shown(COLUMNS, when), 3 if links else 2)
    yield ("answer: from connect() to its end; in it accept: from connected to taken by the server, "
           "work: from taken to answer ready. drops: by the listen queue; SYNs again: retransmitted")
    yield ""
    yield from list(filter(None, map(explained, cells))) or [
        "no connection was dropped, retransmitted or unanswered: what differs is the servers' own doing"]
