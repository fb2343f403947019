# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Writes Perfetto's trace file with the messages of Perfetto's Python package. Only the environment of the report has
this package, so trace.py starts this file in that environment.
"""

import json
import sys

NO_PERFETTO = 3  # the exit status without Perfetto's package


def _annotate(annotation, name, value):
    annotation.name = name
    if isinstance(value, bool):
        annotation.bool_value = value
    elif isinstance(value, int):
        annotation.int_value = value
    else:
        annotation.string_value = ", ".join(value) if isinstance(value, list) else str(value)


def _file_of(messages, tracks, steps):
    """Returns the file's bytes. tracks: (name, number of the track above, or 0) of each track, numbered from 1. steps:
    (ns, "begin", "instant" or "end", track, name, values, flows that begin, flows that end), in order of time.
    """
    trace = messages.Trace()
    for number, (name, above) in enumerate(tracks, 1):
        described = trace.packet.add().track_descriptor
        described.uuid, described.name = number, name
        if above:
            described.parent_uuid = above
    kinds = {"begin": messages.TrackEvent.TYPE_SLICE_BEGIN, "instant": messages.TrackEvent.TYPE_INSTANT,
             "end": messages.TrackEvent.TYPE_SLICE_END}
    for time, kind, track, name, values, starts, ends in steps:
        packet = trace.packet.add()
        packet.timestamp, packet.trusted_packet_sequence_id = time, 1
        event = packet.track_event
        event.track_uuid, event.type = track, kinds[kind]
        if kind == "end":
            continue
        event.name = name
        event.flow_ids.extend(starts)
        event.terminating_flow_ids.extend(ends)
        for key, value in values.items():
            _annotate(event.debug_annotations.add(), key, value)
    return trace.SerializeToString()


def main():
    """Writes the trace file to standard output. Standard input is a JSON object whose members are the arguments tracks
    and steps of _file_of(). Returns the exit status.
    """
    try:
        from perfetto.protos.perfetto.trace import perfetto_trace_pb2
    except ImportError:
        return NO_PERFETTO
    sys.stdout.buffer.write(_file_of(perfetto_trace_pb2, **json.load(sys.stdin)))
    return 0
