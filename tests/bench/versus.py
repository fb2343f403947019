# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Compares the load generator with another program that sends the same: a table of ratios by message size and threads.
A ratio compares the data received over loopback in the same time after the same warm-up.
"""

import functools

import loads
import pairs
from printing import gbit, interval, level, size, spread, table

SIZES = (256, 4 << 10, 64 << 10, 1 << 20)
THREADS = (1, 2)


class Versus:
    """A section of the benchmark; a subclass defines name, peer, variant, notes and theirs()."""
    # Number of pairs that share a round's time. Many short pairs measure better than few long ones, because speeds
    # differ more between connections than within one.
    pairs_a_round = 4

    def __init__(self, settings):
        if settings.quick:
            self.pairs_a_round = 1
        self.seconds = self.window(settings.seconds)
        self.undisturbed = settings.undisturbed
        self.pinned = not settings.unpinned
        sizes, threads = ((64 << 10,), (1,)) if settings.quick else (SIZES, THREADS)
        self.cells = {(count, n): ([], []) for n in threads for count in sizes}

    def window(self, seconds):
        """Returns the seconds of one run; a round of `seconds` has pairs_a_round pairs of runs."""
        return seconds / self.pairs_a_round

    def missing(self):
        return loads.cannot_load() or self.lacks()

    def pins(self, threads):
        """Returns whether the two ends are pinned to different CPUs: with one thread, if there are two CPUs."""
        return self.pinned and threads == 1

    def ours(self, count, threads):
        return loads.loadgen("--variant", self.variant, "--fields", 1, "--size", count,
                             "--threads", threads, "--duration", self.seconds,
                             "--warmup", self.seconds, *self.more(count),
                             "--pin", "auto" if self.pins(threads) else "none")

    def more(self, count):
        """Returns additional options of the load generator."""
        del count
        return []

    def round(self, number):
        for pair in range(number * self.pairs_a_round, (number + 1) * self.pairs_a_round):
            for (count, threads), (ours, theirs) in self.cells.items():
                a, b = self.undisturbed.run_pair(pair, functools.partial(self.ours, count, threads),
                                             functools.partial(self.theirs, count, threads))
                ours.append(a)
                theirs.append(b)

    def text(self):
        where = "with one thread both ends pinned apart" if self.pinned else "none pinned"
        lines = [f"load generator over {self.peer}: {self.variant}, 1 field, loopback, {where}; "
                 f"{self.seconds:g} s after {self.seconds:g} s of warm-up, both"]
        rows = []
        for cell in self.data()["cells"]:
            ratio = cell["ratio"]
            pair_count = ratio.n
            rows.append([size(cell["message_bytes"]), str(cell["threads"]),
                         f"{ratio.median:.2f}", interval(ratio, "{:.2f}"),
                         spread(ratio, "{:.2f}"), gbit(cell["loadgen"].median),
                         gbit(cell["peer"].median)])
            heading = level(ratio)
        if rows:
            lines[0] += f"; {pair_count} pairs"
            lines.append(table(["size", "threads", "ratio", heading, "range", "loadgen Gbit/s",
                                f"{self.name} Gbit/s"], rows))
            lines.append(self.notes)
        return "\n".join(lines)

    def data(self):
        return {"seconds": self.seconds, "warmup_s": self.seconds, "pinned": self.pinned,
                "variant": self.variant,
                "cells": [{"message_bytes": count, "threads": threads,
                           "ratio": pairs.summarise(pairs.ratios(ours, theirs)),
                           "loadgen": pairs.summarise(ours), "peer": pairs.summarise(theirs),
                           "loadgen_bps": ours, "peer_bps": theirs}
                          for (count, threads), (ours, theirs) in self.cells.items() if ours]}
