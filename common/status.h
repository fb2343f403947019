/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Exit statuses, of all the programs. */
#pragma once

#define STATUS_OK     0
#define STATUS_FAILED 1 /* failed while running */
#define STATUS_USAGE  2 /* wrong usage */
#define STATUS_SYSTEM 3 /* this system cannot do it */
