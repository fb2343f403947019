# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Prints where the CPU time went, from the samples of --profile: by context, then by kernel function of sends."""

from math import ceil

from analysis import words
from analysis.tables.profile import CONTEXTS, MEASURING, SAMPLES_LEAST
from analysis.tables.stages import STAGES

from . import table
from .record import at, count, rows, safe_text, string, value
from .spread import half_width
from .stages import collect

FUNCTIONS_MAX = 10
IN_SEND = {context.name for context in CONTEXTS if context.in_send}


def names(stack):
    """Returns the functions of a stack, the outermost first."""
    return [safe_text(name) for name in rows(stack, "functions") if isinstance(name, str)]


class Profile:
    """Counts of samples in a cell's repeats. contexts: by context. stages, own and all count only samples in sends: by
    stage, by function without its callees, and by function with its callees. off: seconds off the CPU by stage.
    """

    def __init__(self, cell):
        self.cell, self.title, self.measuring = cell, cell.title, 0
        self.contexts, self.stages, self.own, self.all = {}, {}, {}, {}
        self.lost = sum(count(record, "profile/lost") for record in cell.records)
        for stack in cell.rows("profile/stacks"):
            self._add(string(stack, "context"), string(stack, "stage"), names(stack), count(stack, "samples"))
        self.off = {stage.name: 0 for stage in STAGES if not stage.on_cpu}
        for wait in cell.rows("profile/waits"):
            if string(wait, "stage") in self.off:
                self.off[string(wait, "stage")] += count(wait, "ns") / 1e9
        self.samples = sum(self.contexts.values())
        self.sends = sum(self.contexts.get(name, 0) for name in IN_SEND)

    def _add(self, context, stage, functions, samples):
        self.contexts[context] = self.contexts.get(context, 0) + samples
        if context not in IN_SEND or not functions:
            return
        self.stages[stage] = self.stages.get(stage, 0) + samples
        self.own[functions[-1]] = self.own.get(functions[-1], 0) + samples
        self.measuring += samples * any(name.startswith(MEASURING) for name in functions)
        for name in set(functions):
            self.all[name] = self.all.get(name, 0) + samples

    def share_off(self, stage):
        """Returns a stage's share of the time of sends, on the CPU and off the CPU."""
        whole = self.sends / (value(self.cell.record, "profile/hz") or 1) + sum(self.off.values())
        return f"{100 * self.off[stage] / whole:.1f} %" if self.off[stage] else "-"

    def share(self, context):
        part = self.contexts.get(context)
        return f"{100 * part / self.samples:.1f} %" if part else "-"

    def seconds_needed(self):
        """Returns how many seconds a run must take to have enough samples."""
        elapsed = self.cell.sum("app/elapsed_s", None) or self.cell.sum("observed/seconds", 0.0)
        return ceil(elapsed * SAMPLES_LEAST / self.sends)


def heaviest(profiles):
    """Returns the functions with the largest shares, without callees, in any of the profiles."""
    found = {name for profile in profiles for name in profile.own}
    return sorted(found, key=lambda name: (-max(profile.own.get(name, 0) / profile.sends
                                                for profile in profiles), name))[:FUNCTIONS_MAX]


def percent(part, whole):
    return f"{100 * part / whole:.1f} +-{100 * half_width(part, whole):.1f}"


def stages(profiles):
    """Yields a row for each stage of sends."""
    yield "stages of sends: % of the samples in sends, with its 95 % interval"
    yield from table.lines([["", *(p.title for p in profiles)],
                            *([stage.words, *(percent(p.stages.get(stage.name, 0), p.sends) for p in profiles)]
                              for stage in STAGES if any(stage.name in p.stages for p in profiles))])
    yield ""


def waits(profiles):
    """Yields the time of sends off the CPU, by stage."""
    met = [stage for stage in STAGES if not stage.on_cpu and any(p.off[stage.name] for p in profiles)]
    if met:
        yield "off the CPU: % of the time of sends"
        yield from table.lines([["", *(p.title for p in profiles)],
                                *([stage.words, *(p.share_off(stage.name) for p in profiles)] for stage in met)])
        yield ""


def functions(profiles):
    """Yields a row for each function: its share without and with its callees."""
    def texts(profile, name):
        return (f"{percent(profile.own.get(name, 0), profile.sends)} "
                f"{100 * profile.all.get(name, 0) / profile.sends:5.1f}")

    yield "kernel functions: % of the samples in sends, with its 95 % interval, and with callees"
    yield from table.lines([["", *(p.title for p in profiles)],
                            *([name, *(texts(p, name) for p in profiles)] for name in heaviest(profiles)),
                            ["all BPF programs", *(f"{percent(p.measuring, p.sends)} {'':5}" for p in profiles)]])


def too_few(profile):
    if not profile.sends:
        return f"{profile.title}: no sample is of a send; profile for longer"
    return (f"{profile.title}: {words.counted(profile.sends, 'sample')} of sends, too few to name functions; "
            f"profile for {profile.seconds_needed()} s")


def folded(cells):
    """Yields a line for each stack of a cell, in the format of flame graphs: frames joined by semicolons, then the
    number of samples. The first frame is the cell, and the second is the send or the context.
    """
    heads = {context.name: context.words for context in CONTEXTS}
    for cell in cells:
        sums = {}
        for stack in cell.rows("profile/stacks"):
            context = string(stack, "context")
            head = heads[context]
            if context in IN_SEND:
                flag = " MSG_ZEROCOPY" if at(stack, "zerocopy") else ""
                head = f"{string(stack, 'syscall') or 'send'}{flag}"
            frames = ";".join([cell.title, head, *names(stack)])
            sums[frames] = sums.get(frames, 0) + count(stack, "samples")
        yield from (f"{frames} {samples}" for frames, samples in sorted(sums.items()))


def profile(cells):
    profiles = [Profile(cell) for cell in cells if cell.at("profile") is not None]
    if not profiles:
        return
    first = profiles[0].cell.record
    yield (f"CPU time of the measured processes: % of samples, {value(first, 'profile/hz'):.0f} a second "
           f"({string(first, 'profile/event')})")
    yield from table.lines([
        ["", *(p.title for p in profiles)],
        *([context.words, *(p.share(context.name) for p in profiles)] for context in CONTEXTS
          if any(p.contexts.get(context.name) for p in profiles)),
        ["samples", *(words.whole(p.samples) for p in profiles)]])
    for p in profiles:
        if p.lost:
            yield f"{p.title}: {words.counted(p.lost, 'sample')} had no room and are left out"
    yield ""
    enough = [p for p in profiles if p.sends >= SAMPLES_LEAST]
    if enough and not collect(cells):  # otherwise stages.py prints the stages
        yield from stages(enough)
        yield from waits(enough)
    if enough:
        yield from functions(enough)
    for p in profiles:
        if p not in enough:
            yield too_few(p)
