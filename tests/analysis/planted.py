# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Makes data for which the answer to every question is known."""

import numpy as np
import polars as pl

from analysis.details import Details
from analysis.figures.base import Data

import made

SIZES = (256, 1024, 4096, 16384, 65536)
THREADS = (1, 4)
REPEATS = 10
# onecopy overtakes twocopy at this size. The difference is significant up to 1 KiB and from 4 KiB on.
CROSSING = 2048


def throughput(variant, size, threads):
    two = 1e9 * min(size, 16384)**0.5 / 16 * threads**0.5
    return {"twocopy": two, "onecopy": two * (size / CROSSING)**0.25,
            "zerocopy": two * 0.2}[variant]


def sends(rate=1.0, causes="loopback@lo:1000", counters=True, seed=1, repeats=REPEATS):
    """Returns rows of three variants over SIZES and THREADS. rate: the copied share of zero-copy sends."""
    random, rows = np.random.default_rng(seed), []
    for repeat in range(1, repeats + 1):
        for threads in THREADS:
            for size in SIZES:
                rows += [_send(variant, size, threads, repeat, random, rate, causes, counters)
                         for variant in ("twocopy", "onecopy", "zerocopy")]
    return rows


def _send(variant, size, threads, repeat, random, rate, causes, counters):
    noise = np.exp(random.normal(0, 0.01))
    copies = {"twocopy": 2, "onecopy": 1, "zerocopy": 1}[variant]
    row = {
        "variant": variant, "message_bytes": size, "threads": threads, "connections": threads,
        "repeat": repeat, "bytes": 1 << 30, "received_bytes": 1 << 30,
        "throughput_bps": throughput(variant, size, threads) * noise,
        "message_span": "message", "message_p50_ns": int(1000 * size / 256 * noise),
        "message_p99_ns": int(9000 * size / 256 * noise), "send_span": "tcp_sendmsg",
        "send_mean_ns": (5000 if variant == "zerocopy" else 800) * noise,
        "sender_cpu_s_per_gib": copies * noise, "receiver_cpu_s_per_gib": 0.3 * noise,
        "cell": f"{variant},{size}B,8f,{threads}t"}
    if variant == "zerocopy":
        row.update(zc_requests=1000, zc_completions=1000, zc_copied=round(1000 * rate),
                   zc_flagged=round(1000 * rate), zc_unflagged=0, zc_refused=0,
                   fallback_rate=rate, fallback_causes=causes if rate else "",
                   completion_span="tcp_sendmsg..completion", completion_p50_ns=90_000,
                   completion_p99_ns=400_000, error_queue_ns_per_send=500.0)
    if counters:
        row.update(sender_cycles=10**9, sender_cycles_per_byte=copies * noise,
                   receiver_cycles_per_byte=0.5 * noise,
                   # Misses of the first cache level depend on the copies; misses of the last level do not.
                   sender_l1d_misses=int(copies * 40e6 * noise),
                   sender_llc_misses=int(5e6 * np.exp(random.normal(0, 0.01))),
                   memory_read_bytes=1 << 30, memory_write_bytes=1 << 30,
                   memory_bytes_per_byte=copies * noise, memory_is_estimate=False)
    return row


# With this many records of 128 bytes, the throughput of zero-copy dips.
DIP = 16


def records(seed=3, repeats=5, numbers=range(1, 33)):
    """Returns rows of messages that consist of 1 to 32 records, of 128 bytes or 1 KiB, picked at random."""
    random, rows = np.random.default_rng(seed), []
    for repeat in range(1, repeats + 1):
        for number in numbers:
            for size in (128, 1024):
                rows += [_of_records(variant, number, size, repeat, random)
                         for variant in ("twocopy", "zerocopy")]
    return rows


def _of_records(variant, number, size, repeat, random):
    row = _send(variant, number * size, 1, repeat, random, 1.0, "loopback@lo:1000", True)
    dips = 0.5 if variant == "zerocopy" and size == 128 and number == DIP else 1
    row.update(fields=number, field_size_bytes=size, pick="random", working_set_bytes=1 << 28,
               throughput_bps=1e8 * number * (size / 128)**0.5 * dips * np.exp(random.normal(0, 0.01)),
               cell=f"{variant},{size}B,{number}f")
    return row


