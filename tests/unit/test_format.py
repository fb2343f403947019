# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests that the C sources have the layout of `make format`, and that no merge left a file or a marker."""

import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
MAJOR = "14"  # of Debian 12; other versions lay out differently


def test_c_sources_are_formatted():
    try:
        version = subprocess.run(["clang-format", "--version"], stdout=subprocess.PIPE, text=True,
                                 check=True).stdout
    except FileNotFoundError:
        pytest.skip("clang-format is not installed")
    if not re.search(rf"version {MAJOR}\.", version):
        pytest.skip(f"not clang-format {MAJOR}: {version.strip()}")
    sources = [p for folder in ("bpf", "user", "loadgen", "tests/unit", "tests/programs")
               for p in (ROOT / folder).rglob("*.[ch]")]
    done = subprocess.run(["clang-format", "--dry-run", "-Werror", *sources],
                          stderr=subprocess.PIPE, text=True, check=False, cwd=ROOT)
    assert done.returncode == 0, done.stderr


def test_no_merge_left_a_file_or_a_marker():
    git = ["git", "-c", f"safe.directory={ROOT}", "-C", ROOT]
    try:
        tracked = subprocess.run([*git, "ls-files"], stdout=subprocess.PIPE, text=True, check=True).stdout
    except (FileNotFoundError, subprocess.CalledProcessError) as error:
        pytest.skip(f"no clone: {error}")
    assert not re.findall(r"^.*\.(?:orig|rej)$", tracked, re.M)
    markers = subprocess.run([*git, "grep", "-nE", r"^(<{7}|>{7}|\|{7}) "], stdout=subprocess.PIPE,
                             text=True, check=False).stdout
    assert not markers, markers
