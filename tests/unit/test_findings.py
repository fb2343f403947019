# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests findings: facts lead to exactly the expected codes, and every text has exactly these."""

import copy
import json
import pathlib
import re
import sys

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "tests/fixtures")]

import findings_of  # noqa: E402 (not in the path before)
import texts  # noqa: E402
from analysis import words  # noqa: E402
from analysis.advise import path_text, program, program_text  # noqa: E402
from analysis.derive.record import findings_block  # noqa: E402
from analysis.findings import facts, rules, sentences  # noqa: E402
from findings_of import FACTS, NAMED, others_of  # noqa: E402
from analysis.tables.causes import REFUSALS  # noqa: E402
from analysis.tables.findings import BY_CODE, SEVERITIES, WAIT_REASONS  # noqa: E402
from analysis.text import answer  # noqa: E402
from analysis.text.report import DETAILS  # noqa: E402


def codes(name):
    return [finding.code for finding in findings_of.found(name)]


def test_findings_are_as_kept():
    assert findings_of.text() == (texts.KEPT / "findings.txt").read_text(encoding="ascii")


@pytest.mark.parametrize("name", FACTS)
def test_zero_copy_works_only_without_findings_against_it(name):
    f = FACTS[name]
    refused = sum(sends for _, _, sends in f.refused)
    sent = (f.completions or 0) > 0 and f.requests > f.ignored + refused
    doubts = (not sent or f.copied != 0 or f.unflagged is None or f.missed_runs != 0 or f.lost_copies > 0 or
              (f.unexplained or 0) > 0 or f.completions < 100 or f.lost > f.requests / 100 or
              f.outstanding > f.requests / 10)
    assert ("works" in codes(name)) == (not doubts)
    for found in findings_of.paragraphs(name), findings_of.paragraphs(name, brief=True):
        assert any("works" in why for why, _ in found) == (not doubts)


@pytest.mark.parametrize("name, expected", [
    ("some refused, others with a full buffer", ["refused_optmem", "works"]),
    ("full buffers alone", ["works"]), ("the connection broke", ["works"]),
    ("one refused of many", ["refused_optmem", "pending"]), ("memory without pages", ["refused_no_pages"]),
    ("40 of 40 copied", ["copied_loopback"]), ("too many waiting", ["pending"]),
    ("never read", ["copied_loopback", "queue_never_read"]), ("read late", ["queue_read_late", "works"]),
    ("never read on one socket", ["copied_loopback", "queue_never_read"]),
    ("never read, a few sends each", ["copied_loopback", "queue_never_read"]),
    ("read soon, a few sends", ["copied_loopback"]), ("never read on few sockets", ["copied_loopback"]),
    ("headers of 200 bytes", ["small_header", "works"]), ("some headers", ["small_header", "works"]),
    ("few of the sends have headers", ["works"]), ("large first parts", ["works"]),
    ("by io_uring, headers", ["small_header", "unseen"]),
    ("each awaited, for 40 ms", ["copied_loopback", "waits"]), ("each awaited, for a round trip", ["waits", "works"]),
    ("by io_uring, each awaited, a slow receiver", ["waits", "unseen"]),
    ("few waits", ["works"]), ("some waits", ["works"]), ("short waits", ["works"]),
    ("read in time", ["works"]), ("unread when it ended", ["works"]),
    ("by io_uring, copied", ["copied_loopback"]), ("by io_uring, not known", ["copies_unknown"]),
    ("by io_uring, all refused", ["refused_memlock"]), ("by io_uring, most refused", ["refused_memlock", "unseen"]),
    ("by io_uring, on a Unix socket", ["refused_not_supported"]),
    ("by io_uring, refused by TCP, too", ["refused_no_pages"]), ("by io_uring, none refused", ["works"])])
def test_codes(name, expected):
    assert codes(name) == expected


def test_the_order_of_two_causes_does_not_matter():
    one, other = (findings_of.paragraphs(f"two causes, the final one {place}") for place in ("first", "last"))
    assert one == other


def test_sends_by_io_uring_are_not_advised_to_leave_out_a_flag():
    (finding,) = rules.of_facts([FACTS["by io_uring, copied"]])
    assert "IORING_OP_SEND" in finding.remedy and "MSG_ZEROCOPY" not in finding.remedy


