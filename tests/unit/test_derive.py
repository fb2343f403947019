# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests the records that are derived from raw lines, for runs of each kind and mechanism.

The expected records were derived by another implementation from the same runs.
"""

import bisect
import copy
import json
import pathlib
import resource
import subprocess
import sys

import pytest
from hypothesis import given, strategies as st

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from analysis.derive import hist  # noqa: E402
from analysis.derive.record import BadRaw, record_of  # noqa: E402
from analysis.derive.run import error_name  # noqa: E402

KEPT = sorted((ROOT / "tests/fixtures/raw").glob("*.json"))
COMMAND = [sys.executable, "-I", "-B", "-S", str(ROOT / "analysis/__main__.py"), "derive", "-", "--json", "-"]


def kept(path):
    pair = json.loads(path.read_text(encoding="ascii"))
    return pair["raw"], pair["record"]


def named(name):
    return kept(ROOT / f"tests/fixtures/raw/{name}.json")[0]


def equal(text):
    """Returns the record as a reader of its JSON sees it."""
    return json.loads(json.dumps(text))


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_records_are_as_expected(path):
    raw, expected = kept(path)
    before = copy.deepcopy(raw)
    assert equal(record_of(raw)) == expected
    assert raw == before


def test_a_failure():
    raw = named("zerocopy_load")
    failure = {key: raw[key] for key in ("schema", "version", "started_s", "started_ns", "run", "host",
                                         "load")}
    record = record_of({**failure, "outcome": "skipped", "error": "why"})
    assert (record["schema"], record["outcome"], record["error"], record["complete"]) == (
        "sendpath.failure/1", "skipped", "why", False)
    assert record["started"].endswith("Z") and record["load"] == raw["load"]


@pytest.mark.parametrize("others, sender, receiver, pressure, busy, disturbed", [
    (0.00, 0.00, 0.00, 0.0, 2, None), (0.25, 0.00, 0.00, 0.0, 2, "other programs took 25 % of the CPUs' time"),
    (0.10, 0.10, 0.40, 0.0, 2, "the receiver waited for a CPU in 40 % of its runnable time"),
    (0.10, 0.30, 0.00, 0.0, 2, "the sender waited for a CPU in 30 % of its runnable time"),
    (0.00, 0.10, 0.40, 0.0, 2, None),  # the receiver waited only for the load's own softirqs
    (0.10, 0.60, 0.60, 0.0, 4, None),  # the load's threads waited only for each other
    (0.10, 0.75, 0.60, 0.0, 4, "the sender waited for a CPU in 75 % of its runnable time"),
    (0.10, 0.10, 0.10, 0.9, 2, None), (0.10, None, None, 0.9, 2, "something waited for a CPU in 90 % of the time"),
    (None, 0.90, 0.90, 0.9, 2, None)])  # too short a window
def test_what_disturbs_a_run(others, sender, receiver, pressure, busy, disturbed):
    raw = named("copying_load")
    own = raw["app"]["user_s"] + raw["app"]["system_s"] + sum(raw["app"]["receiver"].values())
    raw["load"]["threads"], raw["host"]["nproc"] = busy // 2, 2
    busy_ticks = round(10**6 * (others or 0) + 100 * own)
    raw["noise"].update(hz=100, opened={**raw["noise"]["opened"], "stat": "cpu 0 0 0 0 0 0 0 0"}, closed={
        **raw["noise"]["closed"], "time_s": 1.0, "pressure": f"some total={round(1e6 * pressure)}",
        "stat": None if others is None else f"cpu {busy_ticks} 0 0 {10**6 - busy_ticks} 0 0 0 0",
        **{side: None if waited is None else [round(1e9 * (1 - waited)), round(1e9 * waited)]
           for side, waited in (("sender", sender), ("receiver", receiver))}})
    assert record_of(raw)["noise"]["disturbed"] == disturbed


@given(st.lists(st.integers(0, (1 << 42) - 1), min_size=1, max_size=60),
       st.sampled_from([hist.FINE, hist.COARSE]))
def test_a_histogram_holds_what_was_put_in(values, sub_bits):
    raw = {"sum": sum(values), "min": min(values), "max": max(values), "buckets": {}}
    for value in values:
        index = str(hist.bucket_of(value, sub_bits))
        raw["buckets"][index] = raw["buckets"].get(index, 0) + 1
    found = hist.Hist(raw, sub_bits).json("span")
    assert (found["count"], found["min"], found["max"]) == (len(values), min(values), max(values))
    for (_, high, _), (low, _, _) in zip(found["buckets"], found["buckets"][1:]):
        assert high < low
    last = hist.bucket_of(1 << hist.MAX_BITS, sub_bits)  # the last bucket has no end
    for name, per_mille in hist.POINTS:
        rank = -(-len(values) * per_mille // 1000)
        exact = sorted(values)[rank - 1]
        width = max(exact >> sub_bits, 1)
        assert exact <= found[name] <= found["max"]
        assert found[name] <= exact + width or hist.bucket_of(exact, sub_bits) == last
    for value in values:
        i = bisect.bisect_right([low for low, _, _ in found["buckets"]], value) - 1
        assert found["buckets"][i][0] <= value <= found["buckets"][i][1]


@pytest.mark.parametrize("least, most", [(70000, 1000), (0, 0)])
def test_bounds_that_lag_behind_the_buckets_follow_from_them(least, most):
    buckets = {str(hist.bucket_of(1000, 4)): 1, str(hist.bucket_of(70000, 4)): 1}
    found = hist.Hist({"sum": 71000, "min": least, "max": most, "buckets": buckets})
    assert found.min <= 1000 < found.min * 17 / 16 and 70000 <= found.max < 70000 * 17 / 16


def test_errors_have_the_names_that_programs_use():
    assert [error_name(error) for error in (11, 32, 95, 105, 134, 0)] == [
        "EAGAIN", "EPIPE", "EOPNOTSUPP", "ENOBUFS", "ERESTARTSYS", "other"]


def misses(*states):
    """Returns the memory estimate from the LLC misses of both ends, without memory controllers."""
    raw = named("copying_load")
    raw["counters"] = [{"event": "LLC-load-misses", "pmu": "cpu", "scope": scope, "value": value,
                        "unit": "", "enabled_ns": 1, "running_ns": 1, "status": status, "reason": ""}
                       for scope, (status, value) in zip(("sender", "receiver"), states)]
    raw["memory"] = {"asked": [], "counted": True, "reason": "", "io_reason": "", "line": 64, "text": ""}
    raw["app"] = {**raw["app"], "bytes": 32000, "elapsed_s": 2.0}
    return record_of(raw)


def test_misses_of_both_ends_are_an_estimate_of_reads():
    memory = misses(("counted", 1000.0), ("counted", 500.0))["memory"]
    assert (memory["is_estimate"], memory["scope"]) == (True, "sender and receiver")
    assert memory["read_bytes"] == 1500 * 64 and memory["read_bytes_per_s"] == 750 * 64
    assert memory["bytes_per_byte"] == 3 and memory["write_bytes"] is None


def test_without_misses_all_is_null_with_a_reason():
    record = misses(("counted", 1000.0), ("not supported", 0.0))
    memory = {key: value for key, value in record["memory"].items() if key not in ("scope", "events")}
    assert set(memory.values()) == {None}
    reasons = [row["reason"] for row in record["unmeasured"] if row["key"].startswith("memory.")]
    assert len(reasons) == 12 and all("not supported" in reason for reason in reasons)


def test_the_largest_group_comes_first_and_equals_keep_their_order():
    raw = named("by_all_three")
    key, group = raw["maps"]["groups"][0]
    rows = [(3, 10), (2, 30), (1, 10)]
    for order in (rows, rows[::-1]):
        raw["maps"]["groups"] = [[{**key, "port": port}, {**group, "bytes": size}]
                                 for port, size in order]
        ports = [row["remote_port"] for row in record_of(raw)["by"]["groups"]]
        assert ports == [2, 1, 3]


@pytest.mark.parametrize("cgroup2, path, cgroup", [
    (True, {"whole": 1, "names": "web.service/system.slice/"}, "/system.slice/web.service"),
    (True, {"whole": 1, "names": ""}, "/"), (True, {"whole": 0, "names": "leaf/"}, None), (True, None, None),
    (False, {"whole": 1, "names": ""}, None)])
def test_the_control_group_of_a_group(cgroup2, path, cgroup):
    raw = named("by_all_three")
    key, group = raw["maps"]["groups"][0]
    key = {"cgroup": 77, **key}
    raw["setup"].update(by=["cgroup"], cgroup2=cgroup2)
    raw["maps"].update(groups=[[key, group]], group_paths=[[dict(key), path]] if path else [])
    record = record_of(raw)
    (row,) = record["by"]["groups"]
    assert (row["cgroup"], row["container"]) == (cgroup, None)
    reasons = [row["reason"] for row in record["unmeasured"] if row["key"] == "by.groups.cgroup"]
    assert len(reasons) == (cgroup is None)
    assert all(("version 2" in reason) != cgroup2 for reason in reasons)


def test_parts_of_sends_are_null_where_they_are_not_read():
    raw = named("zerocopy_load")
    assert record_of(raw)["zerocopy"]["segments"] is None  # this line is older than these counts
    raw["maps"]["send_shapes"] = {"0": {"sends": 3, "segments": 6, "unread": 1, "small": 2, "small_bytes": 400,
                                        "headed": 2, "header_bytes": 400, "min": 200}}
    assert record_of(raw)["zerocopy"]["segments"] == {
        "sends": 3, "count": 6, "unread": 1, "smallest": 200, "small": 2, "small_bytes": 400, "headed": 2,
        "header_bytes": 400}
    (send,) = [hook for hook in raw["plan"] if hook["name"] == "send"]
    send["span"] = "syscall"
    record = record_of(raw)
    assert record["zerocopy"]["segments"] is None
    assert "zerocopy.segments" in {row["key"] for row in record["unmeasured"]}


def test_waits_are_null_where_completions_are_not_followed():
    raw = named("zerocopy_load")
    assert record_of(raw)["zerocopy"]["waits"] is None  # this line is older than these counts
    raw["maps"]["send_waits"] = {"0": {"depths": {"0": 3, "2": 5}, "intervals": 7, "interval_ns": 900,
                                       "awaited": {"1": 2}, "awaited_ns": {"1": 800}}}
    waits = record_of(raw)["zerocopy"]["waits"]
    assert waits["wait_ns"].pop("buckets") == [] and waits.pop("wait_ns")["count"] == 0
    assert waits == {"in_flight": [{"from": 0, "sends": 3}, {"from": 2, "sends": 5}], "intervals": 7,
                     "interval_ns": 900, "awaited": [{"reason": "delayed_ack", "sends": 2, "ns": 800}]}
    (hook,) = [hook for hook in raw["plan"] if hook["name"] == "send id"]
    hook.update(status="unavailable", reason="the kernel has no such function")
    record = record_of(raw)
    assert record["zerocopy"]["waits"] is None
    assert "zerocopy.waits" in {row["key"] for row in record["unmeasured"]}


def leaves(value, path=()):
    if isinstance(value, dict):
        for key in value:
            yield from leaves(value[key], (*path, key))
    elif isinstance(value, list):
        for i, item in enumerate(value):
            yield from leaves(item, (*path, i))
    else:
        yield path


ANYTHING = st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) |
                        st.text(max_size=8), lambda inner: st.lists(inner, max_size=3) |
                        st.dictionaries(st.text(max_size=8), inner, max_size=3), max_leaves=6)


@given(st.sampled_from(KEPT), st.data())
def test_any_damage_makes_a_record_or_an_error_message(path, data):
    raw, _ = kept(path)
    place = data.draw(st.sampled_from(list(leaves(raw))))
    *parents, last = place[:data.draw(st.integers(1, len(place)))]
    part = raw
    for key in parents:
        part = part[key]
    part[last] = data.draw(ANYTHING)
    try:
        json.dumps(record_of(raw))
    except BadRaw as error:
        assert str(error)


def test_a_record_for_each_line_and_an_end_for_what_is_none():
    raw, expected = kept(KEPT[0])
    line = json.dumps(raw).encode() + b"\n"
    done = subprocess.run(COMMAND, input=line * 2, capture_output=True, check=True, timeout=60)
    assert [json.loads(text) for text in done.stdout.splitlines()] == [expected] * 2
    for wrong in (b"{", b"[]", b'{"schema": "sendpath.raw/9"}', b"\xff", b"[" * 100_000):
        done = subprocess.run(COMMAND, input=wrong + b"\n" + line, capture_output=True, timeout=60,
                              check=False)
        assert (done.returncode, done.stdout) == (1, b"")
        assert done.stderr.startswith(b"analyze: derive: -: line 1 is no raw line: ") and done.stderr.count(b"\n") == 1


def test_records_that_cannot_be_written_name_their_file(tmp_path):
    done = subprocess.run([*COMMAND[:-1], tmp_path / "records"], input=json.dumps(kept(KEPT[0])[0]).encode() + b"\n",
                          capture_output=True, timeout=60, check=False,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (10, 10)))
    assert done.returncode == 1 and done.stderr.startswith(f"analyze: derive: {tmp_path}/records: ".encode())


def profile_of(frames, slot=6):
    """Returns the only stack of a profile. frames: innermost first; slot: by default, that of a zero-copy sendmsg."""
    raw = copy.deepcopy(named("profile"))
    raw["profile"].update(functions=frames, stacks=[
        {"slot": slot, "role": 1, "samples": 3, "frames": list(range(len(frames)))}])
    return record_of(raw)["profile"]["stacks"]


SEND = ["tcp_sendmsg_locked", "tcp_sendmsg"]
SOFTIRQ = ["net_rx_action", "handle_softirqs", "__local_bh_enable_ip", "tcp_write_xmit", *SEND]


@pytest.mark.parametrize("frames,slot,context,stage", [
    (["gup_fast", "skb_zerocopy_iter_stream", *SEND], 6, "send", "pin"),
    (SEND, 6, "send", "loop"), (SEND, 5, "send", "copy"),
    (["ip_output", "tcp_write_xmit", *SEND], 6, "send", "transmit"),
    (["tcp_v4_rcv", *SOFTIRQ], 6, "softirq", "softirq"),
    (["memcpy", "skb_copy_ubufs", "ip_rcv", *SOFTIRQ], 6, "softirq", "deep_copy"),
    (["run_timer_softirq", *SOFTIRQ[1:]], 6, "softirq", "interrupt"),
    (["lock_sock_nested", "tcp_sendmsg"], 0, "send", "lock"),
    (["release_sock", "tcp_sendmsg"], 6, "send", "release"),
    (["bpf_prog_0123456789abcdef_send_length"], 6, "send", "unaccounted"),
    (["inet_recv_error", "tcp_recvmsg"], 0, "error_queue", None),
    (["_copy_to_iter", "tcp_recvmsg_locked"], 0, "receive", None),
    (["vfs_read"], 0, "kernel", None), ([], 0, "program", None)])
def test_a_stack_has_a_context_and_a_stage(frames, slot, context, stage):
    stack, = profile_of(frames, slot)
    assert (stack["context"], stack["stage"], stack["samples"]) == (context, stage, 3)
    assert stack["functions"] == ([] if context in ("kernel", "program") else
                                  [name.replace("0123456789abcdef_", "") for name in frames[::-1]])


@pytest.mark.parametrize("index", [2, 255])
def test_a_counter_that_a_cpu_claimed_in_vain_changes_no_cause(index):
    """If two CPUs see the first copies of a cause at once, each claims a counter, but only one counter is used."""
    raw = named("unflagged_fentry")
    expected = record_of(copy.deepcopy(raw))["zerocopy"]["causes"]
    (_, info), = raw["maps"]["cause_infos"]
    raw["maps"]["cause_infos"].append([index, copy.deepcopy(info)])
    assert record_of(raw)["zerocopy"]["causes"] == expected and expected[0]["count"] == 1
