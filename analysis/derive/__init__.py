# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Makes a record of the raw line of a run. All derived values are computed here.

Pure; uses only the standard library. docs/run-record.md lists the record's keys.
"""
