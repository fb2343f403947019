# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests that the service is permitted only what it needs: with systemd's own tools, and in a running systemd."""

import os
import re
import shutil
import subprocess
import urllib.request

import pytest

from conftest import ANALYZE, CAN_MEASURE, ROOT, Receiver, analyze, eventually, needs_bpf, only, run
from exporter import Exporter

pytestmark = pytest.mark.slow

UNIT = ROOT / "deploy/systemd/sendpath-exporter.service"
EXPOSURE = 25  # tenths, as systemd counts; BPF needs 22

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to give up what it has")


def settings(name):
    """Returns the words of this setting in the unit."""
    return " ".join(re.findall(rf"^{name}=(.*)$", UNIT.read_text(), re.M)).split()


def systemd_analyze(*args):
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed")
    done = run("systemd-analyze", *args)
    if re.search(r"nknown (command|option)|unrecognized option", done.stderr):
        pytest.skip(f"this systemd-analyze is too old: {done.stderr.strip()}")
    return done


def test_the_unit_is_well_formed(tmp_path):
    unit = tmp_path / UNIT.name
    unit.write_text(UNIT.read_text().replace("/usr/local/bin/sendpath", ANALYZE).replace(
        "Documentation=man:sendpath(1)\n", ""))
    done = systemd_analyze("verify", "--man=no", unit)
    errors = [line for line in done.stderr.splitlines() if UNIT.name in line or "analyze" in line]
    assert (done.returncode, errors) == (0, []), done.stderr


def test_an_address_that_is_not_there_yet_is_awaited():
    """At boot, the address of --listen may not exist yet: the service restarts until it can listen, without a limit."""
    assert "network-online.target" in settings("Wants") and "network-online.target" in settings("After")
    assert settings("Restart") == ["on-failure"] and settings("StartLimitIntervalSec") == ["0"]
    assert int(only(settings("RestartSec"))) >= 1
    absent = analyze("exporter", "--listen", "192.0.2.1:9435", "--pid", os.getpid())
    assert absent.returncode not in (0, *map(int, settings("RestartPreventExitStatus")))


def test_little_is_exposed():
    done = systemd_analyze("security", "--offline=true", f"--threshold={EXPOSURE}", UNIT)
    assert done.returncode == 0, done.stdout.splitlines()[-1]


def allowed_calls():
    """Returns the names of the syscalls that the unit's filter allows."""
    names = set()
    groups = settings("SystemCallFilter")
    while groups:
        group = groups.pop()
        if not group.startswith("@"):
            names.add(group)
            continue
        listed = systemd_analyze("syscall-filter", group).stdout.splitlines()[1:]
        groups += [line.strip() for line in listed if not line.strip().startswith("#")]
    return names


@needs_bpf
def test_it_makes_no_call_that_is_refused(tmp_path):
    """Traces the exporter from its start to its end, with a request for metrics in between."""
    allowed = allowed_calls()
    assert {"bpf", "read"} <= allowed
    trace = tmp_path / "trace"
    strace = ["strace", "-f", "-o", trace, "-I", "4"]
    if not shutil.which("strace") or run(*strace, "true").returncode:
        pytest.skip("strace does not work here")
    with Exporter(before=list(map(str, strace))) as exporter:
        assert exporter.request()[0] == 200
        os.kill(int(run("pgrep", "-P", exporter.process.pid).stdout), 15)
        exporter.process.wait(60)
    calls = re.findall(r"^\d+ +(\w+)\((\w*)", trace.read_text(), re.M)
    assert len(calls) > 100 and {name for name, _ in calls} - allowed == {"execve"} - allowed
    families = {first for name, first in calls if name == "socket"}
    assert families <= set(settings("RestrictAddressFamilies")) and families


def as_the_service(capabilities):
    """Returns a command that runs as a user with only these capabilities."""
    listed = ",".join("+" + name.lower().removeprefix("cap_") for name in capabilities)
    return ["setpriv", "--reuid", "nobody", "--regid", "nogroup", "--clear-groups",
            "--inh-caps", f"-all,{listed}", "--ambient-caps", f"-all,{listed}",
            "--bounding-set", f"-all,{listed}", "--no-new-privs"]


