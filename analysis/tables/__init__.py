# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What is a fact: one description of each, from which the rest is made. Data, and no logic."""