@pytest.mark.parametrize("rows, expected", [
    (None, None), ([], ((), 0.0)),
    ([{"operation": "SEND", "requests": 9, "errors": {"EFAULT": 9}}], ((), 0.0)),
    ([{"operation": "SEND_ZC", "requests": 200, "errors": {"ENOMEM": 190, "ECANCELED": 3, "EAGAIN": 2}},
      {"operation": "SENDMSG_ZC", "requests": 10, "errors": {"EOPNOTSUPP": 10}}],
     ((("memlock", "ENOMEM", 190.0), ("not_supported", "EOPNOTSUPP", 10.0)), 205.0))])
def test_results_of_io_uring_are_those_of_zero_copy(rows, expected):
    assert facts.results([{"io_uring": rows}]) == expected
    assert facts.results([{"io_uring": rows}, {}]) is None


def test_causes_are_safe_to_print():
    (row,) = rows = facts.causes([{"zerocopy": {"causes": [
        {"cause": "no_scatter_gather", "device": "eth\x1b[2J", "count": 9}]}}])
    assert (row.cause.name, facts.device(rows, row), row.sends) == ("no_scatter_gather", r"eth\x1b[2J", 9.0)
    ((why, _),) = sentences.paragraphs(rules.of_facts([findings_of.copied(1000.0, row)]))
    assert facts.device(rows, row) in why


def test_a_device_has_its_namespace_where_another_has_its_name():
    rows = [facts.Row(NAMED["qdisc"], name, netns) for name, netns in (
        ("eth0", 1.0), ("eth0", 2.0), ("lo", 1.0))]
    assert [facts.device(rows, row) for row in rows] == ["eth0 (namespace 1)", "eth0 (namespace 2)", "lo"]


def test_each_code_has_facts_that_lead_to_it():
    """Ignores causes and refusals, which have one rule each for all their codes. Two findings belong to no interface,
    and do not follow from FACTS."""
    found = {code for name in FACTS for code in codes(name)}
    assert {code for code in BY_CODE if not re.match("copied_|refused_", code)} == {
        code for code in found if not re.match("copied_|refused_", code)} | {
            "other_protocol", "flag_never_passed", "small_sends"}
    assert [finding.code for finding in rules.of_facts([], others_of(udp=100))] == ["other_protocol"]


def test_a_flag_that_is_never_passed():
    others = others_of(tcp=400.0)._replace(unused=40.0)
    (finding,) = rules.of_facts([], others)
    assert (finding.code, finding.count, finding.total) == ("flag_never_passed", 40, 40)
    assert "none of 40 sends passes MSG_ZEROCOPY" in sentences.sentence([finding])
    # The finding does not apply to a program that passes the flag to some of its sends.
    assert "flag_never_passed" not in [one.code for one in rules.of_facts([FACTS["all copied"]], others)]
    assert not rules.of_facts([], others_of(tcp=400.0))


@pytest.mark.parametrize("others, sentence", [
    (others_of(tcp=1e6, unix=400.0), None),
    (others_of(tcp=486.0, udp=5e7), "99.99 % of its bytes go by UDP; only TCP is analysed"),
    (others_of(tcp=1e6, udp=1e6, unix=2e6),
     "25 % of its bytes go by UDP and 50 % of its bytes go by Unix sockets; only TCP is analysed"),
    (others_of(tcp=1e9, udp=1e3, zerocopy=2.0), "0.01 % of its bytes go by UDP and 2 sends by UDP or another protocol "
     "requested zero-copy; only TCP is analysed")])
def test_other_protocols_are_compared_by_their_bytes(others, sentence):
    assert [sentences.sentence([finding]) for finding in rules.of_facts([], others)] == ([sentence] if sentence else [])


SENDS = st.one_of(st.integers(0, 5), st.integers(0, 1 << 40)).map(float)
ROWS = st.lists(st.builds(facts.Row, st.sampled_from(list(NAMED.values())), st.sampled_from(["", "lo", "eth0"]),
                          st.sampled_from([0.0, 1.0]), st.sampled_from(["", "f < g"]), SENDS), max_size=3)
REFUSED = st.lists(st.tuples(st.sampled_from([row.name for row in REFUSALS]), st.sampled_from(["ENOBUFS", "EAGAIN"]),
                             SENDS), max_size=3)
MAYBE = st.one_of(st.none(), SENDS)


