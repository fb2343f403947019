# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""iperf3 tells the bytes that it sent as data. Each connection begins with the 37 bytes that say
which test it belongs to; the one with fewest bytes is that by which it speaks of the test."""

import json
import subprocess

import pytest

from witness import PATIENCE_S, Bpftrace, Child, agree, free_port, need, needs_bpf, version

pytestmark = needs_bpf
COOKIE = 37


@pytest.mark.parametrize("options", [[], ["-P", "3"], ["-Z"]], ids=["write", "three", "sendfile"])
def test_iperf3(options, tmp_path):
    need("iperf3")
    program = " ".join(["iperf3", version("iperf3", "--version"), *options])
    port, witness = free_port(), Bpftrace(tmp_path)
    with Child(["iperf3", "-s", "-1", "-B", "127.0.0.1", "-p", str(port), "--forceflush"],
               stdout=subprocess.PIPE, text=True) as server:
        assert "---" in server.stdout.readline()
        witness.run("iperf3", "-c", "127.0.0.1", "-p", port, "-n", "200M", "-J", "--logfile",
                    tmp_path / "told", *options)
        server.communicate(timeout=PATIENCE_S)
    witness.agrees(program)
    *data, control = sorted((s.bytes for s in witness.sockets().values()), reverse=True)
    told = json.loads((tmp_path / "told").read_text())["end"]["sum_sent"]["bytes"]
    beside = control + COOKIE * len(data)
    agree(program, f"its JSON, bytes, and {beside} of its protocol", told + beside,
          sum(c["bytes"] for c in witness.record["calls"]))
