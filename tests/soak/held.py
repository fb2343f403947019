# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Reads what a process holds, and checks that it stays constant."""

import collections
import contextlib
import os
import pathlib
import re

FIGURES = {"memory": "memory, KiB", "descriptors": "descriptors", "threads": "threads",
           "programs": "BPF programs", "maps": "BPF maps", "links": "BPF links",
           "maps_memory": "memory of maps, KiB"}
Held = collections.namedtuple("Held", FIGURES)
# The lines of /proc/PID/fdinfo that show BPF ids. The first such line of a descriptor shows its kind and id.
KIND = re.compile(r"^(link|map|prog)_id:\s*(\d+)$", re.M)
MEMORY = re.compile(r"^memlock:\s*(\d+)$", re.M)

# How much the least value of a program may grow during a soak. A leak would add more, because it grows at each of
# hundreds of runs or visits. Some growth is allowed because few samples may miss the moments without work, and an
# allocator does not return all freed memory.
ALLOWED = Held(memory=2048, descriptors=3, threads=3, programs=3, maps=3, links=3, maps_memory=2048)


def bpf_objects(pid):
    """Returns {(kind, id): bytes of memory} for the BPF objects of which the process has descriptors."""
    found = {}
    for path in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        with contextlib.suppress(FileNotFoundError):
            text = path.read_text()
            if kind := KIND.search(text):
                found[kind[1], int(kind[2])] = int(MEMORY.search(text)[1]) if kind[1] == "map" else 0
    return found


def held(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    objects = bpf_objects(pid)
    count = collections.Counter(kind for kind, _ in objects)
    return Held(memory=int(re.search(r"^VmRSS:\s*(\d+)", status, re.M)[1]),
                descriptors=len(os.listdir(f"/proc/{pid}/fd")),
                threads=int(re.search(r"^Threads:\s*(\d+)", status, re.M)[1]),
                programs=count["prog"], maps=count["map"], links=count["link"],
                maps_memory=sum(size for (kind, _), size in objects.items() if kind == "map") // 1024)


def least(samples):
    return Held(*map(min, zip(*samples, strict=True)))


def first_and_last(samples):
    """Returns the least values of the first half and of the last quarter, without the first fifth of the samples, which
    is a warm-up. Temporary objects do not show in least values, leaks do."""
    rest = samples[len(samples) // 5:]
    return least(rest[:len(rest) // 2 or 1]), least(rest[-len(rest) // 4:])


def growth(samples, allowed=ALLOWED):
    """Returns a sentence for each value that grew by more than is allowed."""
    return [f"{figure}: {was:,}, then {now:,}; {room:,} more are allowed"
            for figure, was, now, room in
            zip(FIGURES.values(), *first_and_last(samples), allowed, strict=True) if now > was + room]
