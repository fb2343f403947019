# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What all tests share: how hypothesis chooses values."""

from hypothesis import HealthCheck, settings

# A test fails for what was changed, not for the values that were tried: those are the same each time. `make fuzz`
# tries others. No deadline, and no check of how long values take to make: others may use the CPUs.
UNTIMED = {"deadline": None, "suppress_health_check": [HealthCheck.too_slow]}
settings.register_profile("same", derandomize=True, max_examples=50, **UNTIMED)
settings.register_profile("fuzz", derandomize=False, **UNTIMED)
settings.load_profile("same")
