# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Decides which runs are compared, and what follows. The terminal and the page use it; standard library only."""
