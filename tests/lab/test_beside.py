# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Suites that are none of a guest, but run beside the other tests as guests do."""

import os
import pwd
import subprocess
from pathlib import Path

pytest_plugins = ["guests"]

TREE = Path(__file__).resolve().parents[2]


def analysis():
    """With what processor time the others leave, and as the tree's owner, who is to keep it."""
    user = pwd.getpwuid(TREE.stat().st_uid)
    environment = {**os.environ, "HOME": user.pw_dir, "USER": user.pw_name,
                   "LOGNAME": user.pw_name}
    environment.pop("HYPOTHESIS_STORAGE_DIRECTORY", None)  # root's
    return subprocess.run(
        ["nice", "-n", "19", "make", "--no-print-directory", "check-analysis"], cwd=TREE,
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        check=False, user=user.pw_uid, group=user.pw_gid, extra_groups=[], env=environment)


def boots(*_):
    return {"analysis": analysis}


def test_analysis(guests, took):
    ran = guests.result("analysis")
    took("analysis", ran.stdout)
    assert ran.returncode == 0, ran.stdout
