# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Makes the tidy table of run records, a polars DataFrame with one row per run; reads and writes CSV and Parquet.

A table that is read from Parquet equals the table of the records, but reading it takes a fraction of the time.
"""

import collections
import contextlib
import dataclasses
import io
import json
import os
import pathlib
from typing import BinaryIO, Callable, Iterable, Iterator

import polars as pl

from analysis import hosts
from analysis.compare import pairs
from analysis.columns import COLUMNS, REAL, TEXT, TIME, TRUTH, WHOLE
from analysis.faults import USAGE, Fault, why
from analysis.files import replace
from analysis.model import BadRecord
from analysis.records import Problem, Record, stream, summarise

SCHEMA = "sendpath.table/1"
METADATA_KEY = "sendpath"
PARQUET_MAGIC = b"PAR1"
ROWS_AT_ONCE = 2000
TYPES = {TEXT: pl.String, WHOLE: pl.Int64, REAL: pl.Float64, TRUTH: pl.Boolean,
         TIME: pl.Datetime("us", "UTC")}
POLARS_SCHEMA = {column.name: TYPES[column.kind] for column in COLUMNS}


@dataclasses.dataclass(frozen=True)
class Loaded:
    """A table, the Problems of its files, and used: the number of rows by file."""
    frame: pl.DataFrame
    problems: list[Problem]
    used: dict[str, int]

    def notes(self) -> list[str]:
        """Returns a line for each file with lines that were left out."""
        return summarise(self.problems, self.used)


def row(record: Record) -> tuple:
    """Returns the values of one run, in the order of COLUMNS. Raises BadRecord."""
    return tuple(round(value) if type(value) is float and column.kind == WHOLE else value
                 for column, value in ((column, column.read(record)) for column in COLUMNS))


def build(records: Iterable[Record], problems: list[Problem]) -> pl.DataFrame:
    """Returns a table with a row per record; unmeasured values are null. Appends unusable records to problems."""
    frames, rows = [empty()], []
    for record in records:
        try:
            rows.append(row(record))
        except BadRecord as error:
            problems.append(Problem(record.file, record.line, str(error)))
        if len(rows) == ROWS_AT_ONCE:
            frames.append(_frame(rows))
            rows = []
    return pl.concat([*frames, _frame(rows)])


def _frame(rows):
    return pl.DataFrame(rows, schema=POLARS_SCHEMA, orient="row")


def empty() -> pl.DataFrame:
    return pl.DataFrame(schema=POLARS_SCHEMA)


def is_parquet(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(4) == PARQUET_MAGIC
    except OSError:
        return False


def load(paths: Iterable[str],
         watch: Callable[[Iterable[Record]], Iterable[Record]] = lambda records: records) -> Loaded:
    """Returns one table of the runs in files and folders of records, and in Parquet tables.

    A run that several of these have counts once. watch: a function through which all records pass while they are read.
    Raises Fault if a path does not exist.
    """
    problems, frames, of_records = [], [], []
    for path in paths:
        if is_parquet(path):
            frames.append(read_parquet(path))
        else:
            of_records.append(path)
    frames.append(build(watch(stream(of_records, problems)), problems))
    frame = without_retried(without_copies(pl.concat(frames), problems))
    used = dict(collections.Counter(frame["source_file"]))
    return Loaded(frame, problems, used)


def load_some(paths: Iterable[str], *args, **kwargs) -> Loaded:
    """Calls load(). Raises Fault also if no run is usable."""
    loaded = load(paths, *args, **kwargs)
    if loaded.frame.is_empty():
        raise Fault("\n".join(loaded.notes() or [f"no runs in {', '.join(paths)}"]))
    return loaded


def without_copies(frame: pl.DataFrame, problems: list[Problem]) -> pl.DataFrame:
    """Returns each run once. Appends a Problem for each further copy of a run."""
    first = pl.struct(hosts.IDENTITY).is_first_distinct()
    for file, line in frame.filter(~first).select("source_file", "source_line").iter_rows():
        problems.append(Problem(file, line, "the same run as another record"))
    return frame.filter(first)


def without_retried(frame: pl.DataFrame) -> pl.DataFrame:
    """Returns the table without failed or disturbed runs of a sweep that were made again."""
    same = ["source_file", "cell", "repeat", "seed"]
    made = frame.with_row_index("_row").filter(pl.col("outcome").is_null())
    planned = frame.filter(pl.col("outcome").is_not_null())
    left_out = pairs.superseded((None if one[3] is None else one[:-1], one[-1] is not None)
                                for one in made.select(*same, "host", "kernel", "disturbed").iter_rows())
    rows = made.filter(pl.Series(left_out, dtype=pl.Boolean))["_row"]
    frame = frame.with_row_index("_row").filter(~pl.col("_row").is_in(rows.implode())).drop("_row")
    made = made.select(same).unique()
    dropped = planned.join(made, on=same, how="semi", nulls_equal=True)["run_id"]
    return frame.filter(pl.col("outcome").is_null() | ~pl.col("run_id").is_in(dropped.to_list()).fill_null(False))


def scan_parquet(path: str) -> pl.LazyFrame:
    """Returns a table that write_parquet() wrote. It is read when it is collected. Columns that only a later version
    has are left out; columns that an earlier version lacks are null. Raises Fault for other files."""
    with _naming([path], "read as Parquet"):
        written = json.loads(pl.read_parquet_metadata(path).get(METADATA_KEY, "null"))
        frame = pl.scan_parquet(path)
        names = frame.collect_schema().names()
    if written != SCHEMA:
        raise Fault(f"{path}: not a table of this program ({SCHEMA}): analyze table --parquet "
                    "FILE writes one", USAGE)
    return frame.select(
        pl.col(name).cast(kind) if name in names else pl.lit(None, kind).alias(name)
        for name, kind in POLARS_SCHEMA.items())


@contextlib.contextmanager
def _naming(paths: Iterable[str], done: str) -> Iterator[None]:
    """Turns errors of reading or writing these files into Fault. done: what failed, such as "written"."""
    try:
        yield
    except (pl.exceptions.PolarsError, OSError, ValueError) as error:
        raise Fault(f"{', '.join(paths)}: cannot be {done}: {why(error)}") from None


def read_parquet(path: str) -> pl.DataFrame:
    """Reads a table that write_parquet() wrote. Raises Fault."""
    scanned = scan_parquet(path)
    with _naming([path], "read as Parquet"):  # only now is damage inside the file found
        return scanned.collect()


# The most rows in memory. Parquet tables of several hosts with more rows are read as a stream.
ROWS_IN_MEMORY = 100_000


def stream_fleet(paths: list[str]) -> hosts.Fleet | None:
    """Returns the sums of Parquet tables of several hosts with too many rows for memory; None for other tables."""
    if not paths or not all(map(is_parquet, paths)):
        return None
    scanned = pl.concat(map(scan_parquet, paths))
    with _naming(paths, "read as Parquet"):
        rows = scanned.select(pl.len()).collect(engine="streaming").item()
        fleet = hosts.gather(scanned, rows) if rows > ROWS_IN_MEMORY else None
    return fleet if fleet and len(fleet.hosts) > 1 else None


def write_parquet(frame: pl.DataFrame, path: str) -> None:
    """Writes the table as Parquet. Raises Fault."""
    # polars writes into memory, because its error for a full disk would be "transport error".
    whole = io.BytesIO()
    frame.write_parquet(whole, metadata={METADATA_KEY: json.dumps(SCHEMA)})
    _write(path, lambda file: file.write(whole.getbuffer()))


def csv(frame: pl.DataFrame, file: BinaryIO | None = None) -> str | None:
    """Writes CSV to file, or returns it as text. It has a header; null is an empty field; times are ISO 8601 in UTC.

    Names in records are not trusted: a text that a spreadsheet would execute gets an apostrophe in front, and an
    unprintable character becomes a question mark.
    """
    return frame.with_columns(pl.col(pl.String).str.replace_all(r"[\p{C}\p{Z}&&[^ ]]", "?").str.replace(
        r"^([=+\-@])", "'$1")).write_csv(file, datetime_format="%Y-%m-%dT%H:%M:%S%.6fZ")


def write_csv(frame: pl.DataFrame, path: str) -> None:
    """Writes the table as CSV. Raises Fault."""
    _write(path, lambda file: csv(frame, file))


def _write(path, fill):
    if not pathlib.Path(path).parent.is_dir():
        raise Fault(f"{path}: its folder is not there", USAGE)
    write(path, fill)


def write(path: str | os.PathLike, fill: Callable[[BinaryIO], object]) -> None:
    """Calls files.replace(). Raises Fault if the file cannot be written."""
    with _naming([str(path)], "written"):
        replace(path, fill)
