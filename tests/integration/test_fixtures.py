# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests that the kept raw lines can be recorded again, as make fixtures does."""

import json
import sys

from conftest import NOTHING_LOST, ROOT, losses, needs_bpf, run

sys.path.insert(0, str(ROOT / "tests/fixtures"))

import record as recorder  # noqa: E402 (not in the path before)


def test_each_kept_line_has_its_row():
    assert [path.stem for path in sorted(recorder.KEPT.glob("*.json"))] == [
        row.name for row in recorder.ROWS]


def shape(value):
    return {key: shape(part) for key, part in value.items()} if isinstance(value, dict) else None


@needs_bpf
def test_a_line_recorded_anew():
    done = run(sys.executable, recorder.__file__, "--print", "zerocopy_load", cwd=ROOT)
    raw = json.loads(done.stdout)
    kept = json.loads((recorder.KEPT / "zerocopy_load.json").read_text(encoding="ascii"))
    assert shape(raw)["load"] == shape(kept["raw"])["load"]
    found = recorder.record_of(raw)
    assert found["zerocopy"]["requests"] == kept["record"]["zerocopy"]["requests"] == 20
    assert losses(found) == NOTHING_LOST and str(ROOT) not in done.stdout


def test_an_unknown_name_is_refused():
    done = run(sys.executable, recorder.__file__, "nothing", cwd=ROOT)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("record.py: nothing: no such raw line; there are by_all_three, ")
