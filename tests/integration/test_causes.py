# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests why sends were copied: each test makes one cause happen to an independent sender. The record must name only
this cause, with the sender's own count.

Most tests need two real NICs, which the lab has (topology nicpair); tests on loopback run anywhere.
"""

import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess

import pytest

from conftest import (ANALYZE, MECHANISMS, PATIENCE_S, PROGRAMS, Child, Receiver, check, completes, eventually, hook,
                      line_of, lossy, needs_bpf, note, only, printed, reason, run, verdict_of, veth_pair)

NICPAIR = os.environ.get("SENDPATH_TOPOLOGY") == "nicpair"
NEAR, FAR, CARD = "10.9.0.1", "10.9.0.2", "eth0"
PEER = ("ip", "netns", "exec", "peer")
MIDDLE = ("ip", "netns", "exec", "middle")
ETH_P_ALL = 3
PACKETS = PROGRAMS / "packets.bpf.o"

pytestmark = [needs_bpf,
              pytest.mark.parametrize("mechanism", [mechanism for mechanism in MECHANISMS if completes(mechanism)])]
nics = pytest.mark.skipif(not NICPAIR, reason="needs the lab's topology nicpair")


def do(*command):
    result = run(*command)
    assert result.returncode == 0, f"{command}: {result.stderr}"
    return result.stdout


@contextlib.contextmanager
def setting(there, back):
    """Runs the command `there`, which changes a setting, and at the end the command `back`, which restores it."""
    do(*there.split())
    try:
        yield
    finally:
        do(*back.split())


@contextlib.contextmanager
def sysctl(name, value):
    path = pathlib.Path("/proc/sys", name.replace(".", "/"))
    before = path.read_text()
    path.write_text(str(value))
    try:
        yield
    finally:
        path.write_text(before)


TAP = """
import socket, struct, sys
device = sys.argv[1]
with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)) as listener:
    if device != "any":
        listener.bind((device, 3))
        listener.setsockopt(263, 1, struct.pack("iHH8s", socket.if_nametoindex(device), 1, 0, b""))
    print(flush=True)
    sys.stdin.read()
