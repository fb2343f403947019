# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Shows a table of sending processes for each interval, for analyze top. On a terminal, each replaces the last one."""

import contextlib
import os
import signal
import termios

from analysis.derive.interval import Groups
from analysis.derive.record import record_of
from analysis.faults import FAILED
from analysis.front.channel import INTERRUPTED
from analysis.front.output import END_SIGNALS, Stream, let_signals_end, terminal_size
from analysis.text.head import not_followed
from analysis.text.layout import BOLD, PLAIN, STYLES
from analysis.text.top import LETTERS, View, block, screen

_ENTER, _LEAVE = "\033[?1049h\033[?25l", "\033[?25h\033[?1049l"  # the alternate screen, without cursor
_PROCESS, _CGROUP = 1, 8  # enum group_by


def _is_shown_on_terminal():
    """Returns whether standard output is a terminal that obeys escape sequences, and this is the foreground job."""
    try:
        return os.environ.get("TERM", "dumb") not in ("", "dumb") and os.tcgetpgrp(1) == os.getpgrp()
    except OSError:
        return False


class Terminal:
    """A terminal while it shows a table. The first signal already removes the table, because a second signal would kill
    this process.
    """

    def __init__(self, stream):
        self.stream = stream
        self.keys = self.before = None
        self.inside = False

    def __enter__(self):
        with contextlib.suppress(OSError, termios.error):  # without a controlling terminal, no keys are read
            self.keys = os.open("/dev/tty", os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
            self.before = termios.tcgetattr(self.keys)
        self.inside = True
        for number in END_SIGNALS:
            signal.signal(number, lambda *_: self.leave())
        if self.before:
            mode = termios.tcgetattr(self.keys)
            mode[3] &= ~(termios.ICANON | termios.ECHO)
            mode[6][termios.VSUSP] = b"\0"  # disables ^Z: a stopped job would leave the table on the screen
            termios.tcsetattr(self.keys, termios.TCSANOW, mode)
        self.stream.write(_ENTER)
        return self

    def __exit__(self, *_):
        self.leave()

    def leave(self):
        """Restores the terminal; a second call does nothing."""
        if not self.inside:
            return
        self.inside = False
        self.stream.write(_LEAVE)
        with contextlib.suppress(termios.error):  # the terminal may be closed
            if self.before:
                termios.tcflush(self.keys, termios.TCIFLUSH)
                termios.tcsetattr(self.keys, termios.TCSANOW, self.before)
        let_signals_end()

    def typed(self):
        """Returns the keys that were typed since the previous call; q if the terminal is closed."""
        try:
            return os.read(self.keys, 64).decode("latin-1") or "q" if self.inside and self.before else ""
        except BlockingIOError:
            return ""
        except OSError:
            return "q"

    def draw(self, lines):
        """Draws the whole screen. lines: as many as the terminal has."""
        style = STYLES[0][1] if self.stream.colour() else ""
        lines = [f"{style}{line[1:]}{PLAIN if style else ''}" if line.startswith(BOLD) else line for line in lines]
        if self.inside:
            self.stream.write("\033[H" + "\r\n".join(f"\033[K{line}" for line in lines))


class Top:
    """The run of top. begin: the engine's first line."""

    progress = None  # a member that session.py uses, and the other commands set

    def __init__(self, channel, begin, complain):
        self.channel, self.complain = channel, complain
        options = begin["options"]
        self.view = View(bool(options["by"] & _PROCESS), bool(options["by"] & _CGROUP), options["top"], options["sort"])
        self.groups = Groups(self.view.processes, self.view.cgroups)
        self.stream = Stream("stdout")
        self.terminal = Terminal(self.stream) if _is_shown_on_terminal() else None
        self.latest = self.table = None  # the newest table, and the table that is shown
        self.shown = None  # the table, view and terminal size of the latest drawing
        self.stopped = False

    def make(self):
        """Shows tables until the engine's window ends. Returns the exit status."""
        self.channel.send({"run": 0, "repeat": 1, "last": True})
        with self.terminal or contextlib.nullcontext():
            if self.terminal and self.terminal.before:
                self.channel.poll.register(self.terminal.keys)
            answer = self._show()
        if answer.get("error"):
            self.complain(answer["error"])
            return answer.get("exit_status", FAILED)
        if answer["schema"] == INTERRUPTED:
            return 0
        lost = record_of(answer)["lost"]
        if lost["calls"] + lost["completions"]:
            self.complain(not_followed(lost["calls"], lost["completions"], "the tables"))
        return 0

    def _show(self):
        """Shows tables until the run has ended. Returns the engine's line about the run."""
        while True:
            if self.terminal:
                self._draw()
            answer = self.channel.receive(self._tick)
            if answer["schema"] != "sendpath.interval/1":
                return answer
            self.groups.add(answer)
            if not self.terminal:
                self._print(answer["last"])
            elif not answer["last"]:
                self.latest = self.groups.take()
                if not self.view.paused:
                    self.table = self.latest

    def _print(self, last):
        """Prints a table of the counts since the previous table. Prints none if the reader of the pipe is busy: the
        next table then includes these counts.
        """
        if not last and not self.stream.takes_text():
            return
        table = self.groups.take()
        if table.at and (not last or table.rows or table.seconds >= table.interval / 2):
            self.stream.write("".join(f"{line}\n" for line in block(table, self.view)))
        if self.stream.failed:
            self._stop()

    def _stop(self):
        if not self.stopped:
            self.stopped = True
            self.channel.send({"stop": True})

    def _tick(self):
        if not self.terminal:
            return
        for key in self.terminal.typed():
            if key in "qQ":
                self.terminal.leave()
            elif key in "pP ":
                self.view = self.view._replace(paused=not self.view.paused)
                self.table = self.latest
            elif key in LETTERS:
                self.view = self.view._replace(sort=LETTERS[key])
        if self.terminal.inside:
            self._draw()
        if not self.terminal.inside or self.stream.failed:
            self._stop()

    def _draw(self):
        """Draws the table if the table, the view or the size of the terminal changed, and writing would not wait."""
        with contextlib.suppress(OSError):  # the terminal may be closed
            shown = self.table, self.view, terminal_size(1)
            if shown != self.shown and self.stream.takes_text():
                self.terminal.draw(screen(self.table, self.view, *shown[2]))
                self.shown = shown

    def finish(self):
        """Returns the exit status."""
        return 0 if self.stream.check(self.complain) else FAILED
