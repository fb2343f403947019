#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Lists what each kernel of the lab can measure, and by which mechanism.

support.py [KERNEL...]: runs the doctor in a guest of each kernel (default: all) and prints the tables of
docs/support.md; for all kernels, also writes them there. A row is one way to have a hook, in the order of `analyze
doctor --hooks`.
"""

import csv
import os
import pathlib
import re
import subprocess
import sys
from typing import NamedTuple

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PAGE = ROOT / "docs/support.md"
BEGIN, END = "<!-- made by make lab-report -->\n", "<!-- end of the table of make lab-report -->\n"

COLUMNS = ["hook", "mechanism", "symbol", "status", "reason"]
CELLS = {"attached": "yes", "may miss": "may miss", "unavailable": "no"}


class Way(NamedTuple):
    """One way to have a hook. number: its index among the hook's ways by that mechanism; a symbol would not identify
    it, because its name differs between kernels."""
    hook: str
    mechanism: str
    number: int


class Answer(NamedTuple):
    symbol: str
    status: str
    reason: str


class Kernel(NamedTuple):
    name: str
    release: str
    answers: dict  # {Way: answer}


def number_ways(rows):
    """Returns {Way: rest} of rows (hook, mechanism, rest), in their order."""
    found = {}
    for hook, mechanism, rest in rows:
        number = sum((way.hook, way.mechanism) == (hook, mechanism) for way in found)
        found[Way(hook, mechanism, number)] = rest
    return found


def parse(text):
    """Reads the output of `analyze doctor --hooks`."""
    header, *lines = [line.split("\t") for line in text.splitlines()]
    if header != COLUMNS:
        raise ValueError(f"not the output of doctor --hooks: {header}")
    for line in lines:
        if len(line) != len(COLUMNS) or line[3] not in CELLS:
            raise ValueError(f"not a line of doctor --hooks: {line}")
    return number_ways((hook, mechanism, Answer(*rest)) for hook, mechanism, *rest in lines)


def table_line(cells):
    return "| " + " | ".join(cells) + " |\n"


def table(header, rows):
    return "".join(map(table_line, [header, ["---"] * len(header), *rows]))


def symbols(answers):
    """Returns all names that kernels have for the function of a way."""
    names = (name for answer in answers for name in answer.symbol.split(" or "))
    return " or ".join(f"`{name}`" for name in dict.fromkeys(names))


def cell(kernel, way):
    answer = kernel.answers.get(way)
    return CELLS[answer.status] if answer else "no"


def reasons(kernels, ways):
    """Returns {(hook, mechanism, reason): {name of a kernel with that reason: True}}."""
    found = {}
    for way in ways:
        for kernel in kernels:
            reason = kernel.answers[way].reason if way in kernel.answers else ""
            if reason:
                found.setdefault((way.hook, way.mechanism, reason), {})[kernel.name] = True
    return found


def render(kernels):
    ways = list(dict.fromkeys(way for kernel in kernels for way in kernel.answers))
    matrix = [[way.hook, way.mechanism,
               symbols([k.answers[way] for k in kernels if way in k.answers]),
               *(cell(kernel, way) for kernel in kernels)] for way in ways]
    why = [[hook, mechanism, ", ".join(names), reason]
           for (hook, mechanism, reason), names in reasons(kernels, ways).items()]
    return "\n".join([
        table(["hook", "mechanism", "symbol", *(k.name for k in kernels)], matrix),
        "What was found missing, and what may be missed:\n",
        table(["hook", "mechanism", "kernels", "reason"], why),
        "Found on: " + ", ".join(f"{k.name} is {k.release}" for k in kernels) + ".\n"])


def documented(page):
    """Returns the matrix of a page: {kernel: {Way: cell}}."""
    made = page.partition(BEGIN)[2].partition(END)[0]
    lines = [re.split(r" ?\| ?", line)[1:-1] for line in made.split("\n\n")[0].splitlines()]
    if len(lines) < 3:
        raise ValueError("docs/support.md holds no table; make lab-report makes it")
    header, _, *rows = lines
    return {name: number_ways((row[0], row[1], row[column]) for row in rows)
            for column, name in enumerate(header) if column >= 3}


def is_moving(name):
    """Returns whether this row of kernels.tsv may mean another kernel tomorrow. A new kernel must not make the tests of
    an unrelated change fail."""
    return name.startswith("newest")


def hooks_without_a_way(name, answers):
    for hook in dict.fromkeys(way.hook for way in answers):
        mine = [a for way, a in answers.items() if way.hook == hook]
        if all(answer.status == "unavailable" for answer in mine):
            yield (f"kernel {name}: hook {hook}: no mechanism has it: "
                   + "; ".join(dict.fromkeys(answer.reason for answer in mine)))


def complaints(name, answers, matrix):
    """Returns a line for each answer of kernel NAME that differs from the documented matrix."""
    if is_moving(name):
        return list(hooks_without_a_way(name, answers))
    if name not in matrix:
        return [f"kernel {name}: docs/support.md has no column for it; make lab-report"]
    found = []
    for way in dict.fromkeys([*matrix[name], *answers]):
        promised = matrix[name].get(way, "unknown")
        answer = answers.get(way, Answer("", "unavailable", "doctor --hooks has no such line"))
        if promised != CELLS[answer.status]:
            found.append(f"kernel {name}: hook {way.hook} by {way.mechanism} ({answer.symbol}): "
                         f"{answer.status}, but docs/support.md has {promised}"
                         + (f": {answer.reason}" if answer.reason else ""))
    return found


def sections(output):
    """Returns [(name, text)]: text is the output after the line "== name"."""
    parts = re.split(r"^== (.*)\n", output, flags=re.M)[1:]
    return list(zip(parts[::2], parts[1::2]))


def refusal(output):
    """Returns why a load failed: the program and the verifier's last message, if libbpf prints them, else the last
    error of the lab or the analyzer."""
    log = re.search(r"prog '(\w+)': -- BEGIN PROG LOAD LOG --\n(.*?)-- END PROG LOAD LOG --", output,
                    re.S)
    if log:
        words = [line for line in log[2].splitlines()
                 if line and not re.match(r"processed \d|verification time|stack depth|max_states", line)]
        return f"{log[1]}: {words[-1] if words else 'the verifier does not say why'}"
    complaints = re.findall(r"^(?:lab: kernel|analyze: ).*", output, re.M)
    return (complaints or output.splitlines()[-1:] or ["no output"])[-1]


def rows(table_file):
    """Returns the rows of a table of the lab, as dictionaries."""
    lines = (HERE / table_file).read_text().splitlines()
    names = [line for line in lines if line.startswith("#")][-1][2:].split("\t")
    cells = csv.reader((line for line in lines if not line.startswith("#")), delimiter="\t",
                       quoting=csv.QUOTE_NONE)
    return [dict(zip(names, row)) for row in cells]


def run_doctor(name):
    command = 'uname -r && "${SENDPATH_BIN:-.}/analyze" doctor --hooks'
    run = subprocess.run([HERE / "lab", "--kernel", name, "--", "bash", "-c", command],
                         stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, check=False)
    if run.returncode:
        sys.exit(f"support.py: kernel {name}: the lab ended with status {run.returncode}")
    release, _, text = run.stdout.partition("\n")
    return Kernel(name, release, parse(text))


def write(tables):
    before, _, rest = PAGE.read_text().partition(BEGIN)
    after = rest.partition(END)[2]
    written = PAGE.with_suffix(".new")
    written.write_text(before + BEGIN + tables + END + after)
    os.replace(written, PAGE)


def main():
    wanted = sys.argv[1:]
    tables = render([run_doctor(name) for name in wanted or [row["name"] for row in rows("kernels.tsv")]])
    print(tables, end="")
    if not wanted:
        write(tables)


if __name__ == "__main__":
    main()
