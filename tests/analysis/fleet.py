# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Makes tables of a fleet, with planted outliers, of many copies of real records.

fleet.py FOLDER ROWS [HOSTS] writes such tables.
"""

import pathlib
import sys

import polars as pl

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))

from analysis import records, table  # noqa: E402

SAMPLES = pathlib.Path(__file__).parent / "samples.jsonl"
ROWS_OF_A_FILE = 25_000
TAPPED = "host007"


def real() -> pl.DataFrame:
    """Returns the streams among the sample records that the program wrote."""
    problems: list = []
    frame = table.build(records.stream([str(SAMPLES)], problems), problems)
    assert not problems, problems
    return frame.filter(pl.col("workload") == "stream", pl.col("complete"))


def ring(count: int) -> list[str]:
    return [f"host{i:03}" for i in range(count)]


def write(folder: pathlib.Path, rows: int, hosts: int = 100) -> list[str]:
    """Writes tables of hosts in a ring, with `rows` rows in all and 25,000 in each. The runs are copies of real
    records, except that TAPPED has a packet tap. Returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    names, given = ring(hosts), real()
    files = []
    for first in range(0, rows, ROWS_OF_A_FILE):
        n = pl.int_range(first, min(first + ROWS_OF_A_FILE, rows), eager=True)
        turn, host = n // len(given), pl.Series([names[i % hosts] for i in n // len(given)])
        frame = given[(n % len(given)).to_list()].with_columns(
            host=host, peer=pl.Series([f"{names[(i + 1) % hosts]}:9436" for i in n // len(given)]),
            run_id=pl.format("made-{}", n),
            throughput_bps=pl.col("throughput_bps") * (1 + n * 7919 % 101 / 1000),
            send_mean_ns=pl.col("send_mean_ns") * (1 + n * 6007 % 103 / 1000), repeat=turn // hosts + 1).with_columns(
            fallback_causes=pl.when((host == TAPPED) & (pl.col("zc_completions") > 0)).then(
                pl.format("packet_tap@eth0:{}", "zc_completions")).otherwise("fallback_causes"),
            zc_copied=pl.when(host == TAPPED).then("zc_completions").otherwise("zc_copied"))
        files.append(str(folder / f"{first // ROWS_OF_A_FILE:04}.parquet"))
        table.write_parquet(frame.select(list(table.POLARS_SCHEMA)), files[-1])
    return files


if __name__ == "__main__":
    print(*write(pathlib.Path(sys.argv[1]), *map(int, sys.argv[2:])), sep="\n")
