# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests the advice about a program's sends, by size, if the size from which zero-copy pays is known."""

import copy
import dataclasses
import json
import os
import pathlib
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
from analysis.advise import advise, path_text  # noqa: E402
from analysis.advise.program import Class, Program, class_verdict, parse, with_small_sends  # noqa: E402
from analysis.advise.program_text import lines, recommendation  # noqa: E402
from analysis.advise.runs import Engine, Path  # noqa: E402
from analysis.advise.search import SIZES, Answer, Ratio, crossover  # noqa: E402
from analysis.findings import facts, rules  # noqa: E402
from analysis.tables.advice import CALLS, METRICS  # noqa: E402

ETH0 = Path("none of 300 zero-copy sends to 10.9.0.2:40325 via eth0 was copied: zero-copy works here.",
            True, 0.0, False, None, True, None, "eth0", 131072, 8388608, None, ())


def answers(kind="from", worse=32 << 10, better=64 << 10):
    return [Answer(against, metric, kind, worse, better, (Ratio(
        "zerocopy", against, metric, 1 << 20, "better", None, 0.6, (0.54, 0.72), 0.999, 11, 0.1, None),))
            for metric in METRICS for against in CALLS]


def program(*sends, zerocopy=(), device="eth0", share=1.0, **more):
    """Returns a program that sends by sendto: (size, count). All sends of a class have the same size."""
    classes = {}
    for how, requests in ((sends, False), (zerocopy, True)):
        for size, count in how:
            low = 1 << (size.bit_length() - 1)
            classes.setdefault(low, Class(low, 2 * low - 1)).add("sendto", requests, count, size * count)
    found = more.pop("facts", [facts.Facts(requests=1000.0, completions=1000.0)] if zerocopy else [])
    return Program("pid 7", 10.0, None, tuple(classes[low] for low in sorted(classes)), device, share, 0.5,
                   **{"interfaces": tuple(f.interface for f in found), "copied": 0.0 if zerocopy else None, "lost": 0,
                      "failed": {}, "findings": tuple(one._asdict() for one in rules.of_facts(found)), **more})


def copies(sends, cause, device="eth0", of=1000.0, **more):
    """Returns facts in which this many of the sends were copied."""
    return facts.Facts(**{"requests": of, "completions": of, "copied": sends, "causes": [
        facts.Row(facts.BY_NAME[cause], device, sends=sends)], **more})


def joined_lines(text):
    return " ".join(" ".join(text).split())


def advice(of, known=None, path=ETH0):
    known = answers() if known is None else known
    return recommendation(with_small_sends(of, path, known), path, known)


def test_advice_to_a_copying_program_has_its_share_and_the_gain():
    assert advice(program((1000, 620), (100_000, 3), (200_000, 2))) == (
        "Worth trying: 53 % of its bytes are in copied sends of 64K and more; MSG_ZEROCOPY takes 0.60 "
        "times the CPU time per byte, 0.54-0.72, at 1M.")
    assert advice(program((1000, 10_000), (100_000, 3))).startswith(
        "Not worth it: 2.91 % of its bytes are in copied sends of 64K and more")
    assert advice(program((1000, 10)), known=answers("never", SIZES[-1], None)) == (
        "Do not use MSG_ZEROCOPY: at the sizes of its sends it costs more here.")


def test_zero_copy_sends_that_should_not_be_are_counted():
    of = ((300, 200), (20_000, 12), (100_000, 50))
    assert advice(program(zerocopy=of)) == (
        "212 of 262 zero-copy sends (80.9 %) were too small: on this path zero-copy pays from 64K on. Send messages "
        "this small without MSG_ZEROCOPY.")
    assert advice(program((300, 5), zerocopy=of[2:])).startswith(
        "Leave its zero-copy sends as they are: all 50 are of 64K and more")
    assert advice(program(zerocopy=of), known=answers("unknown", 4096, None)) == (
        "200 of 262 zero-copy sends (76.3 %) were too small: on this path zero-copy costs more up to 4K. Send messages "
        "this small without MSG_ZEROCOPY.")
    assert advice(program(zerocopy=of), known=[]).endswith("whether they pay at their sizes is not known.")


