# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests the computation of bytes from perf's output."""

import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from analysis.derive.memory import counts, source_of  # noqa: E402 (it needs the path)
from analysis.tables.memory import EVENTS, KINDS, QUANTITIES, SOURCES  # noqa: E402

MIB = 1 << 20
IMC = ["uncore_imc/cas_count_read/", "uncore_imc/cas_count_write/"]
UMC = ["umc_cas_cmd.rd", "umc_cas_cmd.wr"]


def total(requested, text, quantity):
    """Returns a quantity in bytes; None if not all of its events were counted."""
    found = [count for count in counts(requested, text) if count.event.quantity == quantity]
    if not found or any(count.status != "counted" for count in found):
        return None
    return sum(count.bytes for count in found)


@pytest.mark.parametrize("text, quantity, value", [
    ("1.5;MiB;uncore_imc/cas_count_read/;100;100.00;;\n", "read", 1.5 * MIB),
    ("1;MiB;uncore_imc_0/cas_count_read/;100;100.00;;\n"
     "2;MiB;uncore_imc_11/cas_count_read/;100;100.00;;", "read", 3 * MIB),
    ("64;Bytes;uncore_imc/cas_count_write/;1;100.00;;\n", "write", 64)])
def test_units_and_boxes_add_up(text, quantity, value):
    assert total(IMC, text, quantity) == value


@pytest.mark.parametrize("text, quantity, value", [
    ("10;;umc_cas_cmd.rd;1;100.00;;\n", "read", 640),
    ("10;;UMC_CAS_CMD.WR;1;100.00;;\n", "write", 640),
    ("10;;amd_umc_0/umc_cas_cmd.rd/;1;100.00;;\n5;;amd_umc_4/umc_cas_cmd.rd/;1;100.00;;\n"
     "7;;umc_cas_cmd.rdx;1;100.00;;\n7;;xumc_cas_cmd.rd;1;100.00;;\n", "read", 960)])
def test_counts_are_of_lines(text, quantity, value):
    assert total(UMC, text, quantity) == value


@pytest.mark.parametrize("text", [
    "",
    "<not supported>;MiB;uncore_imc/cas_count_read/;0;100.00;;\n",
    "<not counted>;MiB;uncore_imc/cas_count_read/;0;0.00;;\n",
    "1;MiB;uncore_imc_0/cas_count_read/;1;100.00;;\n"
    "<not counted>;MiB;uncore_imc_1/cas_count_read/;0;0.00;;\n",
    "<not counted>;MiB;uncore_imc_1/cas_count_read/;0;0.00;;\n"
    "1;MiB;uncore_imc_0/cas_count_read/;1;100.00;;\n",
    "12;furlongs;uncore_imc/cas_count_read/;1;100.00;;\n",
    "12;;uncore_imc/cas_count_read/;1;100.00;;\n",  # the driver names a unit
    "1,5;MiB;uncore_imc/cas_count_read/;1;100.00;;\n",
    "inf;MiB;uncore_imc/cas_count_read/;1;100.00;;\n",
    "1;MiB;uncore_imc_free_running_0/cas_count_read/;1;100.00;;\n",
    "1;MiB;uncore_imc_0/cas_count_reads/;1;100.00;;\n",
    "1;MiB;uncore_imc/cas_count_read/",
    "Events enabled\n;;;;;;\n\n;\n"])
def test_what_was_not_counted_is_not_zero(text):
    assert total(IMC, text, "read") is None


def test_shares_of_time_are_kept():
    read, write = counts(IMC, "1;MiB;uncore_imc_0/cas_count_read/;1;50.00;;\n"
                              "1;MiB;uncore_imc_1/cas_count_read/;1;25.00;;\n"
                              "<not supported>;MiB;uncore_imc_0/cas_count_write/u;0;100.00;;\n")
    assert (read.status, read.running, write.status) == ("counted", 0.25, "not supported")


@pytest.mark.parametrize("source", SOURCES)
def test_a_source_is_found_by_its_requested_events(source):
    requested = [event.perf_name for event in source.events]
    assert source_of(requested) is (source if source.kind == "memory" else None)
    assert {QUANTITIES[event.quantity] for event in source.events} == {source.kind}
    assert source.kind in KINDS and all(EVENTS[name].quantity == event.quantity
                                        for name, event in zip(requested, source.events))
