# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Pure statistics: functions from arrays to small dataclasses. docs/statistics.md has the reasons for the methods.
tests/analysis tries each on data with a planted answer, and on noise.
"""
