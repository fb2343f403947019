# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Makes the block timeline: assigns the events that the kernel programs reported to single sends."""

from bisect import bisect_right
from collections import Counter, namedtuple

from analysis.tables.calls import CALLS
from analysis.tables.causes import CAUSES
from analysis.tables.stages import NUMBERS, OF_NAME
from analysis.tables.timeline import EVENTS, SENDER, SOFTIRQ

from . import groups

# The fields that write_events() of user/trace/timeline.c writes. missed: the number of the CPU's lost events so far.
Event = namedtuple("Event", "time kind sock cpu tid id of bytes extra missed")
KINDS = {event.name: event for event in EVENTS}
BEGINS = {event.name for event in EVENTS if event.ends}
ENDS = {event.ends for event in EVENTS if event.ends}
SOFTIRQS = "HI", "TIMER", "NET_TX", "NET_RX", "BLOCK", "IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"
OF_IDS = {"copied", "completed", "notified", "read"}
OF_PLACE = {"queued", "handed", "received"}
UNKNOWN = 0xFFFFFFFF  # Event.extra of a completion by io_uring that does not report whether the data were copied
IDS_MOST = 1 << 16  # the most ids in the range of a completion
TURN = 1 << 32  # ids and positions in a connection's bytes wrap around at this number

# A part of a send, in a lane. took: its duration in ns; None: an event without duration.
Part = namedtuple("Part", ("lane", "what", "at", "took", "cpu", "tid", "bytes"))


