# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Lists the questions in the order of the report. A question is a function from the data to an Answer."""

from analysis.figures.base import Data
from analysis.report.base import Answer
from analysis.report.questions import hosts, sending, servers, unexpected

SENDING = (sending.one_copy, sending.zero_copy, sending.why_not, sending.caches, sending.threads, unexpected.answer)
RECORDS = (sending.zero_copy, sending.memory, unexpected.answer, sending.why_not)
SERVERS = (servers.models, servers.why, servers.slow)

# If there are more hosts, only the hosts are compared, because each other answer would have to list all of them.
MOST_HOSTS = 8


def answered(data: Data) -> list[Answer]:
    """Returns the answers to the questions that apply to these data."""
    count = len(data.fleet.hosts)
    if data.streamed or count > MOST_HOSTS:
        return [hosts.answer(data)]
    asked = [hosts.answer] if count > 1 else []
    if data.sending.height or not data.serving.height:
        records = sending.kind_of(data).name == "records"
        asked += (RECORDS if records else
                  (*SENDING, sending.memory) if data.sending["memory_bytes_per_byte"].count() else SENDING)
    if data.serving.height:
        asked += SERVERS
    return [question(data) for question in asked]
