# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests programs with and without faults: the record, the default report and `advise` agree about each."""

import json
import re
import resource

import pytest

from analysis.advise.program import parse
from analysis.advise.program_text import lines
from conftest import ANALYZE, PROGRAMS, ROOT, Receiver, check, needs_bpf, run
from analysis.findings import sentences
from analysis.findings.rules import Finding

pytestmark = [needs_bpf, pytest.mark.usefixtures("untouched")]

CASES = ROOT / "tests/cases/sends.py"
# Runs a command in a new network namespace with this optmem_max, in bytes.
IN_NAMESPACE = "ip link set lo up; echo {} > /proc/sys/net/core/optmem_max || exit 77; exec \"$@\""
COPIED = "copied_loopback"


def namespace(optmem=131072):
    return ["unshare", "-n", "sh", "-c", IN_NAMESPACE.format(optmem), "sh"]


def as_nobody(memlock):
    return ["prlimit", f"--memlock={memlock}:{memlock}", "setpriv", "--reuid=65534", "--clear-groups"]


def assert_findings(program):
    """Asserts that `program`, another build of the analyzer, finds the faults of some cases, too."""
    for case, code in ("ignored", "ignored"), ("awaits_each", "waits"), ("never_passed", "flag_never_passed"):
        done = run(program, "--json", "-", "--", "/usr/bin/python3", CASES, case)
        assert done.returncode == 0, done.stderr
        assert code in [finding["code"] for finding in json.loads(done.stdout.splitlines()[-1])["findings"]]


def observed(tmp_path, command, *options, status=0):
    """Returns the program's own counts, its record, and the texts of the default report and of advise. status: of
    analyze."""
    file = tmp_path / "record.json"
    done = run(ANALYZE, "--by", "device", "--json", file, *options, "--", *command)
    if done.returncode == 77:
        pytest.skip("before Linux 6.9 optmem_max is the machine's")
    assert done.returncode == status, done.stderr
    record = check(json.loads(file.read_text()))
    advice = lines(parse(record, "command"), None, [])
    return json.loads(done.stdout), record, " ".join(done.stderr.split()), " ".join(" ".join(advice).split())


def codes_of(record, report, advice):
    """Returns the codes of the record's findings. The report must have the sentences of all findings, advise those of
    the worst."""
    found = [Finding(**finding) for finding in record["findings"]]
    paragraphs = sentences.paragraphs(found)
    for why, _ in paragraphs:
        assert why[1:] in report, (why, report)
    if found and found[0].severity in ("failure", "no_effect"):
        assert advice[1:].startswith(paragraphs[0][0][1:]), advice
    return [finding.code for finding in found]


