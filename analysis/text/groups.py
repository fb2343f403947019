# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Prints the groups of --by: a table for each run, with the largest group first."""

from analysis import words

from . import table
from .columns import count, mean_time
from .record import at, number, rows, string, value

ROWS_MAX = 20


def pid(group):
    return f"{value(group, 'pid'):.0f}" if at(group, "pid") is not None else "other ns"


def device_name(group):
    return string(group, "device") if at(group, "device") is not None else "no route"


PATH_MAX = 34


def control_group(group):
    """Returns the path of the control group, or the end of a long path, which is its most specific part."""
    path = string(group, "cgroup") or "not known"
    return path if len(path) <= PATH_MAX else ".." + path[2 - PATH_MAX:]


def receiver(group):
    address = string(group, "remote_address")
    form = "[{:.38}]:{:.0f}" if ":" in address else "{:.38}:{:.0f}"
    return form.format(address or "*", value(group, "remote_port"))


def copied(group):
    part, completions = number(group, "zerocopy/copied"), value(group, "zerocopy/completions")
    return None if part is None or completions <= 0 else words.percent(part, completions)


# Columns: the dimension that each needs ("": none), its head, its function. Device names are unique in a namespace.
COLUMNS = (
    ("process", "process", lambda group: string(group, "comm")),
    ("process", "pid", pid),
    ("cgroup", "control group", control_group),
    ("device", "device", device_name),
    ("namespace", "device", lambda group: f"{device_name(group):.30}@{value(group, 'netns'):.0f}"),
    ("port", "to", receiver),
    ("", "sends", count("sends")),
    ("", "bytes", count("bytes")),
    ("", "us/send", mean_time("wall_ns", 1e3)),
    ("", "failed", count("failed", less="interrupted")),
    ("", "zero-copy", count("zerocopy/requests")),
    ("", "copied", copied),
)


def of_run(by, title):
    dimensions = [string(one) for one in rows(by, "dimensions")]
    found = rows(by, "groups")
    shown = {"", *({"process", "cgroup", "device", "port"} & {*dimensions})}
    if "device" in shown and len({value(group, "netns") for group in found}) > 1:
        shown = shown - {"device"} | {"namespace"}
    yield f"by {', '.join(dimensions)}: {title}, most bytes first"
    yield from table.of(found[:ROWS_MAX], table.shown(COLUMNS, shown),
                        keys=len(table.shown(COLUMNS, shown - {""})) or 1)
    if len(found) > ROWS_MAX:
        yield f"and {len(found) - ROWS_MAX:,} more (--json has all of them)"
    rest = at(by, "rest")
    if rest is not None:
        yield (f"and {words.counted(value(rest, 'sends'), 'send')} of groups for which there was no "
               "room (--by-max)")
    yield ""


def groups(cells):
    """Yields a table for each run that has groups."""
    for record, title in cells.runs():
        if rows(record, "by/groups"):
            yield from of_run(at(record, "by"), title)
