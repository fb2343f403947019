# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The Debian packages: built, installed, used, and purged without a trace. dpkg installs them into a separate root, apt
into a Debian 12, and the service is tested in a Debian that systemd booted."""

import json
import os
import re
import shutil
import subprocess

import pytest

from conftest import CAN_MEASURE, ROOT, analyze, check, needs_bpf, only, run
from roots import Root as SystemRoot, debian, install_line

NEEDED = ("dpkg-buildpackage", "dh", "dpkg")

pytestmark = [
    pytest.mark.installed,
    pytest.mark.skipif(not all(map(shutil.which, NEEDED)), reason=f"needs {', '.join(NEEDED)}"),
    pytest.mark.skipif("SENDPATH_LAB" in os.environ, reason="is built where all is built"),
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root, as dpkg does")]


@pytest.fixture(scope="module")
def package(tmp_path_factory):
    made = subprocess.run(["make", "-s", "deb", f"DEB={tmp_path_factory.mktemp('deb')}"], cwd=ROOT,
                          capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stdout + made.stderr
    return only(re.findall(r"^\S*/sendpath_\S+\.deb$", made.stdout, re.M))


@pytest.fixture(scope="module", name="packages")
def _packages(package):
    """Returns the folder of both packages."""
    return os.path.dirname(package)


@pytest.fixture(scope="module", name="system")
def _system(package):
    """Returns a Debian 12 that can boot, with all dependencies of the packages but without the packages."""
    needed = {dependency.split()[0] for dependency in field(package, "Depends").split(", ")}
    return debian("bookworm", *sorted(needed), "busybox-static", "iproute2", "systemd-sysv", "util-linux")


def field(package, name):
    return run("dpkg-deb", "--field", package, name).stdout.strip()


def test_its_version_is_the_programs(package):
    version = only(re.findall(r"^VERSION\s*:= (\S+)$", (ROOT / "Makefile").read_text(), re.M))
    assert field(package, "Version") == version
    assert analyze("--version").stdout.split()[1] == version
    for page in (ROOT / "docs/man").iterdir():
        assert f'"sendpath {version}"' in page.read_text(), page


def test_lintian_finds_no_error(package):
    """Checks only this package: the other one has files from PyPI."""
    if not shutil.which("lintian"):
        pytest.skip("lintian is not installed")
    done = run("lintian", "--no-cfg", "--allow-root", "--fail-on", "error,warning", package)
    assert done.returncode == 0, done.stdout


def test_what_it_depends_on_is_what_it_was_built_with(package):
    """The programs run on this machine, so all dependencies must be installed here."""
    for dependency in field(package, "Depends").split(", "):
        name = dependency.split()[0]
        assert run("dpkg-query", "-W", "-f", "${db:Status-Status}", name).stdout == "installed", name


def test_what_is_for_schedulers_can_be_run_and_read(package):
    modes = {name: mode for mode, name in re.findall(
        r"^(\S+) .* \./usr/share/doc/sendpath/deploy/(\S+)$", run("dpkg-deb", "--contents", package).stdout, re.M)}
    assert modes["pairs"] == modes["slurm/audit"] == "-rwxr-xr-x"
    assert modes["kubernetes/exporter.yaml"] == "-rw-r--r--"


class Root:
    """A folder that dpkg treats as /, with a database of its own."""

    def __init__(self, folder):
        self.folder = folder
        for name in "info", "updates", "triggers":
            (folder / "var/lib/dpkg" / name).mkdir(parents=True)
        (folder / "var/lib/dpkg/status").touch()

    def dpkg(self, *args):
        """Runs dpkg on the folder. It has no shell, so the packages' scripts run outside, and get its path."""
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
    (tmp_path / "usr/libexec/sendpath/analysis/.venv").mkdir()  # a user creates it with the documented command
    (tmp_path / "usr/libexec/sendpath/analysis/.venv/python3").touch()
    root.dpkg("--purge", "sendpath")
    assert root.files() == set()
    assert not (tmp_path / "usr").exists()


