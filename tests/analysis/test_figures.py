# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests every figure: its title, units and alt text, or the reason why it is not drawn."""

import json
import re
import xml.etree.ElementTree as xml

import altair as alt
import polars as pl
import pytest
from jsonschema import ValidationError

import goldens
import made
import planted
from analysis.figures import FIGURES, kernel_time, lines, over, save
from analysis.figures.base import BESIDE, NARROW, WIDE, Data, NotDrawn
from analysis.figures.cells import cells, sending
from analysis.report import build

NAMES = [figure.name for figure in FIGURES]
FIGURE = {figure.name: figure for figure in FIGURES}
# The units of axis titles, counts included.
UNIT = re.compile(r"\(.*(bit/s|µs|ms|%|/KiB|/byte|s/GiB|1/s|bytes|/answer).*\)"
                  r"|per byte|threads|connections|records|ratio|bytes a message|^(sender|receiver)$")


@pytest.fixture(scope="module")
def pictures():
    """Returns every figure by its name, wide and narrow. The figures of records and of hosts have data of their own."""
    made = goldens.whole_report().all_pictures
    for rows, names in ((planted.hosts(), ["hosts"]),
                        (planted.records(repeats=6, numbers=range(1, 17)), [name for name in NAMES if "records" in name])):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(build, "FIGURES", [FIGURE[name] for name in names])
            made += build.build(planted.data(rows), None, [], []).all_pictures
    return {picture.name: picture for picture in made}


@pytest.fixture(scope="module")
def specs(pictures):
    return {name: picture.specs[0] for name, picture in pictures.items()}


