# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""scp copies a file in both directions. Only the second instrument counts what ssh adds for ciphers and
windows."""

import os
import signal

import pytest

from witness import Bpftrace, Strace, accepts, free_port, need, needs_bpf, run, version

pytestmark = needs_bpf
SIZE = 20 << 20


@pytest.fixture(name="folder")
def _folder(tmp_path):
    """Writes keys, a file, and the configurations of both ends."""
    need("/usr/sbin/sshd", "scp", "ssh-keygen")
    os.makedirs("/run/sshd", exist_ok=True)  # sshd's service creates it, too
    for key in ("host", "user"):
        made = run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / key)
        assert made.returncode == 0, made.stderr
    (tmp_path / "data").write_bytes(os.urandom(SIZE))
    (tmp_path / "sshd_config").write_text(
        f"HostKey {tmp_path}/host\nAuthorizedKeysFile {tmp_path}/user.pub\n"
        f"PidFile {tmp_path}/pid\nStrictModes no\nPermitRootLogin prohibit-password\n"
        "UsePAM yes\n"  # without PAM, a root without a password would be refused
        "Subsystem sftp internal-sftp\n")
    (tmp_path / "ssh_config").write_text(
        f"Host *\nUser root\nIdentityFile {tmp_path}/user\nIdentitiesOnly yes\n"
        "StrictHostKeyChecking no\nUserKnownHostsFile /dev/null\nLogLevel ERROR\n")
    return tmp_path


def serving(witness, folder, port):
    return witness.serving(
        lambda: accepts(port), lambda: os.kill(int((folder / "pid").read_text()), signal.SIGTERM),
        "/usr/sbin/sshd", "-D", "-e", "-f", folder / "sshd_config", "-o",
        f"ListenAddress=127.0.0.1:{port}")


def scp(folder, port, source, target):
    return ["scp", "-F", folder / "ssh_config", "-P", port, source, target]


def sent(witness):
    return sum(c["bytes"] for c in witness.record["calls"])


@pytest.mark.parametrize("instrument", [Strace, Bpftrace])
def test_sshd_sends_a_file(instrument, folder, tmp_path):
    port, witness = free_port(), instrument(tmp_path)
    with serving(witness, folder, port):
        result = run(*scp(folder, port, f"127.0.0.1:{folder}/data", folder / "copy"))
        assert result.returncode == 0, result.stderr + (folder / "server").read_text()
    assert (folder / "copy").read_bytes() == (folder / "data").read_bytes()
    assert SIZE < sent(witness) < SIZE * 1.01
    witness.agrees(f"sshd {version('ssh', '-V')}")


@pytest.mark.parametrize("instrument", [Strace, Bpftrace])
def test_scp_sends_a_file(instrument, folder, tmp_path):
    (tmp_path / "other").mkdir()
    port, witness, other = free_port(), instrument(tmp_path), Strace(tmp_path / "other")
    with serving(other, folder, port):
        witness.run(*scp(folder, port, folder / "data", f"127.0.0.1:{folder}/copy"))
    assert (folder / "copy").read_bytes() == (folder / "data").read_bytes()
    assert SIZE < sent(witness) < SIZE * 1.01
    witness.agrees(f"scp {version('ssh', '-V')}")
