# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Makes answers of run records. Data flow one way: records -> table -> statistics -> figures, report, text."""
