# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Makes tables of runs with planted effects."""

import datetime

import numpy as np
import polars as pl

from analysis.table import POLARS_SCHEMA

BEGIN = datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone.utc)
DEFAULTS = {"source": "made", "source_file": "made", "complete": True, "kernel": "6.12",
            "arch": "x86_64", "cpus": 8, "workload": "stream", "link": "loopback",
            "tier": "fentry", "fields": 8, "threads": 1, "duration_s": 1.0, "warnings": "",
            "server_model": "threaded", "messages": 1000, "elapsed_s": 1.0}


def frame(rows):
    """Returns a table of these rows. Adds started, run_id and cell to rows that lack these."""
    made = []
    for n, given in enumerate(rows):
        row = {**DEFAULTS, "source_line": n + 1, "run_id": f"run-{n}",
               "started": BEGIN + datetime.timedelta(seconds=n), **given}
        row.setdefault("cell", f"{row.get('variant')},{row.get('message_bytes')}B")
        made.append(row)
    return pl.DataFrame(made, schema=POLARS_SCHEMA)


def sweep(truths, sizes, repeats, noise=0.03, block_noise=0.0, seed=1, spikes=0.0, **columns):
    """Returns a table of throughputs. truths: variant -> function of the size. noise: standard deviation of a run's
    logarithm; block_noise: standard deviation of a repeat's logarithm, which all its variants share; spikes: the chance
    that a run is three times slower."""
    random = np.random.default_rng(seed)
    rows = []
    for repeat in range(1, repeats + 1):
        for size in sizes:
            block = random.normal(0, block_noise)
            for variant, truth in truths.items():
                disturbed = 3 if spikes and random.random() < spikes else 1
                value = truth(size) * np.exp(block + random.normal(0, noise)) / disturbed
                rows.append({"variant": variant, "message_bytes": size, "repeat": repeat,
                             "throughput_bps": value, **columns})
    return frame(rows)
