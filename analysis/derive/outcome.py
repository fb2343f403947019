# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What became of zero-copy sends, as fields: whether it works, what was copied, why, and what helps. Pure."""

from tables.causes import CAUSES, LOST_SHARE, SENDS, WAITING_SHARE, Cause

BY_NAME = {cause.name: cause for cause in CAUSES}
UNCLASSIFIED = CAUSES[0]
# In the place of unclassified, where no stack was counted with it.
UNSEEN = Cause(
    "", "unclassified", "a copy that was not seen being made",
    "No stack says what copied the data. The device, where one is named, is the last that was seen to "
    "be handed the sender's own pages.",
    "Measure by fentry or kprobes (analyze doctor says what they need), with kernel.kptr_restrict=0: "
    "then the stack says.")


class Row:
    """Copied sends of one cause on one device. stack: of what is unclassified, functions, innermost
    first.
    """

    def __init__(self, cause, device="", netns=0.0, stack="", sends=0.0):
        self.cause, self.device, self.netns, self.stack, self.sends = cause, device, netns, stack, sends
        self.unflagged = self.skbs = self.skbs_in_send = 0.0

    @property
    def words(self):
        """A Cause, in the words for what was counted with a stack, or without one."""
        return UNSEEN if self.cause is UNCLASSIFIED and not self.stack else self.cause


def device(rows, row):
    """A row's device, its namespace with it where another of the rows has the same name."""
    if any(other.device == row.device and other.netns != row.netns for other in rows):
        return f"{row.device} (namespace {row.netns:.0f})"
    return row.device


class Facts:
    """The figures that it rests on; below 0: not known."""

    requests = completions = outstanding = lost = 0.0  # sends
    copied = unflagged = reported = 0.0  # of the completions
    unexplained = 0.0  # of the others: nothing tells that they were not copied
    ignored = empty = 0.0  # the latter for lack of data: part of the former
    refused = 0.0  # of all requests
    refusal = ""  # the name of the most frequent one
    causes = ()  # Rows, most sends first
    lost_else = 0.0  # calls that were not counted, and flags that were not seen
    unseen_flags = 0.0  # of copied sends: they have no cause
    skipped_looks = 0.0  # runs of the programs that see copies, which the kernel skipped
    lost_copies = 0.0  # seen, but there was no room for what was seen of them

    def __init__(self, **known):
        vars(self).update(known)


def unknown(f):
    """Of tables.causes.UNKNOWN, why nothing can be said; None where something can."""
    if f.completions < 0 or f.copied < 0:
        return "copies_unknown"
    if f.lost > LOST_SHARE * f.requests:
        return "lost"
    if f.outstanding > WAITING_SHARE * f.requests:
        return "outstanding"
    return "few" if f.completions < SENDS else None


def all_seen(f):
    """Would copies of the other sends have been seen?"""
    return f.unflagged >= 0 and not f.skipped_looks and f.lost_copies <= 0 and f.unexplained <= 0


def standing(f):
    """The Rows that decide what can be done: the first, before it one that all copied sends have, too,
    and that no setting takes away; two where both can be ended, because one alone ends nothing.
    """
    first, second = f.causes[0], None
    for row in f.causes[1:]:
        if row.sends < f.copied:
            break
        if row.cause is not first.cause and (second is None or row.cause.final):
            second = row
    if second and first.cause.final:
        first, second = second, first
    return [first, second] if second else [first]


def remedy(f, row):
    """The device goes where a remedy names it."""
    return row.words.remedy.replace("DEV", device(f.causes, row) or "DEV", 1)


def remedies(f):
    """What helps, or that nothing does: a sentence or two."""
    rows = standing(f)
    return " ".join(remedy(f, row) for row in rows if row is rows[-1] or not rows[-1].cause.final)


def outcome(f):
    """The block zerocopy.outcome of a record; None where nothing asked for zero-copy."""
    if f.requests <= 0:
        return None
    reason = unknown(f)
    is_copied = not reason and f.copied > 0
    if not reason and not is_copied and not all_seen(f):
        reason = "unseen"
    told = f.causes if is_copied else ()
    return {
        "works": None if reason else not is_copied, "reason": reason,
        "copied": f.copied / f.completions if f.completions > 0 and f.copied >= 0 else None,
        "causes": [{"cause": row.cause.name, "device": row.device or None, "sends": round(row.sends),
                    "final": row.cause.final, "remedy": remedy(f, row)} for row in told],
        "final": standing(f)[-1].cause.final if told else None,
        "remedy": remedies(f) if told else None}


# Of Facts, by key of the block.
SUMS = {"requests": "requests", "completions": "completions", "outstanding": "outstanding",
        "copied": "copied", "unflagged": "unflagged", "reported": "errqueue_copied",
        "unexplained": "unexplained", "ignored": "ignored", "empty": "ignored_empty"}


def skipped_looks(hooks):
    """Runs of the programs that see copies, which the kernel skipped; -1: it does not tell. hooks: name,
    status and missed of each.
    """
    missed = [missed for name, status, missed in hooks if name.startswith("skb ") and status == "attached"]
    return -1.0 if None in missed else sum(missed)


def asked(zerocopy):
    """Of the block zerocopy, what has its sends: where there are no others, that of io_uring's."""
    return zerocopy if zerocopy["requests"] or not zerocopy["io_uring"] else zerocopy["io_uring"]


def block(record):
    """Of a record, whose other blocks are complete."""
    zerocopy, lost = record["zerocopy"], record["lost"] or {"completions": -1, "stacks": 0}
    found = asked(zerocopy)
    known = {name: -1.0 if found.get(key) is None else found[key] for name, key in SUMS.items()}
    rows = [Row(BY_NAME[row["cause"]], row["device"] or "", row["netns"] or 0, stack="".join(row["stack"] or ()),
                sends=row["count"]) for row in zerocopy["causes"] or ()]
    return outcome(Facts(**known, causes=rows, lost=lost["completions"],
                         skipped_looks=skipped_looks((hook["name"], hook["status"], hook["missed"])
                                                     for hook in record["plan"]["hooks"]),
                         lost_copies=lost["stacks"] or 0))
