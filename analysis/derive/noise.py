# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Makes the block noise: the other work of the machine in the window, and whether it forbids comparing the run."""

import re

from analysis.tables.limits import LIMITS
from analysis.text.record import at

WAITS = "sender_waited", "receiver_waited", "pressure"
OTHERS_CPUS = 0.1
OWN = "user_s", "system_s", "receiver/user_s", "receiver/system_s"  # first of the sender


def receives_elsewhere(load):
    """Returns whether the receiver uses another machine's CPUs."""
    return bool(load and load["peer"] and load["device"] != "lo")


def busy_threads(load):
    """Returns the number of threads that the load keeps busy at once; 0 for an observation."""
    if not load or load["variant"] == "null":
        return 0
    ends = 1 if receives_elsewhere(load) else 2
    return ends if load["workload"] == "procinfo" else ends * load["threads"]


def values(record):
    """Yields each value that has limits, with its two limits, and the code and the words of its warning."""
    for path, per, doubtful, much, code, words in LIMITS:
        value, by = at(record, path), at(record, per) if per else 1
        if value is not None and by and by > 0:
            yield value / by, doubtful, much, code, words


def disturbed(run, record):
    """Returns, in words, why the run must not be compared; None: it may be. The load's own softirqs also make its
    threads wait. The threads' waits, or if these are unknown the pressure on all CPUs, therefore count only if other
    programs used at least OTHERS_CPUS of a CPU.
    """
    noise = record["noise"]
    # The share of the time in which the load's own threads wait for one another.
    own = max(0.0, 1 - run["host"]["nproc"] / max(busy_threads(run["load"]), 1))
    others = (noise["others_share"] or 0) * run["host"]["nproc"] >= OTHERS_CPUS
    known = noise["sender_waited_share"] is not None or noise["receiver_waited_share"] is not None
    for value, _, much, code, words in values(record):
        waits = code in WAITS
        if waits and (not others or code == "pressure" and known):
            continue
        if value >= much + own * waits:
            return words % (100 * value)
    return None


TICKS = 10  # fewer ticks of the kernel's clock, over all CPUs, are too few to compute shares


def _share(part, whole):
    return min(part / whole, 1.0)


def _cpu(opened, closed, hz):
    """Returns the CPU time of all CPUs and its parts; {}: unknown. A count that fell, as on some kernels, gives 0."""
    kinds = [[int(word) for word in (reading["stat"] or "").split()[1:9]] for reading in (opened, closed)]
    if len(kinds[0]) < 8 or len(kinds[1]) < 8:
        return {}
    (all_, busy, irq, steal) = (
        max(sum(kinds[1][part]) - sum(kinds[0][part]), 0)
        for part in (slice(8), slice(3), slice(5, 7), slice(7, 8)))  # all; user, nice, system; irq, softirq; steal
    return {"all_s": all_ / hz, "busy_s": busy / hz, "irq_share": _share(irq, all_),
            "steal_share": _share(steal, all_)} if all_ >= TICKS else {}


def _waited(opened, closed):
    """Returns the time that a process's threads waited for a CPU, as a share of the time in which they were runnable.
    None: unknown, for example because a thread ended and its times are missing.
    """
    if not opened or not closed:
        return None
    ran, waited = (now - before for before, now in zip(opened, closed))
    return waited / (ran + waited) if ran >= 0 and waited >= 0 and ran + waited > 0 else None


def changes(opened, closed, hz):
    """Returns the differences between two readings of the kernel's counts; None: unknown."""
    found = dict.fromkeys(("all_s", "busy_s", "irq_share", "steal_share", "pressure_share", "throttled",
                           "slowdown", "sender_waited_share", "receiver_waited_share"))
    if not opened or not closed:
        return found
    found.update(_cpu(opened, closed, hz))
    pressure = [re.search(r"total=(\d+)", reading["pressure"] or "") for reading in (opened, closed)]
    if all(pressure) and closed["time_s"] > opened["time_s"]:
        us = int(pressure[1][1]) - int(pressure[0][1])
        found["pressure_share"] = _share(us / 1e6, closed["time_s"] - opened["time_s"])
    throttled = [reading["throttled"] for reading in (opened, closed)]
    if None not in throttled and throttled[1] >= throttled[0]:
        found["throttled"] = throttled[1] - throttled[0]
    if opened["khz"] and closed["khz"]:
        found["slowdown"] = max(1 - closed["khz"] / opened["khz"], 0.0)
    for side in "sender", "receiver":
        found[f"{side}_waited_share"] = _waited(opened[side], closed[side])
    return found


def others_share(run):
    """Returns the share of all CPU time that processes other than the load's used; None: unknown."""
    raw = run["noise"]
    others = raw["busy_s"] or 0.0
    for path in OWN[:2] if receives_elsewhere(run["load"]) else OWN:
        others -= at(run.app, path) or 0
    return max(others, 0.0) / raw["all_s"] if raw["all_s"] else None


def noise_block(run, record):
    raw, out = run["noise"], {}
    no_cpu = "too short a window, or /proc/stat does not have it"
    no_wait = ("measured only for a load" if run.observed
               else "the kernel keeps no schedstat, or threads ended meanwhile")
    for key, value, reason in (
            ("others_share", others_share(run) if run.app else None,
             no_cpu if run.app else "the program's own CPU time is measured only for a load"),
            ("irq_share", raw["irq_share"], no_cpu),
            ("pressure_share", raw["pressure_share"], "this kernel has no /proc/pressure (CONFIG_PSI)"),
            ("sender_waited_share", raw["sender_waited_share"], no_wait),
            ("receiver_waited_share", raw["receiver_waited_share"], no_wait),
            ("throttled", raw["throttled"], "this machine does not show when it throttles its CPUs"),
            ("slowdown", raw["slowdown"], "this machine does not show the frequency of its CPUs")):
        out[key] = run.known("noise", key, value, reason)
    out["disturbed"] = disturbed(run, {**record, "noise": out})
    return out
