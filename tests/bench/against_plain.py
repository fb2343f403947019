# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The load generator's zero-copy against the loop that everybody writes first: send with
MSG_ZEROCOPY, take what stands in the error queue, again; with memory that is never written
to, so that no completion has to be waited for.
"""

import json

import loads
import programs
import versus

PLAIN = loads.PROGRAMS / "plain"


class Section(versus.Versus):
    name = "plain"
    peer = "a plain loop of send(MSG_ZEROCOPY) and error-queue reads"
    variant = "zerocopy"
    notes = "loadgen writes to no memory that the kernel may still read; the loop does not care"

    def lacks(self):
        return loads.lacks_programs("plain")

    def theirs(self, count, threads):
        done = programs.must([PLAIN, "--size", count, "--threads", threads,
                              "--seconds", self.seconds, "--warmup", self.seconds,
                              *(["--pin"] if self.pins(threads) else [])])
        return json.loads(done.output)["throughput_bps"]
