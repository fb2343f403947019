# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The metric families of the exporter, in the order of the exposition.

analysis/tables/generate.py makes C of it, analysis/tables/documents.py the table of docs/fleet.md.
"""

from typing import NamedTuple


class Family(NamedTuple):
    name: str     # after "sendpath_", without "_total"; FAMILY_NAME in C
    kind: str     # counter, gauge or histogram
    labels: str   # separated by spaces
    meaning: str  # one or more sentences: the metric's help
    unit: str = ""


_CALL = "syscall zerocopy"
FAMILIES = (
    Family("build_info", "gauge", "version kernel mechanism",
           "The version, the kernel, and the mechanism that times sends."),
    Family("sends", "counter", _CALL, "TCP sends that returned, failed ones too."),
    Family("sent_bytes", "counter", _CALL, "Bytes that these sends accepted.", "bytes"),
    Family("send_errors", "counter", _CALL + " errno",
           "Sends that failed, by errno; ERESTARTSYS: interrupted by a signal."),
    Family("send_seconds", "histogram", _CALL, "Kernel time of a send.", "seconds"),
    Family("process_sends", "counter", "comm",
           "Sends that returned, failed ones too, by process name."),
    Family("process_sent_bytes", "counter", "comm", "Bytes that these sends accepted.", "bytes"),
    Family("process_send_errors", "counter", "comm", "Of these sends, those that failed."),
    Family("process_send_seconds", "counter", "comm", "Kernel time of these sends.", "seconds"),
    Family("process_zerocopy_requests", "counter", "comm",
           "Of these sends, those with MSG_ZEROCOPY."),
    Family("process_zerocopy_completions", "counter", "comm",
           "Zero-copy sends whose memory the kernel no longer uses."),
    Family("process_zerocopy_copied", "counter", "comm",
           "Of these, sends that were copied and flagged as copied."),
    Family("process_zerocopy_unreported", "counter", "comm",
           "Of these, sends that were copied without a flag."),
    Family("zerocopy_requests", "counter", "interface", "Sends that asked for zero-copy."),
    Family("zerocopy_ignored", "counter", "interface",
           "Of these, sends without data, or on a socket without SO_ZEROCOPY."),
    Family("zerocopy_sent_bytes", "counter", "interface", "Bytes that the requests accepted.",
           "bytes"),
    Family("zerocopy_completions", "counter", "interface",
           "Zero-copy sends whose memory the kernel no longer uses."),
    Family("zerocopy_copied", "counter", "interface",
           "Of these, sends whose data the kernel copied, with or without a flag where both are "
           "seen."),
    Family("zerocopy_unreported", "counter", "interface",
           "Of the copied sends, those that the kernel did not flag as copied."),
    Family("zerocopy_reported_copied", "counter", "interface",
           "Copied sends that applications read of in their error queues."),
    Family("zerocopy_outstanding", "gauge", "interface",
           "Zero-copy sends whose memory the kernel still uses."),
    Family("zerocopy_pinned_bytes", "gauge", "interface", "Bytes of the memory that these pin.",
           "bytes"),
    Family("zerocopy_refused", "counter", "interface cause errno",
           "Zero-copy requests that failed, and why."),
    Family("zerocopy_copied_by_cause", "counter", "cause device",
           "Copied sends by cause and device; one with two causes counts for both."),
    Family("zerocopy_unreported_by_cause", "counter", "cause device",
           "Of these, sends that were not flagged as copied."),
    Family("zerocopy_completion_seconds", "histogram", "",
           "From the beginning of a zero-copy send until its completion was known.", "seconds"),
    Family("lost", "counter", "what",
           "What happened and could not be counted: calls and completions are sends, flags of "
           "completions, groups are sends without one, stacks are copies without a cause."),
    Family("exporter_start_time_seconds", "gauge", "", "When counting began, since the epoch.",
           "seconds"),
    Family("exporter_cpu_seconds", "counter", "", "CPU time of the exporter's process.", "seconds"),
    Family("exporter_resident_memory_bytes", "gauge", "", "Memory of the exporter's process.",
           "bytes"),
    Family("exporter_reading_seconds", "gauge", "",
           "How long it took to read these counts from the kernel.", "seconds"),
    Family("exporter_bpf_seconds", "counter", "",
           "Run time of the kernel programs (with --cost).", "seconds"),
    Family("exporter_bpf_runs", "counter", "", "Runs of the kernel programs (with --cost)."),
)