def axes(node):
    """Returns the titles of every axis in a description; None for an axis without a title."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key in ("x", "y") and isinstance(value, dict) and ("field" in value):
                yield value.get("title", ...)
            else:
                yield from axes(value)
    elif isinstance(node, list):
        for item in node:
            yield from axes(item)


@pytest.mark.parametrize("name", NAMES)
def test_title_units_and_alt_text(pictures, specs, name):
    drawn, spec = pictures[name], specs[name]
    assert " ".join(spec["title"]["text"]) == drawn.title
    assert spec["description"] == drawn.description and len(drawn.description) > 60
    titles = set(axes(spec))
    # An axis of variants' names needs no title.
    assert titles and all(UNIT.search(t) for t in titles if t is not None), titles
    if name not in ("kernel-time", "functions", "functions-compared", "timeline") and not name.startswith("heat"):
        assert None not in titles


@pytest.mark.parametrize("name", NAMES)
def test_descriptions_fit_the_schema(specs, name):
    alt.Root.validate(specs[name])


def test_the_schema_refuses_others(specs):
    """Shows that the test of the schema can fail."""
    with pytest.raises(ValidationError):
        alt.Root.validate({**specs["throughput"], "titel": "x"})


@pytest.mark.parametrize("name", NAMES)
def test_pictures_are_well_formed_and_bounded(pictures, name):
    for svg in pictures[name].svgs:
        assert xml.fromstring(svg).tag.endswith("svg")
        assert len(svg) < 400_000


def test_a_picture_of_pixels(specs):
    assert save.png(specs["throughput"]).startswith(b"\x89PNG")


@pytest.mark.parametrize("name", NAMES)
def test_labels_of_zerocopy_have_the_copied_share(specs, name):
    text = json.dumps(specs[name], ensure_ascii=False)
    if '"zerocopy' in text and name != "fallback":
        assert "zerocopy (100 % copied)" in text
        # Every label of zerocopy has the share.
        assert not re.search(r'"label": "zerocopy"', text)


@pytest.mark.parametrize("name", NAMES)
def test_not_drawn_without_data_and_says_why(name):
    drawn = FIGURE[name].draw(Data(made.frame([])), WIDE)
    assert isinstance(drawn, NotDrawn) and len(drawn.reason) > 20


def test_intervals_are_drawn_and_named(specs):
    text = json.dumps(specs["throughput"], ensure_ascii=False)
    assert '"errorbar"' in text


def test_four_repeats_have_no_interval_as_the_caption_says():
    drawn = FIGURE["throughput"].draw(planted.data(planted.sends(repeats=4)), WIDE)
    spec = save.spec(drawn.chart)
    assert "no intervals" in " ".join(spec["title"]["subtitle"])
    values = next(iter(spec["datasets"].values()))
    assert all(value["low"] is None for value in values)


def test_values_are_the_medians(whole):
    found = cells(sending(whole.runs), ["variant", "message_bytes", "threads"], "throughput_bps")
    row = found.row(by_predicate=(pl.col("variant") == "onecopy") & (pl.col("threads") == 4)
                    & (pl.col("message_bytes") == 4096), named=True)
    assert row["median"] == pytest.approx(planted.throughput("onecopy", 4096, 4), rel=0.02)
    assert row["low"] <= planted.throughput("onecopy", 4096, 4) <= row["high"]


def test_each_other_setting_has_its_own_panel():
    rows = planted.sends() + [{**row, "link": "veth"} for row in planted.sends(seed=3)]
    spec = save.spec(FIGURE["throughput"].draw(planted.data(rows), WIDE).chart)
    panels = {value["panel"] for value in next(iter(spec["datasets"].values()))}
    assert panels == {f"{threads}, {link}" for threads in ("1 thread", "4 threads")
                      for link in ("loopback", "veth")}


def test_panels_that_differ_have_their_copied_shares():
    rows = planted.sends() + [{**row, "link": "veth"} for row in planted.sends(rate=0.0, seed=3)]
    for name in ("throughput", "latency", "kernel-time"):
        drawn = FIGURE[name].draw(planted.data(rows), WIDE)
        panels = {value["panel"] for dataset in save.spec(drawn.chart)["datasets"].values()
                  for value in dataset}
        assert panels and all(panel.endswith("loopback; zerocopy 100 % copied")
                              or panel.endswith("veth; zerocopy not copied") for panel in panels)


def test_messages_in_flight_are_a_setting_only_if_requested():
    follows = [{**row, "inflight": (1 << 20) // row["message_bytes"]} for row in planted.sends()]
    assert set(sending(made.frame(follows))["setting"]) == {""}
    asked_for = [{**row, "inflight": n} for n in (8, 32) for row in planted.sends()]
    assert set(sending(made.frame(asked_for))["setting"]) == {"8 messages in flight", "32 messages in flight"}


def test_runs_that_failed_are_in_no_figure():
    rows = [{**row, "complete": False} for row in planted.sends()]
    assert isinstance(FIGURE["throughput"].draw(planted.data(rows), WIDE), NotDrawn)


def test_too_many_panels_are_left_out_aloud():
    rows = [{**row, "threads": n, "connections": n} for n in range(1, 20)
            for row in planted.sends(repeats=1) if row["threads"] == 1]
    drawn = FIGURE["throughput"].draw(planted.data(rows), WIDE)
    assert drawn.notes == (f"{19 - lines.MOST_PANELS} of 19 panels are left out of the picture",)


def test_with_one_number_of_threads_latency_goes_by_size():
    rows = [row for row in planted.sends() if row["threads"] == 1]
    assert FIGURE["latency"].draw(planted.data(rows), WIDE).title == "Time of a message by message size"


def test_many_sizes_have_ticks_at_powers_of_two_and_panels_stand_in_order():
    rows = [{**row, "message_bytes": size * fields, "fields": fields, "field_size_bytes": size}
            for size, fields in ((128, 1), *((1024, n) for n in range(1, 33))) for row in planted.sends(repeats=1)
            if row["threads"] == 1 and row["message_bytes"] == 256]
    rows = [{**row, "fields": 8, "field_size_bytes": None} for row in rows]
    drawn = FIGURE["latency"].draw(planted.data(rows), WIDE)
    ticks = re.findall(r'"values": (\[128,[^]]*\])', json.dumps(save.spec(drawn.chart)))
    assert ticks and json.loads(ticks[0]) == [2**k for k in range(7, 16)]


def test_stages_are_stacked_where_a_record_has_them():
    rows = planted.sends()
    drawn = FIGURE["kernel-time"].draw(planted.data(rows, stages=planted.stages(rows)), WIDE)
    spec = save.spec(drawn.chart)
    values = [v for rows in spec["datasets"].values() for v in rows]
    found = {(v["stage"], round(v["median"], 3)) for v in values if v["variant"] == "zerocopy"}
    truth = {(stage, ns / 1000) for stage, ns in planted.DIVIDED["zerocopy"].items() if ns}
    assert found == truth | {(kernel_time.ERROR_QUEUE, 0.5)}
    # Each stage of the bar begins where the stage below it ends. Time off the CPU is at the top.
    bar = [v for v in values if v["variant"] == "twocopy" and v["panel"] == values[0]["panel"]]
    bar.sort(key=lambda v: v["bottom"])
    assert [v["stage"] for v in bar] == ["entry", "fragment", "copy", "transmit", "blocked"]
    assert [v["top"] for v in bar[:-1]] == pytest.approx([v["bottom"] for v in bar[1:]])
    assert {"D", "C"} <= {v["letter"] for v in values} <= {"", *"EFCPTDN"}


def test_small_stages_are_one():
    rows = planted.sends()
    small = {"entry": 3, "alloc": 2, "copy": 1000, "transmit": 500}
    divided = planted.stages(rows, dict.fromkeys(planted.DIVIDED, small))
    spec = save.spec(FIGURE["kernel-time"].draw(planted.data(rows, stages=divided), WIDE).chart)
    found = {v["stage"]: v["median"] for rows in spec["datasets"].values() for v in rows}
    assert found.pop(kernel_time.ERROR_QUEUE) == 0.5
    assert found == {"copy": 1, "transmit": 0.5, kernel_time.OTHER: pytest.approx(0.005)}


def test_only_equal_spans_are_in_one_figure():
    rows = planted.sends()
    for row in rows[:30]:
        row["send_span"] = "syscall"
    drawn = FIGURE["kernel-time"].draw(planted.data(rows), WIDE)
    assert drawn.notes == ("span tcp_sendmsg", "not drawn: times of the span syscall")


def test_messages_whose_size_is_no_multiple_of_their_fields_are_no_records():
    rows = [{**row, "fields": fields, "field_size_bytes": None} for fields in (3, 5, 7) for row in planted.sends(repeats=5)]
    assert over.of_records(planted.data(rows)).is_empty()


def test_times_of_two_spans_are_not_in_one_figure():
    rows = [{**row, "message_p50_ns": 1000.0, "message_span": span}
            for span, repeats in (("message", 6), ("message_due", 5)) for row in planted.sends(repeats=repeats)]
    drawn = FIGURE["latency"].draw(planted.data(rows), WIDE)
    assert {value["n"] for value in values_of(drawn) if "n" in value} == {6}
    assert "message_due" in " ".join(save.spec(drawn.chart)["title"]["subtitle"])


def test_messages_of_one_number_of_fields_are_no_records(whole):
    assert isinstance(FIGURE["records"].draw(whole, WIDE), NotDrawn)


def values_of(drawn):
    return [value for rows in save.spec(drawn.chart)["datasets"].values() for value in rows]


def test_the_ratio_has_its_crossings_and_the_margin():
    drawn = FIGURE["ratio"].draw(planted.data(planted.sends()), BESIDE)
    values = values_of(drawn)
    crossed = [value for value in values if value.get("crossing") == 1]
    assert {value["panel"] for value in crossed} == {"1 thread", "4 threads"}
    assert all(value["x"] == pytest.approx(planted.CROSSING, rel=0.05) for value in crossed)
    assert {value["verdict"] for value in values if value.get("name") == "zerocopy"} == {"worse"}


def test_the_map_has_a_verdict_and_a_ratio_of_each_configuration():
    values = values_of(FIGURE["heat"].draw(planted.data(planted.sends()), WIDE))
    assert len(values) == 2 * len(planted.SIZES) * len(planted.THREADS)
    texts = {(value["name"], value["at"]): value["text"] for value in values}
    assert re.fullmatch("0.2..\u25bc", texts["zerocopy", "4K"]) and re.fullmatch("2.3.\u25b2", texts["onecopy", "64K"])


@pytest.mark.parametrize("name", NAMES)
def test_a_narrow_picture_is_narrow(pictures, name):
    width = float(re.search(rb'width="([0-9.]+)"', pictures[name].svgs[1])[1])
    assert width < 1.3 * NARROW, width


def test_dips_of_records_are_marked_and_counted_memory_stands_alone():
    rows = planted.records(repeats=11)
    values = values_of(FIGURE["records"].draw(planted.data(rows), WIDE))
    assert {(v["name"], v["record"], v["x"]) for v in values if v.get("dip")} == {("zerocopy", "128 bytes", planted.DIP)}
    mixed = [{**row, "memory_is_estimate": row["repeat"] > 2} for row in rows]
    assert {v["n"] for v in values_of(FIGURE["records"].draw(planted.data(mixed), WIDE))} == {11, 2}
