# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""maps.py OBJECT PAGE: writes into the page, between two comments, which files of bpf/ use which maps.
A file uses a map if one of its programs, or a function that the program calls, loads the map's address.
"""

import collections
import pathlib
import re
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "bpf"
ENDING = "_fentry|_kprobe|_fexit|_kretprobe|_again"
INSTRUCTION = re.compile(r"\s+(\d+):\s+85 ([0-9a-f])[0-9a-f] \S\S \S\S ((?:[0-9a-f]{2} ?){4})")
FUNCTION = re.compile(r"([0-9a-f]+) <((?!LBB).*)>:")
RELOCATION = re.compile(r"\s+[0-9a-f]+:\s+R_BPF_64_(64|32)\s+(\S+)")


def objdump(what, object_file):
    return subprocess.run(["llvm-objdump", what, object_file], check=True, capture_output=True,
                          text=True).stdout.splitlines()


class Object:
    """The functions of an object file: the section of each, the symbols that it loads, its calls."""

    def __init__(self, path):
        self.maps = {line.split()[-1] for line in objdump("-t", path) if " .maps" in line and " O " in line}
        self.sections, self.loads = {}, collections.defaultdict(set)
        self._calls, self._places, self._named = [], {}, collections.defaultdict(set)
        section = function = call = None
        for line in objdump("-dr", path):
            if line.startswith("Disassembly of section "):
                section = line.split()[-1].rstrip(":")
            elif found := FUNCTION.match(line):
                function = found[2]
                self.sections[function] = section
                self._places[section, int(found[1], 16) // 8] = function
            elif found := RELOCATION.match(line):
                if found[1] == "64":
                    self.loads[function].add(found[2])
                elif found[2] == ".text":
                    self._calls[-1] = (function, ".text", call[1] + 1)
                else:
                    self._named[function].add(found[2])
            elif (found := INSTRUCTION.match(line)) and found[2] == "1":
                distance = int.from_bytes(bytes.fromhex(found[3]), "little", signed=True)
                call = (int(found[1]), distance)
                self._calls.append((function, section, call[0] + 1 + distance))
        for caller, where, place in self._calls:
            if (where, place) in self._places:
                self._named[caller].add(self._places[where, place])

    def uses(self, function):
        """The maps that a function or those below it load."""
        seen, ahead = set(), [function]
        while ahead:
            at = ahead.pop()
            if at not in seen:
                seen.add(at)
                ahead += self._named[at]
        return set().union(*(self.loads[at] for at in seen)) & (self.maps | {"threads"})

    def programs(self):
        return [name for name, section in self.sections.items() if section != ".text"]


def drawing(path):
    """A row for each map, a column for each file."""
    found, files = Object(path), sorted(FOLDER.glob("*.bpf.c"))
    texts = {file.name.removesuffix(".bpf.c"): file.read_text(encoding="ascii") for file in files}
    used = collections.defaultdict(set)
    for program in found.programs():
        name = re.sub(rf"({ENDING})+$", "", program)
        file = next(file for file, text in texts.items() if re.search(rf"(\(|, |int ){name}({ENDING})?[,()]", text))
        for of in found.uses(program):
            used[of].add(file)
    columns = sorted(set().union(*used.values()))
    width = max(map(len, used)) + 2
    lines = [" " * width + "  ".join(columns)]
    for of in sorted(used):
        lines.append((of.ljust(width) + "  ".join(("x" if file in used[of] else "").center(len(file))
                                                  for file in columns)).rstrip())
    return "```\n" + "\n".join(lines) + "\n```\n"


def page(text, path):
    """The page's text as it is to be."""
    return re.sub(r"(?s)(<!-- maps -->\n).*?(<!-- end -->)",
                  lambda found: found[1] + drawing(path) + found[2], text)


if __name__ == "__main__":
    PAGE = pathlib.Path(sys.argv[2])
    PAGE.write_text(page(PAGE.read_text(encoding="utf-8"), sys.argv[1]), encoding="utf-8")
