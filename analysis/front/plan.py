# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Plans which runs a sweep makes, and in which order. Each block has every configuration once, in a random order that
follows from the seed, so that drift affects all configurations equally.
"""

from analysis.faults import USAGE, Fault
from analysis.words import duration

SHARDS_MAX = 10000
BUDGET_MAX = 10_000_000
SEED_MAX = (1 << 32) - 1
_MASK = (1 << 64) - 1
_STEP = 0x9e3779b97f4a7c15  # splitmix64 adds this to its state for each number


def _mix(x):
    """Returns x after the finalizer of splitmix64."""
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9 & _MASK
    x = (x ^ x >> 27) * 0x94d049bb133111eb & _MASK
    return x ^ x >> 31


def _draw(state, bound):
    """Returns the next state, and a random number below bound. To be uniform, skips numbers above its last multiple."""
    rest = (1 << 64) % bound
    while True:
        state = state + _STEP & _MASK
        number = _mix(state)
        if number < (1 << 64) - rest:
            return state, number % bound


def order(count, seed, block):
    """Returns the numbers 0..count-1 in the order of a block; blocks count from 1."""
    state = _mix(seed << 32 | block)
    found = list(range(count))
    for last in range(count - 1, 0, -1):
        state, other = _draw(state, last + 1)
        found[last], found[other] = found[other], found[last]
    return found


def is_mine(cell, shard, shards):
    """Returns whether a configuration belongs to a shard (from 1). A group with all its repeats belongs to one shard,
    because runs that are compared must be made on one machine.
    """
    return cell["group"] % shards == shard - 1


def without_twins(cells):
    """Returns pairs of a number and a configuration: of those with the same name, only the first."""
    seen = {}
    for number, cell in enumerate(cells):
        seen.setdefault(cell["cell"], (number, cell))
    return list(seen.values())


def _number(text, most):
    """Returns a whole number from 0 to most. Raises ValueError."""
    if not (text.isascii() and text.isdigit() and int(text) <= most):
        raise ValueError
    return int(text)


def shard_of(text):
    """Returns I and N of --shard I/N; 1 and 1 if text is None. Raises Fault."""
    try:
        shard, shards = (_number(part, SHARDS_MAX) for part in (text or "1/1").split("/"))
        if 0 < shard <= shards:
            return shard, shards
    except ValueError:
        pass
    raise Fault(f"--shard {text}: give I/N, from 1/N to N/N, such as 2/3", USAGE)


def budget_of(text):
    """Returns the seconds of --budget; None if the option was not given. Raises Fault."""
    try:
        seconds = None if text is None else duration(text)
        if seconds is None or 0 <= seconds <= BUDGET_MAX:
            return seconds
    except ValueError:
        pass
    raise Fault(f"--budget {text}: give 0 to {BUDGET_MAX} seconds, such as 10, 0.5 or 200ms", USAGE)


def seed_of(text):
    """Returns the number of --order-seed; None if the option was not given. Raises Fault."""
    try:
        return None if text is None else _number(text, SEED_MAX)
    except ValueError:
        raise Fault(f"--order-seed {text}: give a whole number from 0 to {SEED_MAX}", USAGE) from None
