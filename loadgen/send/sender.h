/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One worker's private state while it sends: no other thread touches it in a
 * phase, but for the two flags that end one early.
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

/* For the parts of a send loop: the compiler folds the constants that they are given. */
#define always_inline inline __attribute__((always_inline))

/* In sends. requests = completions + enobufs + other refusals + those in flight. */
struct zerocopy_counts {
	uint64_t requests;
	uint64_t completions;
	uint64_t copied; /* completions that the kernel said were copied */
	uint64_t enobufs;
	uint64_t notifications; /* the kernel merges completions: fewer than those */
};

/* What a phase counted; starts from zero with each phase. All but the last two add up. */
struct sent {
	uint64_t messages; /* complete ones */
	uint64_t due;	   /* that should have been begun, at a fixed rate */
	uint64_t bytes;	   /* that the kernel took */
	uint64_t calls;	   /* send system calls, failed ones included */
	struct zerocopy_counts zerocopy;
	uint64_t errors[ERRNO_LIMIT]; /* failed send calls, by errno */
	struct hist latency;
	bool copied_unknown; /* the kernel does not say whether it copied */
};

struct dataset;
struct slot;

/* How a message is prepared before it is sent. */
enum send_mode {
	SEND_AS_IS,
	SEND_REFILL, /* written anew, so that the receiver can check each message */
	SEND_PICKED, /* drawn from a data set */
	SEND_MODES,
	SEND_PACED = SEND_MODES, /* not a mode: the loop at a fixed rate, of any mode */
	SEND_LOOPS,
};

struct sender {
	_Alignas(128) _Atomic uint64_t deadline_ns; /* CLOCK_MONOTONIC; 0 ends the phase now */
	uint64_t remaining;			    /* messages */
	int fd;
	uint32_t connection;	       /* its identity: our port */
	struct slot *slot;	       /* what the receiver took */
	const struct dataset *dataset; /* for SEND_PICKED */
	enum send_mode mode;
	int flags;		/* of every send: MSG_MORE, or 0 */
	uint64_t rate;		/* messages a second; 0: one after another */
	uint64_t number;	/* of the next message, since the connection began */
	void *state;		/* the variant's own */
	_Atomic bool abandoned; /* the socket was shut down: wait for nothing */
	struct failure failure;
	struct sent sent;
};

/* Adds so many bytes of 64-bit counters to others. */
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

/* Counts a send system call by what it returned, errno included: that, or a negative errno. */
ssize_t sender__account(struct sender *s, ssize_t n);

/* One system call each, counted. Bytes taken, or a negative errno. */
ssize_t sender__send(struct sender *s, const void *data, size_t length);
ssize_t sender__write(struct sender *s, const void *data, size_t length);
ssize_t sender__writev(struct sender *s, struct iovec *iov, unsigned int count);
ssize_t sender__sendmsg(struct sender *s, struct iovec *iov, unsigned int count, int flags);

/*
 * For zero-copy, where the kernel refuses with nothing of ours in flight: waits a moment,
 * or fails when others held what is short for too long. since is 0 at the first refusal.
 */
int sender__wait_refused(struct sender *s, uint64_t *since, const char *by, const char *error,
			 const char *remedy);

/* When a phase's completions should be in; and the failure, if so many are not. */
#define SETTLE_NS 10000000000ULL
int sender__missing(struct sender *s, int err, uint32_t count, const char *what);
