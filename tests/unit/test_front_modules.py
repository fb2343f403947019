# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests that the front imports only its own files and the standard library."""

import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ANALYSIS = ROOT / "analysis"
# Prints the files of all imported modules, and the folders of Python's standard library.
IMPORT = """
import sys, sysconfig
sys.path.insert(0, {root!r})
import analysis.front.session, analysis.advise.advise
import json
print(json.dumps([[getattr(module, "__file__", None) for module in list(sys.modules.values())],
                  [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib")]]))
"""


def imported():
    """Returns the modules in analysis/, and the modules that are neither there nor in Python's standard library."""
    output = subprocess.run([sys.executable, "-I", "-B", "-S", "-c", IMPORT.format(root=str(ROOT))],
                          stdout=subprocess.PIPE, check=True, timeout=60).stdout
    files, folders = json.loads(output)
    files = [pathlib.Path(file).resolve() for file in files if file]
    own = [file.relative_to(ANALYSIS) for file in files if ANALYSIS in file.parents]
    folders = [ANALYSIS, *(pathlib.Path(folder).resolve() for folder in folders)]
    return own, [file for file in files if not set(folders) & set(file.parents)
                 or {"site-packages", "dist-packages"} & set(file.parts)]


def test_the_standard_library_is_enough():
    own, others = imported()
    assert own and not others
