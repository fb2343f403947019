# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""__main__.py COMMAND ...: executes all commands that ./analyze starts in Python.

front PROGRAM makes runs by the engine on descriptor 3, and reports them; PROGRAM is the name with which messages
begin. The front starts pftrace. Other commands are those of ./analyze. Modules are imported late, because each
command needs few of them, and most need no library.
"""

import os
import sys

if not __package__:  # Python is isolated, as ./analyze starts it. The standard library comes first.
    sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def main(words):
    if words[:1] == ["front"]:
        from analysis.front.session import serve
        return serve(words[1], 3)
    if words[:1] == ["derive"]:
        from analysis.derive import command
        return command.main(words[1:])
    if words[:1] == ["pftrace"]:
        from analysis.front import pftrace
        return pftrace.main()
    from analysis import command_line
    return command_line.main(words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
