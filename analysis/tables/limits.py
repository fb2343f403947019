# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The limits above which the numbers of a run are doubtful, or the run must not be compared with other runs."""

import math

# The path of a share and None, or the paths of two counts whose quotient is the share; the shares above which a run is
# doubtful, and must not be compared; the code and the words of the warning.
LIMITS = (
    ("run/steal_share", None, 0.02, 0.1, "steal",
     "the hypervisor gave %.0f %% of the CPUs' time to others"),
    ("noise/others_share", None, 0.05, 0.2, "others", "other programs took %.0f %% of the CPUs' time"),
    ("noise/slowdown", None, 0.05, 0.2, "slowdown", "the CPUs' frequency fell by %.0f %%"),
    ("noise/sender_waited_share", None, 0.1, 0.2, "sender_waited",
     "the sender waited for a CPU in %.0f %% of its runnable time"),
    ("noise/receiver_waited_share", None, 0.1, 0.2, "receiver_waited",
     "the receiver waited for a CPU in %.0f %% of its runnable time"),
    ("noise/pressure_share", None, math.inf, 0.5, "pressure",
     "something waited for a CPU in %.0f %% of the time"),
    ("tcp/sending/retransmits", "tcp/sending/data_segments", 0.001, math.inf,
     "retransmitted", "%.1f %% of the segments were retransmitted"),
    ("tcp/zero_windows", "tcp/sending/data_segments", 0.01, math.inf, "zero_windows",
     "the receiver closed its window, once for %.0f %% of the segments"))


def with_range(meaning, shares):
    """Returns the words of a limit's warning with the range of several runs' shares."""
    digits = 1 if "%.1f" in meaning else 0
    ends = dict.fromkeys(f"{100 * end:.{digits}f}" for end in (min(shares), max(shares)))
    return meaning.replace(f"%.{digits}f %%", " to ".join(ends) + " %")