@pytest.mark.parametrize("case, prefix, codes, remedy", [
    (["well"], [], [COPIED], "without MSG_ZEROCOPY"),
    (["ignored"], [], ["ignored"], "Set SO_ZEROCOPY"),
    (["polls"], [], [COPIED], "without MSG_ZEROCOPY"),
    (["unread_queue", 1000], namespace(20000), ["refused_optmem", COPIED, "queue_never_read"], "net.core.optmem_max"),
    (["unread_queue", 100], namespace(512), ["refused_optmem"], "net.core.optmem_max"),
    (["optmem_and_full"], namespace(20000), ["refused_optmem"], "net.core.optmem_max"),
    (["unmapped"], [], ["refused_no_pages"], "without zero-copy"),
    (["large"], as_nobody(65536), ["refused_memlock"], "ulimit -l"),
    (["two_queues"], [], [COPIED, "queue_never_read"], "without MSG_ZEROCOPY"),
    (["with_header", 200, 20_000], [], [COPIED, "small_header"], "into the first part of the body"),
    (["with_header", 8192, 20_000], [], [COPIED], "without MSG_ZEROCOPY"),
    (["header_first"], [], [COPIED], "without MSG_ZEROCOPY"),
    (["awaits_each"], [], [COPIED, "waits"], "messages this small"),
    (["awaits_each", 0], [], [], ""),
    (["awaits_slow_receiver"], [], [COPIED, "waits"], "why the receiver is slow"),
    (["several_in_flight"], [], [COPIED], "without MSG_ZEROCOPY"),
    (["never_passed"], [], ["flag_never_passed"], "Pass MSG_ZEROCOPY"),
    (["by_sendfile"], [], [], "sendfile"),
], ids=lambda one: one[0] if isinstance(one, list) and one and one[0].isidentifier() else "")
def test_a_program_has_its_findings(case, prefix, codes, remedy, tmp_path):
    own, record, report, advice = observed(tmp_path, [*prefix, "/usr/bin/python3", CASES, *case])
    found = codes_of(record, report, advice)
    if case[0] == "two_queues" and record["zerocopy"]["notifications"]["sockets"] is None:
        pytest.skip("before Linux 5.13 sockets are not counted")
    assert found[:len(codes)] == codes, (own, record["zerocopy"])
    # Here, what has no effect should have none.
    by_advice = "Leave it so: by lo every" if codes and codes[0] in ("ignored", "flag_never_passed") else remedy
    assert by_advice in advice and (not codes or remedy.lower() in report.lower()), (report, advice)
    refused = {name: count for name, count in own.items() if name not in ("sent", "EAGAIN", "waits")}
    assert {finding["evidence"]["errno"]: finding["count"] for finding in record["findings"]
            if finding["code"].startswith("refused_")} == refused
    if "waits" in own:  # the last send has no wait, nor has a send whose thread wakes late
        assert own["waits"] / 2 <= sum(row["sends"] for row in record["zerocopy"]["waits"]["awaited"]) <= own["waits"]
    if case[0] == "large":  # 512 KiB and two pages; pages have up to 64 KiB
        pages = (512 << 10) // resource.getpagesize() + 2
        assert record["zerocopy"]["limits"]["memlock"] == {
            "pages": pages, "pages_locked": 0, "pages_limit": 65536 // resource.getpagesize()}
        assert f"one send needs {pages} pages" in report and "in flight" not in report
    if codes[:1] == ["refused_optmem"]:
        limit = int(re.search(r"echo (\d+)", " ".join(prefix))[1])
        met = record["zerocopy"]["limits"]["optmem"]
        assert met["limit"] == limit and (0 < met["charged"] <= limit or limit == 512)
    if case[0] in ("polls", "optmem_and_full"):
        assert own["EAGAIN"] > 0 and (
            f"{own['EAGAIN']:,} of the failed sends found the send buffer full (EAGAIN)" in report)
    if case[0] in ("polls", "with_header", "header_first"):
        assert found == codes


def test_while_sends_are_pending_there_is_no_verdict(tmp_path):
    own, record, report, advice = observed(tmp_path, ["/usr/bin/python3", CASES, "stalled"], "--duration", "4", "--fail-on",
                                           "pending", status=4)
    assert "analyze: --fail-on: found pending" in report
    (finding,) = record["findings"]
    assert finding["code"] == "pending" and finding["count"] == record["zerocopy"]["outstanding"] > own["sent"] / 2
    assert finding["total"] == own["sent"]
    assert codes_of(record, report, advice) == ["pending"]
    assert "No verdict: " in advice and "zero-copy sends were copied" not in advice


needs_uring = pytest.mark.skipif(run(PROGRAMS / "uring", "--probe").returncode != 0, reason="no SEND_ZC here")


def by_uring(tmp_path, *options, prefix=(), sends=30):
    with Receiver() as receiver:
        return observed(tmp_path, [*prefix, PROGRAMS / "uring", "--address", receiver.address, "--port", receiver.port,
                                   "--sends", sends, *options])


@needs_uring
@pytest.mark.parametrize("options", [["--report"], []], ids=["reported", "by the path"])
def test_sends_by_io_uring_have_the_same_findings(options, tmp_path):
    own, record, report, advice = by_uring(tmp_path, *options, sends=200)
    found = codes_of(record, report, advice)
    assert found == [COPIED] and "IORING_OP_SEND" in report and "IORING_OP_SEND" in advice
    (finding,) = record["findings"]
    assert finding["interface"] == "io_uring" and finding["count"] == finding["total"] == own["sends"]
    assert finding["device"] == "lo"


@needs_uring
@pytest.mark.parametrize("options, prefix, operation, code, errno, remedy", [
    (["--size", 131072], as_nobody(65536), "SEND_ZC", "memlock", "ENOMEM", "ulimit -l"),
    (["--size", 131072, "--by", "sendmsg-zc", "--worker"], as_nobody(65536), "SENDMSG_ZC", "memlock", "ENOMEM",
     "ulimit -l"),
    (["--unix"], [], "SEND_ZC", "not_supported", "EOPNOTSUPP", "IORING_OP_SEND"),
    # TCP itself refuses these requests.
    (["--unmapped"], [], "SEND_ZC", "no_pages", "EFAULT", "IORING_OP_SEND")])
def test_a_request_that_io_uring_refuses_is_counted_once(options, prefix, operation, code, errno, remedy, tmp_path):
    own, record, report, advice = by_uring(tmp_path, *options, prefix=prefix)
    if operation == "SENDMSG_ZC" and own["sends"] == 30:
        pytest.skip("this kernel charges nothing to RLIMIT_MEMLOCK for SENDMSG_ZC")
    assert own["failed"] == 30
    assert record["io_uring"] == [{"operation": operation, "requests": 30, "errors": {errno: 30}}]
    (finding,) = record["findings"]
    assert (finding["code"], finding["interface"], finding["count"], finding["total"]) == (
        f"refused_{code}", "io_uring", 30, 30)
    assert finding["evidence"]["errno"] == errno
    assert codes_of(record, report, advice) == [f"refused_{code}"]
    assert remedy in report and remedy in advice and "MSG_ZEROCOPY" not in finding["remedy"]


@needs_uring
def test_requests_that_fit_the_limit_are_not_among_the_refused(tmp_path):
    with Receiver() as small, Receiver() as large:
        script = (f"{PROGRAMS}/uring --port {small.port} --sends 20 --size 100 > /dev/null; "
                  f"{PROGRAMS}/uring --port {large.port} --sends 10 --size 1048576")
        own, record, report, advice = observed(tmp_path, [*as_nobody(512 << 10), "/bin/sh", "-c", script])
    assert own["failed"] == 10 and record["zerocopy"]["io_uring"]["requests"] == 20
    first, *others = record["findings"]
    assert (first["code"], first["count"], first["total"]) == ("refused_memlock", 10, 30)
    assert others and "10 of 30 sends by SEND_ZC (33.3 %) were refused" in report
    codes_of(record, report, advice)


@needs_uring
@pytest.mark.parametrize("options, failed, errors", [
    (["--report"], 0, {}), (["--linked", 5, "--cancelled"], 30, {"ECANCELED": 30}),
    (["--by", "send", "--unix", "--size", 100], 0, {}), (["--by", "send", "--unmapped"], 30, {"EFAULT": 30})],
                         ids=lambda one: " ".join(map(str, one)) if isinstance(one, list) else "")
def test_no_other_request_is_refused(options, failed, errors, tmp_path):
    own, record, report, advice = by_uring(tmp_path, *options)
    assert own["failed"] == failed
    (row,) = record["io_uring"]
    assert (row["requests"], row["errors"]) == (30, errors)
    assert not [code for code in codes_of(record, report, advice) if code.startswith("refused_")]


@needs_uring
def test_both_interfaces_have_their_own_findings(tmp_path):
    script = tmp_path / "both.sh"
    with Receiver() as first, Receiver() as second:
        script.write_text(" ".join(map(str, [
            PROGRAMS / "uring", "--address", first.address, "--port", first.port, "--sends", 300])) + " >/dev/null\n" +
            " ".join(map(str, second.sender("--sends", 300, "--by", "send"))) + "\n")
        _, record, report, advice = observed(tmp_path, ["/bin/sh", script])
    assert {(finding["code"], finding["interface"], finding["count"]) for finding in record["findings"]} == {
        (COPIED, "msg_zerocopy", 300), (COPIED, "io_uring", 300)}
    assert "all 300 zero-copy sends were copied" in report.lower() and "all 600" not in report.lower()
    codes_of(record, report, advice)


@pytest.mark.parametrize("options, program, status", [
    (["--fail-on", "ignored"], ["ignored"], 4), (["--fail-on", "refused_optmem,no_effect"], ["ignored"], 4),
    (["--fail-on", "failure,copied_loopback"], ["ignored"], 0), (["--fail-on", "ignored"], ["no_such_case"], 1)],
                         ids=["code", "severity", "others", "its own status first"])
def test_the_exit_status_shows_findings(options, program, status):
    done = run(ANALYZE, *options, "--", "/usr/bin/python3", CASES, *program)
    assert done.returncode == status
    assert ("analyze: --fail-on: found " in done.stderr) == (status == 4)


@pytest.mark.parametrize("options, words", [
    (["--fail-on", "cost,no_such_code"], "--fail-on no_such_code: there is no such finding"),
    (["--fail-on", ""], "--fail-on : there is no such finding"),
    (["--fail-on", "cost", "--raw"], "--fail-on cost: leave it out with --raw")])
def test_codes_that_do_not_exist_are_refused(options, words):
    done = run(ANALYZE, *options, "--variant", "null", "--messages", 1)
    assert done.returncode == 2 and words in done.stderr and done.stderr.count("\n") == 1
