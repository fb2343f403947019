# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The facts that C, Python and docs share, described once. Data without logic."""
