/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Always on: an observation without end whose figures are read again and again, as metrics of
 * Prometheus.
 */
#pragma once

#include "user/options/options.h"
#include "user/run/host.h"
#include "user/run/run.h"

/* Until SIGINT, SIGTERM or SIGHUP comes. Returns the exit status. */
int exporter__run(const struct options *o, const struct measurement *setup,
		  const struct host *host);
