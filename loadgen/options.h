/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a load is. The option names are the same wherever a load is described,
 * so the parser is an argp child that any program can take in.
 *
 * --variant, --size, --threads, --link and their like take lists, because a grid is
 * made of them; a single load is one element of each.
 */
#ifndef SENDPATH_LOAD_OPTIONS_H
#define SENDPATH_LOAD_OPTIONS_H

#include <argp.h>
#include <stdbool.h>
#include <stddef.h>

#define MESSAGE_MIN    64
#define MESSAGE_MAX    (16u << 20)
#define FIELDS_DEFAULT 8
#define FIELDS_MAX     1024 /* IOV_MAX: a message is one sendmsg */
#define THREADS_MAX    1024
#define INFLIGHT_MAX   65536
#define LIST_MAX       32

/* How the two ends share the processors. */
enum pinning { PIN_AUTO, PIN_NONE };

/* Which fields of a data set make a message. */
enum pick { PICK_ORDER, PICK_RANDOM };

#define RATE_MAX	1000000000ull
#define SOCKET_NAME	16 /* TCP_CA_NAME_MAX, IFNAMSIZ: with its terminating zero */
#define WORKING_SET_MAX (1ull << 40)
#define ALIGN_MAX	(2u << 20)

/* What is set on the connection before it is made. */
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
 * processes (procinfo.h), then closed.
 */
enum workload { WORKLOAD_STREAM, WORKLOAD_REQUEST, WORKLOAD_PROCINFO };

/* How the client keeps its connections under way. */
enum client_model { CLIENT_THREADED, CLIENT_EPOLL };

#define CONNECTIONS_MAX	   10000
#define CONNECTIONS_THREAD 1024 /* above, the client needs no thread for each */

/* One load: everything a single run of the generator needs. */
struct load {
	const char *variant; /* NULL: nothing is sent by one */
	size_t message_bytes;
	unsigned int fields;	     /* message_bytes is spread over them as evenly as it goes */
	unsigned int threads;	     /* one connection each */
	unsigned int inflight;	     /* zero-copy: messages that may wait for their completion */
	unsigned long long messages; /* per thread; 0: the duration decides */
	double duration_s;
	double warmup_s;
	bool verify;
	enum pinning pinning;
	size_t rcvlowat;     /* bytes that must wait before the receiver wakes; 0: load__rcvlowat()
				chooses */
	const char *address; /* the receiver listens on it */
	unsigned int port;   /* 0: any free one */
	const char *peer;    /* HOST:PORT of a receiver elsewhere, or NULL */
	bool link;	     /* over a pair of devices of the run's own (link.h) */
	const char *netns;   /* named namespace of the receiver, or NULL */
	size_t working_set;  /* bytes of the data set; 0: each message has its own fields */
	enum pick pick;
	unsigned long long seed; /* of a random pick */
	size_t align;		 /* of a field; 0: as malloc() does */
	bool huge_pages;
	bool registered;	 /* uring_zc: from registered buffers */
	bool reuse_early;	 /* write to memory that the kernel may still send from */
	const char *file_dir;	 /* of sendfile's file; NULL: it is in memory */
	unsigned long long rate; /* messages a second and thread; 0: as fast as it goes */
	struct socket_options socket;
	enum workload workload;
	/* Of procinfo alone: */
	const char *server_model; /* a name of serve_ops.h */
	unsigned int connections; /* at once */
	enum client_model client_model;
	unsigned int backlog; /* of the listening socket */
};

/* What the options said: lists, and the rest in one template. */
struct load_options {
	const char *variants[LIST_MAX];
	size_t variant_count;
	size_t sizes[LIST_MAX];
	size_t size_count;
	unsigned int threads[LIST_MAX];
	size_t thread_count;
	const char *models[LIST_MAX];
	size_t model_count;
	unsigned int connections[LIST_MAX];
	size_t connection_count;
	bool links[LIST_MAX]; /* struct load's link */
	size_t link_count;
	size_t field_size; /* 0: not given */
	bool variants_given;
	bool sizes_given;
	bool threads_given;
	bool fields_given;
	bool duration_given;
	bool address_given;
	bool every; /* all variants that there are: those that this kernel lacks are left out */
	bool load_given; /* any option but --duration */
	bool models_all;
	bool client_given;
	bool port_given;
	const char *stream_given;   /* an option of messages, or NULL */
	const char *procinfo_given; /* one of many connections, or NULL */
	struct load load;
};

/*
 * The argp child. Its input is a struct load_options, which it initialises with
 * the defaults; a value that cannot be is a usage error (exit status 2) in one
 * line that names the option, the value and the remedy. Its keys lie from 0x4c00
 * to 0x4cff. Strings point into argv.
 */
extern const struct argp load_argp;

/* The defaults: what an empty command line means. */
void load_options__init(struct load_options *o);

/*
 * Takes one option's value; then, after the last, what only all of them together
 * can tell. 0, or -EINVAL with the reason in one line.
 */
int load_options__set(struct load_options *o, int key, const char *value, char *why, size_t room);
int load_options__resolve(struct load_options *o, char *why, size_t room);

/* The load for one cell of the grid, on the first link. The indices are below the counts. */
struct load load_options__cell(const struct load_options *o, size_t variant, size_t size,
			       size_t threads);

/* How many cells the grid has, and one of them: what varies first is what is compared. */
size_t load_options__cells(const struct load_options *o);
struct load load_options__nth(const struct load_options *o, size_t n);

/* How many neighbours, from each multiple of it on, differ in the variant or server model alone. */
size_t load_options__compared(const struct load_options *o);

/* Why this load cannot be, though each of its options can; NULL: it can. */
const char *load__impossible(const struct load *load, char *why, size_t room);

/* "stream", "request", "procinfo"; "threaded", "epoll". */
const char *workload_name(enum workload workload);
const char *client_model_name(enum client_model model);

/* "onecopy 16K x4", "epoll, 100 connections": which of several loads it is. */
const char *load__label(const struct load *load, char *text, size_t room);

/*
 * How much must wait before the receiver wakes. Left to choose, it wakes in bulk,
 * because each wake-up is paid for by the sender; but long before zero-copy runs
 * out of messages in flight.
 */
int load__rcvlowat(const struct load *load);

/* How many pieces a message has for this variant: in a file, one. */
unsigned int load__fields(const struct load *load);

/* The keys, for load_options__set(). */
enum load_option_key {
	LOAD_VARIANT = 0x4c00,
	LOAD_SIZE,
	LOAD_FIELDS,
	LOAD_FIELD_SIZE,
	LOAD_THREADS,
	LOAD_DURATION,
	LOAD_MESSAGES,
	LOAD_WARMUP,
	LOAD_INFLIGHT,
	LOAD_VERIFY,
	LOAD_PIN,
	LOAD_RCVLOWAT,
	LOAD_ADDRESS,
	LOAD_PORT,
	LOAD_NETNS,
	LOAD_WORKING_SET,
	LOAD_PICK,
	LOAD_SEED,
	LOAD_ALIGN,
	LOAD_HUGE_PAGES,
	LOAD_REGISTERED,
	LOAD_REUSE_EARLY,
	LOAD_FILE_DIR,
	LOAD_RATE,
	LOAD_SOCKET,
	LOAD_WORKLOAD,
	LOAD_SERVER_MODEL,
	LOAD_CONNECTIONS,
	LOAD_CLIENT_MODEL,
	LOAD_BACKLOG,
	LOAD_PEER,
	LOAD_LINK,
	LOAD_KEYS_END,
};

#endif
