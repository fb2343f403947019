# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Sums the numbers that findings need over the records of a configuration's repeats."""

from typing import NamedTuple

from analysis.tables.calls import URING_ZEROCOPY
from analysis.tables.causes import CAUSES, REFUSALS, Cause
from analysis.tables.findings import NOT_REFUSED, WAIT_REASONS
from analysis.text.record import at, members, number, rows, string, value
from analysis.text.spread import total

BY_NAME = {cause.name: cause for cause in CAUSES}
UNCLASSIFIED = CAUSES[0]
# Replaces UNCLASSIFIED for copies that were counted without a stack.
UNSEEN = Cause(
    "", "unclassified", "a copy that was not seen being made",
    "No stack says what copied the data. The device, where one is named, is the last that was seen to "
    "be handed the sender's own pages.",
    "Measure by fentry or kprobes (analyze doctor says what they need), with kernel.kptr_restrict=0: "
    "then the stack says.")
# The two interfaces by which a program requests zero-copy, and the block of the record for each.
MSG_ZEROCOPY, IO_URING = "msg_zerocopy", "io_uring"
BLOCKS = {MSG_ZEROCOPY: "zerocopy", IO_URING: "zerocopy/io_uring"}
FEW_FLAGS = 0.001
# Protocols whose sends are counted, but not analysed: {name in keys of the record: name for people}.
PROTOCOLS = {"mptcp": "MPTCP", "udp": "UDP", "unix": "Unix sockets"}


def exceeds_memlock(met):
    """Returns whether one send needs more pages than RLIMIT_MEMLOCK allows in all. met: the limits of a refusal."""
    return met.get("pages", 0) > met.get("pages_limit", 0)


def exceeds_optmem(met):
    """Returns whether net.core.optmem_max has no room for a single notification. met: the limits of a refusal."""
    return met.get("charged") == 0


def copies_all(sends, copied, unseen_flags):
    """Returns whether a cause that copied this many sends copied every copied send whose flag was seen."""
    return sends >= copied - unseen_flags


class Row:
    """The sends that one cause copied on one device. stack: the functions of an unclassified copy, innermost first; ""
    for other causes.
    """

    def __init__(self, cause, device="", netns=0.0, stack="", sends=0.0):
        self.cause, self.device, self.netns, self.stack, self.sends = cause, device, netns, stack, sends
        self.unflagged = self.skbs = self.skbs_in_send = 0.0

    @property
    def words(self):
        """The Cause to print. For an unclassified copy, it depends on whether the copy has a stack."""
        return UNSEEN if self.cause is UNCLASSIFIED and not self.stack else self.cause


def device(all_rows, row):
    """Returns a row's device, with its namespace if another row's device has the same name."""
    if any(other.device == row.device and other.netns != row.netns for other in all_rows):
        return f"{row.device} (namespace {row.netns:.0f})"
    return row.device


class Results(NamedTuple):
    """The results of requests. refused: (cause, errno, requests) of each cause. attempts: the refused and the
    successful requests.
    """
    refused: tuple
    attempts: float


class Facts:
    """Facts about the sends by one interface, mostly their numbers. None: unknown."""

    interface = MSG_ZEROCOPY
    requests = ignored = empty = 0.0  # empty: the ignored sends without data
    refused = ()  # (cause, errno, sends) of each cause
    results = None  # the Results of io_uring's requests
    limits = {}  # numbers of zerocopy.limits, by the name of the refusal
    completions = outstanding = copied = unflagged = 0.0
    unexplained = 0.0  # sends that completed without a flag, but whose data no hook saw leave the machine
    reported = None  # sends that were reported to the program as copied
    causes = ()  # Rows, most sends first
    # Sends whose notifications an observed program has read, or not read, in its error queue. None for a load.
    queue_reported = queue_unread = None
    # Sockets with completed sends, and how many of them have an error queue that was never read. None: not counted.
    sockets = sockets_unread = None
    ended = False  # a command was observed, and it has ended
    lost = 0.0  # sends that were not followed
    lost_else = 0.0  # calls that were not counted, and flags that were not seen
    unseen_flags = 0.0  # completions whose own flag was not seen: no cause is counted for them
    missed_runs = 0.0  # runs that the kernel skipped, of the programs that see copies
    lost_copies = 0.0  # copies that were seen, but for whose cause there was no room
    shaped = headed = header_bytes = 0.0  # sends whose segments were read, and sums of zerocopy.segments
    intervals = interval_ns = 0.0  # sums of zerocopy.waits
    awaited = {}  # reason of zerocopy.waits: (sends, ns)

    def __init__(self, **known):
        vars(self).update(known)

    @property
    def attempts(self):
        """Requests, except those that found the send buffer full or the connection broken."""
        return self.requests - sum(sends for cause, _, sends in self.refused if cause in NOT_REFUSED)

    @property
    def refusals(self):
        """Returns the Results of sends, or only of io_uring's requests if these are known: they already include the
        errors of tcp_sendmsg, and also the requests that io_uring refused without calling tcp_sendmsg.
        """
        return self.results or Results(self.refused, self.attempts)

    @property
    def is_used(self):
        """Whether TCP received zero-copy sends by this interface, or the interface refused a request."""
        return self.requests > 0 or any(sends > 0 for _, _, sends in self.refusals.refused)

    @property
    def accepted(self):
        """Sends whose zero-copy request the kernel accepted."""
        return max(self.requests - self.ignored - sum(sends for _, _, sends in self.refused), 0.0)


