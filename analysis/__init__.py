# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Turns run records into answers. Data flow one way: records -> table -> statistics -> figures, report, text."""