"""


@contextlib.contextmanager
def tap_in(where, device):
    """Opens a tap in the namespace `where`, as tcpdump -i does: promiscuous, except on "any"."""
    with Child([*where, "/usr/bin/python3", "-c", TAP, device],
               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as listener:
        assert line_of(listener.stdout) == "\n"
        yield
        listener.stdin.close()


@contextlib.contextmanager
def tap(device):
    """Opens a packet socket that gets all packets of a device, as tcpdump does."""
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)) as listener:
        listener.bind((device, ETH_P_ALL))
        yield


class Observed:
    """A sender under observation, driven in steps. After the with block, it has the record and the sender's counts."""

    def __init__(self, tmp_path, mechanism, command):
        self.file = tmp_path / "record.json"
        self.analyze = subprocess.Popen(
            [ANALYZE, "--json", self.file, "--mechanism", mechanism, "--", *map(str, command)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.record = self.report = None
        self.counts = self.answer()

    def answer(self):
        return json.loads(line_of(self.analyze.stdout) or "null")

    def step(self, what):
        self.analyze.stdin.write(what + "\n")
        self.analyze.stdin.flush()
        self.counts = self.answer()

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        out, self.report = self.analyze.communicate("quit\n" if kind is None else None,
                                                    timeout=PATIENCE_S)
        if kind is None:
            assert self.analyze.returncode == 0, self.report
            self.counts = json.loads(out.splitlines()[-1])
            self.record = check(json.loads(self.file.read_text()))
            assert self.report.endswith(printed(self.record))


@contextlib.contextmanager
def receiver(address=FAR, *options):
    with Receiver(address, PEER if address == FAR else (), *options) as there:
        yield there


def observe(tmp_path, mechanism, sends=50, options=(), address=FAR, prefix=(), unread=False):
    """Observes one sender that makes all its sends in one step. Returns an Observed."""
    with receiver(address) as there:
        with Observed(tmp_path, mechanism, [*prefix, *there.sender("--steps", *options)]) as seen:
            with stopped(there.process) if unread else contextlib.nullcontext():
                seen.step(f"send {sends}")
            seen.step("drain")
    return seen


@contextlib.contextmanager
def stopped(process):
    """Stops the process by a signal for the block."""
    process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)


def assert_causes(record, expected):
    """Asserts that the causes are exactly {(cause, device): sends}, and that they add up."""
    seen = record["zerocopy"]
    found = {(row["cause"], row["device"]): row["count"] for row in seen["causes"]}
    assert all(0 <= row["skbs_in_send"] <= row["skbs"] for row in seen["causes"])
    if found != expected and (lossy(record) or record["lost"]["flags"]):
        # If no hook saw a copy, only its flag is known.
        assert {key for key in found if key[0] != "unclassified"} <= set(expected)
        assert set(found) & set(expected) or not expected
        return
    assert found == expected
    for cause, _ in expected:
        note(record, cause)
    assert seen["copied"] == seen["flagged"] + (seen["unflagged"] or 0)
    assert seen["requests"] == (seen["completions"] + seen["ignored"] + seen["outstanding"]
                                + sum(row["count"] for row in seen["refused"]))
    if len(expected) < 2:
        assert seen["copied"] == sum(expected.values())


def assert_all(seen, cause, device):
    """Asserts that every send of the observed sender was copied for this cause."""
    assert_causes(seen.record, {(cause, device): seen.counts["sends"]})


# Causes on loopback

def test_loopback(tmp_path, mechanism):
    seen = observe(tmp_path, mechanism, sends=200, address="127.0.0.1")
    assert_all(seen, "loopback", "lo")
    if not lossy(seen.record):
        assert only(seen.record["zerocopy"]["causes"])["skbs_in_send"] > 0


def test_two_causes_on_one_socket_are_distinguished(tmp_path, mechanism):
    with receiver("127.0.0.1") as there, \
            Observed(tmp_path, mechanism, there.sender("--steps", "--inflight", 1000)) as seen:
        seen.step("send 30")
        seen.step("settle")
        with tap("lo"):
            seen.step("send 20")
            seen.step("settle")
        seen.step("send 10")
    assert_causes(seen.record, {("loopback", "lo"): 60, ("packet_tap", "lo"): 20})
    assert seen.record["zerocopy"]["copied"] == 60


def test_without_the_socket_option(tmp_path, mechanism):
    seen = observe(tmp_path, mechanism, options=["--without-option"], address="127.0.0.1")
    zerocopy = seen.record["zerocopy"]
    assert zerocopy["requests"] == zerocopy["ignored"] == seen.counts["sends"] == 50
    assert not zerocopy["causes"]
    assert "SO_ZEROCOPY" in verdict_of(seen.report)


@pytest.mark.parametrize("enabled", [True, False])
def test_sends_without_data_are_not_for_want_of_the_option(enabled, tmp_path, mechanism):
    """7 sends have no data, so the kernel ignores their flag. For the other 5, SO_ZEROCOPY decides."""
    file = tmp_path / "record.json"
    script = ("import socket\n"
              "l = socket.create_server(('127.0.0.1', 0))\n"
              "s = socket.create_connection(l.getsockname())\n"
              f"s.setsockopt(socket.SOL_SOCKET, 60, {int(enabled)})\n"  # SO_ZEROCOPY
              "for data in [b''] * 7 + [b'x'] * 5: s.send(data, 0x4000000)\n")  # MSG_ZEROCOPY
    result = run(ANALYZE, "--details", "--json", file, "--mechanism", mechanism, "--", "/usr/bin/python3", "-c",
                 script)
    assert result.returncode == 0, result.stderr
    zerocopy = check(json.loads(file.read_text()))["zerocopy"]
    assert (zerocopy["requests"], zerocopy["ignored_empty"]) == (12, 7)
    assert zerocopy["ignored"] == (7 if enabled else 12)
    words = "  ignored        7 of zero length" if enabled else \
        "  ignored        5 because the socket lacks SO_ZEROCOPY; 7 of zero length"
    assert words in result.stderr.splitlines()


def refused(tmp_path, mechanism, cause, errno, **options):
    """Asserts that some sends were refused, all for this cause, and the other sends completed."""
    seen = observe(tmp_path, mechanism, **options)
    zerocopy = seen.record["zerocopy"]
    assert seen.counts["failed"] > 0
    assert zerocopy["requests"] == seen.counts["sends"] + seen.counts["failed"]
    assert only(zerocopy["refused"]) == {"cause": cause, "errno": errno,
                                         "count": seen.counts["failed"]}
    note(seen.record, cause)
    return seen


def test_optmem(tmp_path, mechanism):
    """optmem_max is lower than what one notification takes."""
    with sysctl("net.core.optmem_max", 512):
        seen = refused(tmp_path, mechanism, "optmem", "ENOBUFS", address="127.0.0.1")


def test_memlock(tmp_path, mechanism):
    """A message has more pages than the user may pin; root has no limit."""
    refused(tmp_path, mechanism, "memlock", "ENOBUFS", address="127.0.0.1",
            options=["--size", 100000],
            prefix=["prlimit", "--memlock=65536:65536", "setpriv", "--reuid=65534",
                    "--clear-groups"])


def test_full_send_buffer(tmp_path, mechanism):
    """A message is larger than the socket's buffer, and the sender does not wait for room."""
    refused(tmp_path, mechanism, "send_buffer_full", "EAGAIN", address="127.0.0.1", unread=True,
            options=["--now", "--size", 4000000, "--inflight", 1000])


def test_ktls(tmp_path, mechanism):
    """kTLS refuses the flag; which hook sees that depends on the kernel."""
    if run("modprobe", "tls").returncode and not os.path.isdir("/sys/module/tls"):
        pytest.skip("this kernel has no kTLS")
    seen = observe(tmp_path, mechanism, options=["--tls"], address="127.0.0.1")
    zerocopy = seen.record["zerocopy"]
    assert seen.counts["failed"] == 50 and seen.counts["errno"] == 95
    if hook(seen.record, "kTLS send")["status"] == "unavailable":
        assert zerocopy["requests"] == 0
        return
    assert only(zerocopy["refused"]) == {"cause": "not_supported", "errno": "EOPNOTSUPP",
                                         "count": 50}
    note(seen.record, "not_supported")


def test_two_causes_of_all_copies(tmp_path, mechanism):
    """The receiver is on this machine, so closing the tap would not help."""
    with veth_pair() as (near, far, address), Receiver(address, far) as there:
        with tap_in(near, "near0"), \
                Observed(tmp_path, mechanism, [*near, *there.sender("--steps")]) as seen:
            seen.step("send 200")
            seen.step("drain")
    assert_causes(seen.record, {("packet_tap", "near0"): 200, ("local_delivery", "far0"): 200})


# Causes that need two NICs

@nics
def test_nothing_is_copied(tmp_path, mechanism):
    seen = observe(tmp_path, mechanism, sends=200)
    assert seen.counts["copied"] == 0
    assert_causes(seen.record, {})
    completed = seen.record["zerocopy"]["completions"]
    assert completed == 200 or lossy(seen.record)


@nics
def test_packet_tap(tmp_path, mechanism):
    with tap(CARD):
        assert_all(observe(tmp_path, mechanism), "packet_tap", CARD)


@nics
def test_packet_tap_that_the_application_does_not_read_about(tmp_path, mechanism):
    """A tap listens to the second half of the sends. The application reads the queue at the end: one notification
    covers all sends, with the flag of the first."""
    with receiver() as there, \
            Observed(tmp_path, mechanism, there.sender("--steps", "--inflight", 1000)) as seen:
        for _ in range(20):
            seen.step("send 1")
            seen.step("settle")
        with tap(CARD):
            for _ in range(20):
                seen.step("send 1")
                seen.step("settle")
    assert seen.counts["copied"] == 0 and seen.counts["notifications"] == 1
    assert_causes(seen.record, {("packet_tap", CARD): 20})
    if not lossy(seen.record):
        assert seen.record["zerocopy"]["flagged"] == 20


@nics
def test_timestamps(tmp_path, mechanism):
    assert_all(observe(tmp_path, mechanism, options=["--timestamps", "data"]), "tx_timestamp", CARD)


@nics
def test_timestamps_alone_copy_nothing(tmp_path, mechanism):
    seen = observe(tmp_path, mechanism, options=["--timestamps", "tsonly"])
    assert_causes(seen.record, {})


def test_bytes_that_were_not_accepted_are_not_copied(tmp_path, mechanism):
    """The kernel counts a send's requested bytes as copied, also those that the socket did not accept."""
    seen = observe(tmp_path, mechanism, 30, ["--now", "--size", 4 << 20, "--inflight", 1000], "127.0.0.1",
                   unread=True)
    zerocopy = seen.record["zerocopy"]
    assert zerocopy["bytes"] == seen.counts["bytes"] < seen.counts["sends"] * (4 << 20)
    assert zerocopy["bytes_copied"] is None or zerocopy["bytes_copied"] <= zerocopy["bytes"]


def test_notifications_behind_timestamps_count_once(tmp_path, mechanism):
    """The kernel reports a notification again when a timestamp before it is read; it must count once."""
    with receiver("127.0.0.1") as there, Observed(tmp_path, mechanism, there.sender(
            "--steps", "--inflight", 1000, "--timestamps", "tsonly")) as seen:
        for _ in range(20):
            seen.step("send 1")
            seen.step("settle")
        seen.step("drain")
    ranges = seen.record["zerocopy"]["notifications"]["ranges"]
    assert ranges is None or seen.counts["notifications"] <= ranges <= 20


@nics
def test_no_scatter_gather(tmp_path, mechanism):
    """Every send is copied, whether the error queue reports it or not."""
    with setting(f"ethtool -K {CARD} sg off", f"ethtool -K {CARD} sg on tso on"):
        seen = observe(tmp_path, mechanism, sends=200, options=["--size", 65536])
    assert_all(seen, "no_scatter_gather", CARD)
    zerocopy = seen.record["zerocopy"]
    if not lossy(seen.record) and not seen.record["lost"]["flags"]:
        assert zerocopy["copied"] == 200
        assert zerocopy["unflagged"] > 0
        assert zerocopy["flagged"] < 200


@nics
def test_no_checksum_offload(tmp_path, mechanism):
    with setting(f"ethtool -K {CARD} tx off sg on", f"ethtool -K {CARD} tx on sg on tso on"):
        if "scatter-gather: off" in do("ethtool", "-k", CARD):
            pytest.skip("without checksum offload this kernel takes scatter-gather away, too")
        assert_all(observe(tmp_path, mechanism), "software_checksum", CARD)


@contextlib.contextmanager
def tunnel(kind, *options):
    """Creates a tunnel device of this kind on both sides; its packets go through the NICs."""
    for where, here, there, address in ((), NEAR, FAR, "10.5.0.1"), (PEER, FAR, NEAR, "10.5.0.2"):
        do(*where, "ip", "link", "add", "tunnel0", "type", kind, "local", here, "remote", there,
           *options)
        do(*where, "ip", "addr", "add", address + "/24", "dev", "tunnel0")
        do(*where, "ip", "link", "set", "tunnel0", "up")
    try:
        yield
    finally:
        do("ip", "link", "del", "tunnel0")
        do(*PEER, "ip", "link", "del", "tunnel0")


def observe_inside(tmp_path, mechanism, address="10.5.0.2", sends=50):
    """Does the same as observe(), through a tunnel."""
    with Receiver(address, PEER) as there, \
            Observed(tmp_path, mechanism, there.sender("--steps")) as seen:
        seen.step(f"send {sends}")
        seen.step("drain")
    return seen


@nics
@pytest.mark.parametrize("kind", [("vxlan", "id", "5", "dstport", "4789"), ("gre",), ("ipip",)],
                         ids=lambda kind: kind[0])
def test_tunnel(tmp_path, mechanism, kind):
    """The NIC computes checksums, but not those of packets inside a tunnel."""
    with tunnel(*kind):
        seen = observe_inside(tmp_path, mechanism)
    assert_all(seen, "tunnel_checksum", CARD)
    assert "ethtool -K" not in seen.report


@nics
def test_wireguard(tmp_path, mechanism):
    """WireGuard encrypts segments, which the kernel builds without shared pages."""
    if run("modprobe", "wireguard").returncode:
        pytest.skip("this kernel has no WireGuard")
    keys = {}
    for name in "near", "far":
        secret = do("wg", "genkey").strip()
        (tmp_path / name).write_text(secret)
        keys[name] = do("sh", "-c", f"wg pubkey < {tmp_path / name}").strip()
    for where, here, there, address in ((), "near", "far", NEAR), (PEER, "far", "near", FAR):
        other = FAR if address == NEAR else NEAR
        do(*where, "ip", "link", "add", "wg0", "type", "wireguard")
        do(*where, "wg", "set", "wg0", "listen-port", "5182", "private-key", tmp_path / here,
           "peer", keys[there], "allowed-ips", "10.5.0.0/24", "endpoint", f"{other}:5182")
        do(*where, "ip", "addr", "add", address.replace("10.9", "10.5") + "/24", "dev", "wg0")
        do(*where, "ip", "link", "set", "wg0", "up")
    try:
        seen = observe_inside(tmp_path, mechanism)
    finally:
        do("ip", "link", "del", "wg0")
        do(*PEER, "ip", "link", "del", "wg0")
    zerocopy = seen.record["zerocopy"]
    if hook(seen.record, "skb copy")["mechanism"] == "tracepoint":
        # Unflagged sends count as unexplained: something changed their packets on the way.
        assert {row["cause"] for row in zerocopy["causes"]} == {"unclassified"}
        assert zerocopy["copied"] + zerocopy["unexplained"] == seen.counts["sends"]
        return
    rows = {(row["cause"], row["device"]): row["count"] for row in zerocopy["causes"]}
    assert rows.pop(("software_segmentation", "wg0")) == seen.counts["sends"] \
        or lossy(seen.record)
    assert set(rows) <= {("tunnel_checksum", "wg0")}
    note(seen.record, "software_segmentation")


# Devices and listeners between the sender and its NIC

@contextlib.contextmanager
def bridged():
    """Puts the NIC into a bridge in namespace middle; the sender reaches it by a veth, near0."""
    middle = ("ip", "-n", "middle")
    do("ip", "netns", "add", "middle")
    try:
        do("ip", "addr", "flush", "dev", CARD)
        do("ip", "link", "set", CARD, "netns", "middle")
        do("ip", "link", "add", "near0", "type", "veth", "peer", "name", "port0", "netns", "middle")
        do(*middle, "link", "add", "bridge0", "type", "bridge", "stp_state", "0",
           "forward_delay", "0")
        for port in "port0", CARD:
            do(*middle, "link", "set", port, "master", "bridge0", "up")
        do(*middle, "link", "set", "bridge0", "up")
        do("ip", "addr", "add", NEAR + "/24", "dev", "near0")
        do("ip", "link", "set", "near0", "up")
        do(*PEER, "ip", "neigh", "flush", "all")
        assert eventually(lambda: not run("ping", "-c1", "-W1", FAR).returncode)
        yield
    finally:
        run("ip", "link", "del", "near0")
        do(*middle, "link", "set", CARD, "nomaster", "down")
        do(*middle, "link", "set", CARD, "netns", str(os.getpid()))
        do("ip", "netns", "del", "middle")
        do("ip", "addr", "add", NEAR + "/24", "dev", CARD)
        do("ip", "link", "set", CARD, "up")
        do(*PEER, "ip", "neigh", "flush", "all")
        assert eventually(lambda: not run("ping", "-c1", "-W1", FAR).returncode)


@nics
def test_a_bridge_copies_nothing(tmp_path, mechanism):
    with bridged():
        seen = observe(tmp_path, mechanism)
    assert_causes(seen.record, {})
    assert seen.record["zerocopy"]["unexplained"] == 0 or lossy(seen.record)


@nics
@pytest.mark.parametrize("device", ["port0", "bridge0"])
def test_a_tap_on_a_bridge(tmp_path, mechanism, device):
    """The tap's packets are copied when they arrive at this machine, though they are only forwarded."""
    with bridged(), tap_in(MIDDLE, device):
        assert_all(observe(tmp_path, mechanism), "packet_tap", device)


@nics
def test_a_tap_on_all_devices(tmp_path, mechanism):
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL)):
        assert_all(observe(tmp_path, mechanism), "packet_tap", CARD)


