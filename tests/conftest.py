# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What all tests share: how hypothesis chooses values."""

from hypothesis import settings

# A test fails for what was changed, not for the values that were tried: those are the same each time. `make fuzz`
# tries others. No deadline: others may use the CPUs.
settings.register_profile("same", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("fuzz", deadline=None, derandomize=False)
settings.load_profile("same")
