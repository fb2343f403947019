/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#pragma once

/*
 * Prints what can be measured here, by which hooks, and why not; per network
 * device whether zero-copy can work on it. Exit status 0 if sends can be timed,
 * 3 if not, 2 on wrong usage.
 */
int doctor(int argc, char **argv);
