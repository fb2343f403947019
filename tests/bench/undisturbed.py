# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Repeats pairs of runs that a hypervisor disturbed by giving CPU time to other guests.

A guest reads how much time of its CPUs went to others (steal time). Steal time does not depend on the programs, so
repeating such a pair favours neither side.
"""

import os
import pathlib
import time

import pairs

STOLEN_MAX = 0.02  # largest share of the time of all CPUs
TRIES = 4
STEAL = 8  # the word's index in the first line of /proc/stat, since Linux 2.6.11


def steal_s():
    """Returns the steal time of all CPUs in seconds; 0 outside of a guest."""
    words = pathlib.Path("/proc/stat").read_text(encoding="ascii").split(None, STEAL + 1)
    return int(words[STEAL]) / os.sysconf("SC_CLK_TCK")


class Undisturbed:
    def __init__(self, steal=steal_s, now=time.monotonic):
        self.steal, self.now = steal, now
        self.again = self.disturbed = 0

    def run_pair(self, number, *runs):
        """Does the same as pairs.run_pair(), but repeats a pair with too much steal time. The last of TRIES counts in
        any case."""
        for left in reversed(range(TRIES)):
            steal, begun = self.steal(), self.now()
            results = pairs.run_pair(number, *runs)
            lost = (self.steal() - steal) / os.cpu_count()
            if lost <= STOLEN_MAX * (self.now() - begun):
                break
            self.again += bool(left)
            self.disturbed += not left
        return results

    def text(self):
        """Returns a note about the repeated pairs; "" if there are none."""
        if not self.again:
            return ""
        return (f"{self.again} pairs were taken again, because the hypervisor had given more than "
                f"{STOLEN_MAX:.0%} of this machine's time to others; {self.disturbed} count "
                "although it did so each time")
