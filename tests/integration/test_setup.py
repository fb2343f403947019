# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests building from source: as an ordinary user, or by sudo make."""

import os
import pwd
import shutil
import subprocess

import pytest

from conftest import ANALYZE, ROOT, git, needs_bpf, only, run
from test_diagnosis import assert_findings

USER = pwd.getpwnam("nobody")
# The PATH of an ordinary user's login in Debian: bpftool is not in it.
PATH = "/usr/local/bin:/usr/bin:/bin"
TARGET = "build/sendpath.skel.h"

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to become another user")


def copy_tree(folder):
    """Copies the source as in a clone, owned by a user without privilege."""
    listed = git("ls-files", "-z")
    assert listed.returncode == 0, listed.stderr
    files = listed.stdout.split("\0")
    for name in filter(None, files):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    for path in (folder, *folder.rglob("*")):
        os.chown(path, USER.pw_uid, USER.pw_gid)


@pytest.fixture
def tree(open_path):
    (open_path / "tree").mkdir()
    copy_tree(open_path / "tree")
    return open_path / "tree"


def make(tree, target, umask=-1, **environment):
    return subprocess.run(["make", target], cwd=tree, text=True, capture_output=True, check=False,
                          timeout=300, umask=umask, env={"PATH": PATH, **environment},
                          **({} if environment else
                             {"user": USER.pw_uid, "group": USER.pw_gid, "extra_groups": []}))


def assert_the_users(tree):
    theirs = [path for path in tree.rglob("*") if path.lstat().st_uid != USER.pw_uid]
    assert (tree / TARGET).exists() and not theirs
    assert make(tree, "clean").returncode == 0
    assert not (tree / "build").exists()


@pytest.mark.installed
def test_a_user_without_sbin_builds(tree):
    built = make(tree, TARGET)
    assert built.returncode == 0, built.stderr
    assert_the_users(tree)


@pytest.mark.installed
def test_sudo_make_leaves_nothing_of_roots(tree):
    built = make(tree, TARGET, SUDO_UID=str(USER.pw_uid), SUDO_GID=str(USER.pw_gid), HOME="/root")
    assert built.returncode == 0, built.stderr
    assert_the_users(tree)


def closed(folder):
    """Returns the files and folders that not all users may read or enter."""
    return [path for path in (folder, *folder.rglob("*"))
            if not path.is_symlink() and ~path.stat().st_mode & (0o005 if path.is_dir() else 0o004)]


def test_all_users_may_read_what_is_installed(tmp_path):
    made = make(ROOT, "install", umask=0o077, DESTDIR=str(tmp_path / "root"))
    assert made.returncode == 0, made.stderr
    assert not closed(tmp_path / "root/usr/local")


@pytest.mark.installed
@needs_bpf
def test_what_is_installed_works_whole_and_goes_again(tree):
    """Reports work without a further command. An installation by root replaces one by sudo."""
    prefix = tree.parent / "installed"
    environment = {"PREFIX": str(prefix), "HOME": "/root"}
    for user in {"SUDO_UID": str(USER.pw_uid), "SUDO_GID": str(USER.pw_gid)}, {}:
        made = make(tree, "install", umask=0o077, **environment, **user)
        assert made.returncode == 0, made.stderr
        assert {path.lstat().st_uid for path in prefix.rglob("*")} == {0}
        assert not closed(prefix)
    sendpath = prefix / "bin/sendpath"
    assert_findings(sendpath)
    records = prefix.parent / "records.jsonl"
    records.write_bytes((ROOT / "tests/analysis/samples.jsonl").read_bytes())
    table = run(sendpath, "table", records, cwd="/")
    assert table.returncode == 0 and table.stdout.startswith("source,"), table.stderr
    assert run(sendpath, "--version").stdout.startswith("sendpath ")
    installed = {page.name for page in (prefix / "share/man/man1").iterdir()}
    assert installed == {page.name for page in (ROOT / "docs/man").iterdir()}
    assert make(tree, "uninstall", **environment).returncode == 0
    assert not [path for path in prefix.rglob("*") if not path.is_dir()]


@pytest.mark.parametrize("target,name", [
    *((target, name) for target in ("install", "uninstall") for name in ("DESTDIR", "PREFIX")),
    *((target, "CURDIR") for target in ("archive", "deb", "dist", "image"))])
