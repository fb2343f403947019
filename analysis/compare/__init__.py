# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Decides which runs are compared, and with which verdict. The text report and the page use it. It needs no library."""
