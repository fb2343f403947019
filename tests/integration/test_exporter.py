# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests that the exporter reports the senders' counts, for any sender and any kind of request."""

import contextlib
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request

import pytest
import yaml

from conftest import (ANALYZE, CALLS, MECHANISMS, PATIENCE_S, PROGRAMS, ROOT, SEND_MECHANISMS, Child, Receiver,
                      analyze, completes, descriptors, eventually, line_of, needs_bpf, only, programs, run,
                      sockets_kept)
from exporter import OPEN_METRICS, TEXT_FORMAT, Exporter, Metrics, has_a_socket, parser
from test_observe import group  # noqa: F401 (a fixture)
from test_scale import many_files  # noqa: F401 (a fixture)

pytestmark = [pytest.mark.slow, needs_bpf, pytest.mark.usefixtures("untouched")]

SENDS = min(1000, CALLS // 10)


class Stepping:
    """A sender that sends on request, and then prints its counts so far."""

    def __init__(self, receiver, *options, program=PROGRAMS / "peer"):
        self.process = subprocess.Popen([program, *receiver.sender("--steps", *options)[1:]],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.counts = json.loads(line_of(self.process.stdout))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.communicate("quit\n", timeout=PATIENCE_S)

    def step(self, step):
        self.process.stdin.write(f"{step}\n")
        self.process.stdin.flush()
        self.counts = json.loads(line_of(self.process.stdout))
        return self.counts


@pytest.mark.parametrize("mechanism", [mechanism for mechanism in MECHANISMS if completes(mechanism)])
def test_counts_are_the_senders_own(mechanism):
    with Receiver() as receiver, Stepping(receiver) as sender, \
            Exporter("--pid", sender.process.pid, "--mechanism", mechanism) as exporter:
        assert exporter.read().sum("sendpath_sends_total") == 0
        for _ in range(2):
            sender.step(f"send {SENDS}")
            own = sender.step("drain")
            found = exporter.read()
            by_comm = {"comm": "peer"}
            assert own["completions"] == own["sends"]
            for metric in ("sends_total", "send_seconds_count", "zerocopy_requests_total",
                           "zerocopy_completions_total"):
                assert found.sum("sendpath_" + metric) == own["sends"], metric
            for metric in ("sent_bytes_total", "zerocopy_sent_bytes_total"):
                assert found.sum("sendpath_" + metric) == own["bytes"]
            assert found.sum("sendpath_process_sends_total", **by_comm) == own["sends"]
            assert found.sum("sendpath_process_sent_bytes_total", **by_comm) == own["bytes"]
            # All of it went over loopback, so all of it was copied. A copy whose flag was lost has no cause.
            flags = found.sum("sendpath_lost_total", what="flags")
            assert found.sum("sendpath_zerocopy_copied_total") == own["sends"] == \
                found.sum("sendpath_zerocopy_copied_by_cause_total", cause="loopback",
                          device="lo") + flags == found.sum("sendpath_process_zerocopy_copied_total")
            assert found.sum("sendpath_zerocopy_outstanding") == 0 == \
                found.sum("sendpath_zerocopy_pinned_bytes") == \
                found.sum("sendpath_lost_total") - flags
            seconds = found.sum("sendpath_send_seconds_sum")
            assert 0 < seconds == pytest.approx(
                found.sum("sendpath_process_send_seconds_total"), rel=1e-6)
        assert only(found.rows("sendpath_build_info")).labels["mechanism"] == mechanism


def test_both_formats_have_the_same_values():
    with Receiver() as receiver, Stepping(receiver) as sender, \
            Exporter("--pid", sender.process.pid) as exporter:
        sender.step(f"send {SENDS}")
        sender.step("drain")
        readings = []
        for accept, kind in ((OPEN_METRICS, OPEN_METRICS), (None, TEXT_FORMAT),
                             ("text/plain", TEXT_FORMAT), ("*/*", TEXT_FORMAT)):
            status, headers, text = exporter.request(accept=accept)
            assert (status, headers["Content-Type"]) == (200, kind)
            found = Metrics(text) if kind == OPEN_METRICS else Metrics(text, parser)
            readings.append({key: n for key, n in found.counters().items() if "exporter" not in key[0]})
        assert len(readings[0]) > 100 and all(one == readings[0] for one in readings)


@pytest.mark.installed
def test_promtool_has_no_objection(prometheus):
    with Exporter() as exporter, Receiver() as receiver:
        assert run(*receiver.sender("--sends", SENDS)).returncode == 0
        text = exporter.request(accept=None)[2]
    done = subprocess.run([prometheus / "promtool", "check", "metrics"], input=text, text=True,
                          capture_output=True, check=False)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@contextlib.contextmanager
def programs_named(folder, *names):
    """Returns copies of the sender with these names."""
    for name in names:
        path = os.fsencode(folder) + b"/" + name
        shutil.copy(PROGRAMS / "peer", path)
    yield [os.fsencode(folder) + b"/" + name for name in names]


def send_as(receiver, program, sends, *options):
    command = receiver.sender("--sends", sends, *options)
    done = subprocess.run([program, *command[1:]], capture_output=True, text=True, check=False,
                          timeout=PATIENCE_S)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def processes(found, metric="sends"):
    return {row.labels["comm"]: row.value
            for row in found.rows(f"sendpath_process_{metric}_total")}


def test_names_of_strangers(tmp_path):
    """A name may have any bytes except zero and a slash. It may be "other", the label of the other processes."""
    names = {b'q"u\\o{},te': 'q"u\\x5co{},te', b"line\nEOF\x1b[31m": "line\\x0aEOF\\x1b[31m",
             b"\xff\xfe\xc3": "\\xff\\xfe\\xc3", "é".encode(): "\\xc3\\xa9", b" ": " "}
    with Receiver() as receiver, Exporter("--top", 256) as exporter, \
            programs_named(tmp_path, *names, b"other") as copies:
        for sends, program in enumerate(copies, 1):
            send_as(receiver, program, sends, "--plain")
        found = processes(exporter.read())
    assert {name: found.get(name) for name in names.values()} == {
        name: sends for sends, name in enumerate(names.values(), 1)}
    assert found["other"] >= len(copies)


def test_few_processes_are_named_and_no_counter_falls(tmp_path):
    """The first and the largest processes keep their series; the sums over all processes stay complete."""
    with Receiver() as receiver, contextlib.ExitStack() as stack, \
            programs_named(tmp_path, b"small", b"large", b"middle", b"late") as copies:
        senders = [stack.enter_context(Stepping(receiver, program=program)) for program in copies]
        pids = ",".join(str(sender.process.pid) for sender in senders)
        exporter = stack.enter_context(Exporter("--top", 2, "--pid", pids))
        for sends, sender in zip((10, 30, 20), senders):
            sender.step(f"send {sends}")
        before = exporter.read()
        assert processes(before) == {"large": 30, "middle": 20, "other": 10}
        for sends, sender in zip((5, 0, 1, 1000), senders):
            sender.step(f"send {sends}")
        after = exporter.read()
        assert processes(after) == {"large": 30, "middle": 21, "other": 1015}
        assert after.sum("sendpath_sends_total") == 1066
        assert all(after.counters()[key] >= n for key, n in before.counters().items())


def test_a_full_map_of_processes_is_reported(tmp_path):
    """Sends of a process that has no room in the map count as "other", and the exporter reports their number."""
    with Receiver() as receiver, contextlib.ExitStack() as stack, \
            programs_named(tmp_path, b"first", b"second", b"third") as copies:
        senders = [stack.enter_context(Stepping(receiver, program=program)) for program in copies]
        pids = ",".join(str(sender.process.pid) for sender in senders)
        exporter = stack.enter_context(Exporter("--by-max", 2, "--pid", pids))
        for sender in senders:
            sender.step("send 10")
        found = exporter.read()
        assert processes(found) == {"first": 10, "second": 10, "other": 10}
        assert found.sum("sendpath_lost_total", what="groups") == 10
        assert found.sum("sendpath_sends_total") == 30


def groups_in_kernel(exporter, name="groups"):
    """Returns the number of elements in the exporter's map of this name."""
    held = {int(number) for text in descriptors(exporter.process.pid)
            for number in re.findall(r"^map_id:\s*(\d+)$", text, re.M)}
    maps = json.loads(run("bpftool", "-j", "map", "list").stdout)
    found = only([m["id"] for m in maps if m.get("name") == name and m["id"] in held])
    return len(json.loads(run("bpftool", "-j", "map", "dump", "id", found).stdout))


def test_a_process_that_ended_frees_its_room(tmp_path):
    """A process that ended leaves the map, and its counts stay: a machine may run any number of processes."""
    with Receiver() as receiver, Exporter("--comm", "briefly") as exporter, \
            programs_named(tmp_path, b"briefly") as copies:
        sent = 0
        for round_ in range(1, 4):
            for _ in range(20):
                sent += send_as(receiver, only(copies), 5)["sends"]
            assert groups_in_kernel(exporter) == 20
            assert processes(exporter.read()) == {"briefly": sent, "other": 0}
            assert groups_in_kernel(exporter) == 0
            assert sent == 100 * round_
        found = exporter.read()
    assert found.sum("sendpath_process_zerocopy_completions_total") == sent


def test_senders_by_control_group(group):  # noqa: F811
    """At most --top control groups have series of their own. No group stays in the kernel's maps after it has ended."""
    top = f"/{os.path.basename(group)}"
    names = {"a": "a", "a/b": "a/b", 'q"\x1b\\': 'q"\\x1b\\x5c', "c": None}
    with Receiver() as receiver, Exporter("--comm", "peer", "--by", "process,cgroup", "--top", 3) as exporter:
        for sends, name in zip((40, 30, 20, 10), names):
            path = f"{group}/{name}"
            os.makedirs(path, exist_ok=True)
            into = ("sh", "-c", 'echo 0 > "$0/cgroup.procs"; exec "$@"', path)
            assert run(*into, *receiver.sender("--sends", sends)).returncode == 0
        assert groups_in_kernel(exporter, "group_paths") == 4
        os.rmdir(f"{group}/a/b")
        found = exporter.read()
        assert groups_in_kernel(exporter, "group_paths") == groups_in_kernel(exporter) == 0
    rows = found.rows("sendpath_process_zerocopy_completions_total")
    assert {(row.labels["comm"], row.labels.get("cgroup", "")): row.value for row in rows} == {
        **{("peer", f"{top}/{label}"): sends for label, sends in zip(names.values(), (40, 30, 20)) if label},
        ("other", ""): 10}


def test_errors_and_refusals_are_counted():
    with Receiver() as receiver, Stepping(receiver, "--without-option") as sender, \
            Exporter("--pid", sender.process.pid) as exporter:
        # Each cause has a series before its first refusal; otherwise increase() would miss that refusal.
        assert {(row.labels["cause"], row.value) for row in exporter.read().rows(
            "sendpath_zerocopy_refused_total", interface="msg_zerocopy")} == {
            (cause, 0) for cause in ("optmem", "memlock", "optmem_or_memlock", "not_supported", "no_pages")}
        sender.step("send 10")
        found = exporter.read()
    assert found.sum("sendpath_zerocopy_ignored_total", interface="msg_zerocopy") == 10
    assert found.sum("sendpath_zerocopy_completions_total") == 0


# Makes one send over lo, which copies it, in each of this many network namespaces.
EVERYWHERE = """
import ctypes, fcntl, socket, struct, sys
sys.stdin.read()
for _ in range(int(sys.argv[1])):
    assert not ctypes.CDLL(None).unshare(0x40000000)
    with socket.socket() as listener, socket.socket() as sender:
        fcntl.ioctl(listener, 0x8914, struct.pack("16sh", b"lo", 0x41))  # SIOCSIFFLAGS: up
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        sender.setsockopt(socket.SOL_SOCKET, 60, 1)
        sender.connect(listener.getsockname())
        receiver, _ = listener.accept()
        sender.send(bytes(8192), 0x4000000)
        receiver.recv(8192, socket.MSG_WAITALL)
        receiver.close()
"""


def test_causes_of_more_devices_than_it_has_counters():
    """Each network namespace has a lo of its own."""
    with Child([sys.executable, "-c", EVERYWHERE, "400"], stdin=subprocess.PIPE) as sender, \
            Exporter("--pid", sender.pid) as exporter:
        sender.communicate(b"go")
        found = exporter.read()
    assert sender.returncode == 0
    assert found.sum("sendpath_zerocopy_copied_total", interface="msg_zerocopy") == 400
    assert found.sum("sendpath_zerocopy_copied_by_cause_total", cause="loopback", device="lo") == 400
    assert found.sum("sendpath_lost_total", what="stacks") == 0


@pytest.fixture(name="uring")
def _uring():
    """Returns the program that sends by io_uring."""
    program = PROGRAMS / "uring"
    probe = run(program, "--probe")
    if probe.returncode:
        pytest.skip(probe.stdout.strip() or "?")
    return program


def test_sends_by_io_uring_are_one_series(uring):
    """io_uring's own zero-copy operations and MSG_ZEROCOPY have the same labels."""
    with Receiver() as receiver, Exporter("--comm", "uring") as exporter:
        for options in ("--by", "send-zc"), ("--by", "sendmsg", "--flag"):
            command = receiver.sender("--sends", SENDS, *options)
            assert run(uring, *command[1:]).returncode == 0
        found = exporter.read()
    for metric in "sends", "sent_bytes":
        assert found.sum(f"sendpath_{metric}_total", syscall="io_uring") == \
            found.sum(f"sendpath_process_{metric}_total", comm="uring") >= 2 * SENDS


def test_requests_that_io_uring_refuses_are_counted(uring):
    def refused(found):
        return {row.labels["cause"]: row.value for row in found.rows(
            "sendpath_zerocopy_refused_total", interface="io_uring")}

    with Receiver() as receiver, Exporter("--comm", "uring") as exporter:
        begun = refused(exporter.read())
        sent = run("prlimit", "--memlock=65536:65536", "setpriv", "--reuid=65534", "--clear-groups", uring,
                   *receiver.sender("--sends", 30, "--size", 131072)[1:])
        assert json.loads(sent.stdout)["failed"] == 30
        assert refused(exporter.read()) == {**begun, "memlock": 30} and set(begun.values()) == {0}


@pytest.mark.skipif("tracepoint" not in SEND_MECHANISMS, reason="sends have no tracepoints here")
@pytest.mark.parametrize("options", [[], ["--report"]], ids=" ".join)
def test_copies_by_io_uring_are_known(uring, options):
    """io_uring reports them on request; without that, loopback copies every packet."""
    with Receiver() as receiver, \
            Exporter("--comm", "uring", "--mechanism", "tracepoint") as exporter:
        sent = run(uring, *receiver.sender("--sends", SENDS, "--by", "send-zc", *options)[1:])
        assert sent.returncode == 0, sent.stderr
        found = exporter.read()
    assert found.sum("sendpath_zerocopy_completion_seconds_count", interface="io_uring") == SENDS
    assert found.sum("sendpath_zerocopy_pinned_bytes", interface="io_uring") == 0
    for family, labels in (("zerocopy", {"interface": "io_uring"}),
                           ("process_zerocopy", {"comm": "uring"})):
        assert found.sum(f"sendpath_{family}_completions_total", **labels) >= SENDS
        copied = [row.value for row in found.rows(f"sendpath_{family}_copied_total", **labels)]
        assert copied == [found.sum(f"sendpath_{family}_completions_total", **labels)]
        assert "IORING_SEND_ZC_REPORT_USAGE" in found.help_of(f"sendpath_{family}_copied")


def test_what_is_not_measured_is_absent_with_the_reason():
    with Exporter("--pid", os.getpid(), "--top", 0) as exporter:
        found = exporter.read()
    assert not found.rows("sendpath_exporter_bpf_seconds_total")
    assert "Not measured: only with --cost" in found.help_of("sendpath_exporter_bpf_seconds")
    assert not found.rows("sendpath_process_sends_total")
    assert "Not measured: --top 0" in found.help_of("sendpath_process_sends")


def test_it_reports_its_cost():
    with Receiver() as receiver, Stepping(receiver) as sender, \
            Exporter("--pid", sender.process.pid, "--cost") as exporter:
        sender.step("send 100")
        found = exporter.read()
    for metric in ("bpf_seconds_total", "bpf_runs_total", "cpu_seconds_total",
                   "resident_memory_bytes", "reading_seconds", "start_time_seconds"):
        assert found.sum("sendpath_exporter_" + metric) > 0


def test_counts_are_of_all_where_times_are_sampled():
    with Receiver() as receiver, Stepping(receiver) as sender, \
            Exporter("--pid", sender.process.pid, "--sample", 10) as exporter:
        sender.step(f"send {SENDS}")
        own = sender.step("drain")
        found = exporter.read()
    for metric in "sends", "zerocopy_completions", "zerocopy_copied", "process_zerocopy_copied":
        assert found.sum(f"sendpath_{metric}_total") == own["sends"]
    assert found.sum("sendpath_sent_bytes_total") == own["bytes"]
    timed = found.sum("sendpath_send_seconds_count")
    assert 0 < timed < own["sends"]
    assert found.sum("sendpath_process_send_seconds_total") / own["sends"] == pytest.approx(
        found.sum("sendpath_send_seconds_sum") / timed, rel=1e-3)


def test_another_takes_its_port_over_at_once():
    """A second exporter gets the port although the kernel still holds connections of the first."""
    with Exporter() as first:
        port = first.port
        before = first.read().sum("sendpath_exporter_start_time_seconds")
    with Exporter(port=port) as second:
        assert second.port == port
        assert second.read().sum("sendpath_exporter_start_time_seconds") > before


def test_a_process_that_ends_does_not_end_it():
    with Receiver() as receiver:
        with Stepping(receiver) as sender:
            exporter = Exporter("--pid", sender.process.pid)
            exporter.__enter__()
            sender.step("send 10")
        assert exporter.read().sum("sendpath_sends_total") == 10
        exporter.__exit__(None)


def test_a_name_may_come_later(tmp_path):
    with Receiver() as receiver, Exporter("--comm", "later-on") as exporter, \
            programs_named(tmp_path, b"later-on") as copies:
        send_as(receiver, only(copies), 7)
        assert exporter.read().sum("sendpath_sends_total") == 7


@pytest.mark.parametrize("way", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT])
def test_signals_end_it(way):
    with Exporter() as exporter:
        exporter.process.send_signal(way)
        assert exporter.process.wait(PATIENCE_S) == 0


def test_it_gives_up_what_it_does_not_need():
    with Exporter() as exporter:
        status = pathlib.Path(f"/proc/{exporter.process.pid}/status").read_text()
    assert int(re.search(r"^CapEff:\s*(\w+)", status, re.M)[1], 16) == 1 << 39  # CAP_BPF
    assert int(re.search(r"^CapPrm:\s*(\w+)", status, re.M)[1], 16) == 1 << 39


def test_other_requests():
    with Exporter() as exporter:
        assert exporter.request("/")[0] == 200
        assert exporter.request("/metrics?debug=1")[0] == 200
        assert exporter.request("/nothing")[0] == 404
        status, headers, _ = exporter.request(method="POST")
        assert (status, headers["Allow"]) == (405, "GET, HEAD")
        status, headers, text = exporter.request(method="HEAD")
        assert status == 200 and int(headers["Content-Length"]) > 1000 and text == ""


def test_clients_that_are_stuck_or_gone_do_not_stop_it():
    """More clients than the exporter serves at once do not finish a request, or do not read the answer."""
    with Exporter() as exporter, contextlib.ExitStack() as stack:
        for i in range(40):
            client = stack.enter_context(socket.create_connection(("127.0.0.1", exporter.port)))
            client.sendall([b"", b"GET", b"GET /metrics HTTP/1.1\r\nHost: x\r\nX: ",
                            b"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n",
                            b"\0\xff" * 2000, b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 9000][i % 6])
            if i % 7 == 0:
                client.close()
        assert exporter.request()[0] == 200
        assert exporter.process.poll() is None


# Connects this many clients from these addresses. Each begins a request and never ends it; a client that is
# disconnected connects again.
SLOW = """
import itertools, selectors, socket, sys

port, count = map(int, sys.argv[1:3])
sources, select = itertools.cycle(sys.argv[3:]), selectors.DefaultSelector()

def connect():
    s = socket.socket()
    s.setblocking(False)
    s.bind((next(sources), 0))
    s.connect_ex(("127.0.0.1", port))
    select.register(s, selectors.EVENT_WRITE)

for _ in range(count):
    connect()
print("ready", flush=True)
while True:
    for key, events in select.select():
        s = key.fileobj
        try:
            if events & selectors.EVENT_WRITE:
                s.sendall(b"GET /metrics HTTP/1.1\\r\\nHost: localhost\\r\\nX: ")
                select.modify(s, selectors.EVENT_READ)
            elif not s.recv(4096):
                raise ConnectionError
        except OSError:
            select.unregister(s)
            s.close()
            connect()
"""
SCRAPE_S = 2 if "SENDPATH_SANITIZED" not in os.environ else 8


@pytest.mark.parametrize("sources", [["127.0.0.1"], ["127.0.0.2"], [f"127.0.1.{i}" for i in range(64)]],
                         ids=["its own address", "another", "one each"])
@pytest.mark.parametrize("clients", [16, 64])
def test_slow_clients_that_come_again_do_not_keep_it_from_prometheus(clients, sources):
    with Exporter("--pid", os.getpid()) as exporter, Child(
            [sys.executable, "-c", SLOW, str(exporter.port), str(clients), *sources],
            stdout=subprocess.PIPE, text=True) as slow:
        assert line_of(slow.stdout) == "ready\n"
        for _ in range(10):
            assert exporter.request(timeout=SCRAPE_S)[0] == 200
        slow.kill()


@pytest.mark.parametrize("begun", [b"", b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX: "])
def test_headers_have_a_deadline(begun):
    """A client has a deadline for its headers even if it is the only client."""
    with Exporter("--pid", os.getpid()) as exporter, \
            socket.create_connection(("127.0.0.1", exporter.port), timeout=PATIENCE_S) as client:
        client.sendall(begun)
        since = time.monotonic()
        assert client.recv(1) == b"" and time.monotonic() - since < 4.5


def test_a_name_that_is_not_its_own_is_refused():
    """Otherwise a web page whose name resolves to this address (DNS rebinding) could read the names of programs."""
    with Exporter("--pid", os.getpid(), "--allow-host", "metrics.example", "--allow-host",
                  "other") as exporter:
        for host in ("127.0.0.1", "[::1]:9435", "localhost", "Metrics.Example:9435", "other"):
            assert exporter.request(Host=host)[0] == 200, host
        for path in "/metrics", "/", "/nothing":
            status, _, text = exporter.request(path, Host="evil.example:9435")
            assert status == 403 and "--allow-host" in only(text.splitlines())
        with socket.create_connection(("127.0.0.1", exporter.port)) as old:
            old.sendall(b"GET / HTTP/1.0\r\n\r\n")
            assert old.makefile("rb").readline().split()[1] == b"200"


def test_its_memory_stays_what_it_is():
    with Receiver() as receiver, Stepping(receiver) as sender, \
            Exporter("--pid", sender.process.pid) as exporter:
        sender.step(f"send {SENDS}")
        for _ in range(50):
            exporter.request()
        before = exporter.read().sum("sendpath_exporter_resident_memory_bytes")
        for _ in range(500):
            exporter.request()
        after = exporter.read().sum("sendpath_exporter_resident_memory_bytes")
    if "SENDPATH_SANITIZED" not in os.environ:
        assert after - before < 512 * 1024


def test_processes_and_sockets_come_and_go(tmp_path):
    """Counts all sends of up to 10,000 processes and 100,000 sockets, while the exporter's memory does not grow."""
    rounds, a_round = 10, min(1000, CALLS // 20)
    with Receiver() as receiver, Exporter("--comm", "come-and-go") as exporter, \
            programs_named(tmp_path, b"come-and-go") as copies:
        command = shlex.join(map(str, receiver.sender("--sends", 3)[1:]))
        memory = []
        for done in range(1, rounds + 1):
            made = run("sh", "-c", f"seq {a_round} | xargs -P 4 -I x "
                                   f"{os.fsdecode(only(copies))} {command} >/dev/null")
            assert made.returncode == 0, made.stderr
            sends = 3 * a_round * done
            for _ in range(20):
                send_as(receiver, only(copies), a_round // 2, "--connections", a_round // 2)
            sends += 10 * a_round * done
            # The last completions of a closed socket may still arrive.
            assert eventually(lambda: exporter.read().sum("sendpath_process_zerocopy_completions_total") >= sends)
            found = exporter.read()
            memory.append(found.sum("sendpath_exporter_resident_memory_bytes"))
            assert processes(found) == {"come-and-go": sends, "other": 0}
            assert found.sum("sendpath_sends_total") == sends == \
                found.sum("sendpath_process_zerocopy_completions_total")
            assert found.sum("sendpath_lost_total") == found.sum("sendpath_lost_total", what="flags")
    if "SENDPATH_SANITIZED" not in os.environ:
        assert memory[-1] - memory[0] < 1024 * 1024, memory


def drained(exporter, sends):
    """Waits until no zero-copy socket is left; returns a reading in which each send has completed or is lost."""
    assert eventually(lambda: not exporter.read().sum("sendpath_zerocopy_outstanding"))
    found = exporter.read()
    assert found.sum("sendpath_zerocopy_requests_total") == sends
    assert found.sum("sendpath_zerocopy_completions_total") == \
        sends - found.sum("sendpath_lost_total", what="completions")
    assert found.sum("sendpath_zerocopy_pinned_bytes") == 0
    return found


@pytest.mark.parametrize("mechanism", [mechanism for mechanism in MECHANISMS if completes(mechanism)])
def test_rounds_of_churn(mechanism):
    """Sockets close with sends in flight, and new sockets reuse their memory at once. A kernel may call no BPF program
    while process 1 runs (see docs/zerocopy.md): then a few completions are lost."""
    sends = 0
    with Exporter("--comm", "churn", "--mechanism", mechanism) as exporter:
        for _ in range(10):
            made = run(PROGRAMS / "churn", "--unread", "--threads", 4, "--sockets", CALLS // 2)
            assert made.returncode == 0, made.stderr
            sends += json.loads(made.stdout)["sends"]
        found = drained(exporter, sends)
    assert found.sum("sendpath_lost_total", what="completions") <= (sends / 2000 if mechanism == "tracepoint" else 0)


MIB = 1 << 20


@contextlib.contextmanager
def memory_limit(most):
    """Runs the block in a control group with this memory limit, which includes kernel memory."""
    version2 = os.path.exists("/sys/fs/cgroup/cgroup.controllers")
    root = pathlib.Path("/sys/fs/cgroup" if version2 else "/sys/fs/cgroup/memory")
    group = root / f"sendpath-test-{os.getpid()}"
    try:
        if version2:
            (root / "cgroup.subtree_control").write_text("+memory")
        group.mkdir()
        (group / ("memory.max" if version2 else "memory.limit_in_bytes")).write_text(str(most))
    except OSError as error:
        pytest.skip(f"no control group of memory can be made: {error}")
    yield group
    group.rmdir()


def test_sockets_within_a_limit_of_memory(many_files):  # noqa: F811
    """The memory limit of deploy/kubernetes/exporter.yaml is enough for the most sockets."""
    spec = only([d for d in yaml.safe_load_all((ROOT / "deploy/kubernetes/exporter.yaml").read_text())
                 if d["kind"] == "DaemonSet"])["spec"]["template"]["spec"]
    limit = only(spec["containers"])["resources"]["limits"]["memory"]
    assert limit.endswith("Mi")
    each = 3 * CALLS // 8
    with contextlib.ExitStack() as running:
        group = running.enter_context(memory_limit(int(limit[:-2]) * MIB))
        into = ("sh", "-c", f'echo $$ > {group}/cgroup.procs; exec "$@"', "sh")
        exporter = running.enter_context(Exporter("--comm", "peer", before=into))
        before = exporter.read().sum("sendpath_map_bytes")
        for _ in range(8):
            receiver = running.enter_context(Receiver())
            sender = running.enter_context(Stepping(receiver, "--connections", each, "--size", 100))
            assert sender.step(f"send {each}")["failed"] == 0
            sender.step("drain")
        found = drained(exporter, 8 * each)
        lost = found.sum("sendpath_lost_total", what="completions")
    assert lost == max(8 * each - sockets_kept(), 0)
    if sockets_kept() > 8 * each:
        assert found.sum("sendpath_map_bytes") < 32 * MIB
        assert found.sum("sendpath_map_bytes") - before < 256 * 8 * each


@pytest.mark.parametrize("way", [signal.SIGTERM, signal.SIGQUIT], ids=lambda sig: sig.name)
def test_a_text_file_instead(way, tmp_path):
    """The text file is always complete, replaced repeatedly, and removed at the end. No socket listens."""
    path = tmp_path / "sendpath.prom"
    with Receiver() as receiver, Stepping(receiver) as sender, \
            Child([ANALYZE, "exporter", "--pid", str(sender.process.pid), "--textfile", tmp_path,
                   "--interval", "0.1"], stderr=subprocess.PIPE, text=True) as exporter:
        assert eventually(path.exists)
        seen = set()

        def sent():
            seen.add(path.stat().st_ino)
            text = path.read_text()
            assert text.endswith("\n") and path.stat().st_mode & 0o777 == 0o644
            return Metrics(text, parser).sum("sendpath_sends_total")

        assert sent() == 0
        sender.step(f"send {SENDS}")
        assert eventually(lambda: sent() == SENDS) and len(seen) > 1
        assert not has_a_socket(exporter.pid)
        exporter.send_signal(way)
        _, err = exporter.communicate(timeout=PATIENCE_S)
        assert (exporter.returncode, err) == (0, "")
    assert not list(tmp_path.iterdir())


def test_a_text_file_is_never_one_that_was_there(tmp_path):
    """The exporter writes to no existing file: another user of the folder may have created it, and may keep it open."""
    other, folder = tmp_path / "other", tmp_path / "folder"
    other.write_text("kept")
    folder.mkdir()
    os.link(other, folder / ".sendpath.prom.next")
    with Child([ANALYZE, "exporter", "--pid", str(os.getpid()), "--textfile", folder]) as exporter:
        assert eventually((folder / "sendpath.prom").exists)
        exporter.terminate()
    assert exporter.returncode == 0 and other.read_text() == "kept" and not os.listdir(folder)


def test_two_exporters_do_not_share_a_folder(tmp_path):
    path = tmp_path / "sendpath.prom"
    command = [ANALYZE, "exporter", "--pid", str(os.getpid()), "--textfile", tmp_path]
    with Child(command) as first:
        assert eventually(path.exists)
        with Child(command, stderr=subprocess.PIPE, text=True) as second:
            eventually(lambda: second.poll() is not None)
            second.terminate()
            _, err = second.communicate(timeout=PATIENCE_S)
        assert second.returncode == 1 and f"--textfile {tmp_path}: " in only(err.splitlines())
        assert path.exists()
        first.terminate()
    assert first.returncode == 0 and not os.listdir(tmp_path)


def test_an_impossible_text_file_is_reported(tmp_path):
    for folder in tmp_path / "none", tmp_path / "file":
        (tmp_path / "file").touch()
        result = analyze("exporter", "--textfile", folder)
        assert result.returncode == 1
        assert f"--textfile {folder}: " in only(result.stderr.splitlines())


@pytest.mark.parametrize("address,host", [("127.0.0.1", "127.0.0.1"), ("::1", "[::1]")])
def test_the_daemonset_listens_at_addresses_of_both_kinds(address, host):
    manifest = yaml.safe_load((ROOT / "deploy/kubernetes/exporter.yaml").read_text())
    container, = manifest["spec"]["template"]["spec"]["containers"]
    options = [one.replace("$(HOST_IP)", address).replace(":9435", ":0") for one in container["args"]]
    with Child([ANALYZE, "exporter", *options, "--pid", str(os.getpid())], stderr=subprocess.PIPE,
               text=True) as exporter:
        line = line_of(exporter.stderr)
        url = re.fullmatch(rf"analyze: metrics at (http://{re.escape(host)}:\d+/metrics)\n", line)
        assert url, line
        with urllib.request.urlopen(url[1], timeout=PATIENCE_S) as answer:
            assert b"sendpath_sends_total" in answer.read()
        exporter.terminate()


def test_a_port_in_use_is_one_line():
    before = programs()
    with socket.create_server(("127.0.0.1", 0)) as occupied:
        endpoint = f"127.0.0.1:{occupied.getsockname()[1]}"
        result = analyze("exporter", "--listen", endpoint)
    assert result.returncode == 1
    assert f"--listen {endpoint}: the port is in use" in only(result.stderr.splitlines())
    assert eventually(lambda: programs() <= before)


def test_an_interface_that_may_come_is_no_wrong_use():
    result = analyze("exporter", "--listen", "[fe80::1%none0]:0")
    assert result.returncode == 1
    assert "--listen [fe80::1%none0]:0: " in only(result.stderr.splitlines())


@pytest.mark.parametrize("options,words", [
    (["--listen", "9435"], "--listen 9435: give ADDRESS:PORT"),
    (["--listen", "::1:9435"], "--listen ::1:9435: give ADDRESS:PORT"),
    (["--listen", "localhost:9435"], "--listen localhost:9435: give the address in numbers"),
    (["--listen", "256.1.1.1:0"], "--listen 256.1.1.1:0: give the address in numbers"),
    (["--listen", "127.0.0.1:1", "--textfile", "/tmp"], "leave one out"),
    (["--textfile", ""], "--textfile"),
    (["--allow-host", ""], "--allow-host : give the name of a host"),
    (["--allow-host", "a:9435"], "--allow-host a:9435: give the name of a host, without a port"),
    (["--allow-host", "a", "--textfile", "/tmp"], "--allow-host and --textfile: leave one out"),
    (["--allow-host=a"] * 17, "--allow-host a: give at most 16 names"),
    (["--top", "257"], "--top 257: give a whole number from 0 to 256"),
    (["--top", "x"], "--top x"),
    (["--json", "-"], "--json: does not apply to exporter"),
    (["--interval", "5"], "--interval without --textfile"),
    (["--duration", "5"], "--duration"),
    (["--variant", "onecopy"], "--variant"),
    (["--mechanism", "none"], "--mechanism none"),
    (["--", "true"], "--: does not apply"),
    (["--out", "x"], "belongs to sweep"),
    (["--listne", "x"], "did you mean --listen"),
])
def test_wrong_use_is_one_line(options, words):
    result = analyze("exporter", *options)
    assert result.returncode == 2 and result.stdout == ""
    assert words in only(result.stderr.splitlines())


def test_its_options_belong_to_it():
    result = analyze("--all", "--listen", "127.0.0.1:0")
    assert result.returncode == 2
    assert "--listen: belongs to exporter" in only(result.stderr.splitlines())


def test_without_privilege_it_names_what_is_missing():
    result = run("setpriv", "--reuid", "nobody", "--clear-groups", "--inh-caps=-all", ANALYZE,
                 "exporter", "--listen", "127.0.0.1:0")
    assert result.returncode == 3 and "CAP_BPF and CAP_PERFMON" in only(result.stderr.splitlines())
