# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The send variants and server models, in the order of lists. The others are compared with the first one."""

import collections

# name: on the command line and in the record. words: in sentences. look: in figures/style.py.
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
    """Returns the name of a variant or server model in sentences: "zero-copy"."""
    return BY_NAME[name].words if name in BY_NAME else str(name)


def in_order(names):
    """Returns distinct names as they are listed; unknown ones follow by letter."""
    places = list(BY_NAME)
    return sorted(set(names), key=lambda name: (places.index(name) if name in BY_NAME else len(places), name))
