# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests advise when an ordinary user starts it by a real sudo, while other users try to attack root through it."""

import json
import os
import pathlib
import shutil
import subprocess

import pytest

from conftest import ANALYZE, NONE, ROOT, Child, line_of, needs_bpf, run
from test_privilege import USER, home  # noqa: F401

pytestmark = [needs_bpf, pytest.mark.usefixtures("untouched"),
              pytest.mark.skipif(os.geteuid() != 0, reason="not root: nobody can be let use sudo")]

STRANGER = 65533
RULES = """nobody ALL=(root) NOPASSWD: ALL
Defaults:nobody env_keep += HOME, !use_pty
"""
# Sets sudo's rules for these processes only; the machine is unchanged.
BY_SUDO = ("unshare", "-m", "sh", "-c", 'mount --bind "$1" /etc/sudoers.d && shift && exec "$@"', "sh")
AS_CALLER = ("setpriv", f"--reuid={USER}", f"--regid={USER}", "--init-groups", "sudo", "-n")


@pytest.fixture
def sudo(home, tmp_path_factory):  # noqa: F811
    """Returns a function that runs a command as root, by a user's sudo. Its member home is the programs' folder."""
    shutil.copytree(ROOT / "analysis", home / "analysis", dirs_exist_ok=True,
                    ignore=shutil.ignore_patterns(".venv"))
    rules = tmp_path_factory.mktemp("sudoers")
    (rules / "test").write_text(RULES)
    (rules / "test").chmod(0o440)
    (home / "tmp").mkdir()
    (home / "tmp").chmod(0o1777)

    def call(*command, **kwargs):
        # A setuid program such as sudo gets no TMPDIR.
        return run(*BY_SUDO, rules, *AS_CALLER, "env", f"TMPDIR={home / 'tmp'}", *command,
                   env={**os.environ, "HOME": str(home)}, **kwargs)

    if "Sudo version" not in run("sudo", "--version").stdout:
        pytest.skip("sudo is another program here")
    probe = call("sh", "-c", 'echo "$SUDO_UID $(id -u) $HOME"')
    if probe.stdout != f"{USER} 0 {home}\n":
        pytest.skip(f"nobody may not use sudo here: {probe.stdout}{probe.stderr}".strip())
    call.home, call.program = home, home / "analyze"
    return call


# Looks for folders in TMPDIR, puts a record or FIFO of its own where a record may be written, and prints the path.
PLANT = """
import contextlib, os, sys

place, planted = sys.argv[1:]
os.umask(0)
print("ready", flush=True)
while True:
    for folder in os.listdir(place):
        with contextlib.suppress(OSError):
            file = os.path.join(place, folder, "record")
            os.mkfifo(file, 0o666) if planted == "fifo" else os.link(planted, file)
            print(file, flush=True)
"""


@pytest.mark.parametrize("what", ["record", "fifo"])
def test_a_stranger_cannot_answer_in_the_kernels_place(sudo, what):
    """A stranger can neither change what root reads, nor block it, nor write to its terminal."""
    place = sudo.home / "tmp"
    made = run(ANALYZE, "--variant", "zerocopy", "--size", "64K", "--messages", "300", "--json", "-")
    record = json.loads(made.stdout)
    record["zerocopy"]["copied"] = 0
    record["warnings"] = [{"code": "planted", "text": "\x1b[31mplanted"}]
    planted = place / "planted"
    planted.write_text(f"{json.dumps(record)}\n")
    planted.chmod(0o666)
    os.chown(planted, STRANGER, STRANGER)
    with Child(["setpriv", f"--reuid={STRANGER}", f"--regid={STRANGER}", "--clear-groups",
                "/usr/bin/python3", "-c", PLANT, place, "fifo" if what == "fifo" else planted],
               stdout=subprocess.PIPE, text=True) as stranger:
        assert line_of(stranger.stdout) == "ready\n"
        done = sudo(sudo.program, "advise", "--budget", "2", timeout=20)
        stranger.kill()
        seen = stranger.stdout.read()
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(
        "Do not use MSG_ZEROCOPY on this path, at any size: every send is copied.")
    assert "\x1b" not in done.stdout and "planted" not in done.stdout and not seen
    assert os.listdir(place) == ["planted"]


def test_files_that_only_root_may_write_are_not_written(sudo):
    """Files that only root's group may write are safe, too, because the load has none of root's groups."""
    for mode in 0o700, 0o770:
        folder = sudo.home / f"roots-{mode:o}"
        folder.mkdir()
        folder.chmod(mode)
        for words in (["advise"], ["--variant", "twocopy", "--messages", "10", *NONE],
                      ["sweep", "--variant", "twocopy", "--messages", "10", "--repeat", "1"]):
            option, path = ("--out", folder / "out") if "sweep" in words else (
                "--json", folder / "x.json")
            done = sudo(sudo.program, *words, option, path)
            assert (done.returncode, len(done.stderr.splitlines())) == (1, 1), done.stderr
            assert str(path) in done.stderr and not os.listdir(folder)


def test_files_that_only_root_may_read_are_not_read(sudo):
    (sudo.home / "roots").mkdir(mode=0o755)
    path = sudo.home / "roots/known.json"
    path.write_text("{}")
    for mode in 0o600, 0o640:
        path.chmod(mode)
        done = sudo(sudo.program, "advise", "--pid", "1", "--path", path)
        assert done.returncode == 1
        assert done.stderr == f"analyze: --path {path}: Permission denied\n"


@pytest.mark.parametrize("what", ["fifo", "/dev/zero", "large"])
def test_a_path_is_a_regular_file_of_some_size(sudo, what):
    path = pathlib.Path(what if what[0] == "/" else sudo.home / what)
    if what == "fifo":
        os.mkfifo(path)
    if what == "large":
        path.touch()
        os.truncate(path, 1 << 34)
    done = sudo("prlimit", "--as=2000000000", sudo.program, "advise", "--pid", "1", "--path", path,
                timeout=20)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1), done.stderr
    assert str(path) in done.stderr


MARKER = """import os
with open(os.path.join({home!r}, "ran"), "a") as file:
    file.write(f"{{os.geteuid()}} ")
"""


@pytest.mark.parametrize("command", ["advise", "crosscheck", "table"])
def test_no_modules_of_the_callers_are_run_by_root(sudo, command):
    """sudo may keep the caller's HOME, and after su, root has the caller's whole environment."""
    site = run("/usr/bin/python3", "-c", "import site; print(site.getusersitepackages())",
               env={**os.environ, "HOME": str(sudo.home)}).stdout.strip()
    assert site.startswith(str(sudo.home))
    pathlib.Path(site).mkdir(parents=True)
    for folder, name in (site, "usercustomize"), (sudo.home, "sitecustomize"), (sudo.home, "json"):
        pathlib.Path(folder, f"{name}.py").write_text(MARKER.format(home=str(sudo.home)))
    sudo(sudo.program, command, "--help", cwd=sudo.home)
    run(sudo.program, command, "--help", cwd=sudo.home,
        env={**os.environ, "HOME": str(sudo.home), "PYTHONPATH": str(sudo.home)})
    assert not (sudo.home / "ran").exists(), (sudo.home / "ran").read_text()
