# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests that ./analyze runs Python unprivileged, from the program's own folder."""

import json
import os
import pathlib
import shutil
import tempfile

import pytest
from conftest import ANALYZE, ROOT, run

NOBODY = 65534
# Replaces analysis/: prints its user, arguments and environment.
TELLS = """import json, os, sys
status = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(json.dumps({"uid": os.getuid(), "groups": os.getgroups(), "argv": sys.argv[1:],
                  "here": __file__, "capabilities": [
                      int(status[key], 16) for key in ("CapEff", "CapPrm", "CapAmb")]}))
"""


@pytest.fixture
def place():
    """Copies the program beside a replaced analysis/, in a folder that all users may read."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        shutil.copy(ANALYZE, folder)
        (pathlib.Path(folder) / "analysis").mkdir()
        (pathlib.Path(folder) / "analysis/__init__.py").touch()
        (pathlib.Path(folder) / "analysis/__main__.py").write_text(TELLS)
        yield pathlib.Path(folder)


def run_front(place, *arguments, **kwargs):
    result = run(place / "analyze", *arguments, **kwargs)
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


@pytest.mark.parametrize("command", ("table", "compare", "report"))
def test_no_capability_is_left(place, command):
    found = run_front(place, command, "--json", "x y", "-")
    assert found["argv"] == [command, "--json", "x y", "-"]
    assert found["capabilities"] == [0, 0, 0]


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_by_sudo_it_is_the_user_who_called(place):
    found = run_front(place, "table", "x", env={**os.environ, "SUDO_UID": str(NOBODY),
                                           "SUDO_GID": str(NOBODY)})
    assert (found["uid"], found["capabilities"]) == (NOBODY, [0, 0, 0])
    assert 0 not in found["groups"]


def test_modules_of_the_user_s_folder_are_not_loaded(place, tmp_path):
    (tmp_path / "analysis").mkdir()
    (tmp_path / "analysis/__init__.py").write_text("raise SystemExit('the wrong one')")
    (tmp_path / "json.py").write_text("raise SystemExit('the wrong one')")
    assert run_front(place, "table", cwd=tmp_path)["here"].startswith(str(place))


def test_without_its_parts_one_line_reports_it(place):
    shutil.rmtree(place / "analysis")
    result = run(place / "analyze", "table", "x")
    assert (result.returncode, result.stdout) == (3, "")
    assert result.stderr.count("\n") == 1 and "analysis/__main__.py is missing" in result.stderr


def test_installed_without_its_libraries_it_prints_how_to_get_them(tmp_path):
    made = run("make", "-s", "install", f"DESTDIR={tmp_path}", "PREFIX=/opt", cwd=ROOT)
    assert made.returncode == 0, made.stderr
    result = run(tmp_path / "opt/bin/sendpath", "table", "x")
    if "No such file" in result.stderr:
        pytest.skip("the system's own Python has the libraries")
    folder = tmp_path / "opt/libexec/sendpath/analysis"
    assert result.returncode == 3 and result.stderr.count("\n") == 1
    assert f"python3 -m venv {folder}/.venv" in result.stderr
    assert (folder / "requirements.txt").exists()
