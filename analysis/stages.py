# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Names the stages of a send, and sums the time in each. Pure."""

import polars as pl

from analysis.tables.stages import OF_NAME, STAGES  # noqa: F401 (figures import them from here)


def words(name: str) -> str:
    if name not in OF_NAME:
        return name
    return OF_NAME[name].words + ("" if OF_NAME[name].on_cpu else ", off the CPU")


def per_send(divided: pl.DataFrame) -> pl.DataFrame:
    """Returns the columns run_id, stage, ns and bytes: the means over a run's divided sends by all syscalls."""
    return divided.group_by("run_id", "stage", maintain_order=True).agg(
        (pl.col("ns").sum() / pl.col("sends").first()).alias("ns"),
        (pl.col("bytes").first() / pl.col("sends").first()).alias("bytes"))


def _frame_text(text: str) -> str:
    """Returns the text as a frame of a folded stack, without characters that end the frame or the line."""
    return "".join(c if c.isprintable() and c != ";" else "_" for c in text).strip() or "_"


def folded(divided: pl.DataFrame, runs: pl.DataFrame) -> list[str]:
    """Returns lines "configuration;syscall;stage ns", for programs that draw flame graphs. Stages off the CPU are below
    a frame "off the CPU"."""
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
