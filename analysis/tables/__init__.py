# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The facts that C, Python and docs share, each in one place. The modules have data and hardly any logic."""
