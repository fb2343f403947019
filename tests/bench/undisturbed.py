# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Pairs of runs that a busy hypervisor did not disturb.

A guest is told how much of its processors' time others were given meanwhile. That depends on
those others alone, not on what is compared: taking such a pair again favours neither side.
"""

import os
import pathlib
import time

import pairs

STOLEN_MAX = 0.02  # of the time of all CPUs
TRIES = 4
STEAL = 8  # the word of /proc/stat's first line, from Linux 2.6.11


def stolen_s():
    """Seconds that the hypervisor gave to others, all CPUs together; 0 outside of a guest."""
    words = pathlib.Path("/proc/stat").read_text(encoding="ascii").split(None, STEAL + 1)
    return int(words[STEAL]) / os.sysconf("SC_CLK_TCK")


class Undisturbed:
    def __init__(self, stolen=stolen_s, now=time.monotonic):
        self.stolen, self.now = stolen, now
        self.again = self.disturbed = 0

    def take(self, number, *runs):
        """As pairs.take(), again while too much was stolen; the last try counts anyhow."""
        for left in reversed(range(TRIES)):
            stolen, begun = self.stolen(), self.now()
            results = pairs.take(number, *runs)
            lost = (self.stolen() - stolen) / os.cpu_count()
            if lost <= STOLEN_MAX * (self.now() - begun):
                break
            self.again += bool(left)
            self.disturbed += not left
        return results

    def text(self):
        """What a reader should know of it, or nothing."""
        if not self.again:
            return ""
        return (f"{self.again} pairs were taken again, because the hypervisor had given more than "
                f"{STOLEN_MAX:.0%} of this machine's time to others; {self.disturbed} count "
                "although it did so each time")
