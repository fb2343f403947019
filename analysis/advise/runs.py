# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Short runs of loads by the engine, and what their records say."""

from __future__ import annotations

import dataclasses
import random
from typing import Optional

from advise.search import Run
from derive.record import record_of
from faults import Fault
from front.host import completed
from text.cells import Cells
from text.facts import facts
from text.verdict import parts

VARIANTS = ("zerocopy", "twocopy", "onecopy")


@dataclasses.dataclass(frozen=True)
class Path:
    """What became of zero-copy sends on the path, in words too: as zerocopy.outcome of a record has it.

    traced: the kernel was asked, not the error queue alone.
    """
    words: str
    works: Optional[bool]
    copied: Optional[float]
    final: bool
    remedy: Optional[str]
    traced: bool
    cause: Optional[str]
    device: Optional[str]
    optmem_max: Optional[int]
    memlock_bytes: Optional[int]
    receiver_limited: Optional[float]
    warnings: tuple[str, ...]


class Engine:
    """Makes runs of the configurations that begin, its first line, has; tick is called meanwhile."""

    def __init__(self, channel, begin, tick):
        self.channel, self.tick = channel, tick
        self.cells, self.untraced = begin["cells"], begin["untraced"]

    def run(self, number: int, seconds: float = 0) -> tuple[dict, bool]:
        """A run's record, and whether a signal ended it; seconds: 0 where it ends by itself. Raises
        KeyboardInterrupt where a signal came before it, and Fault.
        """
        self.channel.say({"run": number, "repeat": 1, "seconds": seconds})
        raw = self.channel.hear(self.tick)
        if raw["schema"] == "sendpath.interrupted/1" or raw.get("interrupted") and not raw["window"]:
            raise KeyboardInterrupt
        if raw["error"]:
            raise Fault(raw["error"], raw.get("exit_status") or 1)
        return record_of(completed(raw)), raw["interrupted"]

    def load(self, number: int, seconds: float = 0) -> dict:
        """The same of a load, of which half a run says nothing."""
        record, interrupted = self.run(number, seconds)
        if interrupted:
            raise KeyboardInterrupt
        return record


class Load:
    """Runs on one path, each of so many seconds. The first configuration asks whether sends are copied,
    the others compare.
    """

    def __init__(self, engine: Engine, seconds: float):
        self.engine = engine
        self.seconds = seconds
        self.random = random.Random()
        self.numbers = {}
        for number, cell in enumerate(engine.cells[1:], 1):
            variant, size, *_ = cell["cell"].split(",")
            if size.endswith("B"):  # else it is an observation's
                self.numbers[variant, int(size[:-1])] = number

    def path(self) -> Path:
        """A zero-copy load under measurement; where that is refused, by the error queue alone."""
        return _path(self.engine.load(0), self.engine.untraced)

    def block(self, size: int) -> tuple[dict[str, Run], Optional[str]]:
        """One run of each variant, in an order at random, and why they must not be compared."""
        records = {variant: self.engine.load(self.numbers[variant, size], self.seconds)
                   for variant in self.random.sample(VARIANTS, len(VARIANTS))}
        return ({variant: _run(record["app"]) for variant, record in records.items()},
                next((why for record in records.values() if (why := record["noise"]["disturbed"])), None))


def _run(app):
    times = [app["user_s"], app["system_s"]]
    times += app["receiver"].values() if app["receiver"] else []
    if not app["received_bytes"] or not sum(times):
        raise Fault("a run received nothing")
    return Run(app["throughput_bps"], sum(times) / app["received_bytes"])


def _words(record):
    """As the report has it, without what helps."""
    cells = Cells()
    cells.add(record)
    cells.name()
    cell, = cells
    why, _, doubt = parts(facts(cell))
    return f"{why.rstrip('.')}. {doubt}".strip()


def _by_error_queue(record, refused):
    """The words, and what an outcome has of it."""
    counts = record["app"]["zerocopy"]
    done, copied = counts["completions"], counts["copied"]
    words = f"the kernel could not be asked ({refused}); its error queue says"
    if done and copied is not None:
        words += f" that {copied:,} of {done:,} zero-copy sends were copied."
    return words, {"works": None, "copied": copied / done if done and copied is not None else None,
                   "final": None, "remedy": None, "causes": []}


def _path(record, refused):
    app, zerocopy = record["app"], record["zerocopy"] or {}
    words, found = (_by_error_queue(record, refused) if refused else (_words(record), zerocopy["outcome"]))
    cause = found["causes"][0]["cause"] if found["causes"] else None
    sending = (record["tcp"] or {}).get("sending") or {}
    peers = zerocopy.get("peers") or [{}]
    optmem = record["host"]["settings"].get("optmem_max")
    return Path(words, found["works"], found["copied"], found["final"] is True, found["remedy"],
                not refused, cause, peers[0].get("device"), int(optmem) if optmem else None,
                app["memlock_bytes"],
                sending["peer_window_limited_us"] / sending["busy_us"]
                if sending.get("busy_us") else None,
                tuple(w["text"] for w in record["warnings"]
                      if w["code"] not in ("no_pmu", "hook_misses", "not_paced")))
