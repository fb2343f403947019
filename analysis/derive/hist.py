# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Reads the histograms of the kernel programs (bpf/hist.h), and writes the histograms of a record."""

MAX_BITS = 40
FINE, COARSE = 4, 2  # log2 of the number of buckets in each power of two
POINTS = (("p50", 500), ("p90", 900), ("p99", 990), ("p999", 999))


def low(bucket, sub_bits):
    """Returns the least value of a bucket."""
    if bucket < 2 << sub_bits:
        return bucket
    shift = (bucket >> sub_bits) - 1
    return ((bucket & (1 << sub_bits) - 1) + (1 << sub_bits)) << shift


def bucket_of(value, sub_bits):
    if value >> MAX_BITS:
        return (MAX_BITS - sub_bits + 1 << sub_bits) - 1
    shift = max(value.bit_length() - 1 - sub_bits, 0)
    return (shift << sub_bits) + (value >> shift)


class Percentiles:
    """Percentiles of a histogram. buckets: sorted (bucket, count). count: of all values. max: the largest value."""

    sub_bits = FINE

    def high(self, bucket):
        """Returns the largest value of a bucket; the last bucket ends at the largest value of all."""
        above = low(bucket + 1, self.sub_bits)
        return self.max if above == 1 << MAX_BITS and self.max > above - 1 else above - 1

    def percentile(self, per_mille):
        place, seen = -(-self.count * per_mille // 1000), 0  # places count from 1; rounded up
        for bucket, count in self.buckets:
            seen += count
            if seen and seen >= place:
                return min(self.high(bucket), self.max)
        return self.max


class Hist(Percentiles):
    """A histogram of the kernel. raw: its members, with buckets as {"index": count}. Programs that count at the same
    time can leave min and max wrong; the buckets correct them.
    """

    def __init__(self, raw=None, sub_bits=FINE):
        raw = raw or {"sum": 0, "min": 0, "max": 0, "buckets": {}}
        self.sub_bits = sub_bits
        self.buckets = sorted((int(index), count) for index, count in raw["buckets"].items())
        self.count = sum(count for _, count in self.buckets)
        self.sum, self.min, self.max = raw["sum"], raw["min"], raw["max"]
        if not self.count:
            self.min = self.max = None
            return
        first, last = self.buckets[0][0], self.buckets[-1][0]
        if bucket_of(self.min, sub_bits) != first:
            self.min = low(first, sub_bits)
        if bucket_of(self.max, sub_bits) < last:
            self.max = self.high(last)

    def json(self, span):
        return {"span": span, "count": self.count, "sum": self.sum, "min": self.min,
                "max": self.max,
                **{name: self.percentile(point) if self.count else None for name, point in POINTS},
                "buckets": [[low(bucket, self.sub_bits), self.high(bucket), count]
                            for bucket, count in self.buckets]}
