# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What analyze advise writes as JSON, and reads again, as does analyze report."""

SCHEMA = "sendpath.advise/2"
LONGEST = 1 << 20  # bytes
# What zero-copy is compared with, and its call; by what. CPU time comes first: it decides.
CALLS = {"twocopy": "send()", "onecopy": "sendmsg()"}
METRICS = {"cpu": "CPU time per byte", "throughput": "throughput"}
