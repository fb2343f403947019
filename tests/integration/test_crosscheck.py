# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests crosscheck, which counts the same sends by bcc."""

import importlib.util
import os
import random

import pytest

from conftest import analyze, needs_bpf, only, run, ANALYZE, ROOT

CANNOT = 3


@pytest.mark.slow
@needs_bpf
def test_bcc_counts_the_same():
    result = analyze("crosscheck", "--variant", "all", "--size", "64K", "--messages", "5000",
                     "--threads", "1,2", timeout=300)
    if result.returncode == CANNOT:
        pytest.skip(result.stderr.strip().splitlines()[-1])
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stdout.count("  equal") == 18
    *lines, last = result.stdout.splitlines()
    assert last.startswith("crosscheck: counts equal; medians: ")
    names = [line.split(": ", 1)[1] for line in lines if " time " in line and ": " in line]
    for words in ("within a factor of 2 of bcc's", "in the order of their spans"):
        assert (words in last) == any(line.startswith(words) for line in names)
    assert "DIFFERENT" not in last and "NOT" not in last


@pytest.mark.parametrize("hidden", ["none", "empty", "broken"])
def test_without_kernel_headers_one_line_names_the_package(hidden):
    """Hides the kernel headers in a mount namespace: they are missing, empty folders, or incomplete."""
    if os.geteuid() or run("unshare", "-m", "true").returncode:
        pytest.skip("no mount namespace can be made here")
    hide = {"none": "mount -t tmpfs none /usr/src; mount -t tmpfs none /lib/modules",
            "empty": "mount -t tmpfs none /lib/modules; mkdir -p /lib/modules/$(uname -r)/build",
            "broken": "mount -t tmpfs none /lib/modules; mount -t tmpfs none /usr/src; "
                      "mkdir /usr/src/linux-headers-1-common /usr/src/linux-headers-1-amd64"}
    result = run("unshare", "-m", "sh", "-c", f"{hide[hidden]}; exec {ANALYZE} crosscheck")
    line = only(result.stderr.splitlines())
    if "python3-bcc is missing" in line or "/kheaders" in line:
        pytest.skip(line)
    assert result.returncode == CANNOT
    assert line.startswith("crosscheck: no kernel headers for bcc: install linux-headers-$(uname -r)")
    assert not result.stdout


@pytest.mark.parametrize("word", ["--help", "--help=all", "-h", "-?", "--usage"])
def test_help_is_its_own(word):
    result = analyze("crosscheck", word)
    assert (result.returncode, result.stderr) == (0, "") and "analyze crosscheck [load options]" in result.stdout


@pytest.mark.parametrize("word", ["--version", "--vers", "--hel"])
def test_what_makes_no_records_is_refused(word):
    crosscheck = _crosscheck()
    with pytest.raises(crosscheck.Fault) as fault:
        crosscheck.run_analyzer(ANALYZE, [word])
    assert fault.value.status == 2 and "\n" not in str(fault.value)


def _conclusion(capsys, compared):
    status = _crosscheck().conclude(compared)
    return status, capsys.readouterr().out


def test_the_last_line_names_what_was_compared(capsys):
    near, short = ("within a factor of 2 of bcc's", True), ("too short to compare", True)
    assert _conclusion(capsys, [(True, [near]), (True, [short]), (True, [near])]) == (
        0, "crosscheck: counts equal; medians: 2 within a factor of 2 of bcc's, "
           "1 too short to compare\n")
    assert _conclusion(capsys, [(False, [near])]) == (
        1, "crosscheck: counts DIFFERENT; medians: 1 within a factor of 2 of bcc's\n")
    assert _conclusion(capsys, [(True, [("NOT " + near[0], False)])]) == (
        1, "crosscheck: counts equal; medians: 1 NOT within a factor of 2 of bcc's\n")
    assert _conclusion(capsys, []) == (1, "crosscheck: nothing was compared\n")


def test_wrong_options_are_reported_once():
    result = analyze("crosscheck", "--variant", "fourcopy")
    assert result.returncode == 2 and not result.stdout
    assert len(result.stderr.splitlines()) == 1 and "fourcopy" in result.stderr


def test_needs_root():
    if os.geteuid():
        pytest.skip("not root: nothing to give up")
    result = run("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", ANALYZE,
                 "crosscheck")
    assert result.returncode == CANNOT
    assert "root" in result.stderr


def _crosscheck():
    spec = importlib.util.spec_from_file_location("crosscheck", ROOT / "analysis/crosscheck/crosscheck.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _bucket(ns):
    power = ns.bit_length() - 1
    return ns if power < 4 else power * 16 + (ns >> (power - 4) & 15)


def _counts(times):
    buckets = [_bucket(ns) for ns in times]
    return sorted((bucket, buckets.count(bucket)) for bucket in set(buckets))


def test_a_quantile_is_that_of_the_sorted_times():
    crosscheck, chance = _crosscheck(), random.Random(7)
    times = [chance.randrange(1, 10 ** chance.randrange(1, 9)) for _ in range(999)]
    for rank in (1, 400, 500, 600, 999):
        low, high = crosscheck.quantile(_counts(times), rank / 999)
        assert low <= sorted(times)[rank - 1] < high, rank


def test_times_of_one_span_are_near():
    """Half of the calls are quick and half are slow, so the median is in either half by chance."""
    near, quick, slow = _crosscheck().near, [90_000] * 495, [280_000] * 505
    either = _counts(quick + slow)
    assert near(280_000, either, "tcp_sendmsg", "tcp_sendmsg")
    assert near(86_000, either, "tcp_sendmsg", "tcp_sendmsg")
    assert not near(40_000, either, "tcp_sendmsg", "tcp_sendmsg")
    assert not near(600_000, either, "tcp_sendmsg", "tcp_sendmsg")
    assert not near(86_000, _counts(slow), "tcp_sendmsg", "tcp_sendmsg")


def test_a_wider_span_takes_longer():
    near, counts = _crosscheck().near, _counts([100_000] * 10)
    assert near(900_000, counts, "syscall", "tcp_sendmsg")
    assert not near(20_000, counts, "syscall", "tcp_sendmsg")
    assert near(20_000, counts, "tcp_sendmsg_locked..return", "tcp_sendmsg")
    assert not near(900_000, counts, "tcp_sendmsg_locked..return", "tcp_sendmsg")
