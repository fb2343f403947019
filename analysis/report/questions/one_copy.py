# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""When do fewer copies in the program pay off?"""

from analysis.report import overtakes
from analysis.report.base import Question

QUESTION = Question("one-copy", "At which size does one-copy overtake two-copy?", ("throughput",),
                    lambda data: overtakes.answer(data, "onecopy", "twocopy"),
                    lambda data: overtakes.runs_of(data, "onecopy", "twocopy"))
