# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Reading run records: paths are keys with slashes between, e.g. "app/throughput_bps", "" the value
itself. A record may come from a file that anybody wrote: no value has to be there or of its type.
"""

import math

COUNT_MAX = (1 << 64) - 1


def at(record, path):
    """What is at a path; None if it is absent or null."""
    if path:
        for key in path.split("/"):
            if isinstance(record, dict):
                record = record.get(key)
            elif isinstance(record, list) and key.isdecimal() and int(key) < len(record):
                record = record[int(key)]
            else:
                return None
    return record


def rows(record, path):
    """The elements of the list at a path, but nulls; [] without one."""
    found = at(record, path)
    return [row for row in found if row is not None] if isinstance(found, list) else []


def members(record, path):
    """The object at a path; {} without one."""
    found = at(record, path)
    return found if isinstance(found, dict) else {}


def number(record, path=""):
    """A float; None if there is no finite number."""
    found = at(record, path)
    if type(found) is int:  # true is one, too, to isinstance
        return float(min(max(found, -COUNT_MAX), COUNT_MAX))
    return found if type(found) is float and math.isfinite(found) else None


def value(record, path=""):
    """A float; 0 if there is no finite number."""
    found = number(record, path)
    return 0.0 if found is None else found


def count(record, path=""):
    """An int without what stands behind the point, of 64 bits; 0 if there is no finite number."""
    found = at(record, path)
    return min(max(int(found), 0), COUNT_MAX) if number(found) is not None else 0


def flag(record, path):
    """Is it true?"""
    return at(record, path) is True


def safe_text(text):
    """Text that others chose, so that a terminal does not obey it: a byte that is not printable ASCII
    becomes \\xNN.
    """
    text = text.partition("\0")[0]
    if text.isascii() and text.isprintable():
        return text
    try:
        found = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half a character of JSON's
        found = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode("utf-8")
    return "".join(chr(byte) if 32 <= byte < 127 else f"\\x{byte:02x}" for byte in found)


def string(record, path=""):
    """A string as safe_text has it; "" if there is none."""
    found = at(record, path)
    return safe_text(found) if isinstance(found, str) else ""


def warning(record, code):
    """Returns the text of the warning with a code, or None if the record lacks it."""
    return next((string(row, "text") for row in rows(record, "warnings") if string(row, "code") == code), None)


def frozen(found):
    """A value that can be hashed, equal where two are the same in JSON: to Python 1 is 1.0 and true."""
    if isinstance(found, dict):
        return dict, frozenset((key, frozen(member)) for key, member in found.items())
    if isinstance(found, list):
        return list, tuple(map(frozen, found))
    return type(found), found


def same(one, other):
    """Are two values the same in JSON?"""
    return frozen(one) == frozen(other)
