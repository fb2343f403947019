# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests timelines as files, which Perfetto's message types read back, and as a picture."""

import collections
import json
import sys
import types

import polars as pl
import pytest
from hypothesis import given, strategies as st
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as pb

import planted
from analysis import details
from analysis.figures import save, timeline as figure
from analysis.figures.base import BESIDE, NARROW, WIDE, Drawn, NotDrawn


# pylint: disable=wrong-import-position
from analysis.derive.timeline import EVENTS, Timeline, timeline_block  # noqa: E402 (by the names that the front has)
from analysis.front import trace  # noqa: E402
from analysis.front.runs import Grid  # noqa: E402
from analysis.text.layout import lay_out  # noqa: E402
from analysis.text.timeline import lines  # noqa: E402

KINDS = [event.name for event in EVENTS]
LOOPBACK = 7  # the counter of a cause
# (time, kind, columns) of two zero-copy sends that completed together. The second was in parts and off the CPU.
TWO = ((100, "send", {"id": 99, "bytes": 50, "extra": 1000}), (110, "softirq_begin", {"extra": 3}),
       (120, "copied", {"id": 4, "of": 1, "bytes": 50, "extra": LOOPBACK}), (130, "softirq_end", {}),
       (140, "return", {"id": 4, "of": 1, "bytes": 50, "extra": 5}),
       (200, "send", {"id": 99, "bytes": 80, "extra": 1050}), (205, "switch_out", {}),
       (240, "switch_in", {"extra": 11, "tid": 0, "cpu": 1}), (245, "stage_begin", {"extra": 6, "cpu": 1}),
       (255, "stage_end", {"cpu": 1}), (260, "return", {"id": 5, "of": 1, "bytes": 70, "extra": 5, "cpu": 1}),
       (270, "received", {"tid": 12, "sock": 2, "id": 99, "bytes": 120, "extra": 1000, "cpu": 1}),
       (300, "completed", {"id": 4, "of": 2, "extra": 2}), (310, "notified", {"id": 4, "of": 2}),
       (320, "read", {"id": 4, "of": 2}))


def run_of(events, lost=0, sends=200, slower_than_ns=0, by_path=True):
    names = "time", "kind", "sock", "cpu", "tid", "id", "of", "bytes", "extra", "missed"
    rows = [{"time": time, "kind": KINDS.index(kind), "sock": 1, "cpu": 0, "tid": 11, "id": 0, "of": 0, "bytes": 0,
             "extra": 0, "missed": 0, **columns} for time, kind, columns in events]
    return types.SimpleNamespace(
        raw={"timeline": {"sends": sends, "slower_than_ns": slower_than_ns, "lost": lost, "left_out": 0,
                          "begin_ns": 10 ** 12, "threads": [[11, "sen\x1bder"], [12, "receiver"]],
                          "events": [[row[name] for name in names] for row in rows]}},
        hooks={"skb copy": {"by_path": by_path}}, maps={"cause_infos": [[LOOPBACK, {"key": {"cause": 1}}]]})


def tracks_of(run):
    tracks = trace.Tracks()
    tracks.add(Timeline(run), "zerocopy")
    return tracks


def read_back(data):
    """Returns the names of tracks, and the events of each track in the order of the file."""
    names, found, last = {}, collections.defaultdict(list), 0
    for packet in pb.Trace.FromString(data).packet:
        if packet.HasField("track_descriptor"):
            assert packet.track_descriptor.uuid not in names
            names[packet.track_descriptor.uuid] = packet.track_descriptor.name
        else:
            assert packet.timestamp >= last and packet.trusted_packet_sequence_id
            last = packet.timestamp
            assert packet.track_event.track_uuid in names
            found[names[packet.track_event.track_uuid]].append((packet.timestamp, packet.track_event))
    return found


def nested(events):
    """Returns (depth, name, begin, end) of slices, and checks that each has an end."""
    begun, found = [], []
    for time, event in events:
        if event.type == pb.TrackEvent.TYPE_SLICE_BEGIN:
            begun.append((event.name, time))
        elif event.type == pb.TrackEvent.TYPE_SLICE_END:
            name, begin = begun.pop()
            found.append((len(begun), name, begin, time))
    assert not begun
    return sorted(found, key=lambda one: one[2:3] + one[:1])


