// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/kernel/causes.h"

#include <errno.h>
#include <string.h>

static const char *const names[CAUSES] = {CAUSE_NAMES};
static const char *const call_names[CALL_KINDS] = {CALL_NAMES};

const struct cause_site cause_sites[] = {CAUSE_SITES, {}};

const char *cause_name(enum cause cause)
{
	return names[cause < CAUSES ? cause : CAUSE_UNCLASSIFIED];
}

/*
 * Writes a row in a kernel's addresses: each range of the function, combined with each range of the
 * outer function. Returns the number of rows.
 */
static size_t add_sites(const struct cause_site *row, struct call_site *call_sites, size_t room,
			cause_code code, const struct features *f)
{
	struct address_range ranges[2], outer[2] = {};
	size_t outers = row->outer ? code(f, row->outer, outer) : 1;
	size_t found = code(f, row->function, ranges), count = 0, i, j;

	for (i = 0; i < found; i++)
		for (j = 0; j < outers && count < room; j++)
			call_sites[count++] = (struct call_site){.code = ranges[i],
								 .outer = outer[j],
								 .copiers = row->copiers,
								 .device = row->device,
								 .cause = row->cause};
	return count;
}

size_t causes__call_sites(struct call_site *call_sites, size_t max, cause_code code,
			  const struct features *f)
{
	size_t count = 0;

	for (const struct cause_site *row = cause_sites; row->function; row++)
		count += add_sites(row, call_sites + count, max - count, code, f);
	return count;
}

static const struct refusal_row refusal_rows[REFUSALS] = {REFUSAL_ROWS};

const struct refusal_row *refusal__get(enum refusal refusal)
{
	return &refusal_rows[refusal];
}

enum refusal refusal__of(int error)
{
	enum refusal refusal = REFUSAL_ENOBUFS;

	while (refusal < REFUSAL_OTHER && refusal_rows[refusal].error != error)
		refusal++;
	return refusal;
}

const char *call_name(enum call_kind kind)
{
	return call_names[kind];
}

const char *call_error_name(unsigned int index)
{
	const char *name = index && index < ERRNO_RESTART ? strerrorname_np((int)index) : NULL;

	if (name)
		return name;
	return index == ERRNO_RESTART ? "ERESTARTSYS" : "other";
}
