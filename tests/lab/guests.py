# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Boots guests that run beside each other. There are 1.5 guests per CPU: an emulated guest of Debian 12 uses only three
quarters of a CPU, because it waits for a grace period of RCU whenever a function's hook is removed. A module defines
boots(items, folders) -> {key: function that boots it}, for the selected tests that use guests, in the order in which
they begin; folders is pytest's tmp_path_factory. Guests boot when the first of these tests begins.
"""

import os
import re
from concurrent.futures import ThreadPoolExecutor

import pytest

SLOWEST = 12
_suites = []  # (seconds, name)


class Guests:
    def __init__(self, boots):
        self.pool = ThreadPoolExecutor(len(os.sched_getaffinity(0)) * 3 // 2)
        self.runs = {key: self.pool.submit(boot) for key, boot in boots.items()}

    def result(self, key):
        """Returns what the boot of this key returned, or raises what it raised."""
        return self.runs[key].result()

    def close(self):
        self.pool.shutdown(cancel_futures=True)


def _scope(*_, **__):
    """Returns the scope of the fixture guests. Each worker of pytest-xdist has all items but runs only some modules, so
    it boots only those modules' guests."""
    return "module" if "PYTEST_XDIST_WORKER" in os.environ else "session"


@pytest.fixture(scope=_scope, name="guests")
def _guests(request, tmp_path_factory):
    items = [item for item in request.session.items if "guests" in item.fixturenames
             and (request.scope == "session" or item.module is request.module)]
    boots = {}
    for module in dict.fromkeys(item.module for item in items):
        boots.update(module.boots([item for item in items if item.module is module],
                                  tmp_path_factory))
    booted = Guests(boots)
    yield booted
    booted.close()


@pytest.fixture(name="took")
def _took():
    """Returns a function that keeps the time from pytest's last line about a suite in a guest, for the summary."""
    def keep(name, output):
        seconds = re.findall(r" in ([0-9.]+)s", output)
        if seconds:
            _suites.append((float(seconds[-1]), name))
    return keep


def pytest_terminal_summary(terminalreporter):
    if _suites:
        terminalreporter.section("slowest suites in guests")
        for seconds, name in sorted(_suites, reverse=True)[:SLOWEST]:
            terminalreporter.line(f"{seconds:7.1f} s  {name}")