@pytest.mark.parametrize("more, path, found", [
    ({}, ETH0, [("small_sends", 200, 250)]), ({"device": "eth1"}, ETH0, []), ({"copied": 1.0}, ETH0, []),
    ({"zerocopy": ((100_000, 50),)}, ETH0, []), ({"zerocopy": ((100_000, 50),)}, None, [])])
def test_sends_are_too_small_only_for_the_path_that_was_measured(more, path, found):
    of = program(**{"zerocopy": ((300, 200), (100_000, 50)), **more})
    seen = with_small_sends(of, path, answers()).found
    assert [(one.code, one.count, one.total) for one in seen if one.code != "works"] == found
    assert with_small_sends(of, path, []) == of


def test_zero_copy_sends_that_pay_are_counted_beside_undecided_ones():
    of = program(zerocopy=((5000, 5), (70_000, 900)))
    assert advice(of, known=answers("from", None, 16 << 10)).startswith(
        "Leave 900 of its 905 zero-copy sends as they are")


@pytest.mark.parametrize("known", [answers("alike", None, None), answers("unknown", 4096, None)])
def test_a_path_that_decides_nothing_was_measured(known):
    text = " ".join(" ".join(lines(program((100_000, 5)), ETH0, known)).split())
    assert text.startswith("Cannot tell") and "none was measured" not in text and "Next:" not in text


def test_what_copies_all_comes_first():
    of = ((100_000, 5),)
    assert advice(program(zerocopy=of, copied=1.0, facts=[copies(1000.0, "packet_tap")])) == (
        "All 1,000 zero-copy sends were copied (tcpdump or another packet tap, eth0). Find the listener (ss -0pl) and "
        "end it.")
    assert advice(program(zerocopy=of, copied=1.0, facts=[copies(1000.0, "loopback", "lo")])) == (
        "On this path, send without MSG_ZEROCOPY: all 1,000 zero-copy sends were copied (loopback, lo).")
    assert advice(program((100_000, 5), device="lo")) == (
        "Do not use MSG_ZEROCOPY on its path: by lo every send is copied.")
    assert advice(program((100_000, 5), device="lo (namespace 7)")).endswith("by lo (namespace 7) every send is copied.")
    assert advice(program(zerocopy=of, copied=0.6, device="lo")).startswith(
        "On this path, send without MSG_ZEROCOPY: by lo every send that arrives is copied.")
    assert advice(program(zerocopy=of, copied=0.6), known=[]) == (
        "60 % of its 5 zero-copy sends were copied; whether the others pay at their sizes is not known.")


@pytest.mark.parametrize("more, why", [
    ({"outstanding": 900.0, "completions": 100.0, "copied": 100.0}, "no verdict: 900 of 1,000 zero-copy sends have no"),
    ({"completions": None}, "no verdict: how many of the 1,000 zero-copy sends were copied is not known here"),
    ({"completions": 0.0}, "none of them completed")])
def test_without_a_verdict_it_has_the_reason(more, why):
    known = facts.Facts(**{"requests": 1000.0, "completions": 1000.0, **more})
    assert advice(program(zerocopy=((100_000, 5),), copied=None, facts=[known]), known=[]).startswith(
        f"Whether its 5 zero-copy sends pay is not known: {why}")


@pytest.mark.parametrize("more, words", [
    ({"refused": [("optmem", "ENOBUFS", 50.0)]}, "50 of 1,000 zero-copy sends (5 %) were refused (ENOBUFS)"),
    ({"refused": [("optmem", "ENOBUFS", 1000.0)], "completions": 0.0}, "All 1,000 zero-copy sends were refused"),
    ({"refused": [("no_pages", "EFAULT", 30.0)]}, "30 of 1,000 zero-copy sends (3 %) were refused (EFAULT)"),
    ({"ignored": 1000.0, "completions": 0.0}, "All 1,000 zero-copy sends were ignored")])
