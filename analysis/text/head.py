# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Prints what precedes the numbers: missing runs, losses, the machine, the load."""

from analysis import words
from analysis.findings import facts

from .cells import FAILED
from .layout import BOLD
from .record import at, count, flag, number, string, value, warning
from .spread import total

INTERRUPTED = "interrupted"  # the code of the warning that a run ended before its time
UNSEEN = "sends_unseen"  # the code of the warning that a mechanism does not see some sends by TCP


def incomplete(cells):
    """Yields which runs were not made, or did not end. A report begins with these lines."""
    failed, runs = cells.failed, [record for cell in cells for record in cell.records]
    parts = [cells.unfinished]
    if failed:
        many, why = len(failed) + (0 if cells.all_failed else len(runs)), warning(failed[-1], FAILED)
        parts.append(why if many == 1 else f"{len(failed)} of {words.counted(many, 'run')} failed: {why}")
    if not cells.unfinished:
        parts += filter(None, [next(filter(None, (warning(record, INTERRUPTED) for record in runs)), None)])
    if any(parts):
        yield f"{BOLD}Incomplete: {'; '.join(filter(None, parts))}."
        yield ""


def not_followed(calls, completions, what):
    """Returns the line about events that were not followed. what: which numbers lack them."""
    return (f"dropped events: {words.counted(calls, 'call')} and {words.counted(completions, 'completion')} could not be "
            f"followed: {what} lack them")


def losses(cells):
    """Yields what was lost. In a report, only incomplete() precedes these lines."""
    calls, completions = cells.sum("lost/calls"), cells.sum("lost/completions")
    flags = total(facts.lost_flags(cell.records) for cell in cells)
    # If the kernel does not count skipped runs, a warning and a finding report that.
    skipped = total(facts.missed_runs(cell.records) or 0.0 for cell in cells)
    if calls + completions > 0:
        yield not_followed(calls, completions, "the counts below")
        yield ""
    for many, before, unit, after in (
            (cells.sum("lost/groups"), "for the groups of ", "send",
             "there was no room: all totals count them, no row does"),
            (flags, "the flag of ", "completed send",
             "was inferred from a neighbouring completion, and no cause counts it"),
            (cells.sum("lost/stacks"), "for traces of ", "copied packet",
             "there was no room: causes and unflagged copies below may lack them"),
            (skipped, "the kernel skipped ", "run",
             "of the programs that see copies: the counts below may lack as many copies")):
        if many > 0:
            yield f"dropped events: {before}{words.counted(many, unit)} {after}"
            yield ""


def machine(record):
    mechanism = "not traced" if at(record, "plan/tier") is None else string(record, "plan/tier")
    return (f"sendpath {string(record, 'tool/version')} | "
            f"Linux {string(record, 'host/kernel')} {string(record, 'host/arch')} | "
            f"{words.counted(value(record, 'host/nproc'), 'CPU')}"
            f"{', VM' if flag(record, 'host/virtualized') else ''}"
            f"{', no PMU' if at(record, 'host/pmu') is None else ''} | {mechanism}")


def extent(cells, unit):
    """Returns the median duration of runs, or how many messages or rounds each had, and the number of repeats."""
    messages = number(cells.record, "load/messages_per_thread")
    if messages is None:
        elapsed = next(iter(cells)).spread("app/elapsed_s")
        text = f" | {words.figure(elapsed.middle, 3)} s each" if elapsed.count else ""
    else:
        thread = "" if cells.serving else " per thread"
        text = f" | {words.counted(messages, unit)}{thread} each"
    return text + (f", {cells.repeats} repeats" if cells.repeats > 1 else "")


def serving_load(cells):
    return ("procinfo: a connection is answered with the top two processes by CPU time, then closed | "
            f"{cells.link}{extent(cells, 'round')}")


def stream_load(cells):
    record = cells.record
    text = ("fields as listed" if cells.vary("load/fields")
            else words.counted(value(record, "load/fields"), "field"))
    if not cells.vary("load/message_bytes"):
        text += f" = {words.size(count(record, 'load/message_bytes'))} a message"
    if string(record, "load/workload") == "request":
        text += " | each asked for"
    if not cells.vary("load/threads"):
        text += f" | {words.counted(value(record, 'load/threads'), 'thread')}"
    return f"{text} | {cells.link}{extent(cells, 'message')}"


def observation(cells):
    seconds = value(cells.record, "observed/seconds")
    return f"observed: {string(cells.record, 'observed/what')} | {words.decimal(seconds, 1 if seconds >= 1 else 3)} s"


def headline(cells):
    """Yields the machine and the mechanism, then what the loads of all cells have in common."""
    yield machine(cells.record)
    loaded = at(cells.record, "load") is not None
    yield (serving_load if cells.serving else stream_load if loaded else observation)(cells)
    unseen = warning(cells.record, UNSEEN)
    if unseen is not None:
        yield f"warning: {unseen}"
