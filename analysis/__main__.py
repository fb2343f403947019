# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The command line: python -m analysis COMMAND, which ./analyze COMMAND hands over to.

Exit status: 0 done, 1 failed, 2 wrong usage, 3 this system cannot; a command may have more.
An error is one line on standard error, never a traceback.
"""

import argparse
import importlib
import pathlib
import sys

if not __package__:  # as ./analyze has it, with Python isolated
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

# pylint: disable=wrong-import-position
from analysis.commands import COMMANDS
from analysis.faults import SYSTEM, USAGE, Fault, printed
from analysis.notes import did_you_mean, say


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, as the rest of the program does."""

    def error(self, message):
        say(f"{did_you_mean(self, message)} ({self.prog} --help)")
        sys.exit(USAGE)


def how_to_install():
    """In the source tree, and where the program was installed."""
    here = pathlib.Path(__file__).resolve().parent
    if (here.parent / "Makefile").exists():
        return "run make analysis"
    return (f"python3 -m venv {here}/.venv && {here}/.venv/bin/pip install --require-hashes "
            f"-r {here}/requirements.txt")


def load_command(command):
    try:
        return importlib.import_module(f"analysis.commands.{command}")
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("analysis"):
            raise
        raise Fault(f"{command} needs Python's {error.name}: {how_to_install()}", SYSTEM) from None


def parse(arguments):
    """The command's module and its options."""
    overview = Parser(prog="analyze", add_help=False)
    overview.add_argument("command", choices=COMMANDS)
    name = overview.parse_args(arguments[:1]).command
    module = load_command(name)
    parser = Parser(prog=f"analyze {name}", description=module.DESCRIPTION, allow_abbrev=False)
    module.add_arguments(parser)
    return module, parser.parse_args(arguments[1:])


def execute(arguments):
    module, options = parse(arguments)
    return module.run(options)


def main(arguments):
    try:
        return printed(lambda: execute(arguments), say)
    except Fault as fault:
        say(str(fault))
        return fault.status
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
