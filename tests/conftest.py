# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Shared by all tests: how hypothesis chooses values."""

from hypothesis import HealthCheck, settings

# The values are the same each time, so that a test fails because of a change, not because of other values; `make fuzz`
# tries others. There is no deadline, and no check of the time to generate values: other processes may use the CPUs.
UNTIMED = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("same", derandomize=True, max_examples=50, **UNTIMED)
settings.register_profile("fuzz", derandomize=False, **UNTIMED)
settings.load_profile("same")