def summed(records, path, otherwise=None):
    """Returns the sum of a number over the repeats. If a repeat lacks the number, returns None; with `otherwise`,
    leaves this repeat out and adds `otherwise` to the sum.
    """
    found = [number(record, path) for record in records]
    if otherwise is not None:
        return total([otherwise, *(one for one in found if one is not None)])
    return None if None in found else total(found)


def causes(records, block="zerocopy"):
    """Returns the Rows of these records. The row with most sends is the first."""
    found = {}
    for record in records:
        for met in rows(record, f"{block}/causes"):
            # Each function is followed by its caller.
            stack = " < ".join(map(string, rows(met, "stack")))
            cause = BY_NAME.get(string(met, "cause"), UNCLASSIFIED)
            key = cause.name, value(met, "netns"), value(met, "ifindex"), stack
            row = found.setdefault(key, Row(cause, string(met, "device"), key[1], stack))
            row.sends += value(met, "count")
            row.unflagged += value(met, "unflagged")
            row.skbs += value(met, "skbs")
            row.skbs_in_send += value(met, "skbs_in_send")
    return sorted(found.values(), key=lambda row: -row.sends)


def refused(records, block):
    """Returns (cause, errno, sends) for each cause of refusals, summed over the repeats."""
    found = {}
    for record in records:
        for row in rows(record, f"{block}/refused"):
            key = string(row, "cause"), string(row, "errno")
            found[key] = found.get(key, 0.0) + value(row, "count")
    return tuple((*key, sends) for key, sends in found.items())


def results(records):
    """Returns the Results of io_uring's zero-copy requests; None if a record lacks the block io_uring."""
    if any(at(record, "io_uring") is None for record in records):
        return None
    found = [row for record in records for row in rows(record, "io_uring")
             if string(row, "operation") in URING_ZEROCOPY]
    failed = total(value(row, f"errors/{name}") for row in found for name in members(row, "errors"))
    refused = [(refusal.name, refusal.uring.error, total(value(row, f"errors/{refusal.uring.error}") for row in found))
               for refusal in REFUSALS if refusal.uring]
    refused = tuple(row for row in refused if row[2] > 0)
    return Results(refused, total(value(row, "requests") for row in found) - failed + sum(row[2] for row in refused))


def awaited(records, block):
    """Returns (sends, ns) of zerocopy.waits.awaited by reason, summed over the repeats."""
    found = [row for record in records for row in rows(record, f"{block}/waits/awaited")]
    return {reason: tuple(total(value(row, key) for row in found if string(row, "reason") == reason)
                          for key in ("sends", "ns")) for reason in WAIT_REASONS}


def limits(records):
    """Returns zerocopy.limits of the first record that has it, by the name of the refusal."""
    found = {}
    for record in records:
        for name, keys in (("memlock", ("pages", "pages_locked", "pages_limit")), ("optmem", ("charged", "limit"))):
            met = {key: number(record, f"zerocopy/limits/{name}/{key}") for key in keys}
            if None not in met.values():
                found.setdefault(name, {key: round(value) for key, value in met.items()})
    return found


def missed_runs(records):
    """Returns how many runs the kernel skipped of the programs that see copies; None: the kernel counts no skips."""
    missed = [number(hook, "missed") for record in records for hook in rows(record, "plan/hooks")
              if string(hook, "name").startswith("skb ") and string(hook, "status") == "attached"]
    return None if None in missed else sum(missed)


