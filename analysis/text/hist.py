# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Merges the histograms of repeats. Keeps thousands of records in memory by sharing equal parts and packing buckets."""

from array import array
from itertools import chain, repeat
from sys import intern

from analysis.derive.hist import FINE, Percentiles, bucket_of, low

from .record import at, count, rows

NOTHING = object()


def pairs(block):
    """Yields (index, count) of a histogram's buckets, whether they are packed or not."""
    found = at(block, "buckets")
    if isinstance(found, bytes):
        numbers = memoryview(found).cast("Q")
        yield from zip(numbers[::2], numbers[1::2])
    for row in rows(block, "buckets"):
        yield bucket_of(count(row, "0"), FINE), count(row, "2")


def packed(block):
    """Returns a block of a record. If it has the buckets of a histogram, packs them as bytes: a tenth of the memory."""
    if not isinstance(block.get("buckets"), list):
        return block
    numbers = array("Q", [number for pair in pairs(block) for number in pair])
    return {**block, "buckets": numbers.tobytes()}


def shared(part, kept):
    """Returns a part of a record with its histograms packed. kept: the same part of a record that is in memory. Objects
    in it are reused where the two parts are equal.
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
    """The sum of histograms of records. A block that is no histogram counts as an empty one. count: 0 if nothing was
    timed, or all buckets are empty. sub_bits: the resolution of the kernel's buckets; blocks have the resolution FINE.
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
        """Returns how many values are at least ns, to the resolution of the buckets."""
        return sum(many for bucket, many in self.buckets if low(bucket, self.sub_bits) >= ns)

    def octaves(self):
        """Returns {power of two: count}, from the first power with a count to the last."""
        found = {}
        for bucket, many in self.buckets:
            power = (low(bucket, self.sub_bits) | 1).bit_length() - 1
            found[power] = found.get(power, 0) + many
        used = [power for power, many in found.items() if many]
        return {power: found.get(power, 0) for power in range(min(used), max(used) + 1)} if used else {}
