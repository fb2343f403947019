# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The commands in Python that need libraries, one file each.

A command is a module with add_arguments(parser) and run(options) -> exit status, whose name is listed here.
Only the requested module is imported. user/commands.h has the names, too, and analysis/tables/options.py the options.
"""

COMMANDS = ("table", "report", "compare")
