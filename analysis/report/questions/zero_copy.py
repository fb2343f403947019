# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""When does zero-copy pay off?"""

from analysis.report import overtakes
from analysis.report.base import Question

QUESTION = Question("zero-copy", "At which size does zero-copy overtake two-copy?",
                    ("throughput", "records", "latency"),
                    lambda data: overtakes.answer(data, "zerocopy", "twocopy"),
                    lambda data: overtakes.runs_of(data, "zerocopy", "twocopy"))
