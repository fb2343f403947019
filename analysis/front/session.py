# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Serves one command line, from the engine's first line to the report."""

import functools

from analysis.faults import FAILED, Fault, printed
from analysis.front import output
from analysis.front.channel import Channel, Gone
from analysis.front.runs import Grid


def _advise(channel, words, complain):
    from analysis.advise.advise import advise  # imported late, because other commands need none of its modules
    return printed(lambda: advise(channel, words, complain), complain)


def _doctor(channel, facts, complain):
    from analysis.front import doctor
    out = output.Stream("stdout")
    out.write(doctor.text(facts, folded=out.is_terminal()))
    channel.send({"end": True})
    return 0 if out.check(complain) else 1


def _sweep(channel, begin, complain):
    from analysis.front.sweep import Sweep
    return Sweep(channel, begin, complain)


def _top(channel, begin, complain):
    from analysis.front.top import Top
    return Top(channel, begin, complain)


def serve(program, fd):
    """Serves the engine, at the other end of the socket fd, until the engine ends. Returns the exit status. program:
    the name with which messages begin.
    """
    complain = functools.partial(output.complain, program)
    channel = Channel(fd)
    runs = None
    status = 0
    try:
        begin = channel.receive()
        if begin["schema"] == "sendpath.advise-words/1":
            return _advise(channel, begin["words"], complain)
        if begin["schema"] == "sendpath.doctor/1":
            return _doctor(channel, begin, complain)
        runs = (_sweep if begin["sweep"] else _top if begin["top"] else Grid)(channel, begin, complain)
        status = runs.make()
        output.let_signals_end()
        channel.send({"end": True})
    except Gone:
        if runs is None:  # the engine has reported why nothing is measured
            return 0
        if runs.progress:
            runs.progress.clear()
        output.let_signals_end()
        status = FAILED
    except Fault as error:
        complain(str(error))
        return error.status
    except ValueError as error:
        complain(f"the engine sent a line that cannot be read: {error}")
        status = FAILED
    return runs.finish() or status if runs else status
