# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""documents.py FOLDER: writes what docs/ has of the tables into that folder: the JSON schema of run
records, and tables of pages, each between two comments that say which.
"""

import json
import os
import re
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from tables import keys  # noqa: E402 (the script's own folder is not in the path)
from tables.kinds import SHARED, schema_of, whole_schema  # noqa: E402
from tables.metrics import FAMILIES  # noqa: E402
from tables.options import OPTIONS  # noqa: E402


def _json(value, indent=""):
    """As json.dumps, but what fits a line stands in it."""
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
    """The text of docs/run-record.schema.json."""
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
    """Of a block's keys, with those of blocks in it; of a whole record without these."""
    whole = {"record": keys.RECORD, "failure": keys.FAILURE}.get(path)
    if whole:
        return _table(("key", "what it holds"),
                      [f"| `{key.name}` | {key.meaning} |" for key in whole.keys])
    kind = SHARED.get(path) or next(key.kind for key in keys.RECORD.keys if key.name == path)
    return _table(("key", "value", "meaning"), _rows(kind))


def spans():
    return _table(("span", "from", "to"), [f"| `{name}` | {begin} | {end} |"
                                           for name, begin, end in keys.SPANS])


def metrics():
    return _table(("metric", "type", "labels", "what it is"), [
        f"| `sendpath_{f.name}{'_total' if f.kind == 'counter' else ''}` | {f.kind} "
        f"| {', '.join(f'`{label}`' for label in f.labels)} | {f.meaning} |" for f in FAMILIES])


def manual(text):
    """docs/sendpath.1, of which options' rows stand between two comments that name their topic."""
    def paragraph(o):
        name = o.name.replace("-", "\\-")
        head = (f".B \\-\\-{name}" if not o.argument else f".BI \\-\\-{name} [={o.argument[1:]}"
                if o.argument[0] == "[" else f".BI \\-\\-{name}= {o.argument}")
        return f".TP\n{head}\n{o.page.strip()}\n"

    def filled(found):
        topics = {"measuring": ("measuring", "details")}.get(found[2], (found[2],))
        return found[1] + "".join(paragraph(o) for o in OPTIONS if o.topic in topics) + found[3]
    return re.sub(r'(?s)(\.\\" options of (\w+)\n).*?(\.\\" end\n)', filled, text)


TABLES = {"spans": spans, "metrics": metrics}
PAGES = "run-record.md", "fleet.md", "sendpath.1"


def page(text):
    """A page with its tables, or the manual with its options, as they are to be."""
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