def test_a_path_with_a_space_removes_nothing_beside_it(tmp_path, target, name):
    kept, tree = tmp_path / "kept", tmp_path / ("kept src" if name == "CURDIR" else "src")
    for folder in kept, tree:
        folder.mkdir()
    shutil.copy(ROOT / "Makefile", tree)
    (kept / "file").touch()
    made = run("make", target, *([] if name == "CURDIR" else [f"{name}={kept} root"]), cwd=tree,
               env={"PATH": PATH})
    assert made.returncode == 2 and f"{name}={kept} " in only(made.stderr.splitlines())
    assert set(tmp_path.rglob("*")) == {kept, kept / "file", tree, tree / "Makefile"}


@pytest.mark.parametrize("words,offered", [
    (["--vari"], ["--variant="]),
    (["--variant", "two"], ["twocopy"]),
    (["--variant", "=", "two"], ["twocopy"]),
    (["sweep", "--grid", "s"], ["servers", "sizes"]),
    (["sw"], ["sweep"]),
    (["hel"], ["help"]),
    (["compare", "--thr"], ["--threshold"]),
    (["compare", "--vari"], []),
    (["advise", "--bud"], ["--budget"]),
    (["derive", "--"], ["--details", "--help", "--json"]),
    (["timeline", "--s"], ["--sample=", "--seed=", "--sends=", "--server-model=", "--size=", "--slower-than=",
                           "--socket=", "--stages"]),
    (["sweep", "--o"], ["--order-seed=", "--out="]),
    (["top", "--sort", "z"], ["zero-copy"]),
    (["top", "--sor"], ["--sort="]),
    (["exporter", "--t"], ["--textfile=", "--threads=", "--top=", "--total="]),
    *(([f"--{name}"], []) for name in ("decide", "grid", "listen", "out", "retry", "sends", "shard", "sort", "textf", "top")),
    (["--", "ls", "--col"], []),
])
def test_bash_completes(words, offered):
    script = (f"source {ROOT}/docs/sendpath.bash; COMP_WORDS=({ANALYZE} {' '.join(words)}); "
              f"COMP_CWORD={len(words)}; _sendpath; printf '%s\\n' \"${{COMPREPLY[@]}}\"")
    done = run("bash", "-c", script)
    assert sorted(done.stdout.split()) == offered, done.stderr


@pytest.mark.parametrize("shell,script", [
    ("bash", "source {}/docs/sendpath.bash; COMP_WORDS=('{}' ''); COMP_CWORD=1; _sendpath; "
             "printf '%s\\n' \"${{COMPREPLY[@]}}\""),
    ("zsh", "words=('{1}' ''); CURRENT=2; compadd() {{ print -l -- $verbs }}; _files() {{ }}; "
            "source {0}/docs/_sendpath")], ids=["bash", "zsh"])
@pytest.mark.parametrize("command,there", [("~/bin/analyze", True), ("~/none", False)])
def test_a_program_below_home_completes(tmp_path, shell, script, command, there):
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    (tmp_path / "bin").symlink_to(os.path.dirname(ANALYZE))
    done = run(shell, "-c", script.format(ROOT, command), env={**os.environ, "HOME": str(tmp_path)})
    assert done.stderr == "" and ({"help", "sweep"} <= set(done.stdout.split())) == there


@pytest.mark.parametrize("words,offered", [
    (["--vari"], "--variant="), (["sw"], "sweep"), (["compare", "--thr"], "--threshold"),
    (["timeline", "--st"], "--stages"), (["--variant=two"], "twocopy"), (["sweep", "--grid=s"], "servers"),
    (["top", "--sort=z"], "zero-copy")])
def test_zsh_completes(words, offered):
    """Prints the arguments of zsh's completion functions, which themselves need its line editor."""
    if not shutil.which("zsh"):
        pytest.skip("zsh is not installed")
    script = (f"words=({ANALYZE} {' '.join(words)}); CURRENT={len(words) + 1}; "
              f"compadd() {{ print -l -- $flags $verbs }}; _files() {{ }}; compset() {{ }}; source {ROOT}/docs/_sendpath")
    done = run("zsh", "-fc", script)
    assert offered in done.stdout.split(), done.stderr
