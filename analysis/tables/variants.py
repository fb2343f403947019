# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The send variants and server models, in the order of lists. The first in a list is the reference of comparisons."""

import collections

# name: on the command line and in the record. words: the name in sentences. look: a key of PALETTE in figures/style.py.
Variant = collections.namedtuple("Variant", "name words look")

VARIANTS = (
    Variant("twocopy", "two-copy", "blue"),
    Variant("onecopy", "one-copy", "orange"),
    Variant("zerocopy", "zero-copy", "wine"),
    Variant("write", "write", "sky"),
    Variant("writev", "writev", "olive"),
    Variant("sendfile", "sendfile", "green"),
    Variant("splice", "splice", "pink"),
    Variant("uring", "uring", "violet"),
    Variant("uring_zc", "uring_zc", "black"),
    Variant("null", "null", "grey"),
)
SERVER_MODELS = (
    Variant("iterative", "iterative", "blue"),
    Variant("threaded", "threaded", "orange"),
    Variant("select", "select", "wine"),
    Variant("epoll", "epoll", "green"),
)
BY_NAME = {row.name: row for row in (*VARIANTS, *SERVER_MODELS)}


def in_words(name):
    """Returns the name of a variant or server model in sentences, such as "zero-copy"."""
    return BY_NAME[name].words if name in BY_NAME else str(name)


def in_order(names):
    """Returns the distinct names in the order of the lists; unknown names follow in alphabetical order."""
    places = list(BY_NAME)
    return sorted(set(names), key=lambda name: (places.index(name) if name in BY_NAME else len(places), name))
