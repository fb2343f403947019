/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The result of a run, as plain data; and as the app block of a run record. */
#pragma once

#include "loadgen/data/pattern.h"
#include "loadgen/receive/receiver.h"
#include "loadgen/send/sender.h"
#include "loadgen/system/child.h"
#include "loadgen/system/netstat.h"

struct load;
struct json_object;
struct run_ops;

/* What a phase counted; starts from zero with each phase. Times in ns. */
struct visits {
	uint64_t started;    /* first of the counters that add up */
	uint64_t answered;   /* all came, up to the end of file */
	uint64_t unfinished; /* given up, because the end was asked for */
	uint64_t unanswered; /* given up, because nothing came for long */
	uint64_t bytes;
	uint64_t errors[ERRNO_LIMIT]; /* those that failed, by errno */
	struct hist connect;	      /* connect() to connected */
	struct hist accept;	      /* connected to accepted by the server; 0 if it was first */
	struct hist work;	      /* accepted to the answer ready */
	struct hist answer;	      /* connect() to the answer's end of file */
	uint64_t end_ns;	      /* of the last that was answered */
	uint64_t turned_away;	      /* connections of others, since the server began */
};

struct result {
	const struct load *load;
	const struct run_ops *ops;
	/* As the workload counts them: of many connections a message is an answer. */
	uint64_t messages, bytes;
	const uint64_t *errors;	    /* of failed sends or connections, by errno */
	const struct hist *latency; /* of a message */
	const char *span;	    /* of latency: from what to what */
	bool zerocopy;		    /* the variant asks for it */
	struct sent sent;
	struct hist requests; /* of --workload request: from the request to the answer */
	uint64_t received;
	double elapsed_s; /* from the start until the receiver had everything */
	struct cpu_time sender;
	struct cpu_time receiver;
	bool sender_known, receiver_known; /* the process lived to report it */
	uint64_t checked;		   /* --verify */
	uint64_t bad;
	unsigned int bad_connection;
	struct pattern_verdict first_bad; /* of that connection */
	struct visits visits;		  /* of many connections, instead of sent */
	struct netstat netstat_before, netstat_after;
	struct tcp_sockets sockets; /* those that sent, when the window closed */
	struct cpus cpus;
	unsigned int port;
	char peer[96]; /* the receiver's machine, in its own words; empty: this one */
	struct failure failure;
};

/* NULL when out of memory. */
struct json_object *result__json(const struct result *r);

/* The short summary for people, on stdout: of messages, or of many connections. */
void result__print_stream(const struct result *r);
void result__print_serving(const struct result *r);