def beyond(place, base):
    """Returns the distance of place from base; it is negative if place is before base."""
    return (place - base + TURN // 2) % TURN - TURN // 2


class Send:
    """A send: the events of its beginning and its return, and all its events."""

    def __init__(self, begin):
        self.begin, self.end, self.events = begin, None, [begin]

    @property
    def syscall(self):
        return CALLS[(self.end.extra >> 1) % len(CALLS)].name if self.end else None

    @property
    def zerocopy(self):
        return bool(self.end and self.end.extra & 1)

    @property
    def call_ns(self):
        return self.end.time - self.begin.time

    def first(self, kind):
        """Returns the first event of a kind, or None."""
        return next((event for event in self.events if event.kind == kind), None)

    def after(self, kind):
        """Returns the ns from the send's beginning to the first event of a kind; None: no such event was seen."""
        found = self.first(kind)
        return found and found.time - self.begin.time

    def lasted(self, until):
        """Returns the ns from the send's beginning to its completion; without zero-copy, to its return. until: the end
        of a zero-copy send that has not completed.
        """
        if not self.end.of:
            return self.call_ns
        done = self.after("completed")
        return max(self.call_ns, until - self.begin.time if done is None else done)

    @property
    def copied(self):
        """Whether the send was copied. None: it did not complete, or only some of the sends that completed
        together with it were copied, or io_uring does not report copies.
        """
        done = self.first("completed")
        return None if done is None or 0 < done.extra < done.of or done.extra == UNKNOWN else done.extra > 0


class Timeline:
    """The sends of a raw line, in the order in which they began, and the events that were lost."""

    def __init__(self, run):
        raw = run.raw["timeline"]
        self.raw, self.by_path = raw, run.hooks["skb copy"].get("by_path", False)
        self.causes = {index: CAUSES[info["key"]["cause"]].name for index, info in run.maps.get("cause_infos", [])}
        self.threads = {tid: groups.kernel_text(name) or "?" for tid, name in raw["threads"]}
        self.events = sorted((Event(time + raw["begin_ns"], EVENTS[kind].name, *rest)
                              for time, kind, *rest in raw["events"]), key=lambda event: event.time)
        self.sends = self._found()
        self._begun = self._connections()
        self._give_out()
        least, last = self.raw["slower_than_ns"], self.events[-1].time if self.events else 0
        self.lasted = {id(send): send.lasted(last) for send in self.sends}
        self.sends = [send for send in self.sends if self.lasted[id(send)] > least][:self.raw["sends"]]
        self.together = {}  # lists of sends, by the event that reports their completion
        for send in self.sends:
            self.together.setdefault(id(send.first("completed")), []).append(send)
        self.gaps = self._gaps()

    def _found(self):
        in_progress, found = {}, []
        for event in self.events:
            tid = event.extra if event.kind == "switch_in" else event.tid
            send = in_progress.get(tid)
            if event.kind == "send":
                send = in_progress[tid] = Send(event)
                found.append(send)
            elif send and (event.kind not in OF_IDS | OF_PLACE or self._copied_by(send, event)):
                send.events.append(event)
                if event.kind == "return":
                    send.end = event
                    del in_progress[tid]
        return [send for send in found if send.end]

    def _connections(self):
        """Returns {socket: [(time of the first send, ports) of each connection]}: the kernel reuses sockets' memory."""
        begun = {}
        for send in self.sends:
            of = begun.setdefault(send.begin.sock, [])
            if not of or of[-1][1] != send.begin.id:
                of.append((send.begin.time, send.begin.id))
        return begun

    def connection(self, event):
        """Returns the event's socket, and the ports that the socket had at the event's time."""
        of = self._begun.get(event.sock)
        return event.sock, of and of[max(bisect_right(of, (event.time, TURN)) - 1, 0)][1]

    @staticmethod
    def _copied_by(send, event):
        """Returns whether the event is a copy within the send. The event's id is of the first send in the same ubuf."""
        return event.kind == "copied" and event.sock == send.begin.sock

    def _give_out(self):
        """Assigns events outside of the sending threads to sends, by ids and by positions in a connection's bytes."""
        ids, places, bases = {}, {}, {}
        for send in self.sends:
            if send.end.of:
                ids.setdefault((self.connection(send.begin), send.end.id), []).append(send)
            for key in self.connection(send.begin), ("ports", send.begin.id):
                base = bases.setdefault(key, send.begin.extra)
                places.setdefault(key, []).append((beyond(send.begin.extra, base), send))
        for found in places.values():
            found.sort(key=lambda place: place[0])
        begins = {key: [at for at, _ in found] for key, found in places.items()}
        given = {id(event) for send in self.sends for event in send.events}
        for event in self.events:
            if event.kind in OF_IDS and id(event) not in given:
                for number in range(min(event.of, IDS_MOST)):
                    # io_uring reuses the ids of notifications: the event belongs to the latest send before it.
                    for send in reversed(ids.get((self.connection(event), (event.id + number) % TURN), ())):
                        if event.time >= send.begin.time:
                            send.events.append(event)
                            break
            elif event.kind in OF_PLACE:
                key = ("ports", event.id) if event.kind == "received" else self.connection(event)
                begin = beyond(event.extra, bases.get(key, 0))
                first = max(bisect_right(begins.get(key, ()), begin) - 1, 0)
                self._place(places.get(key, ())[first:], event, begin, begin + event.bytes)
        for send in self.sends:
            send.events.sort(key=lambda event: event.time)

    @staticmethod
    def _place(places, event, begin, end):
        """Assigns an event to the sends that have bytes from begin to end."""
        for at, send in places:
            if at >= end:
                break
            if at + max(send.end.bytes, 0) > begin:
                send.events.append(event)

    def _gaps(self):
        """Returns (CPU, from, to, number) of lost events between two events of a CPU; CPU None: after all events."""
        before, found = {}, []
        for event in self.events:
            last = before.get(event.cpu)
            known = last.missed if last else 0
            if event.missed > known:
                found.append((event.cpu, last.time if last else event.time, event.time, event.missed - known))
            before[event.cpu] = event
        rest = self.raw["lost"] - sum(gap[3] for gap in found)
        if rest > 0:
            end = self.events[-1].time if self.events else 0
            found.append((None, end, end, rest))
        return found

    def causes_of(self, send):
        """Returns the causes of a send's copies. Inferred causes count only if the kernel flagged the send. Sends in
        one ubuf complete together, and the first of them has the events of copies.
        """
        found, done = Counter(), send.first("completed")
        for event in (event for one in (self.together[id(done)] if done else [send]) for event in one.events):
            if event.kind == "copied":
                found[self.causes.get(event.extra, "other")] += 1 if event.bytes > 0 else -1
        if self.by_path and send.copied is False:
            return []
        return sorted(cause for cause, copies in found.items() if copies > 0)

    def what(self, event):
        """Returns an event in words."""
        if event.kind == "stage_begin":
            name = NUMBERS[event.extra] if event.extra < len(NUMBERS) else "unaccounted"
            return OF_NAME[name].words
        if event.kind == "softirq_begin":
            return f"softirq {SOFTIRQS[event.extra] if event.extra < len(SOFTIRQS) else event.extra}"
        if event.kind == "switch_out":
            return "waiting for a CPU" if event.extra else "blocked"
        if event.kind == "copied":
            how = "copied" if event.bytes > 0 else "not copied after all"
            return f"{how}: {self.causes.get(event.extra, 'other')}"
        if event.kind == "completed":
            return "completed" + (", copied" if event.extra >= event.of > 0 and event.extra != UNKNOWN else "")
        if event.kind == "notified" and event.of > 1:
            return f"{KINDS['notified'].words}, of {event.of} sends"
        return KINDS[event.kind].words

    def parts(self, send):
        """Returns the Parts of a send, in the order of their beginnings."""
        found, begun = [], []
        for event in send.events:
            if event.kind in ENDS:
                kinds = [open_event.kind for _, open_event in begun]
                begin = next((kind for kind in reversed(kinds) if KINDS[kind].ends == event.kind), None)
                while begin and begun:
                    place, opened = begun.pop()
                    found[place] = found[place]._replace(took=event.time - opened.time)
                    if opened.kind == begin:
                        break
                continue
            lane = KINDS[event.kind].lane
            if lane == SENDER and any(opened.kind == "softirq_begin" for _, opened in begun):
                lane = SOFTIRQ
            if event.kind in BEGINS:
                begun.append((len(found), event))
            what = send.syscall if event.kind == "send" else self.what(event)
            found.append(Part(lane, what, event.time, None, event.cpu, event.tid, event.bytes))
        return found

    def row(self, send):
        """Returns a send in the form of the record."""
        return {"number": self.sends.index(send) + 1, "syscall": send.syscall, "zerocopy": send.zerocopy,
                "bytes": send.begin.bytes, "returned": send.end.bytes, "call_ns": send.call_ns,
                "completion_ns": send.after("completed"), "copied": send.copied, "causes": self.causes_of(send),
                "notified_ns": send.after("notified"), "read_ns": send.after("read"),
                "received_ns": send.after("received"),
                "events": [{"lane": part.lane, "what": part.what, "at_ns": part.at - send.begin.time,
                            "took_ns": part.took, "cpu": part.cpu, "tid": part.tid, "bytes": part.bytes}
                           for part in self.parts(send)]}


def timeline_block(run):
    """Returns the block timeline: numbers of all sends, and all events of the median and the slowest send."""
    made = Timeline(run)
    by_time = sorted(made.sends, key=lambda send: made.lasted[id(send)])
    return {"slower_than_ns": made.raw["slower_than_ns"], "sends": len(made.sends), "events": len(made.events),
            "sockets": len({made.connection(send.begin) for send in made.sends}), "lost": made.raw["lost"],
            "gaps": len(made.gaps), "left_out": made.raw["left_out"],
            "median": made.row(by_time[(len(by_time) - 1) // 2]) if by_time else None,
            "slowest": made.row(by_time[-1]) if by_time else None}
