# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests that the oldest and the newest supported compiler accept the kernel programs for both architectures, with the
kernel types of this repository. The kernels of the lab load the results.
"""

import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs"))
import maps  # noqa: E402 (it is beside the pages)


@pytest.mark.parametrize("arch", ["x86", "arm64"])
@pytest.mark.parametrize("clang", ["clang-14", "clang-19"])
def test_programs_are_accepted(arch, clang, tmp_path):
    if not shutil.which(clang):
        pytest.skip(f"{clang} is missing")
    made = subprocess.run(["make", "-s", f"ARCH={arch}", f"CLANG={clang} -fsyntax-only", f"BUILD={tmp_path}",
                           f"{tmp_path}/bpf/sendpath.bpf.o"], cwd=ROOT, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    assert made.returncode == 0, made.stdout


def test_files_and_maps_are_drawn():
    text = (ROOT / "docs/zerocopy.md").read_text(encoding="utf-8")
    assert maps.page(text, ROOT / "build/bpf/sendpath.bpf.o") == text


def test_types_are_few():
    """The files of types must stay small enough to read. That is the purpose of the lists of types."""
    for arch in ("x86", "arm64"):
        lines = (ROOT / f"vmlinux/{arch}/vmlinux.h").read_text().splitlines()
        assert len(lines) < 480
