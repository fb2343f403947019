# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The codes of findings. analysis/findings/rules.py makes the findings; docs/findings.md has a table of the codes."""

from typing import NamedTuple

from .causes import CAUSES, REFUSALS

# Severities and their meanings. Findings are printed in this order.
SEVERITIES = {"failure": "sends failed", "no_effect": "a request for zero-copy had no effect",
              "cost": "sends were copied, or memory is held for too long",
              "information": "nothing that has to be changed",
              "caveat": "limits what another finding says"}
SENDS = 100  # if fewer sends completed, all without a copy, later ones may still be copied
# Lost or pending sends could change the answer if they are more than this share of all.
LOST_SHARE = 0.01
PENDING_SHARE = 0.1
# With fewer completed sends, a program that has not read its error queue may still read it. The kernel programs apply
# this number to each socket.
UNREAD_SENDS = 50
# The error queue is read too late if more than this share of the completed sends is unread.
LATE_SHARE = 0.1
# Error queues that were never read are a finding above this share of the sockets, because connections also break.
UNREAD_SHARE = 0.01
# Small parts before a larger part are headers if they have at most HEADER_BYTES per send on average, and if more than
# HEADED_SHARE of the sends has them. Fewer such sends than HEADED_SENDS are no finding.
HEADER_BYTES = 1024
HEADED_SHARE = 0.5
HEADED_SENDS = 50
# A program waits for completions if at least WAITS sends waited for one, if these are at least WAIT_SHARE of all sends,
# and if the waits took more than WAIT_SHARE of the time between sends.
WAITS = 5
WAIT_SHARE = 0.2
WAIT_REASONS = ("round_trip", "delayed_ack", "other")  # in the order of enum wait_reason in bpf/abi.h
# Sends by protocols that are not analysed are a finding if they have more than this share of the bytes.
OTHERS_SHARE = 0.05
# A full send buffer and a broken connection are no findings, because both also happen to plain sends.
NOT_REFUSED = {"send_buffer_full", "failed"}


class Code(NamedTuple):
    name: str
    severity: str
    meaning: str       # one or more sentences
    computed: str      # the keys of the record from which the finding is computed
    remedy: str = ""   # "": there is none, or nothing to do
    alert: str = ""    # the alert in deploy/prometheus/sendpath.rules.yml whose label `code` is the name
    uring_remedy: str = ""  # the remedy for io_uring's own operations; "": the same remedy


def _refused_codes():
    for refusal in REFUSALS:
        if refusal.name not in NOT_REFUSED:
            meaning = f"Sends failed with {refusal.error}: {refusal.meaning}."
            computed = f"`zerocopy.refused` with `cause` `{refusal.name}`"
            if refusal.uring and refusal.uring.meaning != refusal.meaning:
                meaning += f" By io_uring, they failed with {refusal.uring.error}: {refusal.uring.meaning}."
            if refusal.uring:
                computed += f"; by io_uring, `{refusal.uring.error}` in `io_uring[].errors` of SEND_ZC and SENDMSG_ZC"
            yield Code(f"refused_{refusal.name}", "failure", meaning, computed, refusal.remedy,
                       "SendpathZerocopyRefused", refusal.uring.remedy if refusal.uring else "")


def _copied_codes():
    for cause in CAUSES:
        yield Code(f"copied_{cause.name}", "cost", cause.meaning,
                   f"`zerocopy.causes` with `cause` `{cause.name}`", cause.remedy, "SendpathZerocopyFallback")


