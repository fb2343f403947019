# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Counts the lines of analysis/ that this process executes, if it may write the counts."""

import os
import sys

FOLDER = "/run/sendpath-coverage"

if os.access(FOLDER, os.W_OK | os.X_OK):
    # Finds the module coverage also in a venv, and if Python ignores the environment (-I).
    sys.path.append("/usr/lib/python3/dist-packages")
    os.environ["COVERAGE_PROCESS_START"] = f"{FOLDER}/coveragerc"
    import coverage

    coverage.process_startup()
    del os.environ["COVERAGE_PROCESS_START"]
    sys.path.pop()
