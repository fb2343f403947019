# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Histograms of records, merged; and records in little memory, of which most is the same in many runs, and
most of the rest are histograms.
"""

from array import array
from itertools import chain, repeat
from sys import intern

from analysis.derive.hist import FINE, Percentiles, bucket_of, low

from .record import at, count, rows

NOTHING = object()


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


def shared(part, kept):
    """Takes a part of a record and that of one that is kept; gives it with its histograms packed, in
    the memory of the other as far as the two are the same.
    """
    if isinstance(part, dict):
        members = kept if isinstance(kept, dict) else {}
        part = {intern(key): shared(member, members.get(key)) for key, member in packed(part).items()}
        same = all(member is members.get(key, NOTHING) for key, member in part.items())
    elif isinstance(part, list):
        members = kept if isinstance(kept, list) else []
        part = [shared(*pair) for pair in zip(part, chain(members, repeat(None)))]
        same = all(member is other for member, other in zip(part, members))
    else:
        return kept if type(part) is type(kept) and part == kept else part
    return kept if same and type(part) is type(kept) and len(part) == len(kept) else part


class Hist(Percentiles):
    """All that histograms of records have together, or what stands in their places. count 0: nothing was
    timed, or no bucket has any. sub_bits: of the kernel's buckets; blocks are read by FINE.
    """

    def __init__(self, *blocks, sub_bits=FINE):
        self.sub_bits = sub_bits
        timed = [block for block in blocks if count(block, "count")]
        self.count, self.sum = (sum(count(block, key) for block in timed) for key in ("count", "sum"))
        self.max = max((count(block, "max") for block in timed), default=0)
        found = {}
        for fine, many in (pair for block in timed for pair in pairs(block)):
            bucket = bucket_of(low(fine, FINE), sub_bits)
            found[bucket] = found.get(bucket, 0) + many
        self.buckets = sorted(found.items())
        if not any(found.values()):
            self.count = self.sum = self.max = 0

    @property
    def mean(self):
        return float(self.sum) / float(self.count) if self.count else 0.0

    def slower_than(self, ns):
        """How many took at least so long."""
        return sum(many for bucket, many in self.buckets if low(bucket, self.sub_bits) >= ns)

    def octaves(self):
        """{power of two: how many}, from the first that has any to the last."""
        found = {}
        for bucket, many in self.buckets:
            power = (low(bucket, self.sub_bits) | 1).bit_length() - 1
            found[power] = found.get(power, 0) + many
        used = [power for power, many in found.items() if many]
        return {power: found.get(power, 0) for power in range(min(used), max(used) + 1)} if used else {}
