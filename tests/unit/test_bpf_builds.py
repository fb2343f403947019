# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The oldest and the newest compiler that is tested accept the kernel programs for both architectures, by the
tree's own types. What they make of them is loaded in the lab's kernels.
"""

import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("arch", ["x86", "arm64"])
@pytest.mark.parametrize("clang", ["clang-14", "clang-19"])
def test_programs_are_accepted(arch, clang, tmp_path):
    if not shutil.which(clang):
        pytest.skip(f"{clang} is missing")
    made = subprocess.run(["make", "-s", f"ARCH={arch}", f"CLANG={clang} -fsyntax-only", f"BUILD={tmp_path}",
                           f"{tmp_path}/bpf/sendpath.bpf.o"], cwd=ROOT, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    assert made.returncode == 0, made.stdout


def test_types_are_few():
    """Small enough to read: that is what the lists are for."""
    for arch in ("x86", "arm64"):
        lines = (ROOT / f"vmlinux/{arch}/vmlinux.h").read_text().splitlines()
        assert len(lines) < 400
