# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Compares the load generator with iperf3: is the load generator fast enough to measure with?

One stream per thread, one buffer per message. Both run for whole seconds, because iperf3 takes no fractions. One
difference remains: with small messages, iperf3 also uses a small receive buffer; the load generator's has at least 512
KiB.
"""

import math

import loads
import versus


class Section(versus.Versus):
    name = "iperf3"
    peer = "iperf3"
    variant = "onecopy"
    pairs_a_round = 1
    notes = "Before 3.16 iperf3 serves all streams by one thread."

    def window(self, seconds):
        return math.ceil(seconds)

    def lacks(self):
        return loads.lacks("iperf3", "iperf3")

    def theirs(self, count, threads):
        return loads.iperf3(count, threads, self.seconds, self.seconds, self.pins(threads))
