# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""One command line's runs, from the engine's first line to the report."""

from analysis.faults import Fault, printed
from analysis.front.channel import Channel, Gone
from analysis.front.output import Stream, complain, let_signals_end
from analysis.front.runs import Grid, Sweep


def _advise(channel, words, say):
    from analysis.advise.advise import advise  # the others need none of its modules
    return printed(lambda: advise(channel, words, say), say)


def _doctor(channel, facts, say):
    from analysis.front import doctor
    out = Stream("stdout")
    out.write(doctor.text(facts))
    channel.say({"end": True})
    return 0 if out.check(say) else 1


def serve(program, fd):
    """The exit status. program: the name that messages begin with; fd: the socket to the engine."""
    def say(text):
        complain(program, text)

    channel = Channel(fd)
    runs = None
    status = 0
    try:
        begin = channel.hear()
        if begin["schema"] == "sendpath.advise-words/1":
            return _advise(channel, begin["words"], say)
        if begin["schema"] == "sendpath.doctor/1":
            return _doctor(channel, begin, say)
        runs = (Sweep if begin["sweep"] else Grid)(channel, begin, say)
        status = runs.make()
        let_signals_end()
        channel.say({"end": True})
    except Gone:
        if runs is None:  # it said why nothing is measured
            return 0
        if runs.progress:
            runs.progress.clear()
        let_signals_end()
        status = 1
    except Fault as error:
        say(str(error))
        return error.status
    except ValueError as error:
        say(f"what the engine says is no line: {error}")
        status = 1
    return runs.finish() or status if runs else status
