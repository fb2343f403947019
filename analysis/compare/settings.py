# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Lists what must be equal for two runs to be compared. The terminal and the page group runs by it."""

import collections
import shlex

from analysis import words

# column: its name in the table. path: where a record has it; None: of() reads it. say: makes words of a value that
# is not None. axis: figures have it as an axis, a colour or a panel.
Setting = collections.namedtuple("Setting", "column path say axis", defaults=("{}".format, False))

MACHINE = (
    Setting("host", "host/name"), Setting("kernel", "host/kernel", "Linux {}".format), Setting("arch", "host/arch"),
    Setting("cpu_model", "host/cpu"), Setting("cpus", "host/nproc", "{} CPUs".format),
    Setting("tier", "plan/tier", "timed by {}".format),
)
LOAD = (
    Setting("workload", "load/workload"),
    Setting("client_model", "load/client_model", "{} client".format),
    Setting("connections", "load/connections", "{} connections".format, axis=True),
    Setting("backlog", "load/backlog", "backlog {}".format),
    Setting("message_bytes", "load/message_bytes", words.size, axis=True),
    Setting("fields", "load/fields", "{} fields".format),
    Setting("threads", "load/threads", "{} threads".format, axis=True),
    Setting("inflight", "load/inflight", "{} messages in flight".format),
    Setting("working_set_bytes", "load/working_set_bytes", lambda count: f"from {words.size(count)}"),
    Setting("pick", "load/pick", "picked {}".format),
    Setting("rate_per_thread", "load/rate_per_thread", "{}/s a thread".format),
    Setting("link", "load/link"),
    Setting("device", "load/device", "device {}".format),
    Setting("peer", "load/peer", "to {}".format),
    Setting("address_family", None),
    Setting("socket_options", None),
    Setting("memory_options", None),
    Setting("pinned", None, lambda truth: "pinned apart" if truth else "not pinned"),
    Setting("duration_s", "load/duration_s", "{:g} s".format),
)
# Another way to say how a message is divided.
FIELD_SIZE = Setting("field_size_bytes", None, "fields of {} bytes".format)
WAYS = (Setting("variant", "load/variant", axis=True), Setting("server_model", "load/server_model", axis=True))


def columns(settings):
    return [setting.column for setting in settings]


# What must be equal where two sets of runs or two hosts are compared, whose machines and devices have
# names of their own; within a set, all of MACHINE and LOAD.
ACROSS = [column for column in columns((*LOAD, *WAYS)) if column not in ("device", "peer", "pinned")]


def cell(conditions, leave_out=()):
    """A cell's name in words, without what leave_out names, as it is the same for all."""
    return ", ".join(one.say(conditions[one.column]) for one in (*WAYS, *LOAD, *MACHINE)
                     if one.column not in leave_out and conditions.get(one.column) is not None)


def named(frame, column, prefix=""):
    """The values of each name, with the prefix, in a column of texts name=value;name=value."""
    found = {}
    for text in frame[column].drop_nulls().unique():
        for name, _, value in (one.partition("=") for one in text.split(";") if one):
            found.setdefault(prefix + name, set()).add(value)
    return found


def the_same(cells):
    """The columns that have one value in all cells."""
    return {column for column in (cells[0] if cells else ()) if len({one.get(column) for one in cells}) == 1}


def address_family(address):
    """Returns "IPv4" or "IPv6" of an address that may have a port; None of another text."""
    import ipaddress  # imported late: a run without a load needs none
    for candidate in (address, (address or "").rpartition(":")[0].strip("[]")):
        try:
            return f"IPv{ipaddress.ip_address(candidate or '').version}"
        except ValueError:
            continue
    return None


def socket_options(options):
    """Returns the options of a socket, {name: value}, in words; None if none is set."""
    said = [key if value is True else f"{key}={value}" for key, value in sorted((options or {}).items())
            if value not in (None, False)]
    return ",".join(said) or None


MEMORY_OPTIONS = (("huge_pages", "--huge-pages"), ("registered", "--registered"), ("reuse_early", "--reuse-early"))


def memory_options(get):
    """Returns the options by which a message's memory was allocated; None: as usual. get: returns the value of a
    key of the load.
    """
    said = ["--align", str(get("align_bytes"))] if get("align_bytes") is not None else []
    said += [option for key, option in MEMORY_OPTIONS if get(key)]
    said += ["--file-dir", get("file_dir")] if get("file_dir") else []
    return shlex.join(said) or None