@nics
def test_a_mirror(tmp_path, mechanism):
    """The mirror's clones make the kernel copy the packets' data, though the peer receives the original packets."""
    for module in "sch_ingress", "act_mirred", "cls_matchall", "dummy":
        do("modprobe", module)
    with setting("ip link add mirror0 type dummy", "ip link del mirror0"), \
            setting(f"tc qdisc add dev {CARD} clsact", f"tc qdisc del dev {CARD} clsact"):
        do("ip", "link", "set", "mirror0", "up")
        do(*f"tc filter add dev {CARD} egress matchall action mirred ingress mirror "
           "dev mirror0".split())
        seen = observe(tmp_path, mechanism)
    if seen.counts["copied"]:
        assert_all(seen, "mirror", "mirror0")
    else:  # Linux 7.2 copies only what is delivered to a socket
        assert_causes(seen.record, {})


@nics
def test_native_xdp(tmp_path, mechanism):
    """Every send is copied, and none is flagged."""
    with bridged(), setting(f"ip -n middle link set dev port0 xdpdrv obj {PACKETS} sec xdp",
                            "ip -n middle link set dev port0 xdpdrv off"):
        seen = observe(tmp_path, mechanism, sends=200)
    assert seen.counts["copied"] == 0
    zerocopy = seen.record["zerocopy"]
    if hook(seen.record, "skb cow")["status"] == "attached":
        assert_all(seen, "xdp", "port0")
        assert zerocopy["unflagged"] == 200 or lossy(seen.record)
        assert zerocopy["unexplained"] == 0 or lossy(seen.record)
    else:
        assert_causes(seen.record, {})
        assert zerocopy["unexplained"] == 200 or lossy(seen.record)


