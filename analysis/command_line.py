# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Executes the commands table, report and compare.

Exit status: 0 done, 1 failed, 2 wrong usage, 3 this system cannot; a command may have more.
An error is one line on standard error, never a traceback.
"""

import importlib
import pathlib

from analysis.commands import COMMANDS
from analysis.faults import SYSTEM, Fault, printed
from analysis.notes import Parser, print_note


def how_to_install():
    """Returns the command that installs the libraries, in the source tree or in an installation."""
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
    """Returns the command's module and its options. Ends the program on wrong usage."""
    overview = Parser(prog="analyze", add_help=False)
    overview.add_argument("command", choices=COMMANDS)
    name = overview.parse_args(arguments[:1]).command
    module = load_command(name)
    parser = Parser(prog=f"analyze {name}", description=module.DESCRIPTION, allow_abbrev=False)
    module.add_arguments(parser)
    return module, parser.parse_args(arguments[1:])


def main(arguments):
    def execute():
        module, options = parse(arguments)
        return module.run(options)
    try:
        return printed(execute, print_note)
    except Fault as fault:
        print_note(str(fault))
        return fault.status
    except KeyboardInterrupt:
        return 130

