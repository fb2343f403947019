# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""iperf3 reports the bytes that it sent as data. Each connection begins with 37 bytes that identify its test; the
connection with the fewest bytes carries the messages about the test."""

import json
import subprocess

import pytest

from witness import PATIENCE_S, Bpftrace, Child, agree, free_port, need, needs_bpf, version

pytestmark = needs_bpf
COOKIE = 37
HELLO = 4  # bytes of the datagram that begins a UDP test


def measured(witness, folder, *options):
    """Returns a name for the client with its options, and the end of its report."""
    need("iperf3")
    port = free_port()
    with Child(["iperf3", "-s", "-1", "-B", "127.0.0.1", "-p", str(port), "--forceflush"],
               stdout=subprocess.PIPE, text=True) as server:
        assert "---" in server.stdout.readline()
        witness.run("iperf3", "-c", "127.0.0.1", "-p", port, "-J", "--logfile", folder / "report", *options)
        server.communicate(timeout=PATIENCE_S)
    program = " ".join(["iperf3", version("iperf3", "--version"), *options])
    return program, json.loads((folder / "report").read_text())["end"]


@pytest.mark.parametrize("options", [[], ["-P", "3"], ["-Z"]], ids=["write", "three", "sendfile"])
def test_iperf3(options, tmp_path):
    witness = Bpftrace(tmp_path)
    program, report = measured(witness, tmp_path, "-n", "200M", *options)
    witness.agrees(program)
    *data, control = sorted((s.bytes for s in witness.sockets().values()), reverse=True)
    beside = control + COOKIE * len(data)
    agree(program, f"its JSON, bytes, and {beside} of its protocol", report["sum_sent"]["bytes"] + beside,
          sum(c["bytes"] for c in witness.record["calls"]))
    assert witness.record["findings"] == []


def test_its_data_go_by_udp(tmp_path):
    """iperf3 sends its messages about the test by TCP; these few bytes are not compared."""
    witness = Bpftrace(tmp_path)
    program, report = measured(witness, tmp_path, "-u", "-Z", "-b", "1G", "-n", "20M")
    agree(program, f"its JSON, bytes, and {HELLO} of its protocol", report["sum"]["bytes"] + HELLO,
          witness.record["observed"]["others"]["udp_bytes"])
    (finding,) = witness.record["findings"]
    assert finding["code"] == "other_protocol" and finding["evidence"]["tcp_bytes"] < 1000
