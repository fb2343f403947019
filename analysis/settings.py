# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What must be equal for two runs to be repeats of one another: columns of the table, a row each.

How a value is said in words. Pure.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from analysis import words


class Setting(NamedTuple):
    column: str
    say: Callable[[Any], str] = "{}".format  # of a value that is not null
    axis: bool = False  # figures have it as an axis, a colour or a panel


MACHINE = (
    Setting("host"), Setting("kernel", "Linux {}".format), Setting("arch"), Setting("cpu_model"),
    Setting("cpus", "{} CPUs".format), Setting("tier", "timed by {}".format),
)
LOAD = (
    Setting("workload"),
    Setting("client_model", "{} client".format),
    Setting("connections", "{} connections".format, axis=True),
    Setting("backlog", "backlog {}".format),
    Setting("message_bytes", words.size, axis=True),
    Setting("fields", "{} fields".format),
    Setting("threads", "{} threads".format, axis=True),
    Setting("inflight", "{} in flight".format),
    Setting("working_set_bytes", lambda count: f"from {words.size(count)}"),
    Setting("pick", "picked {}".format),
    Setting("rate_per_thread", "{}/s a thread".format),
    Setting("link"),
    Setting("device", "device {}".format),
    Setting("peer", "to {}".format),
    Setting("address_family"),
    Setting("socket_options"),
    Setting("memory_options"),
    Setting("pinned", lambda truth: "pinned apart" if truth else "not pinned"),
    Setting("duration_s", "{:g} s".format),
)
# Another way to say how a message is divided.
FIELD_SIZE = Setting("field_size_bytes", "fields of {} bytes".format)
WAYS = (Setting("variant", axis=True), Setting("server_model", axis=True))


def columns(settings: Iterable[Setting]) -> list[str]:
    return [setting.column for setting in settings]


# What must be equal where two sets of runs or two hosts are compared, whose machines and devices have
# names of their own; within a set, all of MACHINE and LOAD.
ACROSS = [column for column in columns((*LOAD, *WAYS)) if column not in ("device", "peer", "pinned")]


def cell(conditions: dict, leave_out=()) -> str:
    """A cell's name in words, without what leave_out names, as it is the same for all."""
    return ", ".join(one.say(conditions[one.column]) for one in (*WAYS, *LOAD, *MACHINE)
                     if one.column not in leave_out and conditions.get(one.column) is not None)


def named(frame, column: str, prefix: str = "") -> dict[str, set[str]]:
    """The values of each name, with the prefix, in a column of texts name=value;name=value."""
    found: dict[str, set[str]] = {}
    for text in frame[column].drop_nulls().unique():
        for name, _, value in (one.partition("=") for one in text.split(";") if one):
            found.setdefault(prefix + name, set()).add(value)
    return found


def the_same(cells: list[dict]) -> set[str]:
    """The columns that have one value in all cells."""
    return {column for column in (cells[0] if cells else ()) if len({one.get(column) for one in cells}) == 1}
