# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What `analyze` hands over to Python, one file each.

A subcommand is a module with add_arguments(parser) and run(options) -> exit status, and its
row here. It is imported only when it is asked for.
"""

import collections

Command = collections.namedtuple("Command", "name module help")

COMMANDS = (
    Command("table", "analysis.commands.table", "one tidy table of run records, as CSV or Parquet"),
    Command("report", "analysis.commands.report", "questions answered, with figures"),
    Command("compare", "analysis.commands.compare", "two result sets: what changed, does it matter"),
)
