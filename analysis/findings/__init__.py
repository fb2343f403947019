# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Diagnoses zero-copy sends: `facts` sums records, `rules` makes findings of facts, and `sentences` words findings.
All texts print these findings; they decide nothing themselves.
"""
