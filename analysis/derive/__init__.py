# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""From the raw line of a run to its record: the one place where figures are derived.

Pure, and the standard library alone. docs/run-record.md has the record's keys.
"""
