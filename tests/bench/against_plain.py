# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The load generator's zero-copy against the loop that everybody writes first: send with
MSG_ZEROCOPY, take what stands in the error queue, again; with memory that is never written
to, so that no completion has to be waited for.

Once with as many buffers as the load generator has messages in flight, in turn: the same
work. And once with one buffer, which stays in the cache: so fast is only who has nothing new
to send.
"""

import json

import loads
import programs
import versus

PLAIN = loads.PROGRAMS / "plain"


def in_flight(count):
    """Messages in flight of this size: a MiB of them, within bounds."""
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
