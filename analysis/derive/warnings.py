# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Makes the block warnings: reasons to doubt the figures of a run."""

from analysis.text.record import at

from .noise import busy_threads, values


def machine(run):
    """Yields warnings about the machine."""
    host, busy = run["host"], busy_threads(run["load"])
    if host["governor"] and host["governor"] != "performance":
        yield "governor", (f'CPU frequency governor is "{host["governor"]}": times vary with the '
                           'frequency; "performance" holds it still')
    if host["debug_kernel"]:
        yield "debug_kernel", ("this is a debug kernel: sends cost a multiple of what they cost in "
                               "production")
    if busy > host["nproc"]:
        yield "few_cpus", (f"{busy} busy threads share {host['nproc']} CPUs: they wait for each other, "
                           "and the wall times contain that")
    if not host["pmu"]:
        yield "no_pmu", ("no PMU in this virtual machine: cycles, instructions and cache misses are "
                         "not supported" if host["virtualized"] else
                         "the PMU cannot be used: cycles, instructions and cache misses are not counted")


def unsent(run):
    """Yields a warning if an open loop did not begin all messages: latencies do not include the missing messages."""
    rate = at(run.app, "rate") or {}
    if rate.get("unsent"):
        yield "rate_not_kept", (f"--rate: of {rate['due']} messages that were due, {rate['unsent']} "
                                "were not begun in time: latencies leave them out")


def paced(record):
    """Yields a warning about pacing: bbr and its later versions pace; other algorithms, only if the qdisc paces."""
    name = at(record, "tcp/sending/congestion") or ""
    usual = at(record, "host/settings/tcp_congestion_control") or ""
    if name.startswith("bbr"):
        yield "paced", (f"TCP congestion control {name[:15]} paces: rates are what it allows; "
                        "--socket congestion=reno sends at once")
    elif name and usual.startswith("bbr") and at(record, "load/socket/congestion") is None:
        yield "not_paced", (f"the load used {name[:15]}, as this machine's {usual[:15]} paces what "
                            f"stays within it; --socket congestion={usual[:15]} keeps that")


def estimated(record):
    memory = record["memory"]
    if not memory or not memory["is_estimate"]:
        return
    why = ("a cache behind these may have the lines" if memory["scope"] == "system" else
           "prefetches, write-backs and other programs are not in it, so it is too low")
    yield "memory_estimate", f"memory: an estimate, {memory['source']}: {why}"


def unseen(run):
    """Yields a warning about an observed program's sends that no hook sees. A load with such sends fails instead."""
    send = run.hooks["send"]
    if run.observed and send.get("unseen"):
        yield "sends_unseen", (f"sends by {send['unseen']} are not seen: this kernel has no hook "
                               "that they pass")


def was_of_use(run, hook):
    """Returns whether the run had sends of the kind that the hook sees."""
    if not hook["zerocopy_only"]:
        return True
    return (run.uring if hook["name"] == "io_uring completion" else run.msg_zerocopy).requests > 0


def misses(run):
    by_reason = {}
    for hook in run["plan"]:
        reason = hook["reason"]
        if (hook["status"] != "attached" or not reason or not was_of_use(run, hook) or
                (hook["unseen"] and reason == hook["misses"])):
            continue
        unknown = "; how often, this kernel does not count" if hook["missed_unknown"] else ""
        meaning = "" if hook["by_path"] else "counts may be too low: "
        by_reason.setdefault(f"{meaning}{reason[:180]}{unknown}", []).append(hook["name"])
    for reason, names in by_reason.items():
        yield "hook_misses", f"{reason} (hook {', '.join(names)})"


def warnings_block(run, record):
    found = [*machine(run), *unseen(run), *misses(run), *unsent(run), *paced(record),
             *((code, words % (100 * value)) for value, doubtful, _, code, words in values(record)
               if value >= doubtful), *estimated(record)]
    if run["interrupted"]:
        found.append(("interrupted", "the run was interrupted before its time was up"))
    if run["error"]:
        found.append(("load_failed", run["error"]))
    return [{"code": code, "text": text} for code, text in found]