def by_program(seen, cause, device):
    """Asserts that this cause was found. Tracepoints show no BPF programs, and in some kernels no device."""
    if hook(seen.record, "skb copy")["mechanism"] == "tracepoint":
        row = only(seen.record["zerocopy"]["causes"])
        assert row["cause"] == "unclassified"
        assert row["count"] == seen.counts["sends"] or lossy(seen.record)
    else:
        assert_all(seen, cause, device)


@nics
def test_generic_xdp(tmp_path, mechanism):
    with bridged(), setting(f"ip -n middle link set dev port0 xdpgeneric obj {PACKETS} sec xdp",
                            "ip -n middle link set dev port0 xdpgeneric off"):
        by_program(observe(tmp_path, mechanism), "xdp", "port0")


@nics
def test_a_program_of_tc(tmp_path, mechanism):
    for module in "sch_ingress", "cls_bpf":
        do("modprobe", module)
    with setting(f"tc qdisc add dev {CARD} clsact", f"tc qdisc del dev {CARD} clsact"):
        do(*f"tc filter add dev {CARD} egress bpf da obj {PACKETS} sec tc".split())
        by_program(observe(tmp_path, mechanism), "tc_program", CARD)


@nics
@pytest.mark.parametrize("how", ["--fast-open", "--defer"])
def test_fast_open(tmp_path, mechanism, how):
    """Data in the first packet are copied, and are flagged only if the route was not known before."""
    def enable(where, value):
        do(*where, "sysctl", "-qw", f"net.ipv4.tcp_fastopen={value}")

    enable((), 0x607)  # 0x607: both ends, without a cookie, for all listeners
    enable(PEER, 0x607)
    try:
        with receiver() as there, \
                Observed(tmp_path, mechanism, there.sender("--steps", how)) as seen:
            seen.step("send 1" if how == "--defer" else "send 0")
            seen.step("settle")
            seen.step("send 49")
            seen.step("drain")
    finally:
        enable((), 1)
        enable(PEER, 1)
    assert seen.counts["sends"] == 50
    assert (seen.counts["copied"] > 0) == (how == "--fast-open")
    zerocopy = seen.record["zerocopy"]
    assert zerocopy["completions"] == 50
    assert_causes(seen.record, {("fast_open", CARD): 1})
    assert zerocopy["unflagged"] == (how == "--defer")
    assert zerocopy["flagged"] == (how == "--fast-open")


