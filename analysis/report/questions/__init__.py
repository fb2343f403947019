# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The questions, each a file of its own and a row here, in the order of the report."""

from analysis.figures.base import Data
from analysis.report.base import Question
from analysis.report.questions import (caches, hosts, memory, one_copy, servers, slow_answers, threads,
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

# Of more hosts each answer would say everything of each: the hosts themselves are the question.
MOST_HOSTS = 8


def asked(data: Data) -> tuple[Question, ...]:
    """Those that these data are for."""
    count = len(data.fleet.hosts)
    if data.streamed or count > MOST_HOSTS:
        return (hosts.QUESTION,)
    return (hosts.QUESTION, *QUESTIONS) if count > 1 else QUESTIONS