def test_what_fails_or_has_no_effect_comes_before_all_else(more, words):
    known = facts.Facts(**{"requests": 1000.0, "completions": 1000.0, **more})
    assert advice(program(zerocopy=((100_000, 5),), facts=[known])).startswith(words)
    assert advice(program(facts=[known])).startswith(words)  # none of the program's sends requests zero-copy


def test_what_has_no_effect_stays_so_where_every_send_is_copied():
    known = facts.Facts(requests=1000.0, ignored=1000.0, completions=0.0)
    assert advice(program((100_000, 5), device="lo", facts=[known])) == (
        "All 1,000 zero-copy sends were ignored, and the data copied: the socket lacks SO_ZEROCOPY. Leave it so: by lo "
        "every send is copied.")


@pytest.mark.parametrize("device, copied, share, words", [
    ("lo", None, 1.0, "Do not use MSG_ZEROCOPY on its path"), ("lo", None, 0.41, "Its paths differ by device"),
    ("lo", 0.4, 1.0, "On this path, send without"), ("lo", 0.4, 0.41, "Its paths differ by device"),
    ("lo", 0.4, 0.995, "Its paths differ by device"), ("lo", 1.0, 0.41, "On this path, send without"),
    ("eth0", None, 1.0, "Do not use MSG_ZEROCOPY on its path"), ("eth0", None, 0.9, "Its paths differ by device")])
def test_a_device_that_copies_shows_nothing_about_others(device, copied, share, words):
    sends, path = ((100_000, 5),), dataclasses.replace(ETH0, copied=1.0, device=device)
    of = program(*sends if copied is None else (), zerocopy=() if copied is None else sends, device=device,
                 share=share, copied=copied, facts=[] if copied is None else [
                     copies(1000.0 * copied, "loopback", "lo")])
    text = lines(of, path, [])
    assert text[0].startswith(words)
    assert any(line.endswith("  is copied") for line in text) != ("differ" in words)


@pytest.mark.parametrize("share, words", [(1.0, "every send is copied"), (0.996, "99.6 % of sends are copied")])
def test_every_send_is_copied_only_where_all_are(share, words):
    nosg = dataclasses.replace(ETH0, copied=share, cause="no_scatter_gather")
    assert advice(program((100_000, 5)), path=nosg, known=[]).endswith(f"{words} (no_scatter_gather).")
    assert path_text.recommendation(nosg, []) == f"Do not use MSG_ZEROCOPY on this path as it is: {words}."


def test_a_few_bytes_by_tcp_decide_nothing_where_the_data_go_by_udp():
    others = facts.Others({"udp": 500.0, "mptcp": 0.0, "unix": 0.0}, {"udp": 5e7, "mptcp": 0.0, "unix": 0.0}, 0.0, 2.0, 486.0)
    control = program((243, 2), device="lo", findings=tuple(one._asdict() for one in rules.of_facts([], others)))
    assert advice(control) == "Nothing to advise: 99.99 % of its bytes go by UDP; only TCP is analysed."
    assert "only TCP is analysed" not in advice(program((100_000, 600), findings=control.findings))


def test_sends_that_copy_nothing_are_not_judged():
    only = program((100, 3), device="lo")
    only.classes[0].add("sendfile", False, 5, 500)
    assert "is copied" in "\n".join(lines(only, None, []))
    only.classes[0].add("sendfile", False, 5000, 500_000)
    text = "\n".join(lines(only, None, []))
    assert text.startswith("Nothing to advise: 99.94 % of its bytes go by sendfile or splice") and "Next:" not in text
    only.classes[0].sends = only.classes[0].bytes = 0
    assert "sendfile, splice\n" in "\n".join(lines(only, None, [])) + "\n"


def test_copies_that_can_be_ended_come_before_sizes():
    known = copies(900.0, "packet_tap")
    assert advice(program(zerocopy=((100_000, 5),), copied=0.9, facts=[known])) == (
        "900 of 1,000 zero-copy sends (90 %) were copied (tcpdump or another packet tap, eth0). Find the listener "
        "(ss -0pl) and end it.")
    known.causes = [facts.Row(facts.BY_NAME[name], device, sends=500.0) for name, device in (
        ("loopback", "lo"), ("no_scatter_gather", "eth0"))]
    known.copied = 1000.0
    assert "ethtool -K eth0 sg on" in advice(program(zerocopy=((100_000, 5),), copied=1.0, facts=[known]))


