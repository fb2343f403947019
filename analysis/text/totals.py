# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the summary of a sweep needs of its records: a long one would fill the memory with what its
summary does not show.
"""

from .record import array, at, string

NEEDED = "run", "tool", "host", "load", "lost", "memory", "serving"
NOT_SHOWN = "sizes", "stages", "counters", "cpu_ns", "completion_ns", "wake_up_ns", "error_queue", "outcome"
LATENCY = "message_latency_ns"


def without(block, keys):
    """A block without some of its keys; what is no block, as it is."""
    if not isinstance(block, dict):
        return block
    return {key: part for key, part in block.items() if key not in keys}


def slim(record):
    """Takes a run record, gives one with what a summary shows of it."""
    workload = string(record, "load/workload")
    kept = {key: at(record, key) for key in NEEDED}
    kept["plan"] = {"tier": at(record, "plan/tier")}
    kept["noise"] = {"disturbed": at(record, "noise/disturbed")}
    kept["app"] = without(at(record, "app"), () if workload == "request" else (LATENCY,))
    kept["calls"] = [without(call, NOT_SHOWN) for call in array(record, "calls")]
    kept["zerocopy"] = without(at(record, "zerocopy"), NOT_SHOWN)
    kept["unmeasured"] = [row for row in array(record, "unmeasured")
                          if string(row, "key").startswith("memory.")]
    kept["tcp"] = at(record, "tcp") if workload == "procinfo" else None
    return kept
