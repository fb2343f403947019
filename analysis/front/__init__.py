# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The unprivileged half of the program: what it makes of the engine's lines, and where it writes that."""
