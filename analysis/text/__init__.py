# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Writes the text report of run records: the answer first, then what it rests on, in 80 columns.

It reads and writes no files, and needs only the standard library. cells.py groups records, report.py makes their text,
layout.py breaks its lines. A section is a function that takes Cells and yields lines, in the file of the same name;
report.py orders the sections.
"""
