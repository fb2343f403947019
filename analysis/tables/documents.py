# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""python3 -m analysis.tables.documents FOLDER: writes the parts of docs/ that are generated from tables into FOLDER:
the JSON schema of run records, the tables in pages, and the options in man pages, which are between two comments.
"""

import json
import os
import re
import sys
import textwrap

from analysis.tables import keys, options
from analysis.tables.findings import CODES
from analysis.tables.kinds import SHARED, schema_of, whole_schema
from analysis.tables.metrics import FAMILIES


def _json(value, indent=""):
    """Returns JSON, with line breaks only inside values that do not fit a line."""
    line = json.dumps(value)
    if len(indent + line) < 100 or not isinstance(value, (dict, list)):
        return line
    inner = indent + " "
    if isinstance(value, list):
        parts, ends = [_json(item, inner) for item in value], "[]"
    else:
        parts = [f"{json.dumps(key)}: {_json(item, inner)}" for key, item in value.items()]
        ends = "{}"
    return f"{ends[0]}\n{inner}" + f",\n{inner}".join(parts) + f"\n{indent}{ends[1]}"


def schema():
    """Returns the text of docs/run-record.schema.json."""
    return _json({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "sendpath run record",
        "description": "One run of a load under measurement. Null means not measured; "
                       "\"unmeasured\" says why. Consumers ignore keys they do not know.",
        **schema_of(keys.RECORD),
        "$defs": {"failure": whole_schema(keys.FAILURE),
                  **{name: whole_schema(kind) for name, kind in SHARED.items()}}}) + "\n"


def _rows(kind, prefix=""):
    for key in kind.keys:
        name = prefix + key.name
        yield f"| `{name}` | {key.kind.words} | {key.meaning} |"
        if not key.kind.shared:
            yield from _rows(key.kind, name + ("[]." if key.kind.listed else "."))


def _table(head, rows):
    return "\n".join([f"| {' | '.join(head)} |", "|---" * len(head) + "|", *rows])


def table(path):
    """Returns the table of a block's keys, including the keys of inner blocks; of a whole record, only its own keys."""
    whole = {"record": keys.RECORD, "failure": keys.FAILURE}.get(path)
    if whole:
        return _table(("key", "what it holds"), [f"| `{key.name}` | {key.meaning} |" for key in whole.keys])
    kind = SHARED.get(path) or keys.RECORD.key(path).kind
    return _table(("key", "value", "meaning"), _rows(kind))


def spans():
    return _table(("span", "from", "to"), [f"| `{name}` | {begin} | {end} |"
                                           for name, begin, end in keys.SPANS])


def metrics():
    return _table(("metric", "type", "labels", "what it is"), [
        f"| `sendpath_{f.name}{'_total' if f.kind == 'counter' else ''}` | {f.kind} "
        f"| {', '.join(f'`{label}`' for label in f.labels)} | {f.meaning} |" for f in FAMILIES])


BAR = "\\|"  # | inside a Markdown table


def _remedies(code):
    text = f"{code.remedy} By io_uring: {code.uring_remedy}" if code.uring_remedy else code.remedy
    return (text or "-").replace("|", BAR)


def findings():
    return _table(("code", "severity", "meaning", "computed from", "what to do", "alert"), [
        f"| `{code.name}` | {code.severity} | {code.meaning} | {code.computed} | {_remedies(code)} | "
        f"{f'`{code.alert}`' if code.alert else '-'} |" for code in CODES])


def troff(text):
    """Returns the text for troff: names of options and pages in bold, and hyphens as minus signs that do not break."""
    text = text.replace("\\", "\\\\").replace("-", "\\-")
    text = re.sub(r"\\-\\-([a-z]+(?:\\-[a-z]+)*)", r"\\fB\\-\\-\1\\fR", text)
    return re.sub(r"\b([a-z]+(?:\\-[a-z]+)*)\((\d)\)", r"\\fB\1\\fR(\2)", text)


def _values(word):
    """Returns --size=1K,2K,3K or, if the list is long, --size=1K..32K."""
    name, _, values = word.partition("=")
    values = values.split(",")
    return f"--{name}={','.join(values) if len(values) < 9 else f'{values[0]}..{values[-1]}'}"


def _grids():
    lines = ["; and ".join(" ".join(map(_values, part)) for part in parts)
             for parts in options.GRIDS.values()]
    rows = "".join(f".TP\n.B {name}\n{troff(line)}\n" for name, line in zip(options.GRIDS, lines))
    return f".RS\n{rows}.RE\n"


def _option(o):
    argument, optional = o.argument.strip("[]"), o.argument.startswith("[")
    name = o.name.replace("-", "\\-")
    head = (f".B \\-\\-{name}" if not argument else f".BI \\-\\-{name} [={argument}]" if optional
            else f".BI \\-\\-{name}= {argument}")
    text = f"{o.help[0].upper()}{o.help[1:]}. {getattr(o, 'page', '')}".strip()
    lines = textwrap.fill(troff(text), 110, break_long_words=False, break_on_hyphens=False)
    return f".TP\n{head}\n{lines}\n" + (_grids() if o.name == "grid" else "")


def manual(text):
    """Returns a man page with its options, which are between two comments. The first comment names a topic or table."""
    def of(topic):
        return getattr(options, topic, None) or [o for o in options.OPTIONS if o.topic == topic]

    def filled(found):
        return found[1] + "".join(_option(o) for topic in found[2].split() for o in of(topic)) + found[3]
    return re.sub(r'(?s)(\.\\" options of ([\w ]+)\n).*?(\.\\" end\n)', filled, text)


TABLES = {"spans": spans, "metrics": metrics, "findings": findings}
_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MANUAL = [f"man/{name}" for name in sorted(os.listdir(os.path.join(_ROOT, "docs/man")))]
PAGES = ["run-record.md", "fleet.md", "findings.md", *MANUAL]


def page(text):
    """Returns a page with its tables, or a man page with its options."""
    def filled(found):
        made = table(found[3]) if found[3] else TABLES[found[2]]()
        return f"{found[1]}{made}\n{found[4]}"
    text = manual(text)
    return re.sub(rf"(?s)(<!-- (?:({'|'.join(TABLES)})|keys of (\w+)) -->\n).*?(<!-- end -->)", filled, text)


def main(folder):
    made = {"run-record.schema.json": schema()}
    for name in PAGES:
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            made[name] = page(file.read())
    for name, text in made.items():
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(text)


if __name__ == "__main__":
    main(sys.argv[1])
