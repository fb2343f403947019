/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One worker's private state while it sends. In a phase, other threads write only deadline_ns and
 * abandoned, which end the phase early.
 */
#pragma once

#include <linux/types.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <time.h>

#include "bpf/hist.h"
#include "common/program.h"
#include "loadgen/data/message.h"

#define ERRNO_LIMIT 256

/* Inlines the parts of a send loop, whose constant arguments the compiler folds. */
#define always_inline inline __attribute__((always_inline))

/* Counts of sends. requests = completions + enobufs + other refusals + those in flight. */
struct zerocopy_counts {
	uint64_t requests;
	uint64_t completions;
	uint64_t copied; /* completions that the kernel reported as copied */
	uint64_t enobufs;
	uint64_t notifications; /* fewer than completions, because the kernel coalesces them */
};

/* Counts of a phase; they start at zero. All except the last two members are summed. */
struct sent {
	uint64_t messages; /* completely sent messages */
	uint64_t due;	   /* messages that were due, at a fixed rate */
	uint64_t bytes;	   /* accepted by the kernel */
	uint64_t calls;	   /* send system calls, failed ones included */
	struct zerocopy_counts zerocopy;
	uint64_t errors[ERRNO_LIMIT]; /* failed send calls, by errno */
	struct hist latency;
	bool copied_unknown; /* the kernel does not report whether it copied */
};

struct dataset;
struct slot;

/* How a message is prepared before each send. */
enum send_mode {
	SEND_AS_IS,
	SEND_REFILL, /* filled anew, so that the receiver can check each message */
	SEND_PICKED, /* drawn from a data set */
	SEND_MODES,
	SEND_PACED = SEND_MODES, /* not a mode: the loop at a fixed rate, for any mode */
	SEND_LOOPS,
};

struct sender {
	_Alignas(128) _Atomic uint64_t deadline_ns; /* CLOCK_MONOTONIC; 0 ends the phase now */
	uint64_t start_ns;			    /* start of the phase */
	uint64_t remaining;			    /* messages */
	int fd;
	uint32_t connection;	       /* the connection's identity: its local port */
	struct slot *slot;	       /* shows what the receiver has received */
	const struct dataset *dataset; /* for SEND_PICKED */
	enum send_mode mode;
	int flags;		/* flags of every send: MSG_MORE, or 0 */
	uint64_t rate;		/* messages per second; 0: as fast as possible */
	uint64_t number;	/* number of the next message on this connection */
	void *state;		/* private to the variant */
	_Atomic bool abandoned; /* the socket was shut down: wait for nothing */
	struct sent sent;
	struct failure failure;
};

/* Adds arrays of 64-bit counters; bytes is their size. */
static inline void add_counters(void *sum, const void *one, size_t bytes)
{
	for (size_t i = 0; i < bytes / sizeof(uint64_t); i++)
		((uint64_t *)sum)[i] += ((const uint64_t *)one)[i];
}

static inline uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ULL + (uint64_t)t.tv_nsec;
}

/*
 * Counts a send system call by its result, also by errno. Returns the result or a negative errno.
 */
ssize_t sender__account(struct sender *s, ssize_t n);

/* Makes one counted system call. Returns the bytes taken, or a negative errno. */
ssize_t sender__sendmsg(struct sender *s, struct iovec *iov, unsigned int count, int flags);

/*
 * Handles a refusal of zero-copy while nothing of ours is in flight: waits a moment, or fails if
 * others have used up the limit for too long. *since is 0 at the first refusal.
 */
int sender__wait_refused(struct sender *s, uint64_t *since, const char *by, const char *error,
			 const char *remedy);

/* Limits the wait for a phase's completions; sender__missing() sets the failure. */
#define SETTLE_NS 10000000000ULL
int sender__missing(struct sender *s, int err, uint32_t count, const char *what);
