# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Keys of the record that had other names in older schemas, from which it is read all the same."""

SCHEMA = "sendpath.run/3"
FAILURE_SCHEMA = "sendpath.failure/1"  # of a run that was planned and came to nothing: of what, and why
# Schema, oldest first: what was called otherwise in it, by block. "" is the record itself; of a
# list each block is meant.
RENAMED = {
    "sendpath.run/1": {"run": {"stolen_share": "steal_share"}},
    "sendpath.run/2": {
        "": {"observer": "overhead"},
        "noise": {"too_much": "disturbed"},
        "zerocopy": {"copied_flagged": "flagged", "copied_silent": "unflagged",
                     "bytes_copied_silent": "bytes_unflagged", "app_told_copied": "errqueue_copied"},
        "zerocopy.causes": {"silent": "unflagged"},
    },
}


def _blocks(part, path):
    """The objects at a path; none where something else is there."""
    if isinstance(part, list):
        return [one for inner in part for one in _blocks(inner, path)]
    if not isinstance(part, dict):
        return []
    name, _, rest = path.partition(".")
    return _blocks(part.get(name), rest) if name else [part]


def current(record):
    """A record, which may be of an older schema, with the keys of today; in place. Of any other
    object nothing is changed."""
    older = list(RENAMED)
    schema = record.get("schema")
    if schema not in older:
        return record
    for version in older[older.index(schema):]:
        for path, names in RENAMED[version].items():
            for block in _blocks(record, path):
                items = list(block.items())
                block.clear()
                block.update((names.get(key, key), value) for key, value in items)
    record["schema"] = SCHEMA
    return record
