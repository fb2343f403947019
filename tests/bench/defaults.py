# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Compares the load generator at its defaults with the simplest loop (against_plain) where its settings could slow
it down: congestion controls, links, sizes and fields.

Links are loopback, a veth pair into a network namespace that the benchmark creates, and the link that SENDPATH_ADDRESS
and SENDPATH_NETNS name. The lab sets these, for example for a pair of NICs.
"""

import contextlib
import functools
import json
import os
import pathlib

import against_plain
import loads
import pairs
import programs
from printing import gbit, interval, level, size, table

CONGESTIONS = ("cubic", "reno", "bbr")
SIZES = (64, 512, 4 << 10, 64 << 10, 1 << 20)
FIELDS = (1, 8, 16)
PIECE = 64
SECONDS, WARMUP_S = 0.2, 0.1
NETNS = f"sendpath-bench-{os.getpid()}"
ADDRESS = "10.231.7.2"
WORST = 12
ENOUGH = 0.9


@contextlib.contextmanager
def veth():
    """Creates a veth pair into a new network namespace, with an address at its other end. Removes both afterwards."""
    near = f"spb{os.getpid()}"
    def ip(*words):
        programs.must(["ip", *words])
    with contextlib.ExitStack() as stack:
        ip("netns", "add", NETNS)
        stack.callback(ip, "netns", "del", NETNS)
        ip("link", "add", near, "type", "veth", "peer", "name", "far", "netns", NETNS)
        stack.callback(ip, "link", "del", near)  # removes the devices now; a namespace removes them later
        ip("addr", "add", "10.231.7.1/24", "dev", near)
        ip("link", "set", near, "up")
        ip("-n", NETNS, "addr", "add", f"{ADDRESS}/24", "dev", "far")
        ip("-n", NETNS, "link", "set", "far", "up")
        yield ("--address", ADDRESS, "--netns", NETNS)


class Section:
    name = "defaults"

    def __init__(self, settings):
        self.undisturbed = settings.undisturbed
        self.links = {"loopback": ()}
        if "SENDPATH_ADDRESS" in os.environ:
            self.links["as set"] = ("--address", os.environ["SENDPATH_ADDRESS"],
                                    *(("--netns", os.environ["SENDPATH_NETNS"])
                                      if "SENDPATH_NETNS" in os.environ else ()))
        allowed = pathlib.Path("/proc/sys/net/ipv4/tcp_allowed_congestion_control")
        known = allowed.read_text(encoding="ascii").split() if os.geteuid() else CONGESTIONS
        sizes, fields = (SIZES[2:3], FIELDS[:1]) if settings.quick else (SIZES, FIELDS)
        self.cells = {(link, congestion, count, n): ([], [])
                      for link in (*self.links, *(["veth"] if not os.geteuid() else []))
                      for congestion in CONGESTIONS if congestion in known
                      for count in sizes for n in fields if count >= n * PIECE or n == 1}

    def missing(self):
        return loads.cannot_load() or loads.lacks_programs("plain")

    def ours(self, where, congestion, count, fields):
        done = programs.must([loads.LOADGEN, "--variant", "zerocopy", "--size", count, "--fields",
                              fields, "--duration", SECONDS, "--warmup", WARMUP_S, *where,
                              "--socket", f"congestion={congestion}", "--json", "-"])
        return json.loads(done.output)["throughput_bps"]

    def theirs(self, where, congestion, count, fields):
        done = programs.must([against_plain.PLAIN, "--size", count, "--fields", fields, "--pin",
                              "--buffers", against_plain.in_flight(count), "--seconds", SECONDS,
                              "--warmup", WARMUP_S, *where, "--congestion", congestion])
        return json.loads(done.output)["throughput_bps"]

    def round(self, number):
        with contextlib.ExitStack() as stack:
            if not os.geteuid():
                self.links["veth"] = stack.enter_context(veth())
            for (link, *cell), (ours, theirs) in self.cells.items():
                a, b = self.undisturbed.run_pair(
                    number, functools.partial(self.ours, self.links[link], *cell),
                    functools.partial(self.theirs, self.links[link], *cell))
                ours.append(a)
                theirs.append(b)

    def text(self):
        data = self.data()["cells"]
        if not data:
            return ""
        below = [cell for cell in data if cell["ratio"].median < ENOUGH]
        worst = sorted(data, key=lambda cell: cell["ratio"].median)[:max(len(below), WORST)]
        heading = level(worst[0]["ratio"])
        rows = [[cell["link"], cell["congestion"], size(cell["message_bytes"]),
                 str(cell["fields"]), f"{cell['ratio'].median:.2f}",
                 interval(cell["ratio"], "{:.2f}"), gbit(cell["loadgen"].median),
                 gbit(cell["peer"].median)] for cell in worst]
        return "\n".join((
            f"load generator at its defaults over {against_plain.Section.peer}: zerocopy; "
            f"{SECONDS:g} s after {WARMUP_S:g} s of warm-up; {len(below)} of {len(data)} cells "
            f"below {ENOUGH}; the {len(worst)} lowest:",
            table(["link", "congestion", "size", "fields", "ratio", heading, "loadgen Gbit/s",
                   "plain Gbit/s"], rows)))

    def data(self):
        return {"seconds": SECONDS, "warmup_s": WARMUP_S,
                "cells": [{"link": link, "congestion": congestion, "message_bytes": count,
                           "fields": fields,
                           "ratio": pairs.summarise(pairs.ratios(ours, theirs)),
                           "loadgen": pairs.summarise(ours), "peer": pairs.summarise(theirs)}
                          for (link, congestion, count, fields), (ours, theirs)
                          in self.cells.items() if ours]}