# Lists all files. What the later of two lists has in addition was left by the steps between them.
SNAPSHOT = r"""
snapshot() { find / -xdev \( -path /var/log -o -path /var/cache -o -path /var/lib/apt -o -path /var/lib/dpkg \
	-o -path /var/lib/systemd -o -path /tmp -o -path /var/tmp -o -path "$1" \) -prune -o -print | sort; }
"""
WITH_REPORTS = SNAPSHOT + r"""
cd /packages && snapshot /packages >/tmp/before
{ %s; } >&2
cd /tmp && sendpath sweep --variant twocopy,zerocopy --messages 100 --repeat 3 --out out >&2
sendpath report out >&2 && head -c 15 out/report/report.html
apt-get purge -y sendpath sendpath-report >&2
snapshot /packages | diff /tmp/before - | grep '^[<>]'
"""


@needs_bpf
def test_apt_installs_both_and_a_report_is_made(packages, system, tmp_path):
    root = SystemRoot(tmp_path, system)
    shutil.copytree(packages, root.files / "packages", ignore=lambda folder, names: [
        name for name in names if not name.endswith(".deb")])
    done = root.run("set -e\n" + WITH_REPORTS % install_line("sudo apt install"))
    assert done.stdout == "<!DOCTYPE html>", done.stdout + done.stderr


BOOTED = SNAPSHOT + r"""
metric() { python3 -c 'import sys, urllib.request
text = urllib.request.urlopen("http://127.0.0.1:9435/metrics").read().decode()
print(int(sum(float(line.split()[-1]) for line in text.splitlines() if line.startswith(sys.argv[1]))))' "$1"; }
answers() { until metric sendpath_build_info >/tmp/answer 2>&1; do systemctl is-failed -q sendpath-exporter && return; sleep 0.2; done; }
pid() { systemctl show --property=MainPID --value sendpath-exporter; }
send() { sendpath-loadgen --variant zerocopy --warmup 0 --messages 50; metric 'sendpath_process_zerocopy_completions_total{comm="sendpath-loadge"}'; }
cd "$1" && snapshot "$1" >/tmp/before
%s
print() { echo "== $*"; }
print enabled $(systemctl is-enabled sendpath-exporter) active $(systemctl is-active sendpath-exporter)
sudo systemctl enable --now sendpath-exporter; answers
first=$(pid); print sent $(send | tail -n 1); print sent $(send | tail -n 1)
systemctl restart sendpath-exporter; answers
second=$(pid); print sent $(send | tail -n 1)
apt-get install -y ./newer/sendpath_*.deb; answers
third=$(pid); print sent $(send | tail -n 1) version $(dpkg-query -W -f '${Version}' sendpath)
print processes $(printf '%%s\n' "$first" "$second" "$third" | sort -u | wc -l)
apt-get purge -y sendpath
print active $(systemctl is-active sendpath-exporter) state $(systemctl show --property=LoadState --value sendpath-exporter)
metric sendpath || print no answer
print left "$(snapshot "$1" | diff /tmp/before - | grep '^[<>]')"
"""


@pytest.mark.skipif("SENDPATH_FULL" not in os.environ, reason="minutes of a booted guest: for make check-full")
def test_a_booted_debian_has_the_service(package, system, tmp_path):
    shutil.copy(package, tmp_path)
    unpacked = tmp_path / "unpacked"
    run("dpkg-deb", "-R", package, unpacked)
    control = (unpacked / "DEBIAN/control").read_text()
    version = field(package, "Version")
    (unpacked / "DEBIAN/control").write_text(control.replace(f"Version: {version}\n", f"Version: {version}+1\n"))
    (tmp_path / "newer").mkdir()
    assert run("dpkg-deb", "-b", unpacked, tmp_path / "newer").returncode == 0
    shutil.rmtree(unpacked)
    done = run(ROOT / "tests/lab/lab", "--root", system, "--systemd", "--share", tmp_path, "--",
               "bash", "-c", BOOTED % install_line("sudo apt install"), "sh", tmp_path, timeout=900)
    if done.returncode == 77:
        pytest.skip(done.stderr.strip())
    printed = [line.removeprefix("== ") for line in done.stdout.splitlines() if line.startswith("== ")]
    assert printed == [
        "enabled disabled active inactive", "sent 50", "sent 100", "sent 50", f"sent 50 version {version}+1",
        "processes 3", "active inactive state not-found", "no answer", "left "], done.stdout + done.stderr
