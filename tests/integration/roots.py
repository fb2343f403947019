# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Root folders (chroots) to install into and to measure in."""

import os
import re

import pytest

from conftest import ROOT, run

# Enters a root with mounts of its own. If LOWER is set, this root is in an overlay, which keeps it unchanged.
ENTER = ("unshare", "-m", "sh", "-c", """
root=$1; script=$2; shift 2
[ -z "$LOWER" ] || mount -t overlay -o "lowerdir=$LOWER,upperdir=$root.upper,workdir=$root.work" overlay "$root"
for folder in proc sys dev; do mkdir -p "$root/$folder"; mount --rbind "/$folder" "$root/$folder" || exit; done
exec chroot "$root" /bin/sh -c "$script" sh "$@"
""", "sh")


class Root:
    def __init__(self, folder, lower=""):
        self.folder, self.lower = folder / "root", str(lower)
        for name in "root", "root.upper", "root.work":
            (folder / name).mkdir()
        # files: a folder whose files are visible in the root.
        self.files = folder / "root.upper" if lower else self.folder

    def command(self, script, *words):
        return [*ENTER, self.folder, script, *words]

    def environment(self, **more):
        return {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8", "LOWER": self.lower, **more}

    def run(self, script, *words, **more):
        return run(*self.command(script, *words), env=self.environment(**more), timeout=600)


def debian(suite, *packages):
    """Returns the folder of a Debian system of this suite, with these packages."""
    fetched = run(ROOT / "tests/lab/fetch-debian", suite, *packages, timeout=600)
    if fetched.returncode == 77:
        pytest.skip(fetched.stderr.strip())
    assert fetched.returncode == 0, fetched.stderr
    return fetched.stdout.strip()


def install_line(start):
    """Returns the line of the README's section Install that begins with `start`, for a shell of root."""
    section = re.search(r"^## Install\n(.*?)^## ", (ROOT / "README.md").read_text(), re.M | re.S)[1]
    line, = (line for line in section.splitlines() if line.strip().startswith(start))
    return 'sudo() { "$@"; }\n' + line.partition("  #")[0].strip()


def archive(version, end=".tar.gz"):
    """Returns the file that make dist or make image made for this architecture."""
    name = f"sendpath-{version}-{os.uname().machine}"
    path = ROOT / f"build/dist/{name}{end}"
    assert path.exists(), f"{path} is missing: run make dist image"
    return name, path
