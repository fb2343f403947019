# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What `analyze` hands over to Python, one file each.

A subcommand is a module with add_arguments(parser) and run(options) -> exit status, and its
name here. It is imported only when it is asked for.
"""

COMMANDS = ("table", "report", "compare")
