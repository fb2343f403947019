# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""From run records to answers: table, statistics, figures, report.

Data flow one way: records -> table -> statistics -> what people read.
"""
