# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Short runs of the load by `analyze`, and what their records say."""

import dataclasses
import json
import os
import random
import signal
import subprocess

import ending
from search import Run
from tables.causes import CAUSES

VARIANTS = ("zerocopy", "twocopy", "onecopy")
FINAL = {cause.name for cause in CAUSES if cause.final}
ENOUGH = 300  # sends that tell whether sends are copied


class Failed(Exception):
    """A run came to nothing; status is what this program is to exit with."""

    def __init__(self, said, status):
        super().__init__(said)
        self.status = status


@dataclasses.dataclass(frozen=True)
class Path:
    """What became of zero-copy sends on the path, in words too.

    copied: the share of those that completed, None where that is not known. final: it will always
    be so. traced: the kernel was asked, not the error queue alone.
    """
    words: str
    copied: float | None
    final: bool
    traced: bool
    cause: str | None
    device: str | None
    optmem_max: int | None
    memlock_bytes: int | None
    receiver_limited: float | None
    warnings: tuple[str, ...]


def _call(command):
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as job:
        out, errors, ended = ending.output(job, 0)
    # Python loses its own interrupt where it cannot raise.
    if ended or job.returncode == -signal.SIGINT:
        raise KeyboardInterrupt
    if job.returncode:
        raise failed(job, errors)
    return out


def failed(job: subprocess.Popen, errors: str | None) -> Failed:
    """In its own last words."""
    lines = (errors or "").strip().splitlines() or [f"analyze ended with {job.returncode}"]
    return Failed(lines[-1].removeprefix(f"{os.path.basename(job.args[0])}: "),
                  max(job.returncode, 1))


def _records(text):
    return [json.loads(line) for line in text.splitlines()]


class Load:
    """Runs on one path: options are of a load, such as --peer and --fields."""

    def __init__(self, analyze: str, options: list[str], seconds: float, warmup: float):
        self.command = [analyze, *options, "--warmup", str(warmup)]
        self.seconds = seconds
        self.random = random.Random()

    def path(self) -> Path:
        """A zero-copy load under measurement; where that is refused, by the error queue alone."""
        command = [*self.command, "--variant", "zerocopy", "--size", "64K", "--messages",
                   str(ENOUGH)]
        try:
            record, text = _call([*command, "--json", "/dev/stdout"]).split("\n", 1)
            return _path(json.loads(record), _verdict(text))
        except Failed as refused:
            if refused.status != 3:
                raise
            record, = _records(_call([*command, "--tier", "none", "--json", "-"]))
            return _path(record, f"the kernel could not be asked ({refused}); its error queue says")

    def block(self, size: int) -> dict[str, Run]:
        """One run of each variant, in an order at random."""
        order = self.random.sample(VARIANTS, len(VARIANTS))
        records = _records(_call([*self.command, "--tier", "none", "--variant", ",".join(order),
                                  "--size", str(size), "--duration", str(self.seconds),
                                  "--repeat", "1", "--json", "-"]))
        return {record["load"]["variant"]: _run(record["app"]) for record in records}


def _run(app):
    times = [app["user_s"], app["system_s"]]
    times += app["receiver"].values() if app["receiver"] else []
    if not app["received_bytes"] or not sum(times):
        raise Failed("a run received nothing", 1)
    return Run(app["throughput_bps"], sum(times) / app["received_bytes"])


def _verdict(text):
    """The paragraph of the report that begins with the variant's name."""
    after = text[text.index("\nzerocopy: ") + len("\nzerocopy: "):]
    return " ".join(after.split("\n\n")[0].split())


def _path(record, words):
    app, zerocopy = record["app"], record["zerocopy"]
    traced = record["plan"]["tier"] is not None
    counts = zerocopy if traced else app["zerocopy"]
    done, copied = counts["completions"], counts["copied"]
    causes = (zerocopy or {}).get("causes") or []
    first = causes[0] if causes else {}
    share = copied / done if done and copied is not None else None
    if not traced and share is not None:
        words += f" that {copied:,} of {done:,} zero-copy sends were copied"
    sending = (record["tcp"] or {}).get("sending") or {}
    peers = (zerocopy or {}).get("peers") or [{}]
    optmem = record["host"]["settings"].get("optmem_max")
    return Path(words, share, first.get("cause") in FINAL, traced, first.get("cause"),
                peers[0].get("device"), int(optmem) if optmem else None, app["memlock_bytes"],
                sending["peer_window_limited_us"] / sending["busy_us"]
                if sending.get("busy_us") else None,
                tuple(w["text"] for w in record["warnings"]
                      if w["code"] not in ("no_pmu", "hook_misses", "not_paced")))
