# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Makes the block by (groups of sends) and zerocopy.peers (receivers of zero-copy sends)."""

import socket
import struct

from . import containers

PEERS_MAX = 1000
NO_CGROUP2 = "only control groups of version 2 are read, and none are mounted here"
NO_PATH = "some paths have more than 16 names or 512 bytes, or found no room (--by-max)"
FAMILIES = {2: 4, 10: 6}
SUMS = {"sends": 0, "failed": 0, "interrupted": 0, "bytes": 0, "timed": 0, "ns": 0, "requests": 0,
        "ignored": 0, "refused": 0, "zerocopy_bytes": 0, "completions": 0, "copied": 0,
        "unflagged": 0, "unknown": 0}


def kernel_text(name):
    """Returns a name from the kernel as text; None if it is empty. name: has one character for each byte."""
    return name.encode("latin-1").decode("utf-8", "backslashreplace") or None


def address(family, words):
    """Returns an IP address as text; None: another family. words: {"index": 32 bits in network order}; missing: 0."""
    version = FAMILIES.get(family)
    if not version:
        return None
    count = 1 if version == 4 else 4
    packed = struct.pack(f"<{count}I", *(words.get(str(i), 0) for i in range(count)))
    return socket.inet_ntop(family, packed)


def device(key, group):
    return {"netns": key["netns"] or None, "ifindex": key["ifindex"] or None,
            "device": kernel_text(group["device"]) if key["ifindex"] else None}


def group_zerocopy(run, group):
    """Returns the zero-copy counts of a group. completions and copied are None if no hook sees completions."""
    completions = run.hooked("completion")
    uring = run.hooks["io_uring completion"]
    unknown = run.hooked("io_uring completion") and not uring["by_report"]
    copied = completions and (unknown or not group["unknown"])
    unflagged = 0 if run.blind else group["unflagged"]
    return {"requests": group["requests"], "ignored": group["ignored"], "refused": group["refused"],
            "bytes": group["zerocopy_bytes"],
            "completions": group["completions"] if completions else None,
            "copied": group["copied"] + unflagged if copied else None}


def cgroup_path(found):
    """Returns a control group's path; None: a part is unknown. found: a value of group_paths, innermost name first."""
    if not found or not found["whole"]:
        return None
    return "/" + "/".join(reversed(found["names"].split("/")[:-1]))


def cgroup(run, key):
    """Returns the control group of a group's sender, and the container and pod in its path."""
    path = cgroup_path(run.paths.get(str(key)))
    if not run["setup"]["cgroup2"]:
        path = None
    place = containers.of_path(path or "")
    return {"cgroup": kernel_text(path or ""), **place._asdict()}


def sums(run, group):
    return {"sends": group["sends"], "failed": group["failed"], "interrupted": group["interrupted"],
            "bytes": group["bytes"],
            "wall_ns": {"span": run.hooks["send"]["span"], "count": group["timed"], "sum": group["ns"]},
            "zerocopy": group_zerocopy(run, group) if group["requests"] else None}


def ordered(rows, member):
    """Returns the rows (key, counts) with the largest member first. Equal rows are in order of their key's bytes."""
    def by_key(key):
        words = [key["address"].get(str(i), 0) for i in range(4)]
        return struct.pack("<Q3I2H4I", key.get("cgroup", 0), key["tgid"], key["netns"], key["ifindex"], key["port"],
                           key["family"], *words)
    return sorted(rows, key=lambda row: (-row[1][member], by_key(row[0])))


def group_row(run, key, group, by):
    out = {}
    if "process" in by:
        out.update(pid=group["pid"] or None, comm=kernel_text(group["comm"]))
    if "cgroup" in by:
        out.update(cgroup(run, key))
    if "device" in by:
        out.update(device(key, group))
    if "port" in by:
        out["remote_port"] = key["port"]
        out["remote_address"] = (None if group["addresses"] else address(group["family"], group["address"]))
    return {**out, **sums(run, group)}


def groups_block(run):
    by = run["setup"]["by"]
    if not by or not run.hooked("send"):
        return None
    rest = run.maps["groups_rest"]
    rows = [group_row(run, key, group, by) for key, group in ordered(run.maps["groups"], "bytes")]
    if "cgroup" in by and any(one["cgroup"] is None for one in rows):
        run.missing("by.groups.cgroup", NO_PATH if run["setup"]["cgroup2"] else NO_CGROUP2)
    return {"dimensions": by, "groups": rows,
            "rest": sums(run, rest) if rest["sends"] else None}


def peers(run):
    rows = ordered(run.maps.get("peers", []), "requests")
    rest = dict(run.maps.get("peers_rest", SUMS))
    for _, group in rows[PEERS_MAX:]:
        for member in SUMS:
            rest[member] += group[member]
    others = None
    if rest["requests"]:
        others = {**group_zerocopy(run, rest), "peers": max(len(rows) - PEERS_MAX, 0)}
    return {"peers": [{**group_zerocopy(run, group), **device(key, group),
                       "address": address(key["family"], key["address"]), "port": key["port"]}
                      for key, group in rows[:PEERS_MAX]],
            "peers_rest": others}
