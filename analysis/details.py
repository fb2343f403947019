# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What figures and the report need of run records that the table has no column for.

Taken while the records pass by on their way to the table; a record is not kept.
"""

import collections
import dataclasses
from array import array
from typing import Iterable, Iterator

import polars as pl

from analysis import extract
from analysis.records import BadRecord, Problem, Record

TIMES = {"run_id": pl.String, "span": pl.String, "high": pl.Float64, "count": pl.Float64}
STAGES = {"run_id": pl.String, "stage": pl.String, "ns": pl.Float64}
HOOKS = {"name": pl.String, "mechanism": pl.String, "status": pl.String, "reason": pl.String}
WARNINGS = {"code": pl.String, "text": pl.String}
UNMEASURED = {"key": pl.String, "reason": pl.String}
MESSAGES = "app.message_latency_ns"


def _empty(schema, **more):
    return pl.DataFrame(schema={**schema, **more})


@dataclasses.dataclass(frozen=True)
class Details:
    """times: histograms of whole messages, a row a bucket (its end in ns, messages in it).
    stages: mean ns a send of each stage of it, for runs whose record divides sends.
    hooks, warnings, unmeasured: each different one once, with the number of runs that had it.
    """
    times: pl.DataFrame = dataclasses.field(default_factory=lambda: _empty(TIMES))
    stages: pl.DataFrame = dataclasses.field(default_factory=lambda: _empty(STAGES))
    hooks: pl.DataFrame = dataclasses.field(default_factory=lambda: _empty(HOOKS, runs=pl.Int64))
    warnings: pl.DataFrame = dataclasses.field(
        default_factory=lambda: _empty(WARNINGS, runs=pl.Int64))
    unmeasured: pl.DataFrame = dataclasses.field(
        default_factory=lambda: _empty(UNMEASURED, runs=pl.Int64))


def buckets(record: Record) -> tuple[str | None, list[list[int]]]:
    """The span and the buckets [low, high, count] of the messages' times. Raises BadRecord."""
    found = extract.at(record.data, f"{MESSAGES}.buckets") or []
    if not isinstance(found, list) or not all(
            isinstance(bucket, list) and len(bucket) == 3
            and all(type(number) in (int, float) for number in bucket) for bucket in found):
        raise BadRecord(f"{MESSAGES}.buckets is not a list of [low, high, count]")
    return extract.text(f"{MESSAGES}.span")(record), found


def stages(record: Record) -> dict[str, float]:
    """Mean ns a send by stage; {} where the record does not divide its sends. Raises BadRecord.

    A stage is a time as others are in a record: an object with the sum of its ns.
    """
    sums: collections.Counter[str] = collections.Counter()
    sends = 0
    for call in extract.rows(record, "calls"):
        divided = call.get("stages")
        if divided is None:
            continue
        if not isinstance(divided, dict):
            raise BadRecord("calls.stages is not an object")
        part = Record(record.source, record.file, record.line, call)
        sends += extract.whole("sends")(part) or 0
        for name in divided:
            total = extract.real("sum")(Record(record.source, record.file, record.line,
                                               divided[name] or {}))
            if total is not None:
                sums[name] += total
    return {name: total / sends for name, total in sums.items()} if sends else {}


def _texts(record, path, keys):
    for row in extract.rows(record, path):
        yield tuple(str(row[key]) if row.get(key) is not None else None for key in keys)


class Collector:
    """watch() hands records on; details() is what they held."""

    def __init__(self, problems: list[Problem]):
        self._problems = problems
        self._bucket_runs: list[tuple[str, str | None, int]] = []
        self._highs, self._counts = array("d"), array("d")
        self._stages: list[tuple[str, str, float]] = []
        self._told = {name: collections.Counter() for name in ("hooks", "warnings", "unmeasured")}

    def watch(self, records: Iterable[Record]) -> Iterator[Record]:
        """The same records; what is unusable in one is told, and the record goes on."""
        for record in records:
            try:
                self._take(record)
            except BadRecord as error:
                self._problems.append(Problem(record.file, record.line, str(error)))
            yield record

    def _take(self, record: Record) -> None:
        run = extract.text("run.id")(record) or ""
        span, found = buckets(record)
        self._highs.extend(float(high) for _, high, _ in found)
        self._counts.extend(float(count) for *_, count in found)
        self._bucket_runs.append((run, span, len(found)))
        self._stages += [(run, name, ns) for name, ns in stages(record).items()]
        for name, path, keys in (("hooks", "plan.hooks", HOOKS), ("warnings", "warnings", WARNINGS),
                                 ("unmeasured", "unmeasured", UNMEASURED)):
            # A set: a record that says something twice is one run.
            self._told[name].update(set(_texts(record, path, keys)))

    def _times(self) -> pl.DataFrame:
        runs = pl.DataFrame(self._bucket_runs, orient="row",
                            schema={"run_id": pl.String, "span": pl.String, "n": pl.Int64})
        repeated = runs.select(pl.col("run_id", "span").repeat_by("n")).explode("run_id", "span")
        # A run without buckets leaves a row of nulls.
        return repeated.drop_nulls("run_id").with_columns(
            pl.Series("high", self._highs, dtype=pl.Float64),
            pl.Series("count", self._counts, dtype=pl.Float64))

    def details(self) -> Details:
        def table(name, schema):
            rows = [(*values, runs) for values, runs in self._told[name].most_common()]
            return pl.DataFrame(rows, schema={**schema, "runs": pl.Int64}, orient="row")

        return Details(self._times(),
                       pl.DataFrame(self._stages, schema=STAGES, orient="row"),
                       table("hooks", HOOKS), table("warnings", WARNINGS),
                       table("unmeasured", UNMEASURED))
