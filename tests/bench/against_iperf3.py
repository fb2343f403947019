# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The load generator against iperf3: is it a load worth measuring with?

One stream a thread, one buffer a message. Both are measured for whole seconds, because
iperf3 knows no others. Not the same: with small messages iperf3 also receives small, the
load generator always receives by 512 KiB and more at once.
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
