# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Files that people name for output. Needs Python alone: analyze advise has it too."""

from __future__ import annotations

import contextlib
import errno
import os
import pathlib
import stat
import tempfile
from collections.abc import Callable
from typing import BinaryIO


def replace(path: str | os.PathLike, fill: Callable[[BinaryIO], object]) -> None:
    """Has fill write the file's content; an old one stays until the new one is whole.

    What is no regular file, such as a pipe, is written at once. A symbolic link, which another may
    have put there, is not followed, but the kernel's own are, such as /dev/stdout, and stay links.
    Raises OSError, and whatever fill does.
    """
    place = pathlib.Path(path)
    kernels = (pathlib.Path("/dev"), pathlib.Path("/proc/self/fd").resolve())
    if place.is_symlink() and place.parent.resolve() not in kernels:
        raise OSError(errno.ELOOP, "it is a symbolic link: name the file itself", str(place))
    if place.is_symlink() or place.exists() and not stat.S_ISREG(place.stat().st_mode):
        with open(_descriptor(place), "wb") as file:
            fill(file)
        return
    mode = stat.S_IMODE(place.stat().st_mode) if place.exists() else 0o666 & ~_umask()
    descriptor, part = tempfile.mkstemp(prefix=f".{place.name[:100]}.", dir=place.parent)
    try:
        with open(descriptor, "wb") as file:
            fill(file)
            file.flush()
            os.fchmod(descriptor, mode)
            os.fsync(descriptor)
        os.replace(part, place)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)
        raise


def _descriptor(place):
    """Of what is there. A FIFO is not waited for. /dev/stdout and /dev/fd/N are open already."""
    target = pathlib.Path(os.readlink(place)) if place.is_symlink() and place.parent.name == "dev" else place
    if place.is_symlink() and target.name.isdecimal():
        return os.dup(int(target.name))
    try:
        descriptor = os.open(place, os.O_WRONLY | os.O_NONBLOCK)
    except OSError as error:
        if error.errno == errno.ENXIO:
            error.strerror = "nobody reads from it: start its reader first"
        raise
    os.set_blocking(descriptor, True)
    return descriptor


def _umask():
    mask = os.umask(0)
    os.umask(mask)
    return mask