@nics
def test_ipsec(tmp_path, mechanism):
    """Uses the null cipher, which the kernel handles like any other."""
    addresses = f"src {NEAR} dst {FAR}"

    def there_and_back(verb, where, direction):
        if verb == "add":
            do(*where, "ip", "xfrm", "state", "add", *addresses.split(), "proto", "esp", "spi",
               "0x100", "mode", "transport", "enc", "ecb(cipher_null)", "", "auth", "digest_null",
               "")
            do(*where, "ip", "xfrm", "policy", "add", *addresses.split(), "dir", direction, "tmpl",
               *addresses.split(), "proto", "esp", "mode", "transport")
        else:
            do(*where, "ip", "xfrm", "policy", "flush")
            do(*where, "ip", "xfrm", "state", "flush")

    with receiver() as there:
        there_and_back("add", (), "out")
        there_and_back("add", PEER, "in")
        try:
            with Observed(tmp_path, mechanism, there.sender("--steps")) as seen:
                seen.step("send 50")
                seen.step("drain")
        finally:
            there_and_back("delete", (), "out")
            there_and_back("delete", PEER, "in")
    causes = {row["cause"] for row in seen.record["zerocopy"]["causes"]}
    if hook(seen.record, "skb copy")["mechanism"] == "tracepoint":
        assert causes == {"unclassified"}
    else:
        assert causes == {"ipsec"}
        note(seen.record, "ipsec")


