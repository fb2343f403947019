/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/* Hands over to analysis/crosscheck/crosscheck.py. Returns an exit status only if it cannot. */
int crosscheck(int argc, char **argv);