def servers(syns=0, slow=False, seed=2, repeats=REPEATS):
    """Returns rows of three server models; select answers twice as many connections per second at 100 connections."""
    random, rows = np.random.default_rng(seed), []
    for repeat in range(1, repeats + 1):
        for connections in (10, 100):
            for model in ("iterative", "threaded", "select"):
                noise = np.exp(random.normal(0, 0.01))
                rate = 2000 * (2 if model == "select" and connections == 100 else 1) * noise
                late = slow and model == "threaded" and connections == 100
                rows.append({
                    "workload": "procinfo", "server_model": model, "connections": connections,
                    "client_model": "threaded", "backlog": 4096, "threads": None, "fields": None,
                    "repeat": repeat, "messages": 1000, "messages_per_s": rate, "answered": 1000,
                    "message_p50_ns": 10**6, "message_p99_ns": 1_140_000_000 if late else 10**7,
                    "answer_p99_ns": 1_140_000_000 if late else 10**7, "unanswered": 0,
                    "connect_p99_ns": 1_020_000_000 if late else 10**5, "accept_p99_ns": 10**6,
                    "work_p99_ns": 10**6, "sender_cpu_s": 0.3 * noise,
                    "sender_waited_share": 0.4 if late else 0.01,
                    "syn_retransmits": syns if late else 0,
                    "listen_overflows": syns if late else 0,
                    "listen_drops": 0, "retransmits": 0, "variant": None,
                    "cell": f"procinfo,{model},{connections}c,threaded,4096b"})
    return rows


# For each variant: stack, stage and samples of functions that tcp_sendmsg_locked calls.
SAMPLED = {"twocopy": (("_copy_from_iter", "copy", 60), ("tcp_write_xmit", "transmit", 40)),
           "zerocopy": (("skb_zerocopy_iter_stream", "pin", 30),
                        ("tcp_write_xmit;skb_copy_ubufs", "deep_copy", 90))}


def stacks(rows, sampled=None, times=2):
    sampled = SAMPLED if sampled is None else sampled
    frame = made.frame(rows)
    frame = frame.filter(pl.col("variant").is_in(list(sampled)))
    return pl.DataFrame(
        [(run, stage, f"entry;__sys_sendmsg;tcp_sendmsg;tcp_sendmsg_locked;{path}", float(times * samples))
         for run, variant in frame.select("run_id", "variant").iter_rows()
         for path, stage, samples in sampled[variant]],
        schema=Details().stacks.schema, orient="row")


# ns of a send by stage: zero-copy saves the copy, but takes longer in other stages.
DIVIDED = {"twocopy": {"entry": 100, "fragment": 200, "copy": 400, "transmit": 100, "blocked": 50},
           "onecopy": {"entry": 150, "fragment": 200, "copy": 400, "transmit": 100, "blocked": 50},
           "zerocopy": {"entry": 150, "copy": 0, "pin": 300, "deep_copy": 4000, "completion": 150,
                        "transmit": 400, "preempted": 25}}


def stages(rows, divided=None):
    """Returns the stages of each run that sent, for 1,000 sends of its size."""
    frame = made.frame(rows).filter(pl.col("variant").is_in(list(DIVIDED)))
    return pl.DataFrame(
        [(run, "sendmsg", stage, 1000.0 * ns, 1000.0, 1000.0 * size)
         for run, variant, size in frame.select("run_id", "variant", "message_bytes").iter_rows()
         for stage, ns in (divided or DIVIDED)[variant].items()],
        schema=Details().stages.schema, orient="row")


# The events of a zero-copy send: lane, what, at and took in ns, CPU, bytes.
SEND = (("sender", "sendmsg", 0, 40000, 0, 16384), ("softirq", "softirq NET_RX", 10000, 20000, 0, 0),
        ("softirq", "copied: loopback", 12000, None, 0, 16384),
        ("receiver", "copied to the receiver", 35000, None, 1, 16384),
        ("softirq", "completed, copied", 60000, None, 1, 0), ("error queue", "notification read", 70000, None, 0, 0))


def timelines(rows):
    """Returns the events of the median and the slowest send of the first zero-copy run."""
    (run, *_) = made.frame(rows).filter(pl.col("variant") == "zerocopy")["run_id"]
    return pl.DataFrame([(run, which, *event) for which in ("median", "slowest") for event in SEND],
                        schema=Details().timelines.schema, orient="row")


def data(rows, **details):
    frame = made.frame(rows)
    return Data(frame, Details(**details))


def hosts(names="abcdef", seed=7, **of_host):
    """Returns rows of hosts in a ring, each of which sends to the next. of_host: values of columns, by host."""
    rows = []
    for at, name in enumerate(names):
        for row in sends(0.0, seed=seed + at, counters=False, repeats=2):
            rows.append({**row, "host": name, "peer": f"{names[(at + 1) % len(names)]}:9436",
                         "sends": 1000, "elapsed_s": 1.0, **of_host.get(name, {})})
            if row["variant"] != "zerocopy":
                rows[-1].update(zc_completions=None, zc_copied=None, fallback_causes=None)
    return rows


def all_data(**options):
    rows = sends(**options)
    return data(rows + servers(), stacks=stacks(rows), timelines=timelines(rows))
