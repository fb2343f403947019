# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Writes the tables as a C header to standard output: numbers for enums, rows for arrays."""

import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from tables.calls import CALLS  # noqa: E402 (the script's own folder is not in the path)
from tables.causes import CAUSES, REFUSALS, SITES  # noqa: E402
from tables.metrics import FAMILIES  # noqa: E402
from tables.options import OPTIONS, TOPICS  # noqa: E402
from tables.protocol import COUNTERS  # noqa: E402
from tables.stages import NUMBERS  # noqa: E402
from tables.sums import SUMS  # noqa: E402


def text(value):
    """A C string; NULL for None."""
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
    """A macro, of a pointer to where the members are."""
    plus, minus = (" + ".join(f"(x)->{member}" for member in part) for part in (s.plus, s.minus))
    return f"#define SUM_{s.name.upper()}(x) \\\n\twindow_counts__difference({plus}, {minus})\n"


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


def option_value(o):
    """What options.c does with an option that has no code of its own."""
    kind, member, *most = o.sets
    return row(symbol(o), f"VALUE_{kind.upper()}", f"offsetof(struct options, {member})",
               *(most or ["0"]))


MEMBER_TYPES = {"flag": "bool ", "text": "const char *", "number": "unsigned int "}


def option_members():
    """The members of struct options that these set."""
    rows = [f"\t{MEMBER_TYPES[o.sets[0]]}{o.sets[1]};" for o in OPTIONS if o.sets]
    return "#define OPTION_MEMBERS \\\n" + " \\\n".join(rows) + "\n"


def header():
    return "\n".join((
        "/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */",
        "/* Made of analysis/tables: change these. */",
        "#pragma once\n",
        numbers("CALL", [c.symbol for c in CALLS]),
        define("CALL_NAMES", [text(c.name) for c in CALLS]),
        numbers("CAUSE", [c.symbol for c in CAUSES]),
        define("CAUSE_NAMES", [text(c.name) for c in CAUSES]),
        define("CAUSE_SITES", [site(s) for s in SITES]),
        numbers("REFUSAL", [r.symbol for r in REFUSALS]),
        define("REFUSAL_ROWS", [row(text(r.name), r.error or "0") for r in REFUSALS]),
        numbers("STAGE", [name.upper() for name in NUMBERS]),
        define("OPTION_NUMBERS", [f"{symbol(o)} = {256 + i}" for i, o in enumerate(OPTIONS)]),
        define("OPTION_ROWS", argp_rows()),
        option_members(),
        define("OPTION_VALUES", [option_value(o) for o in OPTIONS if o.sets]),
        numbers("FAMILY", [f.name.upper() for f in FAMILIES]),
        define("FAMILY_ROWS", [row(f"METRIC_{f.kind.upper()}", text(f"sendpath_{f.name}"),
                                   text(f.unit), text(f.meaning)) for f in FAMILIES]),
        define("PROTOCOL_ROWS", [row(text(c.key), text(c.group + ":"), text(c.name))
                                 for c in COUNTERS]),
        *map(total, SUMS)))


if __name__ == "__main__":
    sys.stdout.write(header())
