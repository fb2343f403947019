/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The result of a run as plain data, and as the app block of a run record. */
#pragma once

#include "loadgen/data/pattern.h"
#include "loadgen/receive/receiver.h"
#include "loadgen/send/sender.h"
#include "loadgen/system/child.h"
#include "loadgen/system/netstat.h"

struct load;
struct json_object;
struct run_ops;

/* Counts of a phase of many connections; starts at zero in each phase. Times in ns. */
struct visits {
	uint64_t started;    /* the first counter that is summed over threads */
	uint64_t answered;   /* the answer arrived up to its end of file */
	uint64_t unfinished; /* given up because the run was to end */
	uint64_t unanswered; /* given up after a long time without an answer */
	uint64_t bytes;
	uint64_t errors[ERRNO_LIMIT]; /* failed connections, by errno */
	struct hist connect;	      /* connect() to connected */
	struct hist accept;	      /* connected to accepted; 0 if accepted first */
	struct hist work;	      /* accepted to answer ready */
	struct hist answer;	      /* connect() to the end of file of the answer */
	uint64_t end_ns;	      /* when the last answer was complete */
	uint64_t turned_away;	      /* connections of other clients, since the server started */
};

struct result {
	const struct load *load;
	const struct run_ops *ops;
	/* Totals of the workload. With many connections, a message is an answer. */
	uint64_t messages, bytes;
	const uint64_t *errors;	    /* failed sends or connections, by errno */
	const struct hist *latency; /* latency of a message */
	const char *span;	    /* what latency covers */
	bool zerocopy;		    /* the variant requests zero-copy */
	struct sent sent;
	struct hist requests; /* of --workload request: from the request to the answer */
	uint64_t received;
	double elapsed_s; /* from the start until the receiver had all bytes */
	struct cpu_time sender;
	struct cpu_time receiver;
	bool sender_known, receiver_known; /* the process reported its CPU time */
	uint64_t checked;		   /* --verify */
	uint64_t bad;
	unsigned int bad_connection;
	struct pattern_verdict first_bad; /* the first one on bad_connection */
	struct visits visits;		  /* counts of many connections; then sent is unused */
	struct netstat netstat_before, netstat_after;
	struct tcp_sockets sockets; /* the sending sockets, when the window closed */
	struct cpus cpus;
	unsigned int port;
	char peer[96]; /* the receiver's machine, in its own words; "": this one */
	struct failure failure;
};

/* Returns the app block of a record; NULL: out of memory. */
struct json_object *result__json(const struct result *r);

/* Prints the short summary for people on stdout. */
void result__print_stream(const struct result *r);
void result__print_serving(const struct result *r);
