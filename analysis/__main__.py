# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""__main__.py COMMAND ...: executes every command that ./analyze starts in Python.

front PROGRAM requests runs from the engine, whose socket is descriptor 3, and reports them. Its messages begin with
PROGRAM. The front starts the command pftrace. Other commands have the same name in ./analyze. Modules are imported
late, because each command needs only a few of them, and most need no library.
"""

import os
import sys

if not __package__:  # ./analyze starts python3 -I, which leaves our folder out of the path
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