def test_perfetto_reads_order_nesting_and_flows():
    found = read_back(trace.made("x.pftrace", tracks_of(run_of(TWO))))
    begin = 10 ** 12
    assert nested(found["sen\\x1bder 11"]) == [
        (0, "sendmsg", begin + 100, begin + 140), (1, "softirq NET_RX", begin + 110, begin + 130),
        (0, "sendmsg", begin + 200, begin + 260), (1, "blocked", begin + 205, begin + 240),
        (1, "copying user data", begin + 245, begin + 255)]
    assert [event.name for _, event in found["receiver 12"]] == ["copied to the receiver"]
    assert nested(found["CPU 1"]) == [(0, "sendmsg of sen\\x1bder 11", begin + 240, begin + 260)]
    begins = [event for _, event in found["sen\\x1bder 11"] if event.flow_ids]
    ends = [event for _, event in found["zerocopy: socket 1"] if event.terminating_flow_ids]
    assert [list(event.flow_ids) for event in begins] == [[1], [2]]
    assert [(event.name, list(event.terminating_flow_ids)) for event in ends] == [("completed, copied", [1, 2])]
    values = {one.name: one for one in begins[0].debug_annotations}
    assert values["bytes"].int_value == 50 and values["copied"].bool_value
    assert values["causes"].string_value == "loopback"


def test_an_arrow_ends_where_more_sends_completed_than_are_kept():
    events = [(time, kind, {**columns, "of": 3} if kind == "completed" else columns) for time, kind, columns in TWO]
    made = json.loads(trace.made("x.json", tracks_of(run_of(events, slower_than_ns=150))))["traceEvents"]
    assert [(event["ph"], event["id"]) for event in made if event["ph"] in "sf"] == [("s", 1), ("f", 1)]


def test_each_arrow_ends_at_its_own_send_if_ids_are_used_again():
    """io_uring's ids are the addresses of notifications, which the kernel uses again."""
    events = [(base + time, kind, {"id": 9, "of": 1, "bytes": 50, **columns})
              for base in (0, 100)
              for time, kind, columns in ((10, "send", {"id": 99, "of": 0, "extra": 1000 + base}),
                                          (20, "return", {"extra": 5}), (30, "completed", {}))]
    made = json.loads(trace.made("x.json", tracks_of(run_of(events))))["traceEvents"]
    assert [(event["ph"], event["id"]) for event in made if event["ph"] in "sf"] == [
        ("s", 1), ("f", 1), ("s", 2), ("f", 2)]


def test_a_failure_of_perfettos_writer_is_one_line(monkeypatch):
    monkeypatch.setattr(trace.subprocess, "run", lambda *_, **__: types.SimpleNamespace(returncode=-9, stdout=b""))
    complaints = []
    grid = Grid.__new__(Grid)
    grid.options, grid.kept, grid.trace, grid.tracks = {"out": "x.pftrace"}, True, trace, tracks_of(run_of(TWO))
    grid.complain = complaints.append
    assert not grid._close("out", types.SimpleNamespace(replace=None))
    assert complaints == ["--out: the program that writes .pftrace failed with status -9"]


def test_json_has_the_same_events():
    events = json.loads(trace.made("x.json", tracks_of(run_of(TWO))))["traceEvents"]
    slices = {(event["name"], event["ts"], event["dur"]) for event in events if event["ph"] == "X"}
    assert ("softirq NET_RX", (10 ** 12 + 110) / 1000, 0.02) in slices
    assert [(event["ph"], event["id"]) for event in events if event["ph"] in "sf"] == [
        ("s", 1), ("s", 2), ("f", 1), ("f", 2)]


def test_a_send_has_its_events():
    found = timeline_block(run_of(TWO))
    assert (found["sends"], found["events"], found["sockets"], found["gaps"]) == (2, len(TWO), 1, 0)
    first, second = found["slowest"], found["median"]  # ordered by completion time: the first took longer
    assert (first["number"], first["call_ns"], first["completion_ns"]) == (1, 40, 200)
    assert (second["number"], second["bytes"], second["returned"], second["call_ns"]) == (2, 80, 70, 60)
    assert second["copied"]
    assert [second[key] for key in ("completion_ns", "read_ns", "received_ns")] == [100, 120, 70]
    # Both completed together, because they share a ubuf. The copy's event has the id of the first send.
    assert first["causes"] == second["causes"] == ["loopback"]


