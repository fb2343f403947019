# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests that the docs have the tables' contents, in the same words and order."""

import json
import pathlib
import re
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "analysis"))

from tables import documents, keys, renamed  # noqa: E402
from tables.calls import CALLS  # noqa: E402
from tables.causes import CAUSES, REFUSALS, SITES  # noqa: E402
from tables.stages import NUMBERS, STAGES  # noqa: E402

def test_docs_agree_with_the_tables():
    """make docs writes them."""
    for name in documents.PAGES:
        page = (ROOT / "docs" / name).read_text(encoding="utf-8")
        assert documents.page(page) == page
    page = (ROOT / "docs/run-record.md").read_text(encoding="utf-8")
    found = re.findall(r"^<!-- keys of (\w+) -->$", page, re.M)
    parts = [key.name for key in keys.RECORD.keys if key.kind.keys and key.name != "tool"]
    assert sorted(found) == sorted([*parts, "record", "failure", "histogram", "send"])
    assert (ROOT / "docs/run-record.schema.json").read_text(encoding="ascii") == documents.schema()


def without_a_row(value, kind, path=""):
    """Returns the keys of a record's block that the table lacks, or has in another order."""
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


def older(record, schema):
    """Returns the record with the names of an older schema."""
    record = json.loads(json.dumps(record))
    for version, blocks in reversed(renamed.RENAMED.items()):
        for path, names in blocks.items():
            for block in renamed._blocks(record, path):
                for old, new in names.items():
                    if new in block:
                        block[old] = block.pop(new)
        record["schema"] = version
        if version == schema:
            return record
    raise KeyError(schema)


@pytest.mark.parametrize("schema", renamed.RENAMED)
def test_records_of_older_schemas_have_the_keys_of_today(schema):
    changed = 0
    for path in sorted((ROOT / "tests/fixtures/raw").glob("*.json")):
        record = json.loads(path.read_text())["record"]
        if record["schema"] == renamed.SCHEMA:
            before = older(record, schema)
            changed += before != {**record, "schema": schema}
            assert renamed.current(before) == record
    assert changed


@pytest.mark.parametrize("record", [{}, {"schema": []}, {"schema": "sendpath.run/2", "noise": 3, "zerocopy": [None]},
                                    {"schema": "sendpath.run/2", "zerocopy": {"causes": [1, {"silent": 2}]}}])
def test_what_is_no_record_is_left_alone(record):
    kept = renamed.current(json.loads(json.dumps(record)))
    assert kept.keys() == record.keys() and kept.get("noise") == record.get("noise")
