/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A load: what one run of the generator sends, the two ends, and for how long. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define MESSAGE_MIN    64
#define MESSAGE_MAX    (16u << 20)
#define FIELDS_DEFAULT 8
#define FIELDS_MAX     1024 /* IOV_MAX: a message is one sendmsg */
#define THREADS_MAX    1024
#define INFLIGHT_MAX   65536

/* How the CPUs are divided between the two ends. */
enum pinning { PIN_AUTO, PIN_NONE };

/* How the two ends are connected; LINK_VETH is a veth pair that the run creates (link.h). */
enum load_link { OVER_LOOPBACK, OVER_VETH };

/* The order in which messages draw fields of a data set. */
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
	size_t rcvbuf;		      /* of the receiver's socket */
	char congestion[SOCKET_NAME]; /* "": the kernel's choice */
	char device[SOCKET_NAME];     /* "": bound to no device */
};

/*
 * A workload: one end streams messages to the other; one end requests messages and the other
 * answers; or many short connections are each answered with the top processes (server.h), then
 * closed.
 */
enum workload { WORKLOAD_STREAM, WORKLOAD_REQUEST, WORKLOAD_PROCINFO };

/* How the client handles its connections. */
enum client_model { CLIENT_THREADED, CLIENT_EPOLL };

#define CONNECTIONS_MAX	   10000
#define CONNECTIONS_THREAD 1024 /* up to here, the client has a thread for each */

/* One load: everything a single run of the generator needs. */
struct load {
	const char *variant; /* NULL: the workload has no variant */
	size_t message_bytes;
	unsigned int fields;	     /* message_bytes is divided among them as evenly as possible */
	size_t field_size;	     /* as given; later computed from fields; 0: not given */
	unsigned int threads;	     /* one connection each */
	unsigned int inflight;	     /* zero-copy messages that may await completion */
	unsigned long long messages; /* per thread; 0: the duration decides */
	double duration_s;
	double warmup_s;
	bool verify;
	enum pinning pinning;
	size_t rcvlowat;     /* bytes that wake the receiver */
	const char *address; /* the receiver's */
	unsigned int port;   /* 0: any free one */
	const char *peer;    /* HOST:PORT of a receiver elsewhere, or NULL */
	const char *key;     /* file with the key of this peer, or NULL */
	enum load_link link;
	const char *netns;  /* network namespace of the receiver, or NULL */
	size_t working_set; /* bytes of the data set; 0: each message has its own fields */
	enum pick pick;
	unsigned long long seed; /* seed of PICK_RANDOM */
	size_t align;		 /* alignment of each field; 0: malloc()'s */
	bool huge_pages;
	bool registered;	 /* uring_zc: from registered buffers */
	bool reuse_early;	 /* write to memory from which the kernel may still send */
	const char *file_dir;	 /* folder of sendfile's file; NULL: the file is in memory */
	unsigned long long rate; /* messages per second and thread; 0: as fast as possible */
	struct socket_options socket;
	enum workload workload;
	/* Only for procinfo: */
	const char *server_model; /* a name in serve_models */
	unsigned int connections; /* open at once */
	enum client_model client_model;
	unsigned int backlog; /* length of the listen queue */
};

/* Returns "threaded" or "epoll". */
const char *client_model_name(enum client_model model);

/* Returns the bytes of the load's longest field. */
size_t load__longest_field(const struct load *load);

/* Returns in how many parts this variant sends a message; a message in a file is one part. */
unsigned int load__fields(const struct load *load);
