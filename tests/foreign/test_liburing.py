# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""liburing's own example of zero-copy, as packaged by Debian, sends batches of eight for a second. With SEND, the
socket takes what it has room for, so each send of the example is one send in the kernel. With SEND_ZC, the example
requests the whole message, which may be several sends in the kernel, so only bytes are compared."""

import re

import pytest

from witness import BUILT, Bpftrace, Receiver, agree, needs_bpf, only, run, version

pytestmark = needs_bpf
SIZE = 16_000


@pytest.mark.parametrize("zerocopy", [0, 1], ids=["send", "send_zc"])
def test_liburing(zerocopy, tmp_path):
    if not (BUILT / "uring").exists():
        pytest.skip(f"{BUILT / 'uring'} is not built; make foreign-programs builds it")
    witness = Bpftrace(tmp_path)
    program = f"liburing {version('dpkg-query', '-W', 'liburing-dev')}, " + (
        "SEND_ZC" if zerocopy else "SEND")
    with Receiver() as receiver:
        output = witness.run(BUILT / "uring", "-4", "-D", "127.0.0.1", "-p", receiver.port, "-t", 1,
                           "-s", SIZE, "-n", 8, "-z", zerocopy, "tcp").stderr
    sends = int(re.search(r"tx=(\d+)", output)[1])
    row = only(witness.record["calls"])
    assert (row["syscall"], row["zerocopy"]) == ("io_uring", bool(zerocopy))
    agree(program, "its receiver, bytes", receiver.received["bytes"], row["bytes"])
    witness.agrees(program)
    accepted = row["sends"] - sum(row["errors"].values())
    if not zerocopy:
        agree(program, "itself, sends", sends, accepted)
        return
    agree(program, "itself, bytes", sends * SIZE, row["bytes"])
    uring = witness.record["zerocopy"]["io_uring"]
    assert uring["completions"] == accepted >= sends and uring["outstanding"] == 0
