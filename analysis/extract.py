# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How values are read from a run record: small functions that make functions of a Record.

A value that is absent or null gives None. One of the wrong kind raises BadRecord: what
wrote it is broken, and nothing in that record is to be trusted.
"""

import datetime

from analysis.records import BadRecord


def at(data, path):
    """What stands at a path of keys joined by dots; None where there is nothing."""
    for key in path.split("."):
        if data is None:
            return None
        if not isinstance(data, dict):
            raise BadRecord(f"{path}: what should hold {key} is not an object")
        data = data.get(key)
    return data


def _typed(path, kind, words, convert=lambda value: value):
    def get(record):
        value = at(record.data, path)
        if value is None:
            return None
        # In Python true is a number; in a record it is not.
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            raise BadRecord(f"{path} is not {words}")
        return convert(value)
    return get


def clean_text(value):
    """Half of a surrogate pair is JSON, but no text that could be written anywhere."""
    return value.encode("utf-8", "replace").decode()


def text(path):
    return _typed(path, str, "text", clean_text)


def truth(path):
    return _typed(path, bool, "true or false")


def real(path):
    def convert(value):
        if not abs(value) < 1e300:
            raise BadRecord(f"{path} is too large")
        return float(value)
    return _typed(path, (int, float), "a number", convert)


def whole(path):
    """Counts; one that was scaled, because its counter ran for a part of the time, is rounded."""
    def convert(value):
        if not abs(value) < 1 << 63:
            raise BadRecord(f"{path} is too large")
        return round(value)
    return _typed(path, (int, float), "a number", convert)


def time(path):
    def convert(value):
        try:
            moment = datetime.datetime.fromisoformat(value)
        except ValueError:
            raise BadRecord(f"{path} is not a time") from None
        if moment.tzinfo is None:
            raise BadRecord(f"{path} is a time without its zone")
        return moment.astimezone(datetime.timezone.utc)
    return _typed(path, str, "a time", convert)


def add(values):
    """The sum of counts; None if one of them is."""
    if None in values:
        return None
    if abs(sum(values)) >= 1 << 63:
        raise BadRecord("counts are too large")
    return sum(values)


def ratio(top, bottom, scale=1.0):
    """top / bottom x scale; None without either, or where there is nothing to divide by."""
    def get(record):
        a, b = top(record), bottom(record)
        return None if a is None or not b else a / b * scale
    return get


def total(*readers):
    def get(record):
        return add([read(record) for read in readers])
    return get


def mean(path):
    return ratio(real(f"{path}.sum"), whole(f"{path}.count"))


def rows(record, path):
    """The objects in a list; none where there is no list."""
    found = at(record.data, path)
    if found is None:
        return []
    if not isinstance(found, list) or any(not isinstance(row, dict) for row in found):
        raise BadRecord(f"{path} is not a list of objects")
    return found


class Part:
    """A row of a record's list, to be read like a record."""

    def __init__(self, data):
        self.data = data


def parts(record, path):
    """The rows of a list, each to be read like a record."""
    return [Part(row) for row in rows(record, path)]
