# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Measures from a script or a notebook."""

import json
import os
import pathlib
import shlex
import shutil
import statistics
import subprocess


def _program():
    """Returns the path of ./analyze in the source tree, or else of the installed program."""
    here = pathlib.Path(__file__).resolve().parents[1] / "analyze"
    return str(here) if here.exists() else shutil.which("sendpath") or "sendpath"


def measure(options: str) -> list[dict]:
    """Runs analyze with these options, by sudo unless the user is root. Returns the run records (docs/run-record.md).
    Raises CalledProcessError if analyze fails; it has printed the reason on standard error.
    """
    command = [*(["sudo"] if os.geteuid() else []), _program(), "--json", "-", *shlex.split(options)]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def throughput(runs: list[dict], variant: str) -> float:
    """Returns the median throughput of a variant's runs in bit/s."""
    return statistics.median(run["app"]["throughput_bps"] for run in runs
                             if run["load"]["variant"] == variant)
