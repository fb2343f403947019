# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The diagnosis of zero-copy sends: `facts` sums records, `rules` makes findings of facts, and `words` makes
sentences of findings. Every text that says what is wrong prints these findings and decides nothing itself.
"""
