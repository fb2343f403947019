# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Decides whether a program should use MSG_ZEROCOPY on a path, and from which message size."""