@nics
def test_signed_segments_without_scatter_gather(tmp_path, mechanism):
    """TCP-MD5 rules out segmentation, and with it the forced scatter-gather."""
    with setting(f"ethtool -K {CARD} sg off", f"ethtool -K {CARD} sg on tso on"), \
            receiver(FAR, "--md5", NEAR) as there, \
            Observed(tmp_path, mechanism, there.sender("--steps", "--md5", FAR)) as seen:
        seen.step("send 50")
        seen.step("drain")
    assert seen.counts["copied"] == 50
    assert_causes(seen.record, {("route_no_scatter_gather", CARD): 50})


def retransmitted():
    header, values = [line.split()[1:] for line in
                      pathlib.Path("/proc/net/snmp").read_text().splitlines()
                      if line.startswith("Tcp:")]
    return int(values[header.index("RetransSegs")])


@nics
def test_optmem_that_notifications_in_progress_take(tmp_path, mechanism):
    do("modprobe", "sch_netem")
    with setting(f"tc qdisc add dev {CARD} root netem delay 200ms",
                 f"tc qdisc del dev {CARD} root"), sysctl("net.core.optmem_max", 4096):
        refused(tmp_path, mechanism, "optmem", "ENOBUFS", sends=100,
                options=["--inflight", 1000, "--size", 300000])


