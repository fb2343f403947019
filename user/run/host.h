/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The machine that runs are made on. What needs no privilege to be read the front adds. */
#pragma once

#include <json-c/json.h>
#include <sys/utsname.h>

struct host {
	struct utsname names;
	int nproc;	/* processors this process may use */
	char pmus[128]; /* names of the core PMUs, comma-separated; "": cycles cannot be counted */
};

void host__read(struct host *h);
/* The record's "host" block, as far as it is known here. */
json_object *host__json(const struct host *h);
