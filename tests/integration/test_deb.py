# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The Debian package: built, installed into a root of its own, used there, purged without a trace."""

import json
import os
import re
import shutil
import subprocess

import pytest

from conftest import CAN_MEASURE, ROOT, analyze, check, only, run

NEEDED = ("dpkg-buildpackage", "dh", "dpkg")

pytestmark = [
    pytest.mark.skipif(not all(map(shutil.which, NEEDED)), reason=f"needs {', '.join(NEEDED)}"),
    pytest.mark.skipif("SENDPATH_LAB" in os.environ, reason="is built where all is built"),
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, as dpkg does")]


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    made = subprocess.run(["make", "-s", "deb", f"DEB={tmp_path_factory.mktemp('deb')}"], cwd=ROOT,
                          capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr
    return only(re.findall(r"^\S*/sendpath_\S+\.deb$", made.stdout, re.M))


def field(package, name):
    return run("dpkg-deb", "--field", package, name).stdout.strip()


def test_its_version_is_the_programs(package):
    version = only(re.findall(r"^VERSION\s*:= (\S+)$", (ROOT / "Makefile").read_text(), re.M))
    assert field(package, "Version") == version
    assert analyze("--version").stdout.split()[1] == version
    for page in (ROOT / "docs/man").iterdir():
        assert f'"sendpath {version}"' in page.read_text(), page


def test_lintian_finds_no_error(package):
    if not shutil.which("lintian"):
        pytest.skip("lintian is not installed")
    done = run("lintian", "--no-cfg", "--allow-root", "--fail-on", "error,warning", package)
    assert done.returncode == 0, done.stdout


def test_what_it_depends_on_is_what_it_was_built_with(package):
    """Each is here, because the programs run here."""
    for dependency in field(package, "Depends").split(", "):
        name = dependency.split()[0]
        assert run("dpkg-query", "-W", "-f", "${db:Status-Status}", name).stdout == "installed", name


def test_what_is_for_schedulers_can_be_run_and_read(package):
    modes = {name: mode for mode, name in re.findall(
        r"^(\S+) .* \./usr/share/doc/sendpath/deploy/(\S+)$", run("dpkg-deb", "--contents", package).stdout, re.M)}
    assert modes["pairs"] == modes["slurm/audit"] == "-rwxr-xr-x"
    assert modes["kubernetes/audit.yaml"] == "-rw-r--r--"


class Root:
    """A folder in which dpkg installs as if it were /, and knows of nothing else."""

    def __init__(self, folder):
        self.folder = folder
        for name in "info", "updates", "triggers":
            (folder / "var/lib/dpkg" / name).mkdir(parents=True)
        (folder / "var/lib/dpkg/status").touch()

    def dpkg(self, *args):
        """Its scripts run outside of the folder, and are told of it: it has no shell."""
        done = run("dpkg", f"--root={self.folder}", "--force-script-chrootless,depends",
                   "--log=/dev/null", *args)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def files(self):
        return {str(path.relative_to(self.folder)) for path in self.folder.rglob("*")
                if not path.is_dir() and "var/lib/dpkg/" not in f"{path}"}


def test_it_installs_runs_and_purges(package, tmp_path):
    root = Root(tmp_path)
    root.dpkg("--install", package)
    assert "installed" in root.dpkg("--status", "sendpath")
    sendpath, loadgen = (tmp_path / "usr/bin" / name for name in ("sendpath", "sendpath-loadgen"))
    version = field(package, "Version")
    for program in sendpath, loadgen:
        assert version in run(program, "--version", cwd="/").stdout.split()
    smoke = run(sendpath, "--variant", "onecopy,zerocopy", "--messages", 100, "--json", "-", cwd="/")
    if CAN_MEASURE:
        assert smoke.returncode == 0, smoke.stderr
        for line in smoke.stdout.splitlines():
            assert check(json.loads(line))["app"]["messages"] == 100
    else:
        assert smoke.returncode == 3, smoke.stderr
    for page in (ROOT / "docs/man").iterdir():
        found = tmp_path / f"usr/share/man/man1/{page.name}.gz"
        text = subprocess.run(["zcat", found], stdout=subprocess.PIPE, text=True, check=True).stdout
        assert f".TH {page.stem.upper()} 1" in text and "/usr/local" not in text
    unit = (tmp_path / "lib/systemd/system/sendpath-exporter.service").read_text()
    assert "ExecStart=/usr/bin/sendpath exporter" in unit
    assert not list((tmp_path / "etc").rglob("*.service"))  # not enabled by itself
    (tmp_path / "usr/libexec/sendpath/analysis/.venv").mkdir()  # what its user makes, as it says
    (tmp_path / "usr/libexec/sendpath/analysis/.venv/python3").touch()
    root.dpkg("--purge", "sendpath")
    assert root.files() == set()
    assert not (tmp_path / "usr").exists()
