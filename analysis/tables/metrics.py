# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The metric families of the exporter, in the order of the exposition.

analysis/tables/generate.py generates C from them, and analysis/tables/documents.py the table of docs/fleet.md. A
number that no row has is a member of its source's struct in user/exporter/metrics.c.
"""

from typing import NamedTuple


class Source(NamedTuple):
    """A source of the values of families. write_NAME() in user/exporter/metrics.c writes the samples."""
    labels: str       # separated by spaces
    struct: str = ""  # the C struct whose members are the families' values; "": the family has one value
    needs: str = ""   # hooks and names of NEEDS, separated by spaces


SOURCES = {
    "build": Source("version kernel mechanism"),
    "call": Source("syscall zerocopy", "call_sums", "HOOK_SEND"),
    "error": Source("syscall zerocopy errno", needs="HOOK_SEND"),
    "process": Source("comm cgroup", "group", "NEED_PROCESSES"),
    "interface": Source("interface", "interface_numbers"),
    "refusal": Source("interface cause errno"),
    "cause": Source("cause device", "cause_counter", "HOOK_SKB_COPY HOOK_COMPLETION"),
    "lost": Source("what", needs="NEED_SKIPS"),
    "single": Source("", "exporter"),
}

# The needs of families besides hooks: for each, the reason why a family is not measured without it.
NEEDS = {
    "NEED_PROCESSES": "--top 0 names no processes",
    "NEED_COST": "only with --cost, which slows the programs",
    "NEED_TIMED": "some sends could not be followed one by one",
    "NEED_SIZED": "the size of a send is not known before it returns",
    "NEED_SKIPS": "calls are not counted here, because this kernel does not count programs that it skips",
}

# The reason why the families of copies may have no sample for io_uring or for a process.
NO_REPORT = ("No sample where copies of a send by io_uring are not known: its path does not copy every packet, and the "
             "program did not request a report of them (IORING_SEND_ZC_REPORT_USAGE).")


class Family(NamedTuple):
    name: str    # without the prefix "sendpath_" and the suffix "_total"
    kind: str    # counter, gauge or histogram
    source: str  # a key of SOURCES
    member: str  # a member of the source's struct
    meaning: str      # one or more sentences: the metric's help
    unit: str = ""
    needs: str = ""   # in addition to the needs of the source

    @property
    def labels(self):
        return SOURCES[self.source].labels.split()


FAMILIES = (
    Family("build_info", "gauge", "build", "",
           "The version, the kernel, and the mechanism that times sends."),
    Family("sends", "counter", "call", "sends", "TCP sends that returned, failed ones too."),
    Family("sent_bytes", "counter", "call", "bytes", "Bytes that these sends accepted.", "bytes"),
    Family("send_errors", "counter", "error", "",
           "Sends that failed, by errno; ERESTARTSYS: interrupted by a signal."),
    Family("send_seconds", "histogram", "call", "wall", "Kernel time of a send.", "seconds"),
    Family("process_sends", "counter", "process", "sends",
           "Sends that returned, failed ones too, by process: the name that its main thread had at "
           "its first send; with --by cgroup, also by the path of its control group."),
    Family("process_sent_bytes", "counter", "process", "bytes", "Bytes that these sends accepted.", "bytes"),
    Family("process_send_errors", "counter", "process", "failed", "Of these sends, those that failed."),
    Family("process_send_seconds", "counter", "process", "ns",
           "Kernel time of these sends; where not all are timed (--sample), the timed ones' average "
           "times all sends.", "seconds"),
    Family("process_zerocopy_requests", "counter", "process", "requests",
           "Of these sends, those with MSG_ZEROCOPY, and io_uring's own zero-copy sends (SEND_ZC)."),
    Family("process_zerocopy_completions", "counter", "process", "completions",
           "Zero-copy sends whose memory the kernel no longer uses.", needs="HOOK_COMPLETION"),
    Family("process_zerocopy_copied", "counter", "process", "copied",
           f"Of these, sends that were copied and flagged as copied. {NO_REPORT}", needs="HOOK_COMPLETION"),
    Family("process_zerocopy_unflagged", "counter", "process", "unflagged",
           "Of these, sends that were copied without a flag.", needs="HOOK_COMPLETION NEED_UNFLAGGED"),
    Family("zerocopy_requests", "counter", "interface", "sums.sends", "Sends that requested zero-copy."),
    Family("zerocopy_ignored", "counter", "interface", "sums.ignored",
           "Of these, sends without data, or on a socket without SO_ZEROCOPY."),
    Family("zerocopy_sent_bytes", "counter", "interface", "sums.bytes",
           "Bytes that the requests accepted.", "bytes"),
    Family("zerocopy_completions", "counter", "interface", "completions",
           "Zero-copy sends whose memory the kernel no longer uses.", needs="HOOK_COMPLETION"),
    Family("zerocopy_copied", "counter", "interface", "copied",
           "Of these, sends whose data the kernel copied; only flagged ones where unflagged copies "
           f"are not seen. {NO_REPORT}", needs="HOOK_COMPLETION"),
    Family("zerocopy_unflagged", "counter", "interface", "unflagged",
           "Of the copied sends, those that the kernel did not flag as copied.",
           needs="HOOK_COMPLETION NEED_UNFLAGGED"),
    Family("zerocopy_reported_copied", "counter", "interface", "reported_copied",
           "Copied sends that applications read from their error queues.", needs="HOOK_ERROR_QUEUE"),
    Family("zerocopy_outstanding", "gauge", "interface", "outstanding",
           "Zero-copy sends whose memory the kernel still uses.", needs="HOOK_COMPLETION"),
    Family("zerocopy_pinned_bytes", "gauge", "interface", "pinned_bytes",
           "Bytes of the memory that these pin.", "bytes",
           needs="HOOK_COMPLETION HOOK_SEND_ID NEED_TIMED NEED_SIZED"),
    Family("zerocopy_refused", "counter", "refusal", "", "Zero-copy requests that failed, and why."),
    Family("zerocopy_copied_by_cause", "counter", "cause", "sends",
           "Copied sends by cause and device; one with two causes counts for both."),
    Family("zerocopy_unflagged_by_cause", "counter", "cause", "unflagged",
           "Of these, sends that were not flagged as copied.", needs="NEED_UNFLAGGED"),
    Family("zerocopy_completion_seconds", "histogram", "interface", "completion",
           "From the beginning of a zero-copy send to its completion.", "seconds",
           needs="HOOK_COMPLETION HOOK_SEND_ID"),
    Family("zerocopy_wait_seconds", "histogram", "interface", "wait",
           "Waits for a completion before the next zero-copy send of the socket; see the finding `waits`.", "seconds",
           needs="HOOK_COMPLETION HOOK_SEND_ID"),
    Family("lost", "counter", "lost", "",
           "Dropped events: sends (calls), completions, flags of completions, sends without a group "
           "(groups), copies without a cause (stacks)."),
    Family("exporter_start_time_seconds", "gauge", "single", "started_ns",
           "When counting began, since the epoch.", "seconds"),
    Family("exporter_cpu_seconds", "counter", "single", "cpu_ns",
           "CPU time of the exporter's process.", "seconds"),
    Family("exporter_resident_memory_bytes", "gauge", "single", "resident_bytes",
           "Memory of the exporter's process.", "bytes"),
    Family("map_bytes", "gauge", "single", "map_bytes",
           "Kernel memory of the programs' maps, which the exporter's control group pays.", "bytes"),
    Family("exporter_reading_seconds", "gauge", "single", "reading_ns",
           "How long it took to read these counts from the kernel.", "seconds"),
    Family("exporter_bpf_seconds", "counter", "single", "result.counts.programs.ns",
           "Run time of the kernel programs (with --cost).", "seconds", needs="NEED_COST"),
    Family("exporter_bpf_runs", "counter", "single", "result.counts.programs.runs",
           "Runs of the kernel programs (with --cost).", needs="NEED_COST"),
)
