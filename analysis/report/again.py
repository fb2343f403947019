# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""How to make the same runs again: commands, from what the table says of the loads."""

import shlex

import polars as pl

from analysis import settings
from analysis.figures.cells import complete
from analysis.figures.style import size_text
from analysis.summary import inflight_follows_size

# What is asked for by an option of its own, not by a list or by words of the command.
OPTIONS = {setting.column: setting for setting in settings.LOAD if setting.option}


def _list(values: pl.Series, form=str) -> str:
    return ",".join(form(value) for value in values.drop_nulls().unique().sort().to_list())


def _options(row: dict, asked: list[str]) -> list[str]:
    said = []
    for column in asked:
        setting, value = OPTIONS[column], row[column]
        if value is not None and value != setting.usual:
            said += [setting.option, f"{value:g}" if isinstance(value, float) else str(value)]
    if row["address_family"] == "IPv6" and row["link"] == "loopback":
        said += ["--address", "::1"]
    if row["pinned"] is False:
        said += ["--pin", "none"]
    return said + shlex.split(row["memory_options"] or "")


def _size(value: int) -> str:
    """As --size takes it, exactly."""
    exact = value % 1024 == 0 and value >= 1024
    return size_text(value) if exact and float(size_text(value)[:-1]).is_integer() else str(value)


def _command(group: pl.DataFrame, what: list[str], asked: list[str]) -> str:
    row = group.row(0, named=True)
    repeats = group["repeat"].max() or 1
    return shlex.join(["sudo", "./analyze", *what, *_options(row, asked), "--repeat", str(repeats),
                       "--json", "FILE"])


def commands(runs: pl.DataFrame) -> list[str]:
    """One command for the runs of equal options whose lists make a whole grid."""
    runs = complete(runs).filter(pl.col("workload").is_not_null())
    said: dict[str, None] = {}
    sends = runs.filter(pl.col("variant").is_not_null())
    asked = [column for column in OPTIONS
             if column != "inflight" or not inflight_follows_size(sends)]
    shared = [*asked, "address_family", "memory_options", "pinned"]
    for _, group in sends.group_by(shared, maintain_order=True):
        by_sizes: dict[tuple[str, str], list[int]] = {}
        for (threads,), part in sorted(group.group_by("threads"), key=lambda item: item[0]):
            key = _list(part["variant"]), _list(part["message_bytes"], _size)
            by_sizes.setdefault(key, []).append(threads)
        for (variants, sizes), threads in by_sizes.items():
            said[_command(group, ["--variant", variants, "--size", sizes, "--threads",
                                  ",".join(map(str, threads))], asked)] = None
    for _, group in runs.filter(pl.col("workload") == "procinfo").group_by(
            shared, maintain_order=True):
        said[_command(group, ["--server-model", _list(group["server_model"]), "--connections",
                              _list(group["connections"])], asked)] = None
    return list(said)
