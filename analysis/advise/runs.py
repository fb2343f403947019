# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Makes short runs of loads by the engine, and reads their records."""

from __future__ import annotations

import dataclasses
import random
from typing import Optional

from analysis.advise.search import Run
from analysis.derive.record import record_of
from analysis.faults import Fault
from analysis.findings import facts, rules, sentences
from analysis.front.channel import INTERRUPTED
from analysis.front.host import completed
from analysis.words import sentence

COPIED_MOST = 0.99  # above this share, all sends count as copied
VARIANTS = ("zerocopy", "twocopy", "onecopy")


@dataclasses.dataclass(frozen=True)
class Path:
    """Copies of zero-copy sends on a path. works: whether none was copied; None: unknown. copied: the copied share.
    final: whether no setting prevents the copies. traced: whether kernel programs counted them, not the error queue.
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
    """Makes runs of the configurations in begin, the engine's first line. Calls tick while it waits for the engine."""

    def __init__(self, channel, begin, tick):
        self.channel, self.tick = channel, tick
        self.cells, self.untraced = begin["cells"], begin["untraced"]

    def run(self, number: int, seconds: float = 0) -> tuple[dict, bool]:
        """Makes a run. Returns its record, and whether a signal ended the run. seconds: its length; 0: the run ends by
        itself. Raises Fault, and KeyboardInterrupt if a signal arrived before the window.
        """
        self.channel.send({"run": number, "repeat": 1, "seconds": seconds})
        raw = self.channel.receive(self.tick)
        if raw["schema"] == INTERRUPTED or raw.get("interrupted") and not raw["window"]:
            raise KeyboardInterrupt
        if raw["error"]:
            raise Fault(raw["error"], raw.get("exit_status") or 1)
        return record_of(completed(raw)), raw["interrupted"]

    def load(self, number: int, seconds: float = 0) -> dict:
        """Makes a run of a load. Returns its record. Raises like run(), and KeyboardInterrupt if a signal ended it."""
        record, interrupted = self.run(number, seconds)
        if interrupted:
            raise KeyboardInterrupt
        return record


class Load:
    """Makes runs of `seconds` each on one path. The first configuration shows whether sends are copied; the others
    are compared.
    """

    def __init__(self, engine: Engine, seconds: float):
        self.engine = engine
        self.seconds = seconds
        self.random = random.Random()
        self.numbers = {}
        for number, cell in enumerate(engine.cells[1:], 1):
            variant, size, *_ = cell["cell"].split(",")
            if size.endswith("B"):  # an observation has no size
                self.numbers[variant, int(size[:-1])] = number

    def path(self) -> Path:
        """Makes a run of a zero-copy load, if possible a traced one; else the error queue shows copies. Returns a Path.
        """
        return _path(self.engine.load(0), self.engine.untraced)

    def block(self, size: int) -> tuple[dict[str, Run], Optional[str]]:
        """Makes one run of each variant, in random order. Returns {variant: Run}, and why the runs must not be
        compared; None: they may be compared."""
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


def _found(record):
    """Returns the fields of Path that the findings decide."""
    found = rules.of_records([record])
    copied = [finding for finding in found if sentences.is_copied(finding)]
    failures = [finding for finding in found if finding.severity == "failure"]
    parts = [f"{sentence(why)} {do}".rstrip() for why, do in sentences.paragraphs(failures)]
    parts += [sentence(why) for why, _ in sentences.paragraphs([one for one in found if one not in failures])]
    return {"words": " ".join(parts), "copied": rules.copied_share(found, facts.of_records([record])),
            "works": False if copied else True if any(finding.code == "works" for finding in found) else None,
            "final": bool(copied) and sentences.is_final(copied), "remedy": sentences.remedy(copied) if copied else None,
            "cause": copied[0].code.partition("_")[2] if copied else None}


def _by_error_queue(record, refused):
    """Returns the same fields as _found(), computed from what the load's error queue reported."""
    counts = record["app"]["zerocopy"]
    done, copied = counts["completions"], counts["copied"]
    known = done and copied is not None
    reported = f"reported {copied:,} of {done:,} zero-copy sends as copied" if known else "reported no completion"
    return {"words": f"the kernel could not be traced ({refused}); its error queue {reported}.", "works": None, "copied": copied / done if known else None,
            "final": False, "remedy": None, "cause": None}


def _path(record, refused):
    app, zerocopy = record["app"], record["zerocopy"] or {}
    sending = (record["tcp"] or {}).get("sending") or {}
    peers = zerocopy.get("peers") or [{}]
    optmem = record["host"]["settings"].get("optmem_max")
    return Path(**(_by_error_queue(record, refused) if refused else _found(record)), traced=not refused,
                device=peers[0].get("device"), optmem_max=int(optmem) if optmem else None,
                memlock_bytes=app["memlock_bytes"],
                receiver_limited=sending["peer_window_limited_us"] / sending["busy_us"]
                if sending.get("busy_us") else None,
                warnings=tuple(w["text"] for w in record["warnings"]
                               if w["code"] not in ("no_pmu", "hook_misses", "not_paced")))