def test_sends_of_sockets_at_the_same_address_are_distinguished():
    """The kernel reuses the memory of a closed socket for a new one, whose ids begin at the same number."""
    later = [(time + 1000, kind, {**columns, **({"id": 77, "extra": columns["extra"] + 10 ** 6} if kind == "send" else
                                                {"id": 77, "extra": 1000 + 10 ** 6} if kind == "received" else {})})
             for time, kind, columns in TWO]
    run = run_of((*TWO, *later))
    timeline, alone = Timeline(run), Timeline(run_of(TWO))
    assert timeline_block(run)["sockets"] == 2
    shown = [[(part.what, part.at - send.begin.time, part.took) for part in made.parts(send)]
             for made in (timeline, alone) for send in made.sends]
    assert shown[:2] == shown[2:4] == shown[4:]
    events = json.loads(trace.made("x.json", tracks_of(run)))["traceEvents"]
    assert [(event["ph"], event["id"]) for event in events if event["ph"] in "sf"] == [
        (kind, number) for pair in ((1, 2), (3, 4)) for kind in "sf" for number in pair]


def test_a_copy_that_the_path_only_suggests_is_none():
    events = [(time, kind, {**columns, "extra": 0} if kind == "completed" else columns) for time, kind, columns in TWO]
    assert timeline_block(run_of(events))["median"]["causes"] == []
    assert timeline_block(run_of(events, by_path=False))["median"]["causes"] == ["loopback"]


def test_gaps_come_first():
    events = [(time, kind, {**columns, "missed": 3 * (time > 200)} if not columns.get("cpu") else columns)
              for time, kind, columns in TWO]
    run = run_of(events, lost=5)
    assert Timeline(run).gaps == [(0, 10 ** 12 + 200, 10 ** 12 + 205, 3), (None, 10 ** 12 + 320, 10 ** 12 + 320, 2)]
    text = lay_out("".join(f"{line}\n" for line in lines({"timeline": timeline_block(run)}, "zerocopy")), False)
    assert text.startswith("warning: the timeline of zerocopy has gaps: 5 events found no room in 2 places")
    names = [event.name for _, event in read_back(trace.made("x.pftrace", tracks_of(run)))["CPU 0"]]
    assert "gap: 3 events found no room" in names


def test_limits_of_sends_and_of_their_time():
    assert timeline_block(run_of(TWO, sends=1))["sends"] == 1
    assert timeline_block(run_of(TWO, slower_than_ns=150))["median"]["number"] == 1
    assert timeline_block(run_of(TWO, slower_than_ns=200))["median"] is None


NUMBER = st.integers(0, 6)


@given(st.lists(st.tuples(NUMBER, st.sampled_from(KINDS), st.fixed_dictionaries(
    {"tid": NUMBER, "cpu": st.integers(0, 1), "sock": st.integers(1, 2), "id": NUMBER, "of": NUMBER,
     "bytes": st.integers(-2, 9), "extra": NUMBER, "missed": NUMBER})), max_size=60))
def test_any_events_are_a_sound_trace(events):
    run = run_of(events)
    found = read_back(trace.made("x.pftrace", tracks_of(run)))
    for track in found.values():
        nested(track)
    flows = [set(flow for track in found.values() for _, event in track for flow in getattr(event, key))
             for key in ("flow_ids", "terminating_flow_ids")]
    assert flows[1] <= flows[0]
    timeline_block(run)


def drawn_of(width):
    rows = [row for row in planted.sends(repeats=1) if row["variant"] == "zerocopy"][:1]
    send = timeline_block(run_of(TWO))["median"]
    events = [("median", *(event[key] for key in details.EVENTS)) for event in send["events"]]
    (run_id,) = planted.data(rows).runs["run_id"]
    table = pl.DataFrame([(run_id, *event) for event in events], schema=details.SCHEMAS["timelines"], orient="row")
    return figure.draw_timeline(planted.data(rows, timelines=table), width)


@pytest.mark.parametrize("width", [WIDE, BESIDE, NARROW])
def test_the_picture_has_a_lane_for_each_side(width):
    drawn = drawn_of(width)
    assert isinstance(drawn, Drawn)
    picture = save.svg(save.spec(drawn.chart)).decode()
    assert all(f">{lane}<" in picture for lane in ("sender", "softirq", "receiver", "error queue"))
    assert "80 bytes, returned after 0.1 µs" in drawn.description


def test_runs_without_events_have_no_picture():
    assert isinstance(figure.draw_timeline(planted.data(planted.sends(repeats=1)), WIDE), NotDrawn)
