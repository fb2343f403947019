/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The machine on which runs are made. The front adds values that it can read without privilege. */
#pragma once

#include <json-c/json.h>
#include <sys/utsname.h>

struct host {
	struct utsname names;
	int nproc;	/* CPUs that this process may use */
	char pmus[128]; /* names of the core PMUs, with commas; "": cycles cannot be counted */
};

void host__read(struct host *h);
/* Returns the record's block "host", without the keys that the front adds. */
json_object *host__json(const struct host *h);