def test_the_reason_for_no_verdict_is_not_that_of_other_sends():
    unknown = facts.Facts(interface="io_uring", requests=500.0, completions=500.0, copied=None)
    works = facts.Facts(requests=500.0, completions=500.0)
    assert "by SEND_ZC were copied is not known here" in advice(
        program(zerocopy=((100_000, 5),), copied=None, facts=[works, unknown]), known=[])


def test_sends_that_fail_have_their_errors():
    text = joined_lines(lines(program(zerocopy=((100_000, 5),), failed={"EFAULT": 30, "ENOBUFS": 1}), ETH0, answers()))
    assert "30 sends failed with EFAULT (bad address)" in text and "1 send failed with ENOBUFS" in text


def test_another_path_decides_nothing():
    assert advice(program((100_000, 5), device="eth1")) == (
        "Cannot tell: the path that was measured leads by eth0, but the program sends by eth1.")
    text = " ".join(" ".join(lines(program((100_000, 5)), None, [])).split())
    assert text.startswith("Cannot tell from which size") and "none was measured" in text and "Next:" in text


def test_a_class_between_what_is_known_is_not_known():
    found = crossover(answers(worse=8192))
    by_size = {size: class_verdict(program((size, 3)).classes[0], found)
               for size in (100, 8192, 8193, 16_384, 65_535, 65_536, 1 << 22)}
    assert list(by_size.values()) == ["costs more", "costs more", "not known", "not known", "not known",
                                      "pays", "pays"]


def test_answers_that_contradict_themselves_decide_nothing():
    found = crossover(answers("irregular", 64 << 10, 4 << 10))
    assert (found.costs, found.pays) == (None, None)


def test_further_findings_follow_the_table():
    known = copies(1000.0, "packet_tap", queue_reported=0.0, queue_unread=1000.0)
    text = lines(program(zerocopy=((100_000, 5),), copied=1.0, facts=[known]), ETH0, answers())
    assert any(line.startswith("The error queue was never read") for line in text[-3:])
    assert text[0].startswith("All 1,000")


def test_classes_are_summed_over_calls():
    call = {"zerocopy": False, "notified_by": None, "wall_ns": {"sum": 5e8},
            "errors": {"EAGAIN": 2, "ERESTARTSYS": 5}}
    record = {
        "observed": {"seconds": 2.0, "exit_status": None}, "lost": {"calls": 0}, "zerocopy": None, "findings": [],
        "by": {"groups": [{"netns": 1, "device": "eth0", "bytes": 5}]},
        "calls": [{**call, "syscall": "sendto", "sizes": [[1, 1, 2, 2], [64, 127, 1, 100]]},
                  {**call, "syscall": "sendfile", "sizes": [[64, 127, 3, 200]]},
                  {**call, "syscall": "sendmsg", "zerocopy": True, "sizes": [[64, 127, 4, 300]]}]}
    seen = parse(record, "pid 1")
    assert seen.classes == (Class(1, 1, 2, 2), Class(64, 127, 1, 100, 4, 300, 3, 200))
    assert seen.failed == {"EAGAIN": 6} and seen.kernel_s == 1.5 and seen.device == "eth0 (namespace 1)"


@pytest.mark.parametrize("copied, share", [(None, None), (25, 0.25)])
def test_advice_about_io_uring_names_its_operations(copied, share):
    record = json.loads((ROOT / "tests/fixtures/raw/io_uring.json").read_text())["record"]
    record["zerocopy"]["io_uring"]["copied"] = copied
    record["findings"] = [one._asdict() for one in rules.of_records([record])]
    seen = parse({**record, "by": {"groups": []}}, "pid 1")
    assert (seen.copied, seen.interfaces) == (share, ("io_uring",))
    assert advice(seen).startswith("All 100 sends by SEND_ZC were too small: on this path zero-copy pays from 64K on. "
                                   "Send messages this small by IORING_OP_SEND")


