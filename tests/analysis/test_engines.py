# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests that other readers of CSV and Parquet find the table that its page describes."""

import duckdb
import pandas
import pytest
from conftest import ROOT, samples, write

from analysis import table
from analysis.columns import NAMES
from analysis.table_page import page


@pytest.fixture
def files(tmp_path):
    frame = table.load([write(tmp_path / "runs.jsonl", samples())]).frame
    table.write_parquet(frame, str(tmp_path / "runs.parquet"))
    table.write_csv(frame, str(tmp_path / "runs.csv"))
    return frame, tmp_path


def test_the_page_is_up_to_date():
    text = (ROOT / "docs/table.md").read_text()
    assert text == page(text), "python -m analysis.table_page"


def test_pandas(files):
    frame, folder = files
    read = pandas.read_parquet(folder / "runs.parquet")
    assert tuple(read.columns) == NAMES
    assert read["throughput_bps"].tolist() == frame["throughput_bps"].to_list()
    assert read["fallback_rate"].isna().sum() == frame["fallback_rate"].null_count()
    assert str(read["started"].dt.tz) == "UTC"
    assert len(pandas.read_csv(folder / "runs.csv")) == frame.height


@pytest.mark.parametrize("name", ("runs.parquet", "runs.csv"))
def test_duckdb(files, name):
    frame, folder = files
    counted = duckdb.sql(f"SELECT count(*), sum(message_bytes), count(fallback_rate), "
                         f"min(epoch_us(started)) FROM '{folder / name}'").fetchall()[0]
    assert counted == (frame.height, frame["message_bytes"].sum(),
                       frame["fallback_rate"].count(),
                       int(frame["started"].dt.epoch("us").min()))
