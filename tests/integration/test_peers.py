# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Unmodified third-party programs: their own counts are compared with ours.

Each comparison explains why it may be exact.
"""

import contextlib
import http.client
import json
import random
import re
import shutil
import signal
import socket
import subprocess

import pytest

from conftest import (ANALYZE, CALLS, NOTHING_LOST, PATIENCE_S, SEND_MECHANISMS, Child, Receiver, analyze, check,
                      eventually, line_of, losses, needs_bpf, only, reason, run)

pytestmark = [needs_bpf, pytest.mark.usefixtures("untouched"), pytest.mark.skipif(
    not SEND_MECHANISMS, reason="by syscalls alone sendfile is not seen here")]

REQUESTS = min(200, CALLS // 20)
PAGE = b"<p>" + b"x" * 20_000


def need(*programs):
    missing = [p for p in programs if not shutil.which(p)]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as s:
        return s.getsockname()[1]


def accepts(port):
    with contextlib.closing(socket.socket()) as s:
        return s.connect_ex(("127.0.0.1", port)) == 0


class Nginx:
    """Runs nginx under the command `around`. nginx ends gracefully, after logging every request."""

    def __init__(self, folder, sendfile, around, daemon=False):
        (folder / "index.html").write_bytes(PAGE)
        self.folder, self.port = folder, free_port()
        temp = "".join(f"    {kind}_temp_path {folder}/{kind};\n" for kind in
                       ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
        (folder / "conf").write_text(
            f"user root;\ndaemon {'on' if daemon else 'off'};\nworker_processes 2;\npid {folder}/pid;\n"
            f"error_log {folder}/errors;\nevents {{}}\nhttp {{\n{temp}"
            f"    log_format bytes '$bytes_sent';\n    access_log {folder}/access bytes;\n"
            f"    sendfile {'on' if sendfile else 'off'};\n    keepalive_requests 1000000;\n"
            f"    server {{ listen 127.0.0.1:{self.port}; root {folder}; }}\n}}\n")
        self.process = subprocess.Popen(
            [*map(str, around), "nginx", "-c", str(folder / "conf"), "-p", str(folder)],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert eventually(lambda: accepts(self.port) or self.process.poll() is not None)

    def end(self):
        """Ends nginx. Returns the output of the command `around`."""
        run("kill", f"-{signal.SIGQUIT}", (self.folder / "pid").read_text().strip())
        stdout, stderr = self.process.communicate(timeout=PATIENCE_S)
        assert self.process.returncode == 0, stderr
        return stdout

    def serve(self, count, seed):
        """Requests pages of random sizes, one after the other on one connection; returns their sizes."""
        numbers = random.Random(seed)
        sizes = [numbers.randrange(1, 30_000) for _ in range(count)]
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        for i, size in enumerate(sizes):
            (self.folder / f"{i}").write_bytes(b"x" * size)
            connection.request("GET", f"/{i}")
            assert len(connection.getresponse().read()) == size
        connection.close()
        return sizes

    def logged(self):
        """Returns the bytes sent for each request."""
        return [int(line) for line in (self.folder / "access").read_text().split()]


def requests(port, count):
    """Requests pages one after the other, on one connection."""
    connection = http.client.HTTPConnection("127.0.0.1", port)
    for _ in range(count):
        connection.request("GET", "/")
        assert connection.getresponse().read() == PAGE
    connection.close()


def sends(record, syscall):
    return sum(c["sends"] for c in record["calls"] if c["syscall"] == syscall)


def sent_bytes(record):
    return sum(c["bytes"] for c in record["calls"])


@pytest.mark.parametrize("mechanism", SEND_MECHANISMS)
@pytest.mark.parametrize("sendfile", [False, True], ids=["writev", "sendfile"])
def test_nginx_sends_what_strace_counts(sendfile, mechanism, tmp_path):
    """The counts are exact: the requests come one after the other, so each response takes the same syscalls. nginx
    sends only responses, and logs their bytes."""
    need("nginx", "strace")
    (tmp_path / "ours").mkdir()
    server = Nginx(tmp_path / "ours", sendfile, [ANALYZE, "--json", "-", "--mechanism", mechanism, "--"])
    requests(server.port, REQUESTS)
    record = check(json.loads(server.end()))
    (tmp_path / "theirs").mkdir()
    traced = Nginx(tmp_path / "theirs", sendfile,
                   ["strace", "-f", "-c", "-e", "trace=writev,sendfile", "-o", tmp_path / "table"])
    requests(traced.port, REQUESTS)
    traced.end()
    theirs = {row[-1]: int(row[3]) for row in map(str.split, (tmp_path / "table").open())
              if row and row[-1] in ("writev", "sendfile")}
    assert len(server.logged()) == REQUESTS
    assert sends(record, "writev") == theirs["writev"]
    assert sent_bytes(record) == sum(server.logged())
    # One sendfile() makes a send for each piece that fits a pipe.
    assert (sends(record, "sendfile") >= theirs.get("sendfile", 0) > 0) == sendfile
    assert {c["syscall"] for c in record["calls"]} == set(theirs)


def test_nginx_as_a_daemon(tmp_path):
    """nginx forks twice and the command ends. The remaining process is the server, and is still observed."""
    need("nginx")
    server = Nginx(tmp_path, True, [ANALYZE, "--json", "-", "--by", "process", "--"], daemon=True)
    requests(server.port, REQUESTS)
    record = check(json.loads(server.end()))
    assert len(server.logged()) == REQUESTS
    assert sent_bytes(record) == sum(server.logged())
    assert {g["comm"] for g in record["by"]["groups"]} == {"nginx"}
    assert record["observed"]["exit_status"] == 0


@pytest.mark.parametrize("sendfile, keepalive", [(False, True), (True, False)], ids=["writev-keepalive", "sendfile-close"])
def test_nginx_under_load(sendfile, keepalive, tmp_path):
    """Bytes are exact: nginx logs for each request, even a broken-off one, the bytes that the kernel accepted, and
    sends nothing else. The number of requests is exact except for one per connection: wrk does not wait for answers
    when its time is up."""
    need("nginx", "wrk")
    connections = 20
    server = Nginx(tmp_path, sendfile, [ANALYZE, "--json", "-", "--by", "process", "--"])
    header = [] if keepalive else ["-H", "Connection: close"]
    result = run("wrk", "-t", 2, "-c", connections, "-d", "1s", *header,
                 f"http://127.0.0.1:{server.port}/")
    assert result.returncode == 0, result.stderr
    record = check(json.loads(server.end()))
    read = int(re.search(r"(\d+) requests in", result.stdout)[1])
    assert read <= len(server.logged()) <= read + connections
    if "loses returns" not in reason(record, "send"):
        assert losses(record) == NOTHING_LOST
        assert sent_bytes(record) == sum(server.logged())
    groups = record["by"]["groups"]
    assert {g["comm"] for g in groups} == {"nginx"} and 1 <= len(groups) <= 2
    assert sum(g["bytes"] for g in groups) == sent_bytes(record)


@pytest.mark.parametrize("mechanism", SEND_MECHANISMS)
def test_iperf3_by_sendfile(mechanism):
    """Bytes of sendfile are exact: iperf3 uses it only for data, and prints their size. It sends its messages about the
    test by write."""
    need("iperf3")
    port = free_port()
    with Child(["iperf3", "-s", "-1", "-B", "127.0.0.1", "-p", str(port), "--forceflush"],
               stdout=subprocess.PIPE, text=True) as server:
        assert "---" in line_of(server.stdout)
        result = analyze("--json", "-", "--mechanism", mechanism, "--", "iperf3", "-c", "127.0.0.1", "-p",
                         port, "-Z", "-n", "4M", "-J")
        server.communicate(timeout=PATIENCE_S)
    assert result.returncode == 0, result.stderr
    own, last = result.stdout.rsplit("\n", 2)[:2]
    record, own_report = check(json.loads(last)), json.loads(own)
    data = only([c for c in record["calls"] if c["syscall"] == "sendfile"])
    assert data["bytes"] == own_report["end"]["sum_sent"]["bytes"] >= 4 << 20
    assert record["zerocopy"]["requests"] == 0  # iperf3's zero-copy is sendfile


PYTHON_SENDER = """
import json, select, socket, struct, sys
errors = select.poll()
MSG_ZEROCOPY, SO_ZEROCOPY = 0x4000000, 60
s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
s.setsockopt(socket.SOL_SOCKET, SO_ZEROCOPY, 1)
errors.register(s, 0)
data, sent, completions, copied, size = b"z" * 10000, int(sys.argv[2]), 0, 0, 0