@settings(max_examples=100)
@given(st.lists(st.tuples(st.integers(1, 1 << 30), st.integers(1, 10**9)), max_size=30),
       st.lists(st.tuples(st.integers(1, 1 << 30), st.integers(1, 10**9)), max_size=30),
       st.sampled_from(["from", "always", "never", "irregular", "alike", "unknown"]),
       st.sampled_from([None, "lo", "eth0", "a-device-of-15-c"]), st.sampled_from([None, ETH0]),
       st.booleans())
def test_it_fits_a_terminal(sends, zerocopy, kind, device, path, lossy):
    known = answers(kind, None if kind == "always" else 4096,
                    None if kind in ("never", "unknown") else 8192)
    of = program(*sends, zerocopy=zerocopy, device=device, lost=5 * lossy, facts=[
        copies(1e6, "packet_tap", of=1e9, queue_reported=5.0, queue_unread=1e9,
               refused=[("optmem_or_memlock", "ENOBUFS", 1e6)])] if zerocopy else [])
    known = known if path else []
    text = lines(with_small_sends(of, path, known), path, known)
    assert 1 < len(text) <= 22 and max(map(len, text)) <= 80, text
    assert not any("None" in line or " ..." in line for line in text), text


# The record that the replaced engine returns for an observation.
RECORD = {"observed": {"seconds": 1, "exit_status": None}, "lost": {"calls": 0}, "zerocopy": None,
          "findings": [],
          "calls": [{"syscall": "sendto", "zerocopy": False, "notified_by": None,
                     "sizes": [[65536, 131071, 10, 900_000]], "wall_ns": {"sum": 9}, "errors": {}}],
          "by": {"groups": [{"device": "eth0", "bytes": 900_000,
                             "netns": os.stat("/proc/self/ns/net").st_ino}]}}
KNOWN = {"schema": "sendpath.advise/3", "path": dataclasses.asdict(ETH0), "blocks": 1, "elapsed_s": 1,
         "seconds_more": None, "answers": [dataclasses.asdict(one) for one in answers()]}


class Channel:
    """Replaces the channel to the engine, which has one configuration."""

    def send(self, value):
        pass

    def receive(self, _tick=None):
        return {"cells": [{"cell": "observation", "label": "observing"}], "untraced": None}


@pytest.fixture(name="advised")
def fixture_advised(tmp_path, monkeypatch, capsys):
    """Returns a function that runs advise with this observation and a path, and returns status, output and errors."""
    monkeypatch.setattr(Engine, "run", lambda *_: (RECORD, False))

    def advised(known):
        (tmp_path / "known.json").write_text(json.dumps(known))
        errors = []
        status = advise.advise(Channel(), ["--pid", "1", "--path", str(tmp_path / "known.json")],
                               errors.append)
        return status, capsys.readouterr().out, errors
    return advised


def test_a_path_read_from_a_file_is_printed_as_safe_text(advised):
    known = copy.deepcopy(KNOWN)
    assert "Worth trying" in advised(known)[1]
    known["path"]["device"] = "eth1\x1b]0;owned\x07\x9b31m\nmore"
    status, text, _ = advised(known)
    assert status == 0 and "leads by eth1\\x1b]0;owned\\x07\\x9b31m" in text
    assert all(line.isprintable() for line in text.splitlines())


@pytest.mark.parametrize("place, wrong", [
    (("answers", 0, "ratios", 0, "effect"), "\x1b[31m"), (("answers", 0, "better"), "x"),
    (("answers", 0, "better"), None), (("answers", 0, "ratios"), []), (("answers",), {"a": 1}),
    (("path", "copied"), True), (("path", "warnings"), [1]), (("path",), None), (("blocks",), 1.5)],
                         ids=str)
def test_a_path_of_other_types_is_one_line(place, wrong, advised):
    known = copy.deepcopy(KNOWN)
    *outer, last = place
    at = known
    for key in outer:
        at = at[key]
    at[last] = wrong
    status, text, errors = advised(known)
    assert (status, text, len(errors)) == (2, "", 1) and "name what advise --json wrote" in errors[0]
