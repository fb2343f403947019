# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests --by: each group has the counts of its sender, and the groups add up to the whole."""

import contextlib
import json
import os
import re
import shlex
import shutil

import pytest

from conftest import (CALLS, NOTHING_LOST, MECHANISMS, Receiver, analyze, check, losses, needs_bpf,
                      only, reason, records, run, veth_pair)
from test_observe import group  # noqa: F401 (a fixture)

pytestmark = needs_bpf

SENDS = min(1000, CALLS // 10)


def observe(*args, **kwargs):
    """Observes a command. Returns the record, and the command's own output."""
    result = analyze("--json", "-", *args, **kwargs)
    assert result.returncode == 0, result.stderr
    *own, last = result.stdout.splitlines()
    return check(json.loads(last)), [json.loads(line) for line in own]


def all_at_once(*commands):
    """Returns a command that runs several commands at once and waits for all of them."""
    return ["sh", "-c", " & ".join(" ".join(c) for c in commands) + " & wait"]


def group_sums(rows):
    keys = ("requests", "ignored", "refused", "bytes", "completions", "copied")
    zerocopy = [row["zerocopy"] for row in rows if row["zerocopy"]]
    return {"sends": sum(r["sends"] for r in rows), "failed": sum(r["failed"] for r in rows),
            "bytes": sum(r["bytes"] for r in rows),
            "timed": sum(r["wall_ns"]["count"] for r in rows),
            "ns": sum(r["wall_ns"]["sum"] for r in rows),
            **{"zerocopy " + key: sum(z[key] or 0 for z in zerocopy) for key in keys}}


def totals(record):
    calls, zerocopy = record["calls"], record["zerocopy"]
    timed = [c["wall_ns"] for c in calls if c["wall_ns"]]
    return {"sends": sum(c["sends"] for c in calls),
            "failed": sum(sum(c["errors"].values()) for c in calls),
            "bytes": sum(c["bytes"] for c in calls),
            "timed": sum(t["count"] for t in timed), "ns": sum(t["sum"] for t in timed),
            "zerocopy requests": zerocopy["requests"], "zerocopy ignored": zerocopy["ignored"],
            "zerocopy refused": sum(r["count"] for r in zerocopy["refused"]),
            "zerocopy bytes": zerocopy["bytes"],
            "zerocopy completions": zerocopy["completions"] or 0,
            "zerocopy copied": zerocopy["copied"] or 0}


def assert_adds_up(record):
    by = record["by"]
    assert group_sums(by["groups"] + ([by["rest"]] if by["rest"] else [])) == totals(record)
    peers = record["zerocopy"]["peers"]
    rest = [record["zerocopy"]["peers_rest"]] if record["zerocopy"]["peers_rest"] else []
    for key in ("requests", "ignored", "refused", "bytes", "completions", "copied"):
        assert sum(p[key] or 0 for p in peers + rest) == totals(record)["zerocopy " + key]


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("by", ["process", "device", "port", "process,device,port"])
def test_groups_add_up_to_the_whole(by, mechanism, untouched):
    with Receiver() as v4, Receiver("::1") as v6:
        record, own = observe("--mechanism", mechanism, "--by", by, "--", *all_at_once(
            v4.sender("--sends", SENDS), v4.sender("--sends", SENDS, "--plain"),
            v6.sender("--sends", SENDS // 2, "--by", "send", "--connections", 5),
            v6.sender("--sends", SENDS // 2, "--without-option")))
    assert record["by"]["dimensions"] == by.split(",")
    assert len(record["by"]["groups"]) == {"process": 4, "device": 1, "port": 2}.get(by, 4)
    assert_adds_up(record)
    assert totals(record)["sends"] + record["lost"]["calls"] == sum(
        o["sends"] + o["failed"] for o in own)
    if "loses returns" not in reason(record, "send"):
        assert losses(record) == NOTHING_LOST
        assert totals(record)["bytes"] == sum(o["bytes"] for o in own)


def test_each_process_as_it_counted(untouched):
    """Each process sends with a size of its own, which identifies its group."""
    sizes = {1000 * (i + 1): SENDS + 10 * i for i in range(4)}
    with Receiver() as receiver:
        record, _ = observe("--by", "process", "--", *all_at_once(
            *(receiver.sender("--sends", n, "--size", size, "--plain")
              for size, n in sizes.items())))
    groups = record["by"]["groups"]
    assert {g["bytes"] // g["sends"]: g["sends"] for g in groups} == sizes
    assert {g["comm"] for g in groups} == {"peer"}
    assert len({g["pid"] for g in groups}) == 4
    assert [g["bytes"] for g in groups] == sorted((g["bytes"] for g in groups), reverse=True)


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize("by", ["sendmsg", "sendmmsg", "send"])
def test_peers_of_zero_copy_sends(by, mechanism, untouched):
    """Each peer has the counts of its sender, also without --by."""
    counts = {"127.0.0.1": SENDS, "::1": SENDS // 2}
    with contextlib.ExitStack() as stack:
        receivers = [stack.enter_context(Receiver(address)) for address in counts]
        record, own = observe("--mechanism", mechanism, "--", *all_at_once(
            *(r.sender("--sends", counts[r.address], "--by", by) for r in receivers)))
        ports = {r.address: r.port for r in receivers}
    assert record["by"] is None
    if by == "sendmmsg" and "sees sendto, sendmsg" in reason(record, "send"):
        assert not record["calls"]  # the plan warned that these calls are missed
        return
    zerocopy = record["zerocopy"]
    assert {p["address"]: p["port"] for p in zerocopy["peers"]} == ports
    assert {p["address"]: p["requests"] for p in zerocopy["peers"]} == counts
    assert {p["device"] for p in zerocopy["peers"]} == {"lo"}
    assert zerocopy["peers_rest"] is None
    if zerocopy["completions"] is not None:
        assert {p["address"]: p["completions"] for p in zerocopy["peers"]} == counts
        assert sum(p["copied"] for p in zerocopy["peers"]) == zerocopy["copied"]
    assert sum(o["completions"] for o in own) == zerocopy["requests"]


def test_groups_that_find_no_room_are_reported_and_stay_in_the_sums(untouched):
    with contextlib.ExitStack() as stack:
        receivers = [stack.enter_context(Receiver()) for _ in range(5)]
        command = all_at_once(*(r.sender("--sends", 100) for r in receivers))
        record, _ = observe("--by", "port", "--by-max", 2, "--", *command)
    assert len(record["by"]["groups"]) == 2
    assert record["by"]["rest"]["sends"] == 300
    assert losses(record) == {**NOTHING_LOST, "groups": 300}
    assert_adds_up(record)


def test_the_table_shows_twenty(untouched):
    with contextlib.ExitStack() as stack:
        receivers = [stack.enter_context(Receiver()) for _ in range(23)]
        text = analyze("--by", "port", "--", *all_at_once(
            *(r.sender("--sends", 10) for r in receivers))).stderr
    assert len(re.findall(r"^127\.0\.0\.1:\d+ ", text, re.M)) == 20


def test_a_name_that_would_write_on_the_terminal(untouched):
    script = ("import socket; open('/proc/self/comm', 'w').write('\\x1b[31m\\n\\u00e9')\n"
              "l = socket.create_server(('127.0.0.1', 0))\n"
              "socket.create_connection(l.getsockname()).send(b'x')\n")
    text = analyze("--by", "process", "--", "/usr/bin/python3", "-c", script).stderr
    assert r"\x1b[31m\x0a\xc3\xa9" in text
    assert "\x1b" not in text


def test_devices_of_several_namespaces(tmp_path, untouched):
    """Each namespace has its own loopback device; all have the same name and index."""
    if not shutil.which("unshare") or run("unshare", "-n", "true").returncode:
        pytest.skip("no network namespace can be made here")
    script = tmp_path / "one.py"
    # The second sender runs inside the first, so that the inode number of the first namespace is not reused.
    inside = "ip link set lo up && exec /usr/bin/python3 "
    script.write_text("import os, socket, subprocess, sys\n"
                      "print(os.stat('/proc/self/ns/net').st_ino, flush=True)\n"
                      "l = socket.create_server(('127.0.0.1', 0))\n"
                      "s = socket.create_connection(l.getsockname())\n"
                      "for _ in range(10): s.send(b'x' * 100)\n"
                      "if sys.argv[1] == 'first':\n"
                      f"    subprocess.run(['unshare', '-n', 'sh', '-c', '{inside}{script} last'])\n")
    command = ["unshare", "-n", "sh", "-c", f"{inside}{script} first"]
    record, own = observe("--by", "device", "--", *command)
    groups = record["by"]["groups"]
    assert {g["netns"] for g in groups} == set(own)
    assert [(g["ifindex"], g["device"], g["sends"]) for g in groups] == [(1, "lo", 10)] * 2
    text = analyze("--by", "device", "--", *command).stderr
    assert len(re.findall(r"^lo@\d+ ", text, re.M)) == 2


def inside(path, *command):
    """Returns a command that creates a control group and runs in it."""
    return ["sh", "-c", 'mkdir -p "$0" && echo 0 > "$0/cgroup.procs" && exec "$@"', path, *command]


def quoted(*commands):
    """Quotes the words of commands for all_at_once()."""
    return [[shlex.quote(word) for word in command] for command in commands]


def by_path(record, group):
    """Returns {path below the test's own control group: group of the record}."""
    top = "/" + os.path.basename(group)
    paths = {g["cgroup"]: g for g in record["by"]["groups"]}
    assert all(path.startswith(top) for path in paths) and len(paths) == len(record["by"]["groups"])
    return {path.removeprefix(top): g for path, g in paths.items()}


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_control_groups_within_each_other(mechanism, group, untouched):
    """Sends complete in the context of the receiver, which is in another control group."""
    sends = {"/a": SENDS, "/a/b": SENDS // 2, "/a/b/c.d": SENDS // 4}
    with Receiver() as receiver:
        record, own = observe("--mechanism", mechanism, "--by", "cgroup", "--", *all_at_once(*quoted(
            *(inside(group + path, *receiver.sender("--sends", n)) for path, n in sends.items()))))
    assert record["by"]["dimensions"] == ["cgroup"]
    groups = by_path(record, group)
    assert {path: g["zerocopy"]["requests"] for path, g in groups.items()} == sends
    assert {g[key] for g in groups.values() for key in ("runtime", "container", "pod")} == {None}
    assert_adds_up(record)
    if "loses returns" not in reason(record, "send"):
        assert {path: g["sends"] for path, g in groups.items()} == sends
        assert sum(o["bytes"] for o in own) == totals(record)["bytes"]
    if record["zerocopy"]["completions"] is not None and losses(record) == NOTHING_LOST:
        assert {path: g["zerocopy"]["completions"] for path, g in groups.items()} == sends


def test_control_groups_that_were_removed(group, untouched):
    name = f"docker-{'0a' * 32}.scope"
    with Receiver() as receiver:
        gone = quoted(inside(f"{group}/{name}", *receiver.sender("--sends", 10)))
        record, _ = observe("--by", "process,cgroup", "--", "sh", "-c",
                            f"{' '.join(only(gone))}; rmdir {group}/{name}")
    assert not os.path.exists(f"{group}/{name}")
    found = by_path(record, group)[f"/{name}"]
    assert (found["sends"], found["comm"]) == (10, "peer")
    assert (found["runtime"], found["container"], found["pod"]) == ("docker", "0a" * 32, None)


MOVES = """
import os, socket, sys
listener = socket.create_server(("127.0.0.1", 0))
near = socket.create_connection(listener.getsockname())
for i in range(int(sys.argv[2])):
    os.mkdir(f"{sys.argv[1]}/{i}")
    with open(f"{sys.argv[1]}/{i}/cgroup.procs", "w") as procs:
        procs.write("0")
    near.send(b"x" * (i + 1))
"""


def test_a_process_that_moves_through_more_control_groups_than_there_is_room_for(group, untouched):
    record, _ = observe("--by", "cgroup", "--by-max", 20, "--", "/usr/bin/python3", "-c", MOVES, group, 30)
    groups = by_path(record, group)
    assert {path: g["bytes"] for path, g in groups.items()} == {f"/{i}": i + 1 for i in range(20)}
    assert record["by"]["rest"]["sends"] == losses(record)["groups"] == 10
    assert_adds_up(record)


def test_a_path_that_is_not_wholly_read(group, untouched):
    deep = group + "/d" * 20
    with Receiver() as receiver:
        record, _ = observe("--by", "cgroup", "--", *inside(deep, *receiver.sender("--sends", 10)))
    found = only(record["by"]["groups"])
    assert (found["cgroup"], found["sends"]) == (None, 10)
    assert "more than 16 names" in only([r["reason"] for r in record["unmeasured"]
                                      if r["key"] == "by.groups.cgroup"])


def test_names_of_control_groups_that_would_write_on_the_terminal(group, untouched):
    path = group + os.fsdecode(b'/\x1b[31m"\xff\xc3\xa9\\')
    with Receiver() as receiver:
        result = analyze("--json", "-", "--by", "cgroup", "--", *inside(path, *receiver.sender("--sends", 10)))
        text = analyze("--by", "cgroup", "--", *inside(path, *receiver.sender("--sends", 10))).stderr
    found = only(json.loads(result.stdout.splitlines()[-1])["by"]["groups"])["cgroup"]
    assert found.endswith('/\x1b[31m"\\xff\u00e9\\') and "\x1b" not in text
    assert r'\x1b[31m"\xff' in text


def test_an_ipv4_receiver_of_an_ipv6_socket(untouched):
    script = ("import socket\n"
              "l = socket.create_server(('127.0.0.1', 0))\n"
              "s = socket.socket(socket.AF_INET6)\n"
              "s.connect(('::ffff:127.0.0.1', l.getsockname()[1]))\n"
              "s.send(b'x')\n")
    record, _ = observe("--by", "port", "--", "/usr/bin/python3", "-c", script)
    assert only(record["by"]["groups"])["remote_address"] == "127.0.0.1"


def test_one_port_of_several_addresses(untouched):
    script = ("import socket\n"
              "l = socket.create_server(('', 0))\n"
              "for a in '127.0.0.1', '127.0.0.2':\n"
              "    socket.create_connection((a, l.getsockname()[1])).send(b'x')\n")
    record, _ = observe("--by", "port", "--", "/usr/bin/python3", "-c", script)
    group = only(record["by"]["groups"])
    assert (group["sends"], group["remote_address"]) == (2, None)


def test_a_load(untouched):
    found = records("--variant", "onecopy,zerocopy", "--messages", SENDS, "--threads", 2, "--by",
                    "process,port")
    for record in found:
        group = only(record["by"]["groups"])
        assert group["pid"] == record["load"]["sender_pid"]
        assert group["sends"] == sum(c["sends"] for c in record["calls"])
        if record["zerocopy"]:
            assert_adds_up(record)
    assert found[0]["zerocopy"] is None


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_copies_without_a_flag_count_in_groups_and_lines(mechanism, tmp_path, untouched):
    """A device without scatter-gather copies all sends; how many of them are flagged is chance."""
    path = tmp_path / "record"
    with veth_pair() as (near, far, address), Receiver(address, far) as receiver:
        off = run(*near, "ethtool", "-K", "near0", "sg", "off")
        if off.returncode:
            pytest.skip(f"ethtool: {off.stderr.strip()}")
        result = analyze("--mechanism", mechanism, "--by", "device", "--interval", 30, "--json", path, "--",
                         *near, *receiver.sender("--sends", 300, "--size", 65536))
    record = check(json.loads(path.read_text()))
    zerocopy = record["zerocopy"]
    if zerocopy["unflagged"] is None:  # no attached hook sees unflagged copies
        assert_adds_up(record)
        return
    assert zerocopy["unflagged"] + zerocopy["flagged"] == zerocopy["copied"], zerocopy
    assert_adds_up(record)
    if not losses(record)["flags"]:
        assert zerocopy["copied"] == zerocopy["completions"] == 300
        assert only(re.findall(r"^near0 .* 300 +(\S+ %)$", result.stderr, re.M)) == "100 %"
        assert only(re.findall(r"^ +\d+\.\d +300 .* (\S+ %)$", result.stderr, re.M)) == "100 %"


@pytest.mark.parametrize("args,words", [
    (["--by", "colour"], ["--by colour", "process, device, port, cgroup"]),
    (["--by", ""], ["--by", "process, device, port, cgroup"]),
    (["--by", "process,"], ["--by process,"]),
    (["--by-max", "0"], ["--by-max 0", "1 to 16777216"]),
    (["--by-max", "99999999999"], ["--by-max"]),
    (["--by", "port", "--mechanism", "none", "--variant", "onecopy"], ["--by", "--mechanism none"]),
])
def test_wrong_use_is_one_line(args, words, untouched):
    result = analyze(*args)
    assert result.returncode == 2, result.stderr
    line = only(result.stderr.splitlines())
    for word in words:
        assert word in line
