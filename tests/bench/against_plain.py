# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Compares the load generator's zero-copy with the simplest loop: send with MSG_ZEROCOPY, read the error queue,
repeat. The loop never writes to its memory, so it need not wait for completions.

The loop runs with as many buffers as the load generator has messages in flight, so both do the same work. It also runs
with a single buffer, which stays in the cache; a program that sends new data cannot be as fast.
"""

import json

import loads
import programs
import versus

PLAIN = loads.PROGRAMS / "plain"


def in_flight(count):
    """Returns how many messages of this size are in flight: as many as fit in 1 MiB, within bounds."""
    return min(max((1 << 20) // count, 32), 1024)


class Section(versus.Versus):
    name = "plain"
    peer = "a plain loop of send(MSG_ZEROCOPY) and error-queue reads"
    variant = "zerocopy"
    notes = ("as many buffers as loadgen has messages in flight, in turn; loadgen writes to none "
             "that the kernel may still read, the loop does not care")

    def more(self, count):
        return ["--inflight", in_flight(count)]

    def buffers(self, count):
        return in_flight(count)

    def lacks(self):
        return loads.lacks_programs("plain")

    def theirs(self, count, threads):
        done = programs.must([PLAIN, "--size", count, "--threads", threads,
                              "--buffers", self.buffers(count),
                              "--congestion", loads.CONGESTION,
                              "--seconds", self.seconds, "--warmup", self.seconds,
                              *(["--pin"] if self.pins(threads) else [])])
        return json.loads(done.output)["throughput_bps"]


class OneBuffer(Section):
    name = "one-buffer"
    peer = "such a loop with one buffer"
    notes = "the loop's one buffer a thread stays in the cache; loadgen's messages take turns"

    def buffers(self, count):
        return 1
