# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Measures the time and memory to load many records, to answer a report's questions, and to draw its figures.

The records are copies of samples that the program wrote (tests/analysis/samples.jsonl), extended to grids: 10,000 as
JSON lines, 100,000 as a table in Parquet. The target is 20 s and 1 GiB for each grid.
"""

import json
import pathlib
import tempfile

import pairs
import programs
from printing import table

ROOT = pathlib.Path(__file__).resolve().parents[2]
PYTHON = ROOT / "analysis/.venv/bin/python3"
JOB = pathlib.Path(__file__).with_name("answer.py")
VARIANTS = ("twocopy", "onecopy", "zerocopy")
THREADS = (1, 2, 4, 8)
SIZES = tuple(int(2 ** (10 + half / 2)) // 8 * 8 for half in range(21))
REPEATS, COPIES = 40, 10
QUICK_COPIES = 2
ROUNDS = 3
AIM_S, AIM_MIB = 20, 1024
STAGES = ("load_s", "answer_s", "draw_s")


def samples():
    lines = (ROOT / "tests/analysis/samples.jsonl").read_text(encoding="ascii").splitlines()
    found = {(record["load"] or {}).get("variant"): record for record in map(json.loads, lines)}
    return [found[variant] for variant in VARIANTS]


def write_records(path, repeats):
    """Writes a grid of this many repeats of samples. Changes only what distinguishes configurations and repeats."""
    records, number = samples(), 0
    with open(path, "w", encoding="ascii") as file:
        for repeat in range(1, repeats + 1):
            for threads in THREADS:
                for size in SIZES:
                    for record in records:
                        number += 1
                        record["run"].update(id=f"bench-{number}", repeat=repeat)
                        record["load"].update(message_bytes=size, threads=threads,
                                              connections=threads)
                        # Makes repeats differ, because equal repeats are a special case of the statistics.
                        record["app"]["throughput_bps"] = 1e9 + 1e6 * (number * 7919 % 101)
                        file.write(json.dumps(record) + "\n")


class Section:
    name = "answers"

    def __init__(self, options):
        self.folder = tempfile.TemporaryDirectory(prefix="sendpath-bench-")
        self.files = {"JSON": pathlib.Path(self.folder.name, "runs.jsonl"),
                      "Parquet": pathlib.Path(self.folder.name, "runs.parquet")}
        self.repeats = 1 if options.quick else REPEATS
        self.copies = QUICK_COPIES if options.quick else COPIES
        self.runs = {}

    def missing(self):
        if not PYTHON.exists():
            return "the libraries of analysis/ are missing: make analysis"
        return None

    def _prepare(self):
        write_records(self.files["JSON"], self.repeats)
        programs.must([PYTHON, JOB, "make", self.files["JSON"], self.files["Parquet"], self.copies])

    def round(self, number):
        if number >= ROUNDS:
            return
        if not number:
            self._prepare()
        for name, file in self.files.items():
            done = programs.must([PYTHON, JOB, "run", file])
            self.runs.setdefault(name, []).append(
                {**json.loads(done.output), "wall_s": done.wall_s,
                 "peak_mib": done.peak_rss_kib / 1024})

    def data(self):
        return {"aim": {"wall_s": AIM_S, "peak_mib": AIM_MIB}, "files": {
            name: {"runs": runs[0]["runs"], "figures": runs[0]["figures"], **{
                key: pairs.summarise([run[key] for run in runs])
                for key in (*STAGES, "wall_s", "cpu_s", "peak_mib")}}
            for name, runs in self.runs.items()}}

    def text(self):
        rounds = max(map(len, self.runs.values()), default=0)
        lines = [f"from records to answers: seconds and memory, medians of {rounds}; the aim is "
                 f"{AIM_S} s and {AIM_MIB} MiB"]
        rows = [[f"{found['runs']:,} runs, {name}", *(
            f"{found[key].median:.1f}" for key in STAGES),
            f"{found['wall_s'].median:.1f}", f"{found['cpu_s'].median:.1f}",
            f"{found['peak_mib'].median:.0f}",
            str(found["figures"])]
            for name, found in self.data()["files"].items()]
        if rows:
            lines.append(table(["data", "load s", "answer", "draw", "wall", "CPU",
                                "peak MiB", "figures"], rows))
        return "\n".join(lines)
