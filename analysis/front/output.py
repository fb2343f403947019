# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Writes to the files and streams that the user names."""

import contextlib
import errno
import fcntl
import json
import math
import os
import select
import signal
import stat

from analysis.text.record import safe_text

END_SIGNALS = signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT

_WHY = {
    errno.EINVAL: "it is not a regular file; remove it, or choose another name",
    errno.ELOOP: "it is a symbolic link; remove it, or choose another name",
    errno.ENXIO: "nobody reads from it: start its reader first",
}


def why(error):
    """Returns, in words, why an output could not be opened or written. error: an OSError."""
    return _WHY.get(error.errno) or os.strerror(error.errno)


def is_kernels(path):
    """Returns whether symbolic links beside this path are the kernel's own, such as /dev/stdout and /dev/fd/1."""
    folder = os.path.realpath(os.path.dirname(path) or ".")
    return folder in ("/dev", os.path.realpath("/proc/self/fd"))


def _open(path, flags):
    """Opens a file to append to. Follows no symbolic link that a user may have made, and waits for no FIFO's reader."""
    if path == "/dev/stdout":  # a descriptor from open() would have an offset of its own
        return os.dup(1)
    links = 0 if is_kernels(path) else os.O_NOFOLLOW
    fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NONBLOCK | os.O_CLOEXEC | links | flags, 0o666)
    fcntl.fcntl(fd, fcntl.F_SETFL, os.O_APPEND)
    return fd


def json_line(value):
    return json.dumps(value, separators=(",", ":")).encode("ascii") + b"\n"


def write_all(fd, data):
    while data:
        data = data[os.write(fd, data):]


def append(fd, data, durable=False):
    """Appends data. If that fails, truncates a regular file to its old length and raises OSError. durable: whether to
    wait until the data are on the disk.
    """
    before = os.fstat(fd)
    try:
        write_all(fd, data)
        if durable:
            os.fsync(fd)
    except OSError:
        if stat.S_ISREG(before.st_mode):
            os.ftruncate(fd, before.st_size)
        raise


class LineFile:
    """A file ("-": standard output) to which lines are appended, each by one write."""

    def __init__(self, path):
        """Opens the file if it exists; otherwise add() makes it. Raises OSError if it cannot be written."""
        self.path = path
        self.fd = 1 if path == "-" else None
        if self.fd is None:
            try:
                self.fd = _open(path, 0)
            except FileNotFoundError:
                self._check_folder()

    def _check_folder(self):
        if self.path in ("", b"") or self.path[-1:] in ("/", b"/"):
            raise OSError(errno.EISDIR, "")
        folder = os.path.dirname(self.path) or "."
        if not os.access(folder, os.W_OK | os.X_OK):
            raise OSError(errno.EACCES if os.path.isdir(folder) else
                          errno.ENOTDIR if os.path.exists(folder) else errno.ENOENT, "")

    def add(self, line):
        """Appends a line. If that fails, restores the old file, or removes a new one, and raises OSError."""
        fresh = self.fd is None
        if fresh:
            self.fd = _open(self.path, os.O_CREAT)
        before = os.fstat(self.fd)
        try:
            self._end_half_a_line(before)
            append(self.fd, line)
        except OSError:
            if fresh and stat.S_ISREG(before.st_mode) and not before.st_size:
                os.unlink(self.path)
            raise

    def replace(self, data):
        """Replaces the contents of a regular file by data. The old contents stay until the new ones are complete, if
        the file's folder is writable. Appends the data to any other file, such as standard output. Raises OSError.
        """
        mine = self.fd is not None and self.path != "-" and not is_kernels(self.path)
        if mine and stat.S_ISREG(os.fstat(self.fd).st_mode):
            from analysis.files import replace  # imported late, because most runs do not need it
            with contextlib.suppress(PermissionError):
                replace(self.path, lambda file: file.write(data))
                return
            os.ftruncate(self.fd, 0)
        self.add(data)

    def _end_half_a_line(self, before):
        """Ends an incomplete last line, which a killed run may have left."""
        if not stat.S_ISREG(before.st_mode) or not before.st_size:
            return
        try:
            fd = os.open(f"/proc/self/fd/{self.fd}", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:  # we may write to the file, but not read it
            return
        try:
            last = os.pread(fd, 1, before.st_size - 1)
        finally:
            os.close(fd)
        if last != b"\n":
            write_all(self.fd, b"\n")

    def close(self):
        """Closes the file. Raises OSError, because a file system may report only now that a write failed."""
        if self.fd is not None and self.fd > 2:
            os.close(self.fd)


def terminal_size(fd):
    """Returns the columns and lines of a terminal, 80 and 24 if it reports none."""
    columns, lines = os.get_terminal_size(fd)
    return os.terminal_size((columns or 80, lines or 24))


class Stream:
    """Standard output or standard error, for text."""

    def __init__(self, name):
        self.fd = {"stdout": 1, "stderr": 2}[name]
        self.failed = False

    def is_terminal(self):
        return os.isatty(self.fd)

    def colour(self):
        return self.is_terminal() and "NO_COLOR" not in os.environ

    def height(self):
        """Returns the number of lines of a terminal; infinity for a file or pipe, from which nothing scrolls away."""
        return terminal_size(self.fd).lines if self.is_terminal() else math.inf

    def takes_text(self):
        """Returns whether a write would not wait for the reader, such as a pager."""
        poll = select.poll()
        poll.register(self.fd, select.POLLOUT)
        return bool(poll.poll(0))

    def write(self, text):
        """Writes text. Raises nothing: check() reports a failure later."""
        try:
            write_all(self.fd, text.encode("utf-8", "surrogateescape"))
        except OSError:
            self.failed = True

    def check(self, complain):
        """Returns whether standard output accepted all text. Complains if it did not."""
        if self.failed and self.fd == 1:
            complain("cannot write the report to standard output (disk full, or pipe closed)")
            return False
        return True


def say(text):
    """Writes text on standard error; drops the text if that fails. After a failure, sys.stderr would keep the text,
    fail again at exit, and change the exit status.
    """
    with contextlib.suppress(OSError):
        write_all(2, text.encode("utf-8", "surrogateescape"))


def complain(program, text):
    """Writes one line on standard error, after the program's name."""
    say(f"{program}: {safe_text(text)}\n")


def let_signals_end():
    """Lets signals end the program again. Called when no window is open, because a slow reader may delay the end."""
    for number in END_SIGNALS:
        signal.signal(number, signal.SIG_DFL)