def lost_flags(records):
    """Returns the number of completions whose flag was not seen; 0 if it is below FEW_FLAGS of all completions."""
    lost = summed(records, "lost/flags", 0.0)
    return lost if lost >= FEW_FLAGS * summed(records, "zerocopy/completions", 0.0) else 0.0


def _of_interface(records, interface):
    block = BLOCKS[interface]
    known = {name: summed(records, f"{block}/{key}", 0.0) for name, key in (
        ("requests", "requests"), ("ignored", "ignored"), ("empty", "ignored_empty"))}
    known.update((name, summed(records, f"{block}/{name}")) for name in ("completions", "outstanding", "copied"))
    known.update((name, summed(records, f"{block}/segments/{key}", 0.0)) for name, key in (
        ("shaped", "sends"), ("headed", "headed"), ("header_bytes", "header_bytes")))
    known.update((name, summed(records, f"{block}/waits/{name}", 0.0)) for name in ("intervals", "interval_ns"))
    known["awaited"] = awaited(records, block)
    found = Facts(interface=interface, **known, refused=refused(records, block),
                  missed_runs=missed_runs(records), lost_copies=summed(records, "lost/stacks", 0.0))
    found.causes = causes(records, block)
    if interface == IO_URING:
        found.unflagged = None
        found.results = results(records)
        return found
    for name, key in (("unflagged", "unflagged"), ("unexplained", "unexplained"), ("reported", "errqueue_copied")):
        setattr(found, name, summed(records, f"{block}/{key}"))
    found.limits = limits(records)
    if all(at(record, "observed") is not None for record in records):
        for name, key in (("queue_reported", "reported"), ("queue_unread", "unread"), ("sockets", "sockets"),
                          ("sockets_unread", "sockets_unread")):
            setattr(found, name, summed(records, f"{block}/notifications/{key}"))
    found.ended = any(at(record, "observed/exit_status") is not None for record in records)
    found.lost = summed(records, "lost/completions")
    found.lost_else = summed(records, "lost/calls", 0.0) + lost_flags(records)
    found.unseen_flags = summed(records, "lost/flags", 0.0)
    return found


def of_records(records):
    """Returns the Facts of each interface by which zero-copy was requested. records: records of one configuration."""
    found = [_of_interface(records, interface) for interface in BLOCKS]
    return [facts for facts in found if facts.is_used]


class Process(NamedTuple):
    """Zero-copy sends of a process, by both interfaces. pid: 0 if the process is in another PID namespace."""
    comm: str
    pid: int
    requests: int
    ignored: int
    refused: int
    completions: int
    copied: int


def processes(record):
    """Returns the Processes of a record with --all and --by process; [] for other records."""
    if string(record, "observed/by") != "all" or "process" not in rows(record, "by/dimensions"):
        return []
    found = {}
    for group in rows(record, "by/groups"):
        sums = found.setdefault((string(group, "comm"), round(value(group, "pid"))), [0.0] * 5)
        for place, name in enumerate(Process._fields[2:]):
            sums[place] += value(group, f"zerocopy/{name}")
    return [Process(*who, *map(round, sums)) for who, sums in found.items() if sums[0] > 0]


class Others(NamedTuple):
    """Sends by protocols that are not analysed, and for comparison all TCP sends. sends, bytes: sums by protocol."""
    sends: dict
    bytes: dict
    zerocopy: float  # sends by these protocols with a zero-copy request
    tcp_sends: float
    tcp_bytes: float
    unused: float = 0.0  # TCP sends without MSG_ZEROCOPY on sockets with SO_ZEROCOPY


def others(records):
    """Returns the Others of these records."""
    sends, sent = ({name: summed(records, f"observed/others/{name}_{what}", 0.0) for name in PROTOCOLS}
                   for what in ("sends", "bytes"))
    calls = [call for record in records for call in rows(record, "calls")]
    return Others(sends, sent, summed(records, "observed/others/zerocopy_requests", 0.0),
                  total(value(call, "sends") for call in calls), total(value(call, "bytes") for call in calls),
                  # With --all, the sends of a single process would cause a finding about all processes.
                  total(value(record, "observed/so_zerocopy_unused") for record in records
                        if string(record, "observed/by") != "all"))
