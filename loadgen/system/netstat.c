/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common/json.h"
#include "loadgen/system/netstat.h"
#include "tables.h"

#define LINE_MAX_BYTES 8192

static const struct {
	const char *key, *group, *name;
} rows[] = {PROTOCOL_ROWS};
#define ROWS (sizeof(rows) / sizeof(rows[0]))
_Static_assert(ROWS <= NETSTAT_MAX, "room for each");

static void add_counter(struct netstat *n, const char *group, const char *name, uint64_t value)
{
	for (size_t i = 0; i < ROWS; i++)
		if (!strcmp(rows[i].group, group) && !strcmp(rows[i].name, name)) {
			n->known[i] = true;
			n->values[i] += value;
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
		add_counter(n, group, name, (uint64_t)value);
		names += at;
		values += step;
	}
}

static bool add_file(struct netstat *n, const char *path)
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

static void add_process(struct netstat *n, pid_t process)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/net/netstat", (int)process);
	n->read &= add_file(n, path);
	snprintf(path, sizeof(path), "/proc/%d/net/snmp", (int)process);
	n->read &= add_file(n, path);
}

/* Adds the counters of both processes' namespaces. */
void netstat__read(struct netstat *n, pid_t other)
{
	*n = (struct netstat){.read = true};
	add_process(n, getpid());
	if (other)
		add_process(n, other);
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

/* How a member of struct tcp_info is combined over sockets. GROWTH sums what a counter grew by. */
enum over_sockets { GROWTH, LEAST, MEAN, MOST };

#define MEMBER(name) offsetof(struct tcp_info, name), sizeof(((struct tcp_info *)0)->name)
static const struct {
	const char *key;
	enum over_sockets how;
	size_t at, size;
} members[] = {
	{"retransmits", GROWTH, MEMBER(tcpi_total_retrans)},
	{"retransmitted_bytes", GROWTH, MEMBER(tcpi_bytes_retrans)},
	{"segments", GROWTH, MEMBER(tcpi_segs_out)},
	{"data_segments", GROWTH, MEMBER(tcpi_data_segs_out)},
	{"busy_us", GROWTH, MEMBER(tcpi_busy_time)},
	{"peer_window_limited_us", GROWTH, MEMBER(tcpi_rwnd_limited)},
	{"send_buffer_limited_us", GROWTH, MEMBER(tcpi_sndbuf_limited)},
	{"cwnd_min", LEAST, MEMBER(tcpi_snd_cwnd)},
	{"cwnd_mean", MEAN, MEMBER(tcpi_snd_cwnd)},
	{"cwnd_max", MOST, MEMBER(tcpi_snd_cwnd)},
	{"rtt_min_us", LEAST, MEMBER(tcpi_min_rtt)},
	{"rtt_mean_us", MEAN, MEMBER(tcpi_rtt)},
	{"rtt_max_us", MOST, MEMBER(tcpi_rtt)},
	{"mss_min", LEAST, MEMBER(tcpi_snd_mss)},
	{"mss_max", MOST, MEMBER(tcpi_snd_mss)},
};
#define MEMBERS (sizeof(members) / sizeof(members[0]))
_Static_assert(MEMBERS <= TCP_VALUES_MAX, "room for each");

int tcp_state__read(int fd, struct tcp_state *s)
{
	socklen_t length = sizeof(s->info);

	memset(s, 0, sizeof(*s));
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &s->info, &length))
		return -errno;
	length = sizeof(s->congestion) - 1;
	if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, s->congestion, &length))
		s->congestion[0] = 0;
	return 0;
}

static uint64_t member_of(const struct tcp_state *s, size_t i)
{
	const char *at = (const char *)&s->info + members[i].at;

	return members[i].size == sizeof(uint64_t) ? *(const uint64_t *)at : *(const uint32_t *)at;
}

void tcp_sockets__add_socket(struct tcp_sockets *all, const struct tcp_state *before,
			     const struct tcp_state *after)
{
	for (size_t i = 0; i < MEMBERS; i++) {
		uint64_t value = member_of(after, i), *over = &all->values[i];
		uint64_t growth = value - member_of(before, i);

		/* Counts of 32 bits may wrap around. */
		if (members[i].how == GROWTH)
			*over += members[i].size == sizeof(uint32_t) ? (uint32_t)growth : growth;
		else if (members[i].how == MEAN)
			*over += value;
		else if (!all->count || (members[i].how == LEAST ? value < *over : value > *over))
			*over = value;
	}
	if (!all->count)
		memcpy(all->congestion, after->congestion, sizeof(all->congestion));
	all->count++;
}

struct json_object *tcp_sockets__json(const struct tcp_sockets *all)
{
	struct json_object *o;

	if (!all->count)
		return NULL;
	o = json_object_new_object();
	json__add_count(o, "sockets", all->count);
	for (size_t i = 0; i < MEMBERS; i++)
		json__add_count(o, members[i].key,
				all->values[i] / (members[i].how == MEAN ? all->count : 1));
	json__add_text(o, "congestion", all->congestion);
	return o;
}