@needs_root
@needs_bpf
def test_its_capabilities_are_enough():
    assert settings("AmbientCapabilities") == settings("CapabilityBoundingSet")
    with Exporter(before=as_the_service(settings("AmbientCapabilities"))) as exporter, \
            Receiver() as receiver:
        assert run(*receiver.sender("--sends", 100)).returncode == 0
        found = exporter.read()
        assert found.sum("sendpath_process_sends_total", comm="peer") >= 100
        assert found.sum("sendpath_zerocopy_copied_by_cause_total", cause="loopback") >= 100


@needs_root
@pytest.mark.skipif(not CAN_MEASURE, reason="sends cannot be timed here")
@pytest.mark.parametrize("left_out", settings("AmbientCapabilities"))
def test_each_capability_is_needed(left_out):
    rest = [name for name in settings("AmbientCapabilities") if name != left_out]
    if left_out == "CAP_SYSLOG":
        text = run(*as_the_service(rest), ANALYZE, "doctor").stdout
        assert "without CAP_SYSLOG" in text and "without CAP_SYSLOG" not in run(
            *as_the_service(rest + [left_out]), ANALYZE, "doctor").stdout
        return
    done = run(*as_the_service(rest), ANALYZE, "exporter", "--listen", "127.0.0.1:0")
    assert done.returncode == 3 and "CAP_BPF and CAP_PERFMON" in done.stderr


@needs_root
@needs_bpf
def test_it_runs_in_a_systemd(tmp_path):
    if run("systemctl", "is-system-running").stdout.strip() in ("offline", "unknown", ""):
        pytest.skip("no systemd runs here")
    name = f"sendpath-test-{os.getpid()}.service"
    options = tmp_path / "options"
    options.write_text("SENDPATH_EXPORTER_OPTIONS='--listen 127.0.0.1:0'\n")
    program = "/usr/local/bin/" + name.removesuffix(".service")  # /run may be noexec
    shutil.copy(ANALYZE, program)
    text = UNIT.read_text().replace("/usr/local/bin/sendpath", program)
    unit = tmp_path / name
    unit.write_text(re.sub(r"EnvironmentFile=.*", f"EnvironmentFile={options}", text))
    try:
        assert run("systemctl", "link", "--runtime", unit).returncode == 0
        started = run("systemctl", "start", name)
        assert started.returncode == 0, started.stderr
        log = ["journalctl", "-o", "cat", "-u", name]
        url = eventually(lambda: re.search(r"http://\S+", run(*log).stdout))
        assert url, run(*log).stdout
        with urllib.request.urlopen(url[0], timeout=60) as answer:
            assert b"sendpath_sends_total" in answer.read()
        assert run("systemctl", "stop", name).returncode == 0
        assert run("systemctl", "show", "-P", "Result", name).stdout == "success\n"
    finally:
        run("systemctl", "stop", name)
        run("systemctl", "disable", "--runtime", name)
        os.unlink(program)


def test_it_is_installed_to_run_what_is_installed(tmp_path):
    made = subprocess.run(["make", "-s", "install", f"DESTDIR={tmp_path}", "PREFIX=/opt/x"],
                          cwd=ROOT, capture_output=True, text=True, check=False)
    assert made.returncode == 0, made.stderr
    text = (tmp_path / "opt/x/lib/systemd/system" / UNIT.name).read_text()
    program = re.search(r"^ExecStart=(\S+) exporter ", text, re.M)[1]
    assert (tmp_path / program.lstrip("/")).exists()


def test_a_user_without_privilege_reads_how_to_get_it():
    done = run("setpriv", "--reuid", "nobody", "--clear-groups", "--inh-caps=-all", ANALYZE,
               "exporter") if os.geteuid() == 0 else analyze("exporter")
    assert done.returncode == 3 and done.stderr.count("\n") == 1
    assert "CAP_BPF and CAP_PERFMON" in done.stderr and "sudo" in done.stderr
