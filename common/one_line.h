/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Keeps argp's own error messages to the one line that says what is wrong. */
#pragma once

struct argp_state;

/* To be called from the root parser at ARGP_KEY_INIT. */
void one_line__errors(struct argp_state *state);
