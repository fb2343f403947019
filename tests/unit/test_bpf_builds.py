# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The kernel programs compile and link for both architectures, from the tree alone, by the
oldest and the newest compiler that is tested; the lab has kernels load what they make."""

import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("arch", ["x86", "arm64"])
@pytest.mark.parametrize("clang", ["clang-14", "clang-19"])
def test_programs_build(arch, clang, tmp_path):
    if not shutil.which(clang):
        pytest.skip(f"{clang} is missing")
    target = f"{tmp_path}/sendpath.skel.h"
    made = subprocess.run(["make", "-s", f"ARCH={arch}", f"CLANG={clang}", f"BUILD={tmp_path}",
                           target], cwd=ROOT,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert made.returncode == 0, made.stdout
    assert "struct sendpath" in pathlib.Path(target).read_text()


def test_types_are_few():
    """Small enough to read: that is what the lists are for."""
    for arch in ("x86", "arm64"):
        lines = (ROOT / f"vmlinux/{arch}/vmlinux.h").read_text().splitlines()
        assert len(lines) < 400
