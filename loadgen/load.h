/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A load: what one run of the generator sends, by whom, to whom, for how long. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define MESSAGE_MIN    64
#define MESSAGE_MAX    (16u << 20)
#define FIELDS_DEFAULT 8
#define FIELDS_MAX     1024 /* IOV_MAX: a message is one sendmsg */
#define THREADS_MAX    1024
#define INFLIGHT_MAX   65536

/* How the two ends share the processors. */
enum pinning { PIN_AUTO, PIN_NONE };

/* What connects the two ends; the second is a veth pair that the run creates (link.h). */
enum load_link { OVER_LOOPBACK, OVER_VETH };

/* Which fields of a data set make a message. */
enum pick { PICK_ORDER, PICK_RANDOM };

#define RATE_MAX	1000000000ull
#define SOCKET_NAME	16 /* TCP_CA_NAME_MAX, IFNAMSIZ: with its terminating zero */
#define WORKING_SET_MAX (1ull << 40)
#define ALIGN_MAX	(2u << 20)

/* Socket options, set before connecting. */
struct socket_options {
	bool nodelay;
	bool more;		      /* MSG_MORE with every send */
	size_t sndbuf;		      /* bytes; 0: the kernel's choice */
	size_t rcvbuf;		      /* of the receiver */
	char congestion[SOCKET_NAME]; /* "": the kernel's choice */
	char device[SOCKET_NAME];     /* "": bound to none */
};

/*
 * What the two ends do: one streams messages to the other; or one asks, the other
 * answers with a message; or many short connections, each answered with the top
 * processes (server.h), then closed.
 */
enum workload { WORKLOAD_STREAM, WORKLOAD_REQUEST, WORKLOAD_PROCINFO };

/* How the client drives its connections. */
enum client_model { CLIENT_THREADED, CLIENT_EPOLL };

#define CONNECTIONS_MAX	   10000
#define CONNECTIONS_THREAD 1024 /* above, the client needs no thread for each */

/* One load: everything a single run of the generator needs. */
struct load {
	const char *variant; /* NULL: nothing is sent by one */
	size_t message_bytes;
	unsigned int fields;	     /* message_bytes is spread over them as evenly as it goes */
	size_t field_size;	     /* as given, until fields follow from it; 0: not given */
	unsigned int threads;	     /* one connection each */
	unsigned int inflight;	     /* zero-copy: messages that may wait for their completion */
	unsigned long long messages; /* per thread; 0: the duration decides */
	double duration_s;
	double warmup_s;
	bool verify;
	enum pinning pinning;
	size_t rcvlowat;     /* bytes that must wait before the receiver wakes */
	const char *address; /* the receiver listens on it */
	unsigned int port;   /* 0: any free one */
	const char *peer;    /* HOST:PORT of a receiver elsewhere, or NULL */
	const char *key;     /* the file of what that receiver asks for, or NULL */
	enum load_link link;
	const char *netns;  /* named namespace of the receiver, or NULL */
	size_t working_set; /* bytes of the data set; 0: each message has its own fields */
	enum pick pick;
	unsigned long long seed; /* of PICK_RANDOM */
	size_t align;		 /* of a field; 0: as malloc() does */
	bool huge_pages;
	bool registered;	 /* uring_zc: from registered buffers */
	bool reuse_early;	 /* write to memory that the kernel may still send from */
	const char *file_dir;	 /* of sendfile's file; NULL: it is in memory */
	unsigned long long rate; /* messages a second and thread; 0: as fast as it goes */
	struct socket_options socket;
	enum workload workload;
	/* Of procinfo alone: */
	const char *server_model; /* a name in serve_models */
	unsigned int connections; /* at once */
	enum client_model client_model;
	unsigned int backlog; /* of the listening socket */
};

/* "threaded", "epoll". */
const char *client_model_name(enum client_model model);

/* Bytes of the longest of its fields. */
size_t load__longest_field(const struct load *load);

/* How many pieces a message has for this variant: in a file, one. */
unsigned int load__fields(const struct load *load);
