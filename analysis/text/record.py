# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Reads run records. A path is keys joined by slashes, such as "app/throughput_bps"; "" is the value itself. A record
may come from an untrusted file, so any value may be missing or of another type.
"""

import math

COUNT_MAX = (1 << 64) - 1


def at(record, path):
    """Returns the value at a path; None if it is absent or null."""
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
    """Returns the elements, except nulls, of the list at a path; [] if there is no list."""
    found = at(record, path)
    return [row for row in found if row is not None] if isinstance(found, list) else []


def members(record, path):
    """Returns the object at a path; {} if there is none."""
    found = at(record, path)
    return found if isinstance(found, dict) else {}


def number(record, path=""):
    """Returns the number at a path as a float; None if there is no finite number."""
    found = at(record, path)
    if type(found) is int:  # isinstance() would accept true
        return float(min(max(found, -COUNT_MAX), COUNT_MAX))
    return found if type(found) is float and math.isfinite(found) else None


def value(record, path=""):
    """Returns the number at a path as a float; 0 if there is no finite number."""
    found = number(record, path)
    return 0.0 if found is None else found


def count(record, path=""):
    """Returns the number at a path, truncated to an unsigned int of 64 bits; 0 if there is no finite number."""
    found = at(record, path)
    return min(max(int(found), 0), COUNT_MAX) if number(found) is not None else 0


def flag(record, path):
    """Returns whether the value at a path is true."""
    return at(record, path) is True


def safe_text(text):
    """Returns untrusted text, up to the first NUL, in a form that cannot control a terminal: each byte that is not
    printable ASCII is written as \\xNN.
    """
    text = text.partition("\0")[0]
    if text.isascii() and text.isprintable():
        return text
    try:
        found = text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # the JSON text had half of a surrogate pair
        found = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode("utf-8")
    return "".join(chr(byte) if 32 <= byte < 127 else f"\\x{byte:02x}" for byte in found)


def string(record, path=""):
    """Returns the string at a path, as safe_text() makes it; "" if there is none."""
    found = at(record, path)
    return safe_text(found) if isinstance(found, str) else ""


def warning(record, code):
    """Returns the text of the warning with a code, or None if the record lacks it."""
    return next((string(row, "text") for row in rows(record, "warnings") if string(row, "code") == code), None)


def frozen(found):
    """Returns a hashable value, equal only for values that are the same in JSON: in Python, 1 == 1.0 == True."""
    if isinstance(found, dict):
        return dict, frozenset((key, frozen(member)) for key, member in found.items())
    if isinstance(found, list):
        return list, tuple(map(frozen, found))
    return type(found), found


def same(one, other):
    """Returns whether two values are the same in JSON."""
    return frozen(one) == frozen(other)