def read_errors():
    global completions, copied
    errors.poll()
    for level, kind, value in s.recvmsg(0, 512, socket.MSG_ERRQUEUE)[1]:
        _, origin, _, code, _, low, high = struct.unpack_from("IBBBBII", value)
        assert origin == 5
        completions += high - low + 1
        copied += (high - low + 1) * code

for i in range(sent):
    size += s.send(data, MSG_ZEROCOPY)
    while i + 1 - completions >= 16:
        read_errors()
while completions < sent:
    read_errors()
print(json.dumps({"sends": sent, "bytes": size, "completions": completions, "copied": copied}))
"""


@pytest.mark.parametrize("mechanism", SEND_MECHANISMS)
def test_a_python_program_with_the_flag(mechanism):
    """The counts are exact: the program waits for the completion of each send, and loopback copies all sends."""
    with Receiver() as receiver:
        result = analyze("--json", "-", "--mechanism", mechanism, "--", "/usr/bin/python3", "-c",
                         PYTHON_SENDER, receiver.port, REQUESTS)
    assert result.returncode == 0, result.stderr
    own, record = map(json.loads, result.stdout.splitlines())
    zerocopy = check(record)["zerocopy"]
    assert only(record["calls"])["bytes"] == own["bytes"]
    assert zerocopy["requests"] == own["sends"] == own["completions"]
    if zerocopy["completions"] is not None:
        assert zerocopy["completions"] == own["completions"]
        if not reason(record, "completion"):
            assert zerocopy["copied"] == own["sends"]
