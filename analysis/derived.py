# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What columns hold that does not stand in one place of a record: sums, rates, texts.

Functions of a Record, or that make them; None and BadRecord as extract.py has them.
"""

import functools
import ipaddress
import shlex

from analysis.extract import add, at, clean_text, parts, ratio, real, rows, text, truth, whole
from analysis.records import BadRecord

MEMORY_OPTIONS = (("huge_pages", "--huge-pages"), ("registered", "--registered"),
                  ("reuse_early", "--reuse-early"))

INTERRUPTED = ("interrupted", "load_failed")
GIB = 1 << 30


def gib_received(record):
    count = whole("app.received_bytes")(record)
    return None if count is None else count / GIB


def warnings(record):
    codes = [row.get("code") for row in rows(record, "warnings")]
    if any(not isinstance(code, str) for code in codes):
        raise BadRecord("a warning has no code")
    return ";".join(map(clean_text, codes))


def complete(record):
    if truth("complete")(record) is False or text("outcome")(record) is not None:
        return False
    codes = warnings(record).split(";")
    return not any(code in codes for code in INTERRUPTED) and error(record) is None


def error(record):
    for said in (text("error")(record), text("app.error")(record)):
        if said is not None:
            return said
    for row in rows(record, "warnings"):
        if row.get("code") == "load_failed":
            return str(row.get("text") or "the load failed")
    return None


def field_size(record):
    size, fields = whole("load.message_bytes")(record), whole("load.fields")(record)
    return size // fields if size and fields and size % fields == 0 else None


def address_family(record):
    address = text("load.address")(record)
    for candidate in (address, (address or "").rpartition(":")[0].strip("[]")):
        try:
            return f"IPv{ipaddress.ip_address(candidate or '').version}"
        except ValueError:
            continue
    return None


def socket_options(record):
    given = at(record.data, "load.socket")
    if given is None:
        return None
    if not isinstance(given, dict):
        raise BadRecord("load.socket is not an object")
    words = [key if value is True else f"{key}={value}" for key, value in sorted(given.items())
             if value not in (None, False)]
    return clean_text(",".join(words)) or None


def memory_options(record):
    """The options by which a message's memory was asked for; null: as usual."""
    if at(record.data, "load") is None:
        return None
    align, directory = whole("load.align_bytes")(record), text("load.file_dir")(record)
    words = ["--align", str(align)] if align is not None else []
    words += [option for key, option in MEMORY_OPTIONS if truth(f"load.{key}")(record)]
    words += ["--file-dir", directory] if directory else []
    return shlex.join(words) or None


def settings(record):
    """name=value of the kernel's settings, joined by ;"""
    given = at(record.data, "host.settings")
    if given is None:
        return None
    if not isinstance(given, dict) or not all(isinstance(v, str) for v in given.values()):
        raise BadRecord("host.settings is not an object of texts")
    return clean_text(";".join(f"{name}={value.replace(';', ',')}"
                          for name, value in sorted(given.items())))


def devices(record):
    """name=driver, MTU, speed, offloads; joined by ;"""
    if at(record.data, "host.devices") is None:
        return None
    return ";".join(sorted(map(_device, parts(record, "host.devices"))))


def _device(part):
    speed, mtu = whole("speed_mbit")(part), whole("mtu_bytes")(part)
    words = [text("driver")(part) or "no driver", f"MTU {mtu}" if mtu else "",
             f"{speed} Mbit/s" if speed else "",
             *(word for word in ("scatter_gather", "checksum", "segmentation")
               if truth(word)(part))]
    return f"{text('name')(part)}={' '.join(filter(None, words))}"


def pinned(record):
    if at(record.data, "load") is None:
        return None
    pinning = at(record.data, "load.pinning")
    return pinning is not None and bool(at(record.data, "load.pinning.sender"))


def sends(record):
    if at(record.data, "calls") is None:
        return None
    counts = [whole("sends")(part) for part in parts(record, "calls")]
    return add(counts)


def _timed(record):
    return [part for part in parts(record, "calls") if at(part.data, "wall_ns") is not None]


def send_calls(record):
    names = [text("syscall")(part) or "?" for part in parts(record, "calls")]
    return ";".join(names) or None


def send(key):
    """Of the kernel time of a send: medians of several kinds of call do not add up."""
    def get(record):
        timed = _timed(record)
        if len(timed) != 1:
            return None
        read = text if key == "span" else whole
        return read(f"wall_ns.{key}")(timed[0])
    return get


def send_mean(record):
    timed = _timed(record)
    if len({text("wall_ns.span")(part) for part in timed}) != 1:
        return None
    sums = [real("wall_ns.sum")(part) for part in timed]
    counts = [whole("wall_ns.count")(part) for part in timed]
    return None if None in sums or not sum(counts) else sum(sums) / sum(counts)


def _has_own(record):
    """io_uring's own operations stand apart; without any others these say 0."""
    return at(record.data, "zerocopy.io_uring") is None or whole("zerocopy.requests")(record)


def zerocopy(key):
    """Sums over sends with an error queue and those of io_uring; None if either is unknown."""
    def get(record):
        if at(record.data, "zerocopy") is None:
            return None
        paths = (["zerocopy"] if _has_own(record) else []) + (
            ["zerocopy.io_uring"] if at(record.data, "zerocopy.io_uring") is not None else [])
        values = [whole(f"{path}.{key}")(record) for path in paths]
        return add(values)
    return get


def flagged(key):
    """What only sends with an error queue have."""
    def get(record):
        return whole(f"zerocopy.{key}")(record) if _has_own(record) else None
    return get


def fallback_rate(record):
    return ratio(zerocopy("copied"), zerocopy("completions"))(record)


def refused(record):
    if at(record.data, "zerocopy") is None:
        return None
    counts = [whole("count")(part) for path in ("zerocopy.refused", "zerocopy.io_uring.refused")
              for part in parts(record, path)]
    return add([count or 0 for count in counts])


def causes(record):
    if at(record.data, "zerocopy.causes") is None:
        return None
    return ";".join(
        f"{text('cause')(part)}@{text('device')(part) or '-'}:{whole('count')(part)}"
        for part in parts(record, "zerocopy.causes"))


@functools.lru_cache(maxsize=1)
def _counters(record):
    """(event, scope) -> values, of the record that is being read."""
    found = {}
    for part in parts(record, "counters"):
        key = part.data.get("event"), part.data.get("scope")
        if not all(isinstance(name, str) for name in key):
            raise BadRecord("a counter has no event or no scope")
        found.setdefault(key, []).append(whole("value")(part))
    return found


def counter(event, scope):
    """Summed over the PMUs of a hybrid CPU; None unless each of them counted."""
    def get(record):
        values = _counters(record).get((event, scope))
        return add(values) if values else None
    return get