@nics
def test_loss_and_retransmission_copy_nothing(tmp_path, mechanism):
    do("modprobe", "sch_netem")
    with receiver() as there, Observed(tmp_path, mechanism, there.sender("--steps")) as seen:
        seen.step("send 48")
        seen.step("settle")
        before = retransmitted()
        with setting(f"tc qdisc add dev {CARD} root netem loss 100%",
                     f"tc qdisc del dev {CARD} root"):
            seen.step("send 2")
            assert eventually(lambda: retransmitted() > before)
        seen.step("drain")
    assert seen.counts["copied"] == 0 and seen.counts["sends"] == 50
    assert_causes(seen.record, {})


@nics
def test_a_queueing_discipline_that_changes_packets(tmp_path, mechanism):
    """The kernel copies packets before it corrupts them. How many are corrupted is chance."""
    do("modprobe", "sch_netem")
    with setting(f"tc qdisc add dev {CARD} root netem corrupt 10%",
                 f"tc qdisc del dev {CARD} root"):
        seen = observe(tmp_path, mechanism, sends=100)
    assert {row["cause"] for row in seen.record["zerocopy"]["causes"]} == {"qdisc"}
    note(seen.record, "qdisc")


@nics
def test_two_sockets_with_a_cause_each(tmp_path, mechanism):
    with receiver() as far, receiver("127.0.0.1") as here, tap(CARD):
        both = " & ".join(" ".join(there.sender("--sends", sends))
                          for there, sends in ((far, 40), (here, 70)))
        file = tmp_path / "record.json"
        result = run(ANALYZE, "--json", file, "--mechanism", mechanism, "--", "sh", "-c", both + "; wait")
    assert result.returncode == 0, result.stderr
    record = check(json.loads(file.read_text()))
    assert_causes(record, {("packet_tap", CARD): 40, ("loopback", "lo"): 70})
    assert record["zerocopy"]["copied"] == 110 or lossy(record)


