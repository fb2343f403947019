# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Writes output files. Uses only the standard library, because analyze advise runs without other libraries."""

from __future__ import annotations

import contextlib
import errno
import os
import pathlib
import stat
import tempfile
from collections.abc import Callable
from typing import BinaryIO

from analysis.front.output import is_kernels

STDOUT = pathlib.Path("/dev/stdout")


def check(path: str | os.PathLike) -> None:
    """Raises OSError if replace() could not write the file."""
    place = pathlib.Path(path)
    if place.is_symlink() and not is_kernels(place):
        raise OSError(errno.ELOOP, "it is a symbolic link: name the file itself", str(place))
    if place.is_dir():
        raise OSError(errno.EISDIR, os.strerror(errno.EISDIR), str(place))
    os.stat(f"{place.parent}/.")
    at, mode = (place, os.W_OK) if _is_special(place) else (place.parent, os.W_OK | os.X_OK)
    if place != STDOUT and not os.access(at, mode, effective_ids=True):
        raise OSError(errno.EACCES, os.strerror(errno.EACCES), str(place))


def replace(path: str | os.PathLike, fill: Callable[[BinaryIO], object]) -> None:
    """Replaces a file by the content that fill writes; the old file stays until the new one is complete.

    Special files, such as pipes, are written directly. Symbolic links are not followed, because another user may have
    made them; the kernel's own links, such as /dev/stdout, are. Raises OSError, and the exceptions of fill.
    """
    check(path)
    place = pathlib.Path(path)
    if _is_special(place):
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


def _is_special(place):
    """Returns whether the place is a special file, or a link that the kernel made to any file."""
    return place.is_symlink() and is_kernels(place) or place.exists() and not place.is_file()


def _descriptor(place):
    """Returns a descriptor of a special file: for /dev/stdout and /dev/fd/N a duplicate. Waits for no FIFO's reader."""
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
