# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Exchanges lines with the engine by a socket. Each line is a JSON object, in both directions."""

import json
import os
import select

from analysis.front.output import write_all

TICK_MS = 200
# The schema of the line that the engine sends if a signal came before a run began.
INTERRUPTED = "sendpath.interrupted/1"


class Gone(Exception):
    """The engine ended."""


class Channel:
    def __init__(self, fd):
        self.fd = fd
        self.unread = b""
        self.poll = select.poll()
        self.poll.register(fd, select.POLLIN)

    def _line(self, tick):
        """Returns the next line. Until it arrives, calls tick every TICK_MS, and whenever another descriptor in
        self.poll is ready. Raises Gone if there are no more lines.
        """
        parts = [self.unread]
        while b"\n" not in parts[-1]:
            while self.fd not in dict(self.poll.poll(TICK_MS)):
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

    def receive(self, tick=lambda: None):
        """Returns the next object. Raises ValueError for a line that is no object, and Gone if the engine has ended."""
        message = json.loads(self._line(tick).decode("utf-8", "surrogateescape"))
        if not isinstance(message, dict):
            raise ValueError("not an object")
        return message

    def send(self, value):
        """Sends an object. Raises Gone if the engine has ended."""
        try:
            write_all(self.fd, json.dumps(value).encode("ascii") + b"\n")
        except OSError as error:
            raise Gone from error
