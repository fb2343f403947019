# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Prints what can be measured on a machine, and what is missing, for analyze doctor. facts: the engine's line, with
members added that can be read without privilege.
"""

import os
import resource

from analysis.front import host
from analysis.text.layout import broken
from analysis.text.record import safe_text
from analysis.words import counted, size

_LABEL = 26  # the width of a fact's name
_INITIAL_PID_NAMESPACE = 0xEFFFFFFC  # PROC_PID_INIT_INO
_BTF = {"yes": "yes", "no memory": "not read: no memory for it",
        "missing": "missing: the programs cannot be loaded"}


def _capabilities(facts):
    if facts["lacking"]:
        return f"not enough: {facts['lacking']}"
    return "enough to load BPF programs" + ("" if facts["syslog"] else (
        "; without CAP_SYSLOG /proc/kallsyms hides function addresses, and the flags of some "
        "completions are lost"))


def _result(facts):
    """Returns what the tool can measure here, in a sentence."""
    hooks = {hook["name"]: hook for hook in facts.get("hooks") or ()}
    send, completion, copies = (hooks.get(name) for name in ("send", "completion", "skb copy"))
    if not send or not send["mechanism"]:
        return f"sends cannot be measured here: {send['reason'] if send else facts.get('hooks_reason')}"
    text = f"sends are counted and timed, by {send['mechanism']}; "
    if not completion["mechanism"]:
        return f"{text}zero-copy completions are not counted: {completion['reason']}"
    return f"{text}zero-copy completions are counted; " + (
        "copies are not seen" if not copies["mechanism"] else
        "the causes of copies are deduced" if copies["reason"] else "copies are seen, with their causes")


def _machine(facts):
    own = {**facts["host"], **host.describe()}
    yield "result", _result(facts)
    yield "kernel", f"Linux {own['kernel']} {own['arch']}" + (", debug" if own["debug_kernel"] else "")
    yield "machine", (counted(own["nproc"], "CPU") + (", virtual" if own["virtualized"] else "") +
                      (f", {own['cpu']}" if own["cpu"] else ""))
    yield from _devices()
    yield "BTF", _BTF[facts["btf"]]
    lockdown = host.first_line("/sys/kernel/security/lockdown") or "none"
    yield "lockdown", lockdown + (": reading kernel memory is refused" if "[confidentiality]" in lockdown else "")
    yield "capabilities", _capabilities(facts)
    yield "PID namespace", ("a container's: only its processes have ids here"
                            if os.stat("/proc/self/ns/pid").st_ino != _INITIAL_PID_NAMESPACE
                            else "the initial one")
    yield "PMU", own["pmu"] or "none usable: cycles and cache misses are not supported"
    if own["governor"]:
        yield "governor", own["governor"]
    if "optmem_max" in own["settings"]:
        yield "optmem_max", (f"{own['settings']['optmem_max']} bytes per socket: limits waiting zero-copy "
                             "notifications, then ENOBUFS")
    limit = resource.getrlimit(resource.RLIMIT_MEMLOCK)[0]
    memlock = "unlimited" if limit == resource.RLIM_INFINITY else size(limit)
    yield "memlock", f"{memlock} per user: the most zero-copy data in flight, except root's"


def _hook(hook):
    if hook["mechanism"]:
        return f"{hook['mechanism']}: {hook['symbol']}" + (f" ({hook['reason']})" if hook["reason"] else "")
    return f"{'not needed' if hook['disabled'] else 'unavailable'}: {hook['reason']}"


def _stages(hooks):
    """Returns one line for the hooks of all stages, because missing hooks nearly always have the same reason."""
    there = [hook for hook in hooks if hook["mechanism"]]
    reason = next((hook["reason"] for hook in hooks if not hook["mechanism"] and hook["reason"]), "")
    return f"{len(there)} of their {len(hooks)} hooks" + (f"; of the others: {reason}" if reason else "")


def _hooks(facts):
    if facts.get("hooks_reason") is not None:
        yield "hooks", f"unavailable: {facts['hooks_reason']}"
        return
    for hook in facts["hooks"]:
        if not hook["stages_only"]:
            yield f"hook {hook['name']}", _hook(hook)
    yield "memory of maps", (f"{facts['map_bytes'] / (1 << 20):.1f} MiB; the sends of up to {facts['sockets_most']} zero-copy "
                             "sockets at once are followed") if "map_bytes" in facts else \
        f"unavailable: {facts['maps_reason']}"
    yield "stages of a send", _stages([hook for hook in facts["hooks"] if hook["stages_only"]])
    yield "other protocols", "not measured; MPTCP sends and zero-copy sends by UDP are " + (
        "counted where a program is observed" if facts["sees_others"]
        else "not counted: this kernel has no tracepoint for them")


def zerocopy(device):
    """Returns whether this device can send without a copy ("yes", "no" or "depends"), and why."""
    if device["loopback"]:
        return "no", "data for a receiver on this machine are always copied"
    if device["driver"] == "tun":
        return "no", "tun and tap copy every packet"
    if not device["scatter_gather"]:
        return "no", ("without scatter-gather the kernel copies everything, and flags only some of "
                      "these copies (ethtool -K DEV sg on)")
    if not device["checksum"]:
        return "no", ("without checksum offload the kernel reads and copies the data "
                      "(ethtool -K DEV tx on)")
    if device["driver"] == "veth":
        return "depends", ("copied if the receiver is on this machine; not if a bridge forwards it to a "
                           "device that can")
    return "yes", "it has scatter-gather and checksum offload"


def _devices():
    try:
        found = host.devices()
    except OSError as error:
        yield "devices", f"cannot be listed: {error.strerror}"
        return
    for device in found:
        answer, why = zerocopy(device)
        driver = f" ({safe_text(device['driver'])})" if device["driver"] else ""
        yield "device", f"{safe_text(device['name'])}{driver}: zero-copy {answer}: {why}"


def text(facts, folded):
    """Returns a line for each fact. folded: whether to break it for a terminal."""
    lines = (f"{what:<{_LABEL}}{value}" for part in (_machine, _hooks) for what, value in part(facts))
    return "".join(f"{broken(line, _LABEL) if folded else line}\n" for line in lines)
