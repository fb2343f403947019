# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests the archive of make dist with the README's commands: in a root that has only busybox, and in the oldest and the
newest Debian."""

import http.client
import json
import os
import re
import shutil
import signal
import subprocess

import pytest

from conftest import ANALYZE, PATIENCE_S, ROOT, Child, check, line_of, needs_bpf, only, run
from roots import Root, archive, debian, install_line
from test_diagnosis import assert_findings
from test_privilege import USER, home  # noqa: F401
from test_sudo import sudo  # noqa: F401

VERSION = only(re.findall(r"^VERSION\s*:= (\S+)$", (ROOT / "Makefile").read_text(), re.M))
NAME = f"sendpath-{VERSION}-{os.uname().machine}"
MESSAGES = 200
PEAK_KIB = 18 * 1024

pytestmark = [pytest.mark.installed, pytest.mark.usefixtures("untouched"),
              pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to change it")]


@pytest.fixture(name="busybox")
def _busybox(tmp_path):
    root = Root(tmp_path)
    for name in "bin", "etc", "tmp":
        (root.files / name).mkdir()
    shutil.copy("/bin/busybox", root.files / "bin")
    subprocess.run(["chroot", root.files, "/bin/busybox", "--install", "-s", "/bin"], check=True)
    (root.files / "etc/hosts").write_text("127.0.0.1 receiver\n")
    (root.files / "etc/passwd").write_text("measurer:x:1001:1001::/:/bin/sh\n")
    (root.files / "etc/group").write_text("measurer:x:1001:\nsecond:x:2002:measurer\n")
    shutil.copy(archive(VERSION)[1], root.files)
    done = root.run(f"tar -xzf {NAME}.tar.gz && rm {NAME}.tar.gz && ls")
    assert done.stdout.split() == ["bin", "dev", "etc", "proc", NAME, "sys", "tmp"], done.stderr
    return root


def test_its_programs_need_no_library(busybox):
    for name in "sendpath", "sendpath-loadgen":
        assert b"/ld-linux" not in (busybox.files / NAME / "bin" / name).resolve().read_bytes()
        assert busybox.run(f"{NAME}/bin/{name} --version").stdout.split()[1:] == [VERSION]
    licences = (busybox.files / NAME / "share/doc/sendpath/LIBRARIES").read_text()
    assert {"glibc", "libbpf", "elfutils", "zlib", "json-c", "libcap2", "liburing", "nettle", "libmicrohttpd",
            "libpfm4"} == set(re.findall(r"^== (\S+) \S+, of Debian$", licences, re.M))


@needs_bpf
def test_it_finds_what_is_wrong_with_a_program(busybox):
    assert_findings(busybox.files / NAME / "bin/sendpath")


@needs_bpf
def test_raw_lines_of_busybox_are_records_elsewhere(busybox, tmp_path):
    words = f"--variant twocopy,zerocopy --messages {MESSAGES}"
    refused = busybox.run(f"{NAME}/bin/sendpath {words}")
    assert refused.returncode == 3 and "python3" in refused.stderr and "--raw" in refused.stderr
    raw = busybox.run(f"{NAME}/bin/sendpath --raw {words}")
    assert raw.returncode == 0, raw.stderr
    (tmp_path / "raw").write_text(raw.stdout)
    made = run(ANALYZE, "derive", tmp_path / "raw", "--json", tmp_path / "records")
    assert made.returncode == 0 and made.stdout, made.stderr
    found = [check(json.loads(line)) for line in (tmp_path / "records").read_text().splitlines()]
    assert [record["app"]["messages"] for record in found] == [MESSAGES] * 2
    assert found[1]["zerocopy"]["completions"] == MESSAGES
    assert {record["tool"]["version"] for record in found} == {VERSION}


@needs_bpf
@pytest.mark.skipif("SENDPATH_LAB" in os.environ, reason="the types of older kernels are not mapped but copied")
def test_the_engine_takes_as_little_memory_as_promised(busybox):
    done = busybox.run(f"{NAME}/bin/sendpath --raw -- sh -c 'grep VmHWM /proc/$PPID/status'")
    assert 1024 < int(re.match(r"VmHWM:\s*(\d+) kB\n", done.stdout)[1]) < PEAK_KIB, done.stdout


@needs_bpf
def test_the_exporter_on_busybox(busybox):
    with Child(busybox.command(f"exec {NAME}/bin/sendpath exporter --listen 127.0.0.1:0"), text=True,
               stderr=subprocess.PIPE, env=busybox.environment()) as exporter:
        port = re.search(r":(\d+)/metrics", line_of(exporter.stderr))[1]
        made = busybox.run(f"{NAME}/bin/sendpath-loadgen --variant zerocopy --warmup 0 --messages {MESSAGES}")
        assert made.returncode == 0, made.stderr
        connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=PATIENCE_S)
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
        exporter.send_signal(signal.SIGTERM)
        _, errors = exporter.communicate(timeout=PATIENCE_S)
    assert (exporter.returncode, errors) == (0, "")
    assert re.search(rf'^sendpath_process_zerocopy_completions_total{{comm="sendpath-loadge"}} {MESSAGES}$', text,
                     re.M), text
    assert re.search(rf'^sendpath_build_info{{.*version="{VERSION}"', text, re.M)


@needs_bpf
def test_names_are_found_without_nss(busybox):
    """Names are looked up in /etc/hosts and /etc/passwd. The error about an unknown user explains that."""
    serve = busybox.command(f"exec {NAME}/bin/sendpath-loadgen serve --address 127.0.0.1 --open")
    with Child(serve, text=True, stdout=subprocess.PIPE, env=busybox.environment()) as receiver:
        port = re.search(r":(\d+)$", line_of(receiver.stdout))[1]
        for name in "receiver", "elsewhere.invalid":
            words = f"--variant twocopy --messages 5 --peer {name}:{port}"
            done = busybox.run(f"{NAME}/bin/sendpath-loadgen {words}")
            assert (done.returncode == 0) == (name == "receiver") != (name in done.stderr), done.stderr
        receiver.terminate()
    for user, groups, lines in (1001, "1001 2002", 0), (4242, "4242", 1):
        done = busybox.run(f"{NAME}/bin/sendpath --raw -- id -G", SUDO_UID=f"{user}", SUDO_GID=f"{user}")
        assert done.returncode == 0, done.stderr
        assert done.stdout.splitlines()[0] == groups
        found = done.stderr.splitlines()
        assert len(found) == lines and all("4242" in line and "/etc/passwd" in line for line in found), found


WITH_GROUPS = ("unshare", "-m", "sh", "-c", 'mount --bind "$1" /etc/group && shift && exec "$@"', "sh")


@needs_bpf
@pytest.mark.parametrize("program", ["analyze", f"{NAME}/bin/sendpath"])
def test_by_sudo_a_user_keeps_a_second_group(program, sudo, tmp_path):  # noqa: F811
    subprocess.run(["tar", "-xzf", archive(VERSION)[1], "-C", sudo.home], check=True)
    (tmp_path / "group").write_text(open("/etc/group", encoding="utf-8").read() + "second:x:4711:nobody\n")
    done = sudo(*WITH_GROUPS, tmp_path / "group", sudo.home / program, "--raw", "--", "id", "-G")
    assert (done.stdout.splitlines()[0], done.stderr) == (f"{USER} 4711", "")


@needs_bpf
@pytest.mark.skipif("SENDPATH_LAB" in os.environ, reason="systems are installed where all is built")
@pytest.mark.parametrize("suite", ["bullseye", "sid"])
def test_a_debian_measures_reports_and_is_left_as_it_was(suite, tmp_path):
    if suite == "sid" and not os.environ.get("SENDPATH_FULL"):
        pytest.skip("make check-full tries the newest Debian")
    root = Root(tmp_path, debian(suite, "python3"))
    shutil.copy(archive(VERSION)[1], root.files)
    done = root.run(install_line("tar ") + f" && {NAME}/bin/sendpath --variant zerocopy --messages {MESSAGES} --json -")
    assert done.returncode == 0, done.stderr
    report, record = done.stdout.rsplit("\n", 2)[:2]
    assert report.startswith(f"sendpath {VERSION} | ")
    assert check(json.loads(record))["zerocopy"]["completions"] == MESSAGES
    written = {path.relative_to(root.files).parts[0] for path in root.files.rglob("*") if not path.is_dir()}
    assert written == {NAME, f"{NAME}.tar.gz"}
