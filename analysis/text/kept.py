# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Records in little memory: of many runs most is the same, and most of the rest are histograms."""

from itertools import chain, repeat
from sys import intern

from .hist import packed

NOTHING = object()


def shared(part, kept):
    """Takes a part of a record and that of one that is kept; gives it with its histograms packed, in
    the memory of the other as far as the two are the same.
    """
    if isinstance(part, dict):
        members = kept if isinstance(kept, dict) else {}
        part = {intern(key): shared(member, members.get(key)) for key, member in packed(part).items()}
        same = all(member is members.get(key, NOTHING) for key, member in part.items())
    elif isinstance(part, list):
        members = kept if isinstance(kept, list) else []
        part = [shared(*pair) for pair in zip(part, chain(members, repeat(None)))]
        same = all(member is other for member, other in zip(part, members))
    else:
        return kept if type(part) is type(kept) and part == kept else part
    return kept if same and type(part) is type(kept) and len(part) == len(kept) else part
