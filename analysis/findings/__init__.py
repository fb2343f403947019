# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Diagnoses zero-copy sends: `facts` sums records, `rules` derives findings from facts, and `sentences` turns findings
into sentences. All reports print these findings; none judges sends by itself.
"""
