/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/json.h"
#include "loadgen/system/netstat.h"
#include "tables.h"

#define LINE_MAX_BYTES 8192

static const struct {
	const char *key, *group, *name;
} rows[] = {PROTOCOL_ROWS};
#define ROWS (sizeof(rows) / sizeof(rows[0]))
_Static_assert(ROWS <= NETSTAT_MAX, "room for each");

static void set_counter(struct netstat *n, const char *group, const char *name, uint64_t value)
{
	for (size_t i = 0; i < ROWS; i++) {
		if (strcmp(rows[i].group, group) || strcmp(rows[i].name, name))
			continue;
		n->known[i] = true;
		n->values[i] = value;
	}
}

void netstat__parse(struct netstat *n, const char *names, const char *values)
{
	char group[16], first[16], name[64];
	long long value;
	int at, step;

	if (sscanf(names, "%15s%n", group, &at) != 1)
		return;
	names += at;
	if (sscanf(values, "%15s%n", first, &at) != 1 || strcmp(group, first))
		return;
	values += at;
	while (sscanf(names, "%63s%n", name, &at) == 1 &&
	       sscanf(values, "%lld%n", &value, &step) == 1) {
		set_counter(n, group, name, (uint64_t)value);
		names += at;
		values += step;
	}
}

static bool read_file(struct netstat *n, const char *path)
{
	char names[LINE_MAX_BYTES], values[LINE_MAX_BYTES];
	FILE *file = fopen(path, "re");

	if (!file)
		return false;
	while (fgets(names, sizeof(names), file) && fgets(values, sizeof(values), file))
		netstat__parse(n, names, values);
	fclose(file);
	return true;
}

static void read_process(struct netstat *n, const char *process)
{
	char path[64];

	memset(n, 0, sizeof(*n));
	snprintf(path, sizeof(path), "/proc/%s/net/netstat", process);
	n->read = read_file(n, path);
	snprintf(path, sizeof(path), "/proc/%s/net/snmp", process);
	n->read &= read_file(n, path);
}

void netstat__read(struct netstat *n)
{
	read_process(n, "self");
}

void netstat__add_process(struct netstat *n, pid_t pid)
{
	struct netstat other;
	char process[16];

	snprintf(process, sizeof(process), "%d", (int)pid);
	read_process(&other, process);
	n->read &= other.read;
	for (size_t i = 0; i < ROWS; i++) {
		n->known[i] &= other.known[i];
		n->values[i] += other.values[i];
	}
}

struct json_object *netstat__json(const struct netstat *before, const struct netstat *after)
{
	struct json_object *o;

	if (!before->read || !after->read)
		return NULL;
	o = json_object_new_object();
	for (size_t i = 0; o && i < ROWS; i++)
		json__add_known(o, rows[i].key, before->known[i] && after->known[i],
				after->values[i] - before->values[i]);
	return o;
}
