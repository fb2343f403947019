# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""QEMU's live migration with multifd and zero-copy-send, over loopback: a stopped guest with 256 MiB that are not zero.
QEMU reports how many bytes its channels sent, and how often a flush found all of them copied. A preloaded library
counts the notifications that QEMU reads from its error queues."""

import json
import os
import socket

import pytest

from witness import (BUILT, Bpftrace, Child, Strace, agree, eventually, free_port, need, needs_bpf,
                     version)

pytestmark = needs_bpf

QEMU = "qemu-system-x86_64"
MACHINE = ("-M", "pc,memory-backend=memory", "-accel", "tcg", "-S", "-nodefaults", "-display",
           "none", "-monitor", "none")
MEMORY = 256 << 20
CHANNELS = 2
GREETING = 64  # MultiFDInit_t, which QEMU's byte count leaves out


class Monitor:
    def __init__(self, path):
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(path))
        self.file = self.socket.makefile("rw", encoding="utf-8")
        self.file.readline()
        self.execute("qmp_capabilities")

    def execute(self, what, **arguments):
        """Executes a command. Returns QEMU's answer; skips events that precede it."""
        self.file.write(json.dumps({"execute": what, "arguments": arguments}) + "\n")
        self.file.flush()
        for line in self.file:
            answer = json.loads(line)
            if "event" not in answer:
                assert "error" not in answer, answer
                return answer["return"]
        raise AssertionError(f"{what}: QEMU has gone")

    def use(self, *capabilities):
        self.execute("migrate-set-capabilities",
                 capabilities=[{"capability": c, "state": True} for c in capabilities])
        self.execute("migrate-set-parameters", **{"multifd-channels": CHANNELS})


def connected(path):
    """Returns a connection to QEMU's monitor, or None if QEMU does not listen there yet."""
    try:
        return Monitor(path)
    except OSError:
        return None


def migrate(source, target, port):
    """Migrates; returns what QEMU reports about it."""
    source.use("multifd", "zero-copy-send")
    target.use("multifd")
    source.execute("migrate-set-parameters", **{"max-bandwidth": 1 << 40})
    target.execute("migrate-incoming", uri=f"tcp:127.0.0.1:{port}")
    source.execute("migrate", uri=f"tcp:127.0.0.1:{port}")
    assert eventually(lambda: source.execute("query-migrate")["status"] in ("completed", "failed"))
    status = source.execute("query-migrate")
    assert status["status"] == "completed", status
    return status["ram"]


@pytest.mark.parametrize("instrument", [Strace, Bpftrace])
def test_qemu(instrument, tmp_path):
    need(QEMU)
    witness, port, monitors = instrument(tmp_path), free_port(), {}
    memory, counts = tmp_path / "memory", tmp_path / "counts"
    with open(memory, "wb") as file:
        for _ in range(MEMORY >> 20):
            file.write(os.urandom(1 << 20))

    def ready():
        monitors["source"] = connected(tmp_path / "source")
        return monitors["source"]

    with Child([QEMU, *MACHINE, "-object", f"memory-backend-ram,id=memory,size={MEMORY}", "-qmp",
                f"unix:{tmp_path / 'target'},server,nowait", "-incoming", "defer"]):
        target = eventually(lambda: connected(tmp_path / "target"))
        with witness.serving(ready, lambda: monitors["source"].execute("quit"),
                             "env", f"LD_PRELOAD={BUILT / 'errqueue.so'}",
                             f"ERRQUEUE_COUNTS={counts}", QEMU, *MACHINE, "-object",
                             f"memory-backend-file,id=memory,size={MEMORY},mem-path={memory},"
                             "share=off", "-qmp", f"unix:{tmp_path / 'source'},server,nowait"):
            memory.unlink()  # QEMU has mapped it
            status = migrate(monitors["source"], target, port)
        target.execute("quit")
    program = f"QEMU {version(QEMU, '--version')}, migration"
    witness.agrees(program)
    ours, read = witness.record["zerocopy"], json.loads(counts.read_text())
    agree(program, "its error queues, notifications", read["notifications"],
          ours["notifications"]["read"])
    agree(program, "its error queues, completions", read["completions"], ours["completions"])
    agree(program, "its error queues, copied", read["copied"], ours["copied"])
    assert ours["requests"] == ours["completions"] == ours["copied"] > 0
    assert ours["bytes"] >= MEMORY
    # QEMU counts the flushes that found all sends copied. Over loopback, that is every flush.
    assert status["dirty-sync-missed-zero-copy"] > 0
    if instrument is Bpftrace:
        sizes = sorted(sends.bytes for sends in witness.sockets().values())
        assert len(sizes) == CHANNELS + 1
        agree(program, f"query-migrate, bytes, and {sizes[0]:,} of its main channel",
              status["multifd-bytes"] + CHANNELS * GREETING + sizes[0],
              sum(call["bytes"] for call in witness.record["calls"]))
