# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The events of a timeline, and the lane of each. analysis/tables/generate.py generates C from them: EVENT_NAME.

A program that sees the event calls bpf/timeline.bpf.h; analysis/derive/timeline.py and analysis/front/trace.py place it.
"""

from typing import NamedTuple

SENDER, SOFTIRQ, RECEIVER, QUEUE = "sender", "softirq", "receiver", "error queue"
LANES = (SENDER, SOFTIRQ, RECEIVER, QUEUE)


class Event(NamedTuple):
    name: str      # in the run record
    lane: str
    words: str     # for people
    ends: str = ""  # the name of the event that ends this event; "": it has no duration


EVENTS = (
    Event("send", SENDER, "send", "return"),
    Event("return", SENDER, "return"),
    Event("stage_begin", SENDER, "stage", "stage_end"),
    Event("stage_end", SENDER, "end of stage"),
    Event("softirq_begin", SOFTIRQ, "softirq", "softirq_end"),
    Event("softirq_end", SOFTIRQ, "end of softirq"),
    Event("switch_out", SENDER, "off the CPU", "switch_in"),
    Event("switch_in", SENDER, "on a CPU again"),
    Event("queued", SOFTIRQ, "skb to the queue of the device"),
    Event("handed", SOFTIRQ, "skb to the driver"),
    Event("copied", SOFTIRQ, "data copied"),
    Event("completed", SOFTIRQ, "completed"),
    Event("notified", QUEUE, "notification in the error queue"),
    Event("read", QUEUE, "notification read"),
    Event("received", RECEIVER, "copied to the receiver"),
)
