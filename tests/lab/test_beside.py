# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs the tests of analysis/, which need a virtual environment of their own, in parallel to the other tests."""

import os
import pwd
import subprocess
from pathlib import Path

TREE = Path(__file__).resolve().parents[2]


def test_analysis():
    """Runs them as the owner of the tree, so that the files written there are the owner's."""
    user = pwd.getpwuid(TREE.stat().st_uid)
    environment = {name: value for name, value in os.environ.items()
                   if name != "HYPOTHESIS_STORAGE_DIRECTORY" and not name.startswith("PYTEST_XDIST")}
    ran = subprocess.run(
        ["make", "--no-print-directory", "check-analysis"], cwd=TREE,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False, user=user.pw_uid, group=user.pw_gid, extra_groups=[],
        env={**environment, "HOME": user.pw_dir, "USER": user.pw_name, "LOGNAME": user.pw_name})
    assert ran.returncode == 0, ran.stdout
