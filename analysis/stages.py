# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The stages of a send, in short words; what runs spent in each. Pure."""

import dataclasses

import polars as pl


@dataclasses.dataclass(frozen=True)
class Stage:
    name: str
    letter: str
    words: str
    color: str
    on_cpu: bool = True


# In the order of a send. Neighbours part in lightness; letters part all.
STAGES = (
    Stage("entry", "E", "syscall entry", "#c7c7c7"),
    Stage("lock", "L", "taking the socket lock", "#7f7f7f"),
    Stage("request", "Z", "zero-copy bookkeeping", "#dbdb8d"),
    Stage("alloc", "A", "skb allocation", "#8c6d31"),
    Stage("fragment", "F", "pages for copied data", "#c6dbef"),
    Stage("copy", "C", "copying user data", "#6baed6"),
    Stage("pin", "P", "pinning user pages", "#fdae6b"),
    Stage("loop", "O", "send loop", "#d8b365"),
    Stage("transmit", "T", "TCP transmit to driver", "#a1d99b"),
    Stage("deep_copy", "D", "deep copy", "#ef6548"),
    Stage("completion", "N", "zero-copy completion", "#fa9fb5"),
    Stage("release", "R", "socket release, ACKs", "#9e9ac8"),
    Stage("softirq", "S", "network softirqs", "#bcbddc"),
    Stage("interrupt", "I", "other softirqs", "#807dba"),
    Stage("wait", "W", "going to sleep, waking", "#d9d9d9"),
    Stage("unaccounted", "?", "unaccounted", "#969696"),
    Stage("blocked", "", "blocked, off the CPU", "#f7f7f7", False),
    Stage("lock_wait", "", "waiting for the lock, off the CPU", "#e8e8e8", False),
    Stage("preempted", "", "waiting for a CPU", "#f0f0f0", False),
)
OF_NAME = {stage.name: stage for stage in STAGES}


def words(name: str) -> str:
    return OF_NAME[name].words if name in OF_NAME else name


def per_send(divided: pl.DataFrame) -> pl.DataFrame:
    """run_id, stage, ns, bytes: the mean over a run's divided sends, of all syscalls."""
    return divided.group_by("run_id", "stage", maintain_order=True).agg(
        (pl.col("ns").sum() / pl.col("sends").first()).alias("ns"),
        (pl.col("bytes").first() / pl.col("sends").first()).alias("bytes"))


def _frame_text(text: str) -> str:
    """A frame of a folded stack: nothing in it ends the frame or the line."""
    return "".join(c if c.isprintable() and c != ";" else "_" for c in text).strip() or "_"


def folded(divided: pl.DataFrame, runs: pl.DataFrame) -> list[str]:
    """Lines "configuration;syscall;stage ns", for programs that draw flame graphs; what passed off
    the CPU is below a frame of its own."""
    named = divided.join(runs.select("run_id", "variant", "message_bytes"), on="run_id")
    sums = named.group_by("variant", "message_bytes", "syscall", "stage", maintain_order=True).agg(
        pl.col("ns").sum())
    lines = []
    for variant, size, syscall, stage, ns in sums.iter_rows():
        frames = [f"{variant} {size}" if variant else "observed", syscall or "?"]
        if stage in OF_NAME and not OF_NAME[stage].on_cpu:
            frames.append("off the CPU")
        frames.append(words(stage))
        if ns >= 1:
            lines.append(f"{';'.join(map(_frame_text, frames))} {ns:.0f}")
    return lines
