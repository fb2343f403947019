# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Measures the load generator's own cost: time per message of the null variant, which does everything except the
send, and the memory of its larger process with few and with many connections.
"""

import json

import loads
import pairs
import programs
from printing import interval, level, spread, table

NULL = {"1 field": ("--fields", 1, "--size", "64K"), "8 fields": ("--size", "64K")}
MEMORY = {
    "64K messages, 2 threads": ("--variant", "onecopy", "--size", "64K", "--threads", 2,
                                "--duration", 0.3, "--warmup", 0),
    "1M messages, zerocopy": ("--variant", "zerocopy", "--size", "1M", "--duration", 0.3,
                              "--warmup", 0),
    "10,000 connections": ("--workload", "procinfo", "--server-model", "epoll",
                           "--connections", 10000, "--messages", 1, "--warmup", 0),
}


class Section:
    name = "harness"

    def __init__(self, settings):
        self.seconds = settings.seconds
        self.null = {name: [] for name in NULL}
        self.memory = {name: [] for name in MEMORY}

    def missing(self):
        return loads.cannot_load()

    def round(self, number):
        for name, options in NULL.items():
            done = programs.must([loads.LOADGEN, "--variant", "null", *options,
                                  "--duration", self.seconds, "--json", "-"])
            result = json.loads(done.output)
            self.null[name].append(1e9 * result["elapsed_s"] / result["messages"])
        # Memory does not drift, so it is measured once.
        if not number:
            for name, options in MEMORY.items():
                done = programs.must([loads.LOADGEN, *options, "--json", "-"])
                self.memory[name].append(done.peak_rss_kib / 1024)

    def data(self):
        return {"null_ns": {name: pairs.summarise(values)
                            for name, values in self.null.items() if values},
                "peak_rss_mib": {name: pairs.summarise(values)
                                 for name, values in self.memory.items() if values}}

    def text(self):
        data = self.data()
        lines = ["the load generator itself: a message that is not sent; memory of its larger "
                 "process"]
        rows = [[name, f"{ns.median:.1f} ns", interval(ns, "{:.1f}"), spread(ns, "{:.1f}")]
                for name, ns in data["null_ns"].items()]
        rows += [[name, f"{mib.median:.1f} MiB", "", ""]
                 for name, mib in data["peak_rss_mib"].items()]
        if rows:
            some = next(iter(data["null_ns"].values()))
            lines.append(table(["load", "median", level(some), "range"], rows))
        return "\n".join(lines)
