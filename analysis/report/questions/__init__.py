# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The questions, each a file of its own and a row here, in the order of the report."""

from analysis.report.questions import (caches, memory, one_copy, servers, slow_answers, threads,
                                       unexpected, why_not_zero_copy, zero_copy)

QUESTIONS = (
    one_copy.QUESTION,
    zero_copy.QUESTION,
    why_not_zero_copy.QUESTION,
    caches.QUESTION,
    threads.QUESTION,
    unexpected.QUESTION,
    servers.QUESTION,
    slow_answers.QUESTION,
    memory.QUESTION,
)
