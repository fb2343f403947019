# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""report.py BUILD: prints the line coverage that the profiles in BUILD/lines show, one line per folder.

It also writes which lines of each file were executed: BUILD/lines/c.info (lcov) and analysis.json.
"""

import json
import pathlib
import subprocess
import sys
import warnings

import coverage

ROOT = pathlib.Path(__file__).resolve().parents[2]
KERNEL = "bpf-native"


def c_lines(build, lines):
    """Returns {file: (executed lines, lines)} for the sources of the programs and unit tests."""
    profiles = sorted(map(str, lines.glob("*.profraw")))
    if not profiles:
        return {}
    profile = f"{lines}/c.profdata"
    subprocess.run(["llvm-profdata", "merge", "-sparse", *profiles, "-o", profile], check=True)
    programs = [*build.glob("*.bin"), *build.glob("loadgen/*.bin")]
    if len(profiles) > len(programs):  # the unit tests ran, too
        programs += [p for p in build.glob("tests/test_*") if not p.suffix]
    exported = subprocess.run(
        ["llvm-cov", "export", "-format=lcov", f"-instr-profile={profile}", str(programs[0]),
         *(f"-object={p}" for p in programs[1:])], check=True, stdout=subprocess.PIPE, text=True).stdout
    (lines / "c.info").write_text(exported)
    found = {}
    for block in exported.split("end_of_record\n"):
        rows = block.splitlines()
        counts = [int(row.split(",")[1]) for row in rows if row.startswith("DA:")]
        for row in rows:
            if row.startswith("SF:"):
                found[row[3:]] = sum(map(bool, counts)), len(counts)
    return found


def python_lines(lines):
    """Returns {file: (executed lines, lines)} for analysis/, and how many processes could not write all counts."""
    counter = coverage.Coverage(f"{lines}/python", config_file=str(lines / "coveragerc"))
    with warnings.catch_warnings(record=True) as damaged:
        counter.combine([str(lines)], keep=True)
    counts = counter.get_data()
    if not counts.measured_files():
        return {}, len(damaged)
    counts.touch_files(str(p) for p in (ROOT / "analysis").rglob("*.py") if ".venv" not in p.parts)
    counter.save()
    counter.json_report(outfile=f"{lines}/analysis.json")
    files = json.loads((lines / "analysis.json").read_text())["files"]
    return {name: (f["summary"]["covered_lines"], f["summary"]["num_statements"])
            for name, f in files.items()}, len(damaged)


def print_coverage(name, counts):
    executed, count = map(sum, zip(*counts)) if counts else (0, 0)
    if executed:
        print(f"{name:12}{100 * executed / count:6.1f} %  {executed} of {count} lines")
    else:
        print(f"{name:12}not measured: no test that ran could write a profile of it")


def main(build):
    lines = build / "lines"
    c = c_lines(build, lines)
    python, damaged = python_lines(lines)
    folders = {KERNEL: ROOT / "bpf", **{name: ROOT / name for name in ("user", "loadgen", "common")}}
    by_folder = {name: [n for path, n in c.items() if folder in pathlib.Path(path).parents]
                 for name, folder in folders.items()}
    for name, counts in by_folder.items():
        print_coverage(name, counts)
    print_coverage("C", sum(by_folder.values(), []))
    print_coverage("analysis", list(python.values()))
    print_coverage("Python", list(python.values()))
    unseen = sorted(p.name for p in (ROOT / "bpf").glob("*.[ch]") if str(p) not in c)
    if damaged:
        print(f"{'analysis':12}not measured: {damaged} processes that could not write all that they counted")
    if c:
        print(f"{KERNEL:12}not measured, because no unit test compiles them: {' '.join(unseen)}")


main(pathlib.Path(sys.argv[1]).resolve())