@st.composite
def any_facts(draw):
    """Draws facts that add up, as a record's counts do, and facts that do not."""
    known = {name: draw(SENDS) for name in ("ignored", "lost", "lost_else", "lost_copies", "unseen_flags")}
    known.update({name: draw(MAYBE) for name in ("completions", "outstanding", "unflagged", "unexplained", "reported",
                                                 "copied", "queue_reported", "queue_unread", "missed_runs")})
    known.update(refused=draw(REFUSED), causes=draw(ROWS), ended=draw(st.booleans()), empty=0.0,
                 interface=draw(st.sampled_from(list(facts.BLOCKS))), requests=draw(SENDS))
    known.update(intervals=draw(SENDS), interval_ns=draw(SENDS), awaited={
        reason: (draw(SENDS), draw(SENDS)) for reason in draw(st.sets(st.sampled_from(WAIT_REASONS)))})
    if draw(st.booleans()):
        known["results"] = facts.Results(tuple(draw(REFUSED)), draw(SENDS))
    if draw(st.booleans()):
        known["requests"] = sum((known["ignored"], known["completions"] or 0, known["outstanding"] or 0,
                                 *(sends for _, _, sends in known["refused"])))
    return facts.Facts(**known)


@given(st.lists(any_facts(), max_size=2), st.builds(others_of, SENDS, SENDS, udp=SENDS, mptcp=SENDS))
def test_texts_have_what_findings_have(all_facts, others):
    found = rules.of_facts(all_facts, others)
    ranks = [list(SEVERITIES).index(finding.severity) for finding in found]
    assert ranks == sorted(ranks)
    json.dumps([finding._asdict() for finding in found])
    for finding in found:
        assert finding.code in BY_CODE and 0 <= finding.count <= finding.total
        assert finding.code != "refused_send_buffer_full"
        assert not finding.device or "DEV" not in (finding.remedy or "").replace("DEV | grep tnl", "")
    one_a_paragraph = [finding for finding in found if not sentences.is_copied(finding)]
    paragraphs = sentences.paragraphs(found)
    copied = {finding.interface for finding in found if sentences.is_copied(finding)}
    assert len(paragraphs) == len(one_a_paragraph) + len(copied)
    for why, _ in paragraphs:
        assert words.sentence(why).isprintable()
        assert all(float(share) <= 100 for share in re.findall(r"([0-9.]+) %", why))
    for finding in found:
        alone = sentences.sentence([finding._replace(count=max(finding.total - 1, 0))])
        assert not (finding.total > 1 and alone.startswith("all ") and not sentences.is_copied(finding))


COUNTS = st.sampled_from([0, 1, 6, 99, 100, 1000, 5000])
DEVICES = st.sampled_from([(1, "lo"), (2, "eth0")])
OBSERVED = texts.record("io_uring")


def rows(**members):
    return st.lists(st.fixed_dictionaries({key: one if isinstance(one, st.SearchStrategy) else st.just(one)
                                           for key, one in members.items()}), max_size=2)


@st.composite
def any_record(draw):
    """Draws the record of an observed program. Its numbers may contradict each other."""
    record = copy.deepcopy(OBSERVED)
    whole = record["zerocopy"]
    for block in whole, whole["io_uring"]:
        block.update({name: draw(COUNTS) for name in ("requests", "ignored", "completions", "outstanding", "copied")})
        block["causes"] = [{"netns": 1, "ifindex": index, "device": device, "stack": None, "unflagged": 0, "skbs": 1,
                            "skbs_in_send": 1, "cause": draw(st.sampled_from(list(NAMED))), "count": draw(COUNTS)}
                           for index, device in draw(st.lists(DEVICES, max_size=2))]
        block["refused"] = draw(rows(cause=st.sampled_from([one.name for one in REFUSALS]), errno="ENOBUFS", count=COUNTS))
        block["segments"] = {"sends": draw(COUNTS), "headed": draw(COUNTS), "header_bytes": draw(COUNTS)}
        block["waits"] = {"intervals": draw(COUNTS), "interval_ns": draw(COUNTS), "awaited": draw(
            rows(reason=st.sampled_from(WAIT_REASONS), sends=COUNTS, ns=COUNTS))}
    whole.update(unflagged=draw(COUNTS), unexplained=draw(COUNTS), errqueue_copied=draw(COUNTS))
    whole["notifications"].update({name: draw(st.none() | COUNTS) for name in ("reported", "unread", "sockets", "sockets_unread")})
    record["lost"].update({name: draw(COUNTS) for name in ("calls", "completions", "flags", "stacks")})
    record["observed"]["others"].update(udp_sends=draw(COUNTS), udp_bytes=draw(COUNTS))
    return record


