# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Turns the raw line of a run into a record. All derived values are computed here.

Pure; uses only the standard library. docs/run-record.md lists the record's keys.
"""
