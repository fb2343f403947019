# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Should a program use MSG_ZEROCOPY on a path, and from which message size?"""
