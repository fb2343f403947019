# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Writes the tables to standard output as a C header, which has numbers for enums and rows for arrays."""

import sys

from analysis.tables import memory
from analysis.tables.calls import CALLS, URING_OPERATIONS
from analysis.tables.causes import CAUSES, REFUSALS, SITES
from analysis.tables.findings import UNREAD_SENDS
from analysis.tables.metrics import FAMILIES, NEEDS, SOURCES
from analysis.tables.options import ADVISE_PATH, ADVISE_PROGRAM, GRIDS, OLD_NAMES, OPTIONS, SORTS, TOPICS
from analysis.tables.protocol import COUNTERS
from analysis.tables.stages import NUMBERS
from analysis.tables.sums import SUMS
from analysis.tables.timeline import EVENTS


def text(value):
    """Returns a C string; NULL for None."""
    if value is None:
        return "NULL"
    return '"%s"' % value.replace("\\", "\\\\").replace('"', '\\"')


def define(name, items):
    return f"#define {name} \\\n" + ", \\\n".join(f"\t{item}" for item in items) + "\n"


def numbers(prefix, symbols):
    return define(f"{prefix}_NUMBERS", [f"{prefix}_{symbol}" for symbol in symbols])


def row(*members):
    return "{" + ", ".join(members) + "}"


def site(s):
    return row(text(s.function), text(s.outer), s.copiers, f"DEVICE_{s.device}",
               f"CAUSE_{s.cause}" + (" | CAUSE_BY_TAP" if s.by_tap else ""))


def total(s):
    """Returns the macro of a sum. The macro takes a pointer to the struct that has the sum's members."""
    plus, minus = (" + ".join(f"(x)->{member}" for member in part) for part in (s.plus, s.minus))
    return f"#define SUM_{s.name.upper()}(x) \\\n\twindow_counts__difference({plus}, {minus})\n"


def memory_source(s):
    events = (row(text(e.pmu), text(e.name)) for e in s.events)
    return row(f"MEMORY_KIND_{s.kind.upper()}", row(*events))


def symbol(option):
    return f"OPT_{option.name.upper().replace('-', '_')}"


def argp_rows():
    for topic, heading in TOPICS.items():
        group = f"HELP_{topic.upper()}"
        yield row("NULL", "0", "NULL", "0", text(heading), group)
        for o in OPTIONS:
            if o.topic == topic:
                yield row(text(o.name), symbol(o), text(o.argument.strip("[]") or None),
                          "OPTION_ARG_OPTIONAL" if o.argument.startswith("[") else "0", text(o.help),
                          group)
    for old, name in OLD_NAMES.items():
        yield row(text(old), f"OPT_{name.upper()}", text("NAME"), "OPTION_HIDDEN", "NULL", "0")


KINDS = {"flag": "ROW_FLAG", "text": "ROW_TEXT", "number": "ROW_UNSIGNED", "seconds": "ROW_SECONDS"}
MEMBER_TYPES = {"flag": "bool ", "text": "const char *", "number": "unsigned int ", "seconds": "double "}


def option_value(o):
    """Returns the struct load_row by which options.c reads an option. Only for options without code of their own."""
    kind, member, least, most = (*o.sets, "0", "0")[:4]
    return row(f".name = {text(o.name)}", f".type = {KINDS[kind]}", f".at = offsetof(struct options, {member})",
               f".key = {text(o.name.replace('-', '_'))}", f".low = {least}", f".high = {most}")


def option_members():
    """Returns the members of struct options that options without code of their own set."""
    rows = (o.sets for o in OPTIONS if o.sets and "." not in o.sets[1])
    return "#define OPTION_MEMBERS " + " ".join(f"{MEMBER_TYPES[kind]}{member};" for kind, member, *_ in rows) + "\n"


def grid(name, parts):
    return row(text(name), str(len(parts)), row(*(
        row(*(text(f"--{word}") for word in part)) for part in parts)))


def metric(f):
    source = SOURCES[f.source]
    return row(row(f"METRIC_{f.kind.upper()}", text(f"sendpath_{f.name}"), text(f.unit), text(f.meaning),
                   row(*map(text, f.labels))), f"write_{f.source}",
               f"offsetof(struct {source.struct}, {f.member})" if f.member else "0",
               row(*source.needs.split(), *f.needs.split(), "NEED_NOTHING"))


def header():
    return "\n".join((
        "/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */",
        "/* Made of analysis/tables: change these. */",
        "#pragma once\n",
        numbers("CALL", [c.symbol for c in CALLS]),
        numbers("URING", URING_OPERATIONS),
        define("CALL_NAMES", [text(c.name) for c in CALLS]),
        numbers("CAUSE", [c.symbol for c in CAUSES]),
        define("CAUSE_NAMES", [text(c.name) for c in CAUSES]),
        define("CAUSE_SITES", [site(s) for s in SITES]),
        numbers("REFUSAL", [r.symbol for r in REFUSALS]),
        define("REFUSAL_ROWS", [row(text(r.name), r.error or "0", r.uring.error if r.uring else "0")
                                for r in REFUSALS]),
        f"#define UNREAD_SENDS {UNREAD_SENDS}",
        numbers("EVENT", [event.name.upper() for event in EVENTS]),
        numbers("STAGE", [name.upper() for name in NUMBERS]),
        define("OPTION_NUMBERS", [f"{name} = {256 + i}" for i, name in
                                  enumerate(dict.fromkeys(map(symbol, OPTIONS)))]),
        define("OPTION_ROWS", argp_rows()),
        option_members(),
        define("OPTION_VALUES", [option_value(o) for o in OPTIONS if o.sets]),
        define("GRID_ROWS", [grid(*item) for item in GRIDS.items()]),
        f"#define GRID_NAMES {text(', '.join(GRIDS))}",
        define("SORT_ROWS", map(text, SORTS)),
        f"#define SORT_NAMES {text(', '.join(SORTS))}",
        define("ADVISE_OF_PATH", [text(o.name) for o in ADVISE_PATH]),
        define("ADVISE_OF_PROGRAM", [text(o.name) for o in ADVISE_PROGRAM]),
        numbers("MEMORY_KIND", [kind.upper() for kind in memory.KINDS]),
        define("MEMORY_SOURCE_ROWS", map(memory_source, memory.SOURCES)),
        define("NEED_NUMBERS", NEEDS),
        define("NEED_REASONS", [f"[{need}] = {text(reason)}" for need, reason in NEEDS.items()]),
        define("METRIC_ROWS", [metric(f) for f in FAMILIES]),
        define("PROTOCOL_ROWS", [row(text(c.key), text(c.group + ":"), text(c.name)) for c in COUNTERS]),
        *map(total, SUMS)))


if __name__ == "__main__":
    sys.stdout.write(header())
