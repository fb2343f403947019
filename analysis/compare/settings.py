# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Lists the settings that must be equal for two runs to be compared. The text report and the page group by them."""

import collections
import shlex

from analysis import words

# column: the setting's name in the table. path: its place in a record; None: a function computes it. say: returns a
# value that is not None in words. axis: whether figures show the setting by an axis, a colour or a panel.
Setting = collections.namedtuple("Setting", "column path say axis", defaults=("{}".format, False))


def _counted(unit, units=None):
    return lambda value: words.counted(value, unit, units)



MACHINE = (
    Setting("host", "host/name"), Setting("kernel", "host/kernel", "Linux {}".format), Setting("arch", "host/arch"),
    Setting("cpu_model", "host/cpu"), Setting("cpus", "host/nproc", _counted("CPU")),
    Setting("tier", "plan/tier", "timed by {}".format),
)
LOAD = (
    Setting("workload", "load/workload"),
    Setting("client_model", "load/client_model", "{} client".format),
    Setting("connections", "load/connections", _counted("connection"), axis=True),
    Setting("backlog", "load/backlog", "backlog {}".format),
    Setting("message_bytes", "load/message_bytes", words.size, axis=True),
    Setting("fields", "load/fields", _counted("field")),
    Setting("threads", "load/threads", _counted("thread"), axis=True),
    Setting("inflight", "load/inflight", _counted("message in flight", "messages in flight")),
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
# The size of a field, which with the size of the message determines the number of fields.
FIELD_SIZE = Setting("field_size_bytes", None, "fields of {} bytes".format)
WAYS = (Setting("variant", "load/variant", axis=True), Setting("server_model", "load/server_model", axis=True))


# (a column, one that mostly follows from it): a stream has a connection for each thread, and the number of messages in
# flight depends on their size.
FOLLOW = {("threads", "connections"), ("message_bytes", "inflight")}


def columns(settings):
    return [setting.column for setting in settings]


# The columns that must be equal if two sets of runs or two hosts are compared. Machines and devices may differ. Within
# a set, all of MACHINE and LOAD must be equal.
ACROSS = [column for column in columns((*LOAD, *WAYS)) if column not in ("device", "peer", "pinned")]


def configuration_text(conditions, leave_out=()):
    """Returns a configuration's name in words, without the columns in leave_out, which are the same for all."""
    return ", ".join(one.say(conditions[one.column]) for one in (*WAYS, *LOAD, *MACHINE)
                     if one.column not in leave_out and conditions.get(one.column) is not None)


def values_by_name(frame, column, prefix=""):
    """Returns {prefix + name: values} of a column of texts "name=value;name=value"."""
    found = {}
    for text in frame[column].drop_nulls().unique():
        for name, _, value in (one.partition("=") for one in text.split(";") if one):
            found.setdefault(prefix + name, set()).add(value)
    return found


def the_same(configurations):
    """Returns the columns that have one value in all configurations, or that follow from another column."""
    first = configurations[0] if configurations else ()
    same = {column for column in first if len({one.get(column) for one in configurations}) == 1}
    for leader, follower in FOLLOW:
        pairs = {(one.get(leader), one.get(follower)) for one in configurations}
        if leader not in same and len(pairs) == len({value for value, _ in pairs}):
            same.add(follower)
    return same


def address_family(address):
    """Returns "IPv4" or "IPv6" for an address that may have a port; None for another text."""
    import ipaddress  # imported late, because a run without a load has no address
    for candidate in (address, (address or "").rpartition(":")[0].strip("[]")):
        try:
            return f"IPv{ipaddress.ip_address(candidate or '').version}"
        except ValueError:
            continue
    return None


def socket_options(options):
    """Returns the options of a socket in words; None if none is set. options: {name: value}."""
    parts = [key if value is True else f"{key}={value}" for key, value in sorted((options or {}).items())
             if value not in (None, False)]
    return ",".join(parts) or None


MEMORY_OPTIONS = (("huge_pages", "--huge-pages"), ("registered", "--registered"), ("reuse_early", "--reuse-early"))


def memory_options(get):
    """Returns the options by which a message's memory was allocated; None: the defaults. get(key) returns the load's
    value of a key.
    """
    parts = ["--align", str(get("align_bytes"))] if get("align_bytes") is not None else []
    parts += [option for key, option in MEMORY_OPTIONS if get(key)]
    parts += ["--file-dir", get("file_dir")] if get("file_dir") else []
    return shlex.join(parts) or None
