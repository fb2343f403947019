# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The plan that a sweep keeps beside its records: how to run the same again."""

import json
import math
import pathlib
import shlex

from analysis.records import Problem

SCHEMA = "sendpath.plan/1"
FILE = "plan.json"
# What a plan may have several values of, in the order in which they are told.
_LISTS = ("workload", "variant", "server-model", "size", "threads", "connections")
_USUAL = {"workload": "stream", "fields": "8", "seed": "1", "warmup": "0.2",
          "duration": "5", "pin": "auto", "address": "127.0.0.1", "port": "0", "link": "loopback",
          "client-model": "threaded", "backlog": "4096"}


def read(paths: list[str], problems: list[Problem]) -> list[dict]:
    """The plans in these folders; what is there and no plan is appended to problems."""
    plans = []
    for path in paths:
        file = pathlib.Path(path) / FILE
        if not file.is_file():
            continue
        try:
            plan = json.loads(file.read_text())
        except (OSError, ValueError) as error:
            problems.append(Problem(str(file), None, f"no plan can be read in it ({error})"))
            continue
        if isinstance(plan, dict) and plan.get("schema") == SCHEMA:
            plans.append(plan)
    return plans


# What a named grid says itself.
_OF_GRID = {*_LISTS, "fields", "field-size", "working-set", "pick"}


def _loads(plan: dict) -> list[dict[str, str]]:
    """The options of each cell's load, without messages in flight where these follow their size."""
    loads = [dict(option.removeprefix("--").partition("=")[::2] for option in cell["load"])
             for cell in plan["cells"]]
    of_size: dict[str | None, set[str | None]] = {}
    for load in loads:
        of_size.setdefault(load.get("size"), set()).add(load.get("inflight"))
    if all(len(counts) == 1 for counts in of_size.values()):
        loads = [{k: v for k, v in load.items() if k != "inflight"} for load in loads]
    return loads


def _shared(loads: list[dict[str, str]]) -> list[str]:
    """The options that all loads have alike, beside those that a named grid says itself."""
    words = []
    for name, value in loads[0].items():
        alike = all(load.get(name) == value for load in loads)
        if alike and name not in _OF_GRID and _plain(value) != _USUAL.get(name):
            words += [f"--{name}"] + ([_plain(value)] if value else [])
    return words


def _plain(value: str) -> str:
    try:
        return f"{float(value):.12g}"
    except ValueError:
        return value


def _lists(loads: list[dict[str, str]]) -> list[str] | None:
    """The options whose values make all the loads, each with each; None if there are none such."""
    values = {name: list(dict.fromkeys(load[name] for load in loads))
              for name in loads[0] if all(name in load for load in loads)}
    several = {name for name, found in values.items() if len(found) > 1}
    if (math.prod(len(found) for found in values.values()) != len(loads)
            or any(load.keys() != loads[0].keys() for load in loads) or several - set(_LISTS)):
        return None
    words = []
    for name in sorted(values, key=lambda n: _LISTS.index(n) if n in _LISTS else len(_LISTS)):
        found = [_plain(value) for value in values[name]]
        if found != [_USUAL.get(name)]:
            words += [f"--{name}"] + ([",".join(found)] if found != [""] else [])
    return words


def command(plan: dict) -> str | None:
    """The sweep again, in the same order; None if the plan does not tell."""
    try:
        loads = _loads(plan)
        words = _lists(loads)
        if words is None and plan.get("grid"):
            words = ["--grid", str(plan["grid"]), *_shared(loads)]
        if words is None:
            return None
        return shlex.join(["sudo", "./analyze", "sweep", *words, "--repeat", str(plan["repeat"]),
                           "--order-seed", str(plan["order_seed"]), "--out", "DIR"])
    except (KeyError, TypeError, AttributeError, IndexError):
        return None
