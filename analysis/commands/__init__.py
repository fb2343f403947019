# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The commands in Python that need libraries, one file each.

A command is a module with add_arguments(parser) and run(options) -> exit status, and its name here. Only
the requested one is imported.
"""

COMMANDS = ("table", "report", "compare")
