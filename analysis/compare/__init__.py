# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What is compared with what, and what follows. The terminal and the page use the same; standard library only."""
