# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""nginx sends only answers, and logs how many bytes of each answer the kernel accepted, even if a request was broken
off. wrk counts the answers that it read; when its time is up, one answer per connection may be in progress."""

import re

import pytest

from witness import Bpftrace, Nginx, Strace, agree, need, needs_bpf, run, version

pytestmark = needs_bpf
CONNECTIONS = 20


def under_load(witness, sendfile, folder):
    need("nginx", "wrk")
    server = Nginx(folder, sendfile, witness.around)
    result = run("wrk", "-t", 2, "-c", CONNECTIONS, "-d", "1s", f"http://127.0.0.1:{server.port}/")
    assert result.returncode == 0, result.stderr
    server.end()
    program = f"nginx {version('nginx', '-v')}, {'sendfile' if sendfile else 'writev'}"
    agree(program, "its access log, bytes", sum(server.logged()),
          sum(c["bytes"] for c in witness.read()["calls"]))
    assert witness.record["findings"] == []
    answers = int(re.search(r"(\d+) requests in", result.stdout)[1])
    assert 0 < answers <= len(server.logged()) <= answers + CONNECTIONS
    return program


@pytest.mark.parametrize("sendfile", [False, True], ids=["writev", "sendfile"])
def test_nginx_at_its_speed(sendfile, tmp_path):
    witness = Bpftrace(tmp_path)
    witness.agrees(under_load(witness, sendfile, tmp_path))


@pytest.mark.parametrize("sendfile", [False, True], ids=["writev", "sendfile"])
def test_each_syscall_of_nginx(sendfile, tmp_path):
    witness = Strace(tmp_path)
    witness.agrees(under_load(witness, sendfile, tmp_path))
