# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Makes the file of a timeline: tracks of threads, CPUs and sockets, and arrows from a send to its completion.

A file that ends in .json is Trace Event JSON; one that ends in .pftrace has Perfetto's format.
"""

import collections
import json
import os
import subprocess

from analysis.faults import SYSTEM, Fault
from analysis.front.pftrace import NO_PERFETTO
from analysis.text.record import safe_text
from analysis.words import counted

THREADS, CPUS, SOCKETS = "threads", "CPUs", "sockets"
GROUPS = {THREADS: 1, CPUS: 2, SOCKETS: 3}
_ANALYSIS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_PYTHON = os.path.join(_ANALYSIS, ".venv/bin/python")
OF_CPU = {"queued", "handed", "copied"}
OF_SOCKET = {"completed", "notified", "read"}

# track: (group, number). end: None if it is a single moment. starts, ends: numbers of sends whose arrow starts or ends here.
Slice = collections.namedtuple("Slice", "track name begin end values starts ends", defaults=((), ()))


def _convert(tracks, steps):
    """Returns the bytes of Perfetto's file: see pftrace.py. Raises Fault if it cannot be made."""
    try:
        done = subprocess.run([_PYTHON, "-I", "-B", _ANALYSIS, "pftrace"], stdout=subprocess.PIPE,
                              input=json.dumps({"tracks": tracks, "steps": steps}).encode("ascii"), check=False)
    except FileNotFoundError:
        done = None
    if not done or done.returncode == NO_PERFETTO:
        raise Fault("--out: .pftrace needs Python's perfetto: run make analysis; or name a file that ends "
                    "in .json", SYSTEM)
    if done.returncode:
        raise Fault(f"--out: the program that writes .pftrace failed with status {done.returncode}")
    return done.stdout


def check(path):
    """Raises Fault if a file of this path's format cannot be made here."""
    if path.endswith(".pftrace"):
        _convert([], [])


class Tracks:
    """The slices of several timelines, and the names of their tracks."""

    def __init__(self):
        self.names, self.slices, self.sends = {}, [], 0

    def add(self, timeline, label):
        sockets, flows = {}, {}
        for send in timeline.sends:
            self.sends += 1
            connection = timeline.connection(send.begin)
            flows[id(send)] = self.sends
            sockets.setdefault(connection, len(sockets))
            self._add_send(timeline, send, self.sends, label)
        for number in sockets.values():
            self.names[SOCKETS, (label, number)] = f"{label}: socket {number + 1}"
        for event in {id(event): event for send in timeline.sends for event in send.events}.values():
            if event.kind in OF_SOCKET:
                ended = [flows[id(send)] for send in timeline.together.get(id(event), ())]
                socket = sockets[timeline.connection(event)]
                self._add((SOCKETS, (label, socket)), timeline.what(event), event.time, None,
                          {"first id": event.id, "sends": event.of}, ends=ended)
            elif event.kind in OF_CPU:
                self._add((CPUS, event.cpu), timeline.what(event), event.time, None, {"bytes": event.bytes})
            elif event.kind == "received":
                self._add_thread(timeline, event.tid)
                self._add((THREADS, event.tid), timeline.what(event), event.time, None, {"bytes": event.bytes})
        for cpu, begin, end, events in timeline.gaps:
            self._add((CPUS, -1 if cpu is None else cpu), f"gap: {counted(events, 'event')} found no room", begin,
                      end, {"events": events})

    def _add(self, track, *rest, **more):
        self.slices.append(Slice(track, *rest, **more))
        if track[0] == CPUS:
            self.names.setdefault(track, f"CPU {track[1]}" if track[1] >= 0 else "any CPU")

    def _add_thread(self, timeline, tid):
        self.names.setdefault((THREADS, tid), f"{safe_text(timeline.threads.get(tid, '?'))} {tid}")

    def _add_send(self, timeline, send, number, label):
        """Adds the slices of a send: on its thread's track, and on the tracks of the CPUs that the thread ran on."""
        track = THREADS, send.begin.tid
        self._add_thread(timeline, send.begin.tid)
        values = {"variant": label, "bytes": send.begin.bytes, "returned": send.end.bytes,
                  "MSG_ZEROCOPY": send.zerocopy, "copied": send.copied, "causes": timeline.causes_of(send)}
        begun, end = [], send.end.time
        for part in timeline.parts(send):
            if part.tid == send.begin.tid and part.took is not None:
                first = not begun
                self._add(track, part.what, part.at, min(part.at + part.took, end), values if first else {},
                          starts=[number] if first and send.end.of else ())
                begun.append(part)
        since, cpu = send.begin.time, send.begin.cpu
        for event in send.events:
            if event.kind in ("switch_out", "return") and since is not None:
                self._add((CPUS, cpu), f"{send.syscall} of {self.names[track]}", since, event.time, {})
                since = None
            elif event.kind == "switch_in":
                since, cpu = event.time, event.cpu

    def ordered(self):
        """Returns (time, is a beginning, slice) in order. An inner slice ends no later than its outer slice."""
        found = []
        by_track = collections.defaultdict(list)
        for one in self.slices:
            by_track[one.track].append(one)
        for slices in by_track.values():
            begun = []
            for one in sorted(slices, key=lambda s: (s.begin, -(s.end or s.begin))):
                while begun and begun[-1].end <= one.begin:
                    found.append((begun[-1].end, False, begun.pop()))
                if one.end is not None and begun:
                    one = one._replace(end=min(one.end, begun[-1].end))
                found.append((one.begin, True, one))
                if one.end is not None:
                    begun.append(one)
            while begun:
                found.append((begun[-1].end, False, begun.pop()))
        return sorted(found, key=lambda step: step[0])


def as_json(tracks):
    numbers = {track: number for number, track in enumerate(tracks.names, 1)}
    events = [{"ph": "M", "name": "process_name", "pid": number, "args": {"name": group}}
              for group, number in GROUPS.items()]
    events += [{"ph": "M", "name": "thread_name", "pid": GROUPS[track[0]], "tid": numbers[track],
                "args": {"name": name}} for track, name in tracks.names.items()]
    for time, begins, one in tracks.ordered():
        if not begins:
            continue
        place = {"ts": time / 1000, "pid": GROUPS[one.track[0]], "tid": numbers[one.track]}
        took = (one.end or time) - time
        events.append({"ph": "X", "name": one.name, "dur": took / 1000, "args": one.values, **place})
        events += [{"ph": "s", "name": "completion", "cat": "flow", "id": flow, **place} for flow in one.starts]
        events += [{"ph": "f", "bp": "e", "name": "completion", "cat": "flow", "id": flow, **place}
                   for flow in one.ends]
    return json.dumps({"displayTimeUnit": "ns", "traceEvents": events}).encode("ascii")


def as_pftrace(tracks):
    numbers = {track: number for number, track in enumerate(tracks.names, len(GROUPS) + 1)}
    steps = [(time, "end" if not begins else "instant" if one.end is None else "begin", numbers[one.track], one.name,
              one.values, one.starts, one.ends) for time, begins, one in tracks.ordered()]
    return _convert([*((group, 0) for group in GROUPS),
                     *((name, GROUPS[track[0]]) for track, name in tracks.names.items())], steps)


def made(path, tracks):
    """Returns the bytes of the file, in the format that the path's ending names."""
    return (as_pftrace if path.endswith(".pftrace") else as_json)(tracks)
