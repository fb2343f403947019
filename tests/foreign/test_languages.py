# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Senders by the runtimes of other languages, with several connections each, count their own sends. Zero-copy
senders wait for all completions, and on loopback all are copied."""

import json
import pathlib

import pytest

from witness import BUILT, Bpftrace, Receiver, Strace, agree, need, needs_bpf, version

pytestmark = needs_bpf
CONNECTIONS, SENDS, SIZE = 4, 300, 100_000


def observe(witness, program, command):
    """Returns the program's own counts. The receiver's bytes must equal the record's."""
    with Receiver() as receiver:
        own = json.loads(witness.run(*command(receiver.port)).stdout.splitlines()[0])
    calls = witness.record["calls"]
    size = sum(c["bytes"] for c in calls)
    agree(program, "its receiver, bytes", receiver.received["bytes"], size)
    agree(program, "itself, bytes", own["bytes"], size)
    witness.agrees(program)
    return own, calls


def built(name):
    if not (BUILT / name).exists():
        pytest.skip(f"{BUILT / name} is not built; make foreign-programs builds it")
    return BUILT / name


def assert_each_call(program, own, calls):
    """Compares each call: the program made the system calls itself, so it has counted them."""
    agree(program, "itself, calls", own["sends"] + own["again"], sum(c["sends"] for c in calls))
    agree(program, "itself, calls that found no room (EAGAIN)", own["again"],
          sum(c["errors"].get("EAGAIN", 0) for c in calls))


def assert_zerocopy(program, own, record):
    zerocopy = record["zerocopy"]
    refused = sum(r["count"] for r in zerocopy["refused"])
    agree(program, "itself, zero-copy sends", own["sends"], zerocopy["requests"] - refused)
    agree(program, "itself, completions", own["completions"], zerocopy["completions"])
    agree(program, "itself, copied", own["copied"], zerocopy["errqueue_copied"])
    assert own["completions"] == own["sends"] == zerocopy["copied"]


@pytest.mark.parametrize("instrument", [Strace, Bpftrace])
@pytest.mark.parametrize("mode", ["write", "sendfile", "zerocopy"])
def test_go(mode, instrument, tmp_path):
    path = built("go")
    program = f"Go {version('go', 'version', path)}, {mode}"
    (tmp_path / "data").write_bytes(b"g" * SIZE)
    witness = instrument(tmp_path)
    own, calls = observe(witness, program, lambda port: [
        path, mode, f"127.0.0.1:{port}", CONNECTIONS, SENDS, SIZE, tmp_path / "data"])
    if mode == "zerocopy":
        assert_each_call(program, own, calls)
        assert_zerocopy(program, own, witness.record)


@pytest.mark.parametrize("instrument", [Strace, Bpftrace])
@pytest.mark.parametrize("mode", ["write", "zerocopy"])
def test_tokio(mode, instrument, tmp_path):
    path, witness = built("tokio"), instrument(tmp_path)
    program = f"tokio {version('dpkg-query', '-W', 'librust-tokio-dev')}, {mode}"
    own, calls = observe(witness, program, lambda port: [
        path, mode, f"127.0.0.1:{port}", CONNECTIONS, SENDS, SIZE])
    assert_each_call(program, own, calls)
    if mode == "zerocopy":
        assert_zerocopy(program, own, witness.record)


@pytest.mark.parametrize("instrument", [Strace, Bpftrace])
def test_node(instrument, tmp_path):
    need("node")
    program, source = f"Node {version('node', '--version')}", pathlib.Path(__file__).with_name("send.js")
    observe(instrument(tmp_path), program, lambda port: [
        "node", source, port, CONNECTIONS, SENDS, SIZE])
