# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs README.md's commands as an ordinary user types them in a clone, with a real sudo."""

import contextlib
import json
import os
import pathlib
import re
import subprocess
import tempfile

import pytest

from conftest import ROOT, Child, line_of, needs_bpf, run
from test_setup import USER, copy_tree
from test_sudo import BY_SUDO, RULES

pytestmark = pytest.mark.installed

VENV = ROOT / "analysis/.venv"
README = (ROOT / "README.md").read_text()

# Commands that are not run here: {first words: reason}.
NOT_RUN = {
    "make check": "make check-installed runs this test",
    "make install": "it writes to /usr/local; test_setup.py installs below another prefix",
    "sudo apt install ./sendpath*.deb": "test_deb.py runs it in a chroot of Debian",
    "tar -xzf": "test_dist.py runs it in chroots of Debian",
    "podman load": "test_kubernetes.py runs it",
    "sudo ./analyze advise -- qemu-system-x86_64 ...": "tests/foreign/test_qemu.py observes QEMU",
    "sudo ./analyze exporter": "it runs until it is stopped; test_exporter.py reads its metrics",
}
# Options that shorten commands that take too long: later options override earlier ones.
SHORTENED = {
    "--pid": " --watch 2", "analyze top": " --count 2",
    "sweep": " --size 1K,4K --threads 1 --repeat 1 --duration 0.1",
}


def commands():
    """Returns the commands of code blocks and of inline code, without comments, in the order of the page."""
    found = re.findall(r"^(?:\t|\$ )(.+)$|`((?:sudo )?\./\S+ [^`]+)`", README, re.M)
    return [re.sub(r"\s+#.*", "", block or inline).strip() for block, inline in found]


def test_only_named_commands_are_not_run():
    assert all(any(command.startswith(words) for command in commands()) for words in NOT_RUN)
    assert any("advise --peer" in command for command in commands())


def table_head(text):
    """Returns the column names of the table of variants, and the names in its first column."""
    lines = text[text.index("\nvariant "):].splitlines()[1:5]
    return lines[0].split(), [line.split()[0] for line in lines[1:]]


@pytest.fixture
def clone(tmp_path):
    """Yields a function that makes a command run as an ordinary user, and options to run it in that user's clone.

    Unless SENDPATH_FULL is set, copies the build, to save time. The clone is not in pytest's folder, because every
    start of pytest closes that folder to other users.
    """
    with tempfile.TemporaryDirectory() as folder:
        tree = pathlib.Path(folder)
        tree.chmod(0o755)
        copy_tree(tree)
        yield make_usable(tree, tmp_path)


def make_usable(tree, rules):
    if "SENDPATH_FULL" not in os.environ:
        for name in "build", "analyze", "loadgen/loadgen":
            run("cp", "-a", ROOT / name, tree / name)
            run("chown", "-R", f"{USER.pw_uid}:{USER.pw_gid}", tree / name)
    if VENV.exists():
        (tree / "analysis/.venv").symlink_to(VENV)
        os.utime(tree / "analysis/requirements.txt", (0, 0))  # older than the installed libraries
    (rules / "test").write_text(RULES)
    (rules / "test").chmod(0o440)

    def words(command):
        return [*BY_SUDO, rules, "setpriv", f"--reuid={USER.pw_uid}", f"--regid={USER.pw_gid}",
                "--init-groups", "sh", "-c", command]
    options = {"cwd": tree, "env": {**os.environ, "HOME": str(tree)}}
    if run(*words("sudo -n true"), **options).returncode:
        pytest.skip("nobody may not use sudo here")
    return words, options


@contextlib.contextmanager
def in_background(clone, command):
    """Runs the command during the with block. With exec, it replaces the shell, so terminate() reaches it."""
    words, options = clone
    with Child(words(f"exec {command}"), stdout=subprocess.PIPE, text=True, **options) as process:
        try:
            yield process
        finally:
            process.terminate()


@needs_bpf
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become another user")
def test_an_ordinary_user_runs_the_commands(clone, untouched):
    """Uses this machine as the other machine, and the load generator as the program to observe."""
    words, options = clone
    folder = options["cwd"]
    serve = next(command for command in commands() if "loadgen serve" in command)
    names = {"10.0.0.2": "127.0.0.1", "nginx": "loadgen", "COMMAND [ARG...]": "true"}
    printed = {}
    with contextlib.ExitStack() as to_the_end:
        for command in commands():
            typed = command + "".join(more for word, more in SHORTENED.items() if word in command)
            if command.startswith(tuple(NOT_RUN)) or ("report" in command and not VENV.exists()):
                continue
            with contextlib.ExitStack() as meanwhile:
                if "4711" in command or "nginx" in command:
                    load = in_background(clone, "loadgen/loadgen --variant zerocopy --duration 60")
                    names["4711"] = str(meanwhile.enter_context(load).pid)
                for name, value in names.items():
                    typed = typed.replace(name, value)
                if command == serve:
                    receiver = to_the_end.enter_context(in_background(clone, typed))
                    names["PORT"] = line_of(receiver.stdout).strip().rpartition(":")[2]
                    continue
                done = run(*words(typed), timeout=600, **options)
            assert done.returncode == 0, (typed, done.stderr)
            printed[command] = done.stdout
    shown = next(command for command in commands() if command.startswith("sudo ./analyze --variant all"))
    assert table_head(printed[shown]) == table_head(README)
    assert json.loads((folder / "p.json").read_text())["path"]["cause"] == "loopback"
    assert not VENV.exists() or (folder / "sizes/report/report.html").exists()
    others = [path for path in folder.rglob("*") if path.lstat().st_uid != USER.pw_uid]
    assert others == [folder / "analysis/.venv"] * VENV.exists()
