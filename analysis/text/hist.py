# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Histograms of records, merged. Counts have 64 bits, as in the kernel programs."""

from array import array

from derive.hist import FINE, bucket_of, high, low, rank

from .record import COUNT_MAX, at, count, rows


def pairs(block):
    """Yields a histogram's buckets, as pairs of index and count."""
    found = at(block, "buckets")
    if isinstance(found, bytes):
        numbers = memoryview(found).cast("Q")
        yield from zip(numbers[::2], numbers[1::2])
    for row in rows(block, "buckets"):
        yield bucket_of(count(row, "0"), FINE), count(row, "2")


def packed(block):
    """A block of a record; if it is a histogram, in a tenth of the memory, which its buckets take."""
    if not isinstance(block.get("buckets"), list):
        return block
    numbers = array("Q", [number for pair in pairs(block) for number in pair])
    return {**block, "buckets": numbers.tobytes()}


class Hist:
    """count 0: nothing was timed."""

    def __init__(self, *blocks):
        self.count = self.sum = self.max = 0
        self.buckets = {}
        for block in blocks:
            self.add(block)

    def add(self, block):
        """Adds a histogram as a record has it, or what stands in its place."""
        if not count(block, "count"):
            return
        self.count = self.count + count(block, "count") & COUNT_MAX
        self.sum = self.sum + count(block, "sum") & COUNT_MAX
        self.max = max(self.max, count(block, "max"))
        for bucket, many in pairs(block):
            self.buckets[bucket] = self.buckets.get(bucket, 0) + many & COUNT_MAX

    @property
    def mean(self):
        return float(self.sum) / float(self.count) if self.count else 0.0

    def high(self, bucket):
        return high(bucket, FINE, self.max)

    def percentile(self, per_mille):
        place, seen = rank(self.count, per_mille), 0
        for bucket, many in sorted(self.buckets.items()):
            seen = seen + many & COUNT_MAX
            if seen and seen >= place:
                return min(self.high(bucket), self.max)
        return self.max

    def slower_than(self, ns):
        """How many took at least so long."""
        return sum(many for bucket, many in self.buckets.items() if low(bucket, FINE) >= ns) & COUNT_MAX

    def octaves(self):
        """{power of two: how many}, from the first that has any to the last."""
        found = {}
        for bucket, many in self.buckets.items():
            power = (low(bucket, FINE) | 1).bit_length() - 1
            found[power] = found.get(power, 0) + many & COUNT_MAX
        used = [power for power, many in found.items() if many]
        return {power: found.get(power, 0) for power in range(min(used), max(used) + 1)} if used else {}
