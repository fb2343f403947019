# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What the summary of a sweep needs of its records."""

from .record import at, string

# A long sweep would fill the memory with histograms that its summary does not show.
NEEDED = ("run", "tool", "host", "load", "app", "calls", "lost", "memory", "unmeasured", "tcp", "zerocopy",
          "serving")


def slim(record):
    """Takes a run record, gives one with what a summary shows of it."""
    workload = string(record, "load/workload")
    kept = {key: record[key] for key in NEEDED if key in record}
    kept["plan"] = {"tier": at(record, "plan/tier")}
    if workload != "procinfo":
        kept.pop("tcp", None)
    if workload != "request" and isinstance(kept.get("app"), dict):
        kept["app"] = {key: part for key, part in kept["app"].items() if key != "message_latency_ns"}
    return kept
