# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Pure statistics: functions from arrays to small dataclasses. docs/statistics.md has the reasons for the methods."""
