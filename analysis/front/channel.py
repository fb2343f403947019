# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The socket to the engine: a JSON object a line, both ways."""

import json
import os
import select

from analysis.front.output import write_all

TICK_MS = 200


class Gone(Exception):
    """The engine ended."""


class Channel:
    def __init__(self, fd):
        self.fd = fd
        self.unread = b""
        self.poll = select.poll()
        self.poll.register(fd, select.POLLIN)

    def _line(self, tick):
        """Calls tick while nothing comes. Raises Gone where the lines end."""
        parts = [self.unread]
        while b"\n" not in parts[-1]:
            while not self.poll.poll(TICK_MS):
                tick()
            try:
                part = os.read(self.fd, 1 << 18)
            except ConnectionResetError:
                part = b""
            if not part:
                raise Gone
            parts.append(part)
        line, _, self.unread = b"".join(parts).partition(b"\n")
        return line

    def hear(self, tick=lambda: None):
        """The next object. Raises ValueError where the engine says none, Gone after its end."""
        said = json.loads(self._line(tick).decode("utf-8", "surrogateescape"))
        if not isinstance(said, dict):
            raise ValueError("no object")
        return said

    def say(self, value):
        """Raises Gone where the engine does not hear it."""
        try:
            write_all(self.fd, json.dumps(value).encode("ascii") + b"\n")
        except OSError as error:
            raise Gone from error
