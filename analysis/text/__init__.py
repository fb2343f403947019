# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The text report of run records: the answer first, then what it rests on, in 80 columns.

Pure, and the standard library alone. cells groups records, report writes the text of them, lay_out
breaks its lines. A section is a function that takes Cells and yields lines, in the file of its name;
report has their order.
"""
