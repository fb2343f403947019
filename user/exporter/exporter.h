/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The exporter: an observation without end, whose counts are read repeatedly, as metrics for
 * Prometheus.
 */
#pragma once

#include "loadgen/system/listener.h"
#include "user/exporter/exposition.h"
#include "user/options/options.h"
#include "user/run/host.h"
#include "user/run/run.h"
#include "user/trace/groups.h"

/* Runs until SIGINT, SIGTERM or SIGHUP. Returns the exit status. */
int exporter__run(const struct options *o, const struct measurement *setup,
		  const struct host *host);

/*
 * Sums of sends by process name and, with --by cgroup, control group, since the exporter started.
 * The first names, largest first, keep their places. Groups of other names, and of a process called
 * "other", are added to the rest. Groups of ended processes are added up and removed, to make room.
 */
#define PROCESSES_OTHER "other"

/* The sums of one name. */
struct named_group {
	char comm[COMM_MAX];
	char cgroup[CGROUP_TEXT_MAX]; /* path of the control group; "": unknown, or not requested */
	struct group gone;	      /* sums of removed groups */
	struct group sums;	      /* sums of all groups of the name */
};

struct processes {
	size_t top;  /* the most names, up to TOP_MAX */
	size_t room; /* the most groups in the kernel */
	size_t seen; /* groups in the last reading */
	bool crowded;
	bool by_cgroup;
	struct tracer *tracer; /* during a reading */
	size_t count, found;   /* of names: with a place; in all, new ones last */
	struct named_group names[TOP_MAX * 2];
	struct named_group rest;
};

/* Reads the counts so far. The caller sets only top, room and by_cgroup. Returns 0 or -errno. */
int processes__read(struct processes *p, struct tracer *tracer);

struct exporter {
	const struct exporter_options *options;
	const char *kernel; /* kernel release */
	bool cost;	    /* the BPF programs' own time is counted */
	struct tracer *tracer;
	struct run_result result; /* of an observation in progress */
	struct processes processes;
	__u64 cpu_ns, resident_bytes, map_bytes; /* of the exporter itself */
	__u64 reading_ns;			 /* how long reading the counts took */
	__u64 started_ns;			 /* when counting began, since the epoch */
	struct exposition exposition;
	int folder, timer; /* the text file's folder, and a timer for its next version; -1: none */
	bool failed;	   /* the last version was not written */
};

/* Writes the metrics of analysis/tables/metrics.py. */
void metrics__write(struct exporter *x);

/* Returns the counts so far as text, which the caller frees; NULL after an error line. */
char *exporter__text(bool open_metrics);

/*
 * The server replies to GET /metrics over HTTP, in the calling thread. It takes one request per
 * connection, few connections at once, and closes each after some seconds, whatever its client
 * does. If there are too many, it closes the oldest connection of the address that has the most
 * connections.
 */

/* Listens as the options say, which must stay valid. Returns false after an error line. */
bool server__open(const struct exporter_options *options);
/* Closes the server if it is open. */
void server__close(void);
/* Writes where the server listens: "address:port", in numbers. */
void server__name(char name[ADDRESS_NAME]);
/* Waits up to ms for requests, and replies to those that arrived. Must be called regularly. */
void server__run(int ms);

/*
 * Returns whether a request's Host is an address, localhost or one of the names, with or without a
 * port. A page in a browser could otherwise map its own host name to this machine (DNS rebinding),
 * and read the metrics.
 */
bool server__has_name(const struct exporter_options *options, const char *host);
