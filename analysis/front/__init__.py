# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The unprivileged half of the program: it requests runs from the engine, and writes their records and reports."""
