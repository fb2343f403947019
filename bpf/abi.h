/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the kernel programs and the analyzer share: fixed-width types only, and
 * every size asserted, so that both sides agree whatever compiled them.
 */
#ifndef SENDPATH_ABI_H
#define SENDPATH_ABI_H

#include "hist.h"

#define ABI_SIZE(type, size) \
	_Static_assert(sizeof(struct type) == (size), #type " changed its size")

/* The syscall a send came by. One row each in user/calls.c. */
enum call_kind {
	CALL_OTHER,
	CALL_SENDTO,
	CALL_SENDMSG,
	CALL_SENDMMSG,
	CALL_WRITE,
	CALL_WRITEV,
	CALL_SENDFILE,
	CALL_SPLICE,
	CALL_IO_URING,
	CALL_IO_URING_ZC, /* SEND_ZC and SENDMSG_ZC: completed by io_uring, not by an error queue */
	CALL_KINDS,
};

/* A slot for each kind of call, without and with MSG_ZEROCOPY. */
#define CALL_SLOTS		  (CALL_KINDS * 2)
#define CALL_SLOT(kind, zerocopy) ((kind)*2 + !!(zerocopy))

/* Counters that are read at both ends of a send. */
#define CALL_COUNTERS_MAX 4

/* Per CPU; written by the program that sees a send return, and by no other. */
struct call_slot {
	__u64 sends; /* all that returned, failed ones too */
	__u64 failed;
	__u64 bytes;	/* accepted by the kernel */
	__u64 ignored;	/* asked for zero-copy on a socket without SO_ZEROCOPY */
	__u64 counted;	/* sends that the counters below are of, */
	__u64 left_out; /* and those that left their CPU meanwhile: it counted others' work */
	__u64 counters[CALL_COUNTERS_MAX];
	struct hist wall; /* of the sends whose start was seen */
};
ABI_SIZE(call_slot, (6 + CALL_COUNTERS_MAX) * 8 + 4 * 8 + HIST_BUCKETS * 8);

/*
 * Errors are counted by errno. 0 stands for any that has no name of its own here,
 * ERRNO_RESTART for a send that a signal interrupted and the kernel restarts.
 */
#define ERRNO_RESTART 134
#define ERRNO_SLOTS   135

/*
 * Per CPU. Each field is written by one program only; where that cannot interrupt
 * itself, plain additions are exact.
 */
struct totals {
	__u64 completions;  /* send ids whose completion the kernel made known */
	__u64 copied;	    /* of these, flagged as copied when first seen */
	__u64 copied_later; /* merged notifications: flagged, though the record they joined is not
			     */
	__u64 copied_not;   /* merged notifications: not flagged, though their record is */
	__u64 flag_assumed; /* completions out of order: flag taken from a neighbour */
	__u64 merged;	    /* completions whose notification joined an earlier one */
	__u64 merged_seen;  /* of these, those whose own flag was read */
	__u64 bytes;	    /* of completions, where the hook knows them */
	__u64 bytes_copied;
	__u64 deep_copies; /* skbs with user pages that skb_copy_ubufs copied */
	__u64 deep_copy_bytes;
	__u64 receiver_copies; /* skb to user space, in the receiver */
	__u64 receiver_bytes;
	__u64 begun;		  /* sends whose start was seen, */
	__u64 ended;		  /* and of these, those whose return was */
	__u64 lost_processes;	  /* children of a target for which there was no room */
	__u64 lost_threads;	  /* no room for the state of a thread */
	__u64 lost_sockets;	  /* no room for a socket: its completions are not counted */
	__u64 uring_completions;  /* sends by io_uring's zero-copy operations that completed; */
	__u64 uring_copied;	  /* of these, known to be copied, */
	__u64 uring_unreported;	  /* and those of which io_uring was not asked to tell */
	__u64 lost_notifications; /* no room for one: its completion is not counted */
	__u64 lost_completions;	  /* two CPUs disputed a socket's progress for too long */
};
ABI_SIZE(totals, 23 * 8);

/* What sends can be grouped by: a set. */
enum group_by { BY_PROCESS = 1, BY_DEVICE = 2, BY_PORT = 4, BY_ADDRESS = 8 };
/* Of zero-copy sends, always. */
#define BY_PEER (BY_DEVICE | BY_PORT | BY_ADDRESS)

/* What the sends of a group have in common; 0 is what they are not grouped by. */
struct group_key {
	__u32 tgid;
	__u32 netns;   /* inode of the socket's network namespace */
	__u32 ifindex; /* where the socket's route leads; 0: it has none cached */
	__u16 port;    /* of the receiver, */
	__u16 family;  /* and its address, in network order; 0: not known */
	__u32 address[4];
};
ABI_SIZE(group_key, 32);

#define DEVICE_NAME_MAX 16 /* IFNAMSIZ */

/* Atomic additions: completions come in interrupts, and threads share a group. */
struct group {
	__u64 sends; /* all that returned, failed ones too */
	__u64 failed;
	__u64 bytes;
	__u64 timed;	/* sends whose start was seen, */
	__u64 ns;	/* and their wall time */
	__u64 requests; /* zero-copy sends, the following too */
	__u64 ignored;
	__u64 refused;
	__u64 zerocopy_bytes;
	__u64 completions;
	__u64 copied;	  /* of these, flagged as copied */
	__u64 unreported; /* of these, by io_uring without word of a copy: see totals */
	__u32 address[4]; /* of the receiver of the first send, */
	__u16 family;
	__u16 addresses; /* and whether another send had another */
	__u32 unused;
	char comm[16];		      /* of the process, */
	char device[DEVICE_NAME_MAX]; /* and the device, when the group was met */
};
ABI_SIZE(group, 12 * 8 + 24 + 32);

/* What is measured of a process: a set. */
enum role { ROLE_NONE = 0, ROLE_SENDER = 1, ROLE_RECEIVER = 2, ROLE_BOTH = 3 };

/* How a process that is measured is known. */
enum target_by {
	TARGET_PROCESS, /* by the map of targets */
	TARGET_COMM,	/* by the name of its main thread */
	TARGET_CGROUP,	/* by being in a control group, or below it */
	TARGET_ALL,
};

#define COMM_MAX 16 /* TASK_COMM_LEN */

/* The gate of a window. */
enum gate {
	GATE_CLOSED, /* nothing counts */
	GATE_OPEN,
	GATE_CLOSING, /* sends that began before still count */
};

/* Code addresses in which a notification that joins an earlier one is freed. */
#define MERGE_RANGES 3

struct address_range {
	__u64 from;
	__u64 to; /* exclusive; an empty range matches nothing */
};
ABI_SIZE(address_range, 16);

#endif