@nics
def test_a_cause_that_cannot_be_found_is_not_guessed(tmp_path, mechanism):
    """While the kernel hides addresses, no frame of a stack can be named."""
    with sysctl("kernel.kptr_restrict", 2), tap(CARD):
        seen = observe(tmp_path, mechanism)
    if hook(seen.record, "skb copy")["mechanism"] == "tracepoint":  # tracepoints need no addresses
        if "coalesced" not in reason(seen.record, "completion"):
            assert_causes(seen.record, {("packet_tap", CARD): 50})
            return
        row = only(seen.record["zerocopy"]["causes"])
        assert (row["cause"], row["device"]) == ("packet_tap", CARD) and 0 < row["count"] <= 50
        return
    row = only(seen.record["zerocopy"]["causes"])
    assert (row["cause"], row["device"], row["stack"]) == ("unclassified", CARD, [])
    assert row["count"] == 50 or lossy(seen.record)


@pytest.mark.skipif(os.environ.get("SENDPATH_TOPOLOGY") != "vmxnet3",
                    reason="needs the lab's topology vmxnet3")
def test_driver(tmp_path, mechanism):
    """The driver accepts packets of at most 16 frags; the head and each page are one frag each."""
    seen = observe(tmp_path, mechanism, options=["--parts", 17, "--size", 1360, "--inflight", 1])
    if hook(seen.record, "skb copy")["mechanism"] == "tracepoint":
        assert_causes(seen.record, {("unclassified", CARD): seen.counts["copied"]})
    else:
        assert_all(seen, "driver", CARD)
