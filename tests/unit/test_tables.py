# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests that the docs have the tables' contents, in the same words and order."""

import json
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from analysis.tables import documents, keys  # noqa: E402
from analysis.tables.calls import CALLS  # noqa: E402
from analysis.tables.causes import CAUSES, REFUSALS, SITES  # noqa: E402
from analysis.tables.stages import NUMBERS, STAGES  # noqa: E402

def test_docs_agree_with_the_tables():
    """`make docs` writes the tables into the pages."""
    for name in documents.PAGES:
        page = (ROOT / "docs" / name).read_text(encoding="utf-8")
        assert documents.page(page) == page
    page = (ROOT / "docs/run-record.md").read_text(encoding="utf-8")
    found = re.findall(r"^<!-- keys of (\w+) -->$", page, re.M)
    parts = [key.name for key in keys.RECORD.keys if key.kind.keys and key.name != "tool"]
    assert sorted(found) == sorted([*parts, "record", "failure", "histogram", "send"])
    assert (ROOT / "docs/run-record.schema.json").read_text(encoding="ascii") == documents.schema()


def without_a_row(value, kind, path=""):
    """Returns the paths of keys of a record's block that the table lacks."""
    if isinstance(value, list):
        return [found for part in value for found in without_a_row(part, kind, path)]
    if not isinstance(value, dict) or not kind.keys:
        return []
    kinds = {key.name: key.kind for key in kind.keys}
    found = [path + key for key in value if key not in kinds]
    return found + [deeper for key in value if key in kinds
                    for deeper in without_a_row(value[key], kinds[key], f"{path}{key}.")]


@pytest.mark.parametrize("path", sorted((ROOT / "tests/fixtures/raw").glob("*.json")),
                         ids=lambda path: path.stem)
def test_each_key_of_a_record_has_its_row(path):
    record = json.loads(path.read_text(encoding="ascii"))["record"]
    assert without_a_row(record, keys.RECORD) == []
    record["zerocopy"] = {**(record["zerocopy"] or {}), "none": 1}
    assert without_a_row(record, keys.RECORD) == ["zerocopy.none"]


def test_each_key_of_a_record_is_described():
    def undescribed(kind):
        return [key.name for key in kind.keys if not key.meaning] + [
            name for key in kind.keys for name in undescribed(key.kind)]
    assert undescribed(keys.RECORD) + undescribed(keys.FAILURE) == []


def test_each_cause_and_refusal_has_its_row_in_the_docs():
    page = (ROOT / "docs/causes.md").read_text(encoding="utf-8")
    found = re.findall(r"^\| `(\w+)` \|", page, re.M)
    assert found == [c.name for c in CAUSES if c.name != "unclassified"] + [r.name for r in REFUSALS]


def test_rows_are_sound():
    symbols = [cause.symbol for cause in CAUSES]
    for row in (*CAUSES, *REFUSALS, *STAGES, *CALLS):
        assert re.fullmatch("[a-z_0-9]+", row.name)
    for table in (symbols, [c.name for c in CAUSES], [s.name for s in STAGES],
                  [s.letter for s in STAGES if s.on_cpu], [r.symbol for r in REFUSALS]):
        assert len(set(table)) == len(table)
    assert {site.cause for site in SITES} <= set(symbols)
    assert sorted(NUMBERS) == sorted(stage.name for stage in STAGES)
    on_cpu = [stage.on_cpu for stage in STAGES]
    assert on_cpu == sorted(on_cpu, reverse=True)


def promised(schema, part=None, path=""):
    """Yields (path, type) of each value that a record of the schema may have."""
    part = schema if part is None else part
    while "$ref" in part:
        part = schema["$defs"][part["$ref"].rpartition("/")[2]]
    for one in part.get("anyOf", ()):
        yield from promised(schema, one, path)
    named = part.get("type", type(part["const"]).__name__ if "const" in part else ())
    yield from ((path, name) for name in ([named] if isinstance(named, str) else named))
    for key, kind in part.get("properties", {}).items():
        yield from promised(schema, kind, f"{path}/{key}")
    if "items" in part:
        yield from promised(schema, part["items"], f"{path}/0")


def broken_promises(old, new):
    """Returns the paths at which the new schema lacks a key of the old one, or has another type."""
    old, new = set(promised(old)), set(promised(new))
    known = {path for path, _ in old}
    return sorted(known - {path for path, _ in new} | {path for path, _ in new - old if path in known})


def test_a_record_keeps_what_the_last_release_had():
    tags = subprocess.run(["git", "-C", ROOT, "describe", "--tags", "--abbrev=0", "--match", "v*"],
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=False)
    if tags.returncode:
        pytest.skip("there is no release, or no repository, to compare the format of records with")
    before = json.loads(subprocess.check_output(
        ["git", "-C", ROOT, "show", f"{tags.stdout.strip()}:docs/run-record.schema.json"]))
    now = json.loads(documents.schema())
    if before["properties"]["schema"] == now["properties"]["schema"]:
        assert not broken_promises(before, now)


def test_a_key_that_goes_or_changes_its_type_breaks_a_promise():
    before, now = json.loads(documents.schema()), json.loads(documents.schema())
    assert len(set(promised(before))) > 300 and not broken_promises(before, now)
    del now["properties"]["started"]
    now["properties"]["privilege"]["properties"]["uid"]["type"] = "string"
    now["properties"]["more"] = {"type": "integer"}
    assert broken_promises(before, now) == ["/privilege/uid", "/started"]
