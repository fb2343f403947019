# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Pure statistics: arrays in, small dataclasses out. docs/statistics.md has the reasons for these methods."""