CODES = (
    *_refused_codes(),
    Code("ignored", "no_effect",
         "The kernel accepted MSG_ZEROCOPY on a socket without SO_ZEROCOPY, and copied the data.",
         "`zerocopy.ignored` less `ignored_empty`", "Set SO_ZEROCOPY on the socket before it sends.",
         "SendpathZerocopyIgnored"),
    Code("flag_never_passed", "no_effect",
         "Sockets have SO_ZEROCOPY, but no send passes MSG_ZEROCOPY, without which it has no effect.",
         "`observed.so_zerocopy_unused` above 0, and no zero-copy requests",
         "Pass MSG_ZEROCOPY to the sends that shall be zero-copy."),
    *_copied_codes(),
    Code("copied_unknown", "cost", "The kernel copied data, and no hook saw why.",
         "`zerocopy.copied` where `causes` is empty",
         "Measure by fentry or kprobes (analyze doctor says what they need)."),
    Code("unexplained", "cost",
         "These sends completed without the copied flag, but no NIC was handed their pages. Either code that cannot be "
         "hooked copied them (on older kernels native XDP), or they were never sent.",
         "`zerocopy.unexplained`"),
    Code("queue_never_read", "cost",
         "The program never read the error queue of sockets, so it cannot know when its memory may be used again. "
         "Unread notifications take option memory, without which sends are refused.",
         f"`zerocopy.notifications.sockets_unread` above {100 * UNREAD_SHARE:.0f} % of `sockets`, or "
         f"`reported` is 0 of at least {UNREAD_SENDS} `completions`, or of any if sends were refused because of "
         "optmem; not where `pending` applies",
         "Read the error queue (recvmsg with MSG_ERRQUEUE); otherwise sends fail with ENOBUFS in the end."),
    Code("queue_read_late", "cost",
         "Notifications waited in the error queue when the window closed. They take option memory, and the program "
         "holds memory that it could use.",
         f"`zerocopy.notifications.unread` above {100 * LATE_SHARE:.0f} % of at least {UNREAD_SENDS} `completions`, but "
         "not of a command that has ended",
         "Read the error queue after each round of the event loop."),
    Code("small_header", "cost",
         "Zero-copy sends begin with a small part, such as a header. The kernel pins its page for each send, and the "
         "packet has one more fragment, which costs more than a copy of so few bytes.",
         f"`zerocopy.segments` or `zerocopy.io_uring.segments`: `headed` is above {100 * HEADED_SHARE:.0f} % of `sends` "
         f"and at least {HEADED_SENDS}, with at most {HEADER_BYTES} of `header_bytes` each",
         "Copy the header into the first part of the body, or send it before the body without MSG_ZEROCOPY, but with "
         "MSG_MORE.",
         uring_remedy="Copy the header into the first part of the body, or send it by IORING_OP_SEND with MSG_MORE, "
         "and link the body's SEND_ZC to it."),
    Code("waits", "cost",
         "The program waited for the completion of a zero-copy send before it made the next one on the socket. TCP "
         "completes a send when its data are acknowledged, so each wait takes a round trip; the acknowledgement of a "
         "small message may be delayed by 40 ms.",
         f"`zerocopy.waits` or `zerocopy.io_uring.waits`: the waits of `awaited` are above {100 * WAIT_SHARE:.0f} % of "
         f"`intervals` and of `interval_ns`, and at least {WAITS}",
         "Keep several sends in flight, and wait only when memory runs short."),
    Code("small_sends", "cost",
         "Zero-copy sends are smaller than the size from which zero-copy pays on the path: pinning their pages costs more "
         "than a copy.",
         "`analyze advise` alone, because it needs a measurement of the path: the zero-copy sends of `calls[].sizes` that "
         "are smaller than that size, unless all are copied anyway",
         "Send messages this small without MSG_ZEROCOPY.",
         uring_remedy="Send messages this small by IORING_OP_SEND (SENDMSG for SENDMSG_ZC)."),
    Code("ignored_empty", "information", "Zero-copy sends without data need no zero-copy.", "`zerocopy.ignored_empty`"),
    Code("copies_unknown", "information", "How many sends were copied is not known here.",
         "`zerocopy.completions` or `copied` is null"),
    Code("lost", "information", "The analyzer did not follow sends to their end.",
         f"`lost`: a caveat up to {100 * LOST_SHARE:.0f} % of the sends; above that, there is no verdict on copies"),
    Code("pending", "information",
         "Sends had no completion when the window closed. They could change the answer, so there is no verdict on "
         "copies.",
         f"`zerocopy.outstanding` above {100 * PENDING_SHARE:.0f} % of the accepted sends",
         "Observe for longer."),
    Code("few", "information", "No send was copied, but too few completed to say that zero-copy works.",
         f"`zerocopy.completions` below {SENDS}, and none of them copied"),
    Code("unseen", "information", "Copies may have been missed.",
         f"`zerocopy.unflagged` is null, the kernel skipped programs that see copies, `lost.stacks` is above 0, or "
         f"`lost.flags` is above {100 * LOST_SHARE:.0f} % of the completions; a caveat if some sends were copied"),
    Code("reported_otherwise", "caveat",
         "The error queue reported another number of copied sends to the program: notifications coalesce, and the "
         "flag of the first stands for all.",
         "`zerocopy.errqueue_copied` is not `copied`, though the queue was read to its end"),
    Code("other_protocol", "information",
         "The program also sends by UDP, MPTCP or Unix sockets, which are not analysed.",
         f"`observed.others`: more than {100 * OTHERS_SHARE:.0f} % of all bytes, or sends that request zero-copy"),
    Code("works", "information", "No send was copied, and copies would have been seen.",
         "`zerocopy.copied` is 0, and no code above that concerns copies"),
)
BY_CODE = {code.name: code for code in CODES}