def one_line(text):
    return re.sub("(?<=[a-z]-) (?=[a-z])", "", " ".join(text.split()))  # a line may end after a hyphen


@settings(suppress_health_check=[HealthCheck.large_base_example, HealthCheck.too_slow], max_examples=200)
@given(any_record())
def test_every_text_has_exactly_the_findings_of_the_record(record):
    found = rules.of_records([record])
    record["findings"] = findings_block(record)
    assert [one["code"] for one in record["findings"]] == [one.code for one in found]
    # A finding about sizes needs the path, so that only advise has it.
    assert "small_sends" not in {one.code for one in found}
    paragraphs = [tuple(map(one_line, paragraph)) for paragraph in sentences.paragraphs(found)]
    head = one_line(" ".join(answer.answer(texts.cells_of([record]))))
    details = one_line(texts.printed([copy.deepcopy(record)], DETAILS))
    left = head
    for why, remedy in paragraphs:
        for part in words.sentence(why), remedy and f"Do: {answer.imperative(remedy).rstrip('.')}.":
            assert part in details and part in left
            left = left.replace(part, "", 1)
    assert not left.replace(answer.BOLD, "").strip()
    seen = program.parse({**record, "by": {"groups": []}}, "pid 7")
    text = program_text.lines(seen, None, [])
    # A paragraph of advise may be cut short, and those for which the screen has no room are left out.
    advised = one_line(" ".join(text))
    for one, (why, _) in zip(found, paragraphs if len(paragraphs) == len(found) else ()):
        assert (words.sentence(why)[:60] in advised or one.code in program_text.SILENT
                or len(text) > program_text.LINES_MAX - 4 or why[:60] in advised), why
    assert len(text) <= program_text.LINES_MAX and max(map(len, text)) <= path_text.WIDTH


def of_processes(by, copied):
    """Returns the findings of a record of all processes. copied: how many of each process's 200 sends were copied."""
    sums = {"ignored": 0, "refused": 0, "requests": 200, "completions": 200}
    groups = [{"comm": f"process {place}", "pid": place or None, "zerocopy": {**sums, "copied": count}}
              for place, count in enumerate(copied)]
    causes = [{"cause": cause, "count": sum(copied)} for cause in ("loopback", "packet_tap")]
    return rules.of_records([{"observed": {"by": by}, "by": {"dimensions": ["process"], "groups": groups}, "zerocopy": {
        "requests": 200 * len(copied), "completions": 200 * len(copied), "copied": sum(copied), "outstanding": 0,
        "causes": causes}}])


def test_findings_have_their_processes_worst_first():
    first, second, *_ = of_processes("all", [7, 0, *range(100, 112)])
    assert (first.code, second.code, second.processes) == ("copied_loopback", "copied_packet_tap", ())
    assert [one["count"] for one in first.processes] == list(range(111, 101, -1))
    assert sentences.paragraphs([first])[0][0].endswith(", process 4 (4) 102 of 200")
    (first, *_) = of_processes("all", [7, 0])
    assert first.processes == ({"comm": "process 0", "pid": None, "count": 7, "total": 200},)
    assert not any(finding.processes for finding in of_processes("comm", [7, 0]))


def test_an_alert_has_the_code_of_its_findings():
    rules_file = (ROOT / "deploy/prometheus/sendpath.rules.yml").read_text(encoding="ascii")
    found = dict(re.findall(r"- alert: (\w+)\n(?:.*\n)*? +labels: .*code: \"(\w+)", rules_file))
    assert set(found) == {code.alert for code in BY_CODE.values()} - {""}
    for code in BY_CODE.values():
        assert not code.alert or code.name.startswith(found[code.alert])


def test_a_problem_is_counted_among_the_configurations_of_its_interface():
    both = findings_of.found("by io_uring, copied"), findings_of.found("all copied")
    assert [why for why, _ in answer.whys(both)] == [
        "all sends by SEND_ZC were copied (loopback, lo)", "all zero-copy sends were copied (loopback, lo)"]
    assert [why for why, _ in answer.whys([*both, findings_of.found("works")])][1:] == [
        "all zero-copy sends were copied (loopback, lo) in 1 of 2 configurations",
        "no zero-copy send was copied: zero-copy works here in 1 of 2 configurations"]
