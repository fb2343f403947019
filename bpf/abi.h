/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the kernel programs and the analyzer share: fixed-width types only, and
 * every size asserted, so that both sides agree whatever compiled them.
 */
#pragma once

#include "hist.h"
#include "tables.h" /* made of analysis/tables: numbers and rows */

#define ABI_SIZE(type, size) \
	_Static_assert(sizeof(struct type) == (size), #type " changed its size")

/* The syscall a send came by. */
enum call_kind { CALL_NUMBERS, CALL_KINDS };

/* A slot for each kind of call, without and with MSG_ZEROCOPY. */
#define CALL_SLOTS		  (CALL_KINDS * 2)
#define CALL_SLOT(kind, zerocopy) ((kind)*2 + !!(zerocopy))

/* Counters that are read at both ends of a send. */
#define CALL_COUNTERS_MAX 4

/*
 * A size class is a power of two: [0, 0], [1, 1], [2, 3], [4, 7], ... A send takes less than
 * 2^31 bytes (MAX_RW_COUNT).
 */
#define SIZE_CLASSES 32

static inline __attribute__((always_inline)) __u32 size_class(__u32 bytes)
{
	return hist_log2(bytes * 2 + 1);
}

/* Sends of one size class. */
struct sized_sends {
	__u64 sends;
	__u64 bytes;
};

/* Per CPU; written by the program that sees a send return, and by no other. */
struct call_slot {
	__u64 failed;
	__u64 interrupted; /* of these, by a signal: restarted, or EINTR to the program */
	__u64 ignored;	   /* asked for zero-copy of nothing, or on a socket without SO_ZEROCOPY */
	__u64 counted;	   /* sends that the counters below are of, */
	__u64 left_out;	   /* and those that left their CPU meanwhile: it counted others' work */
	__u64 counters[CALL_COUNTERS_MAX];
	struct sized_sends sizes[SIZE_CLASSES]; /* those that did not fail, by the bytes accepted */
	struct hist wall;			/* of the sends whose start was seen */
};
ABI_SIZE(call_slot, (5 + CALL_COUNTERS_MAX + SIZE_CLASSES * 2) * 8 + 4 * 8 + HIST_BUCKETS * 8);

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
	__u64 completions;    /* send ids whose completion the kernel made known */
	__u64 flagged;	      /* of these, flagged as copied when first seen */
	__u64 flag_added;     /* coalesced: flagged, though the notification is not */
	__u64 flag_retracted; /* coalesced: not flagged, though the notification is */
	__u64 flag_assumed;   /* the flag is a neighbour's: out of order, or reported too late */
	__u64 coalesced;      /* completions whose notification was coalesced with an earlier one */
	__u64 coalesced_seen; /* of these, those whose own flag was read */
	__u64 bytes;	      /* of completions, where the hook knows them */
	__u64 bytes_copied;
	__u64 unflagged;       /* completions not flagged, though a hook saw the data copied */
	__u64 unflagged_bytes; /* where the hook knows them */
	__u64 receiver_copies; /* skb to user space, in the receiver */
	__u64 receiver_bytes;
	__u64 refused_optmem;  /* ENOBUFS for a zero-copy send: no room in optmem, */
	__u64 refused_memlock; /* or in locked memory */
	__u64 unreturned; /* sends of which the thread began another, or ended, unseen to return */
	__u64 returned_first;	   /* threads of which a send was first seen as it returned */
	__u64 lost_processes;	   /* children of a target for which there was no room */
	__u64 lost_threads;	   /* no room for the state of a thread */
	__u64 uring_completions;   /* sends by io_uring's zero-copy operations that completed; */
	__u64 uring_copied;	   /* of these, known to be copied, */
	__u64 uring_unknown;	   /* and those whose copies io_uring was not asked to report */
	__u64 lost_notifications;  /* no room for one: its completion is not counted */
	__u64 lost_completions;	   /* two CPUs disputed a socket's progress for too long */
	__u64 ubufs_done;	   /* shared ubufs that completed: notification ranges */
	__u64 notifications_read;  /* read from error queues by applications, */
	__u64 reported;		   /* the sends that they reported, */
	__u64 errqueue_copied;	   /* and of these, reported as copied */
	__u64 untimed;		   /* sends that found their slot of the ring taken */
	__u64 unsized;		   /* followed, though what they asked for is not known */
	__u64 packets;		   /* with data of the load, handed to a device, */
	__u64 packet_frags;	   /* and their frags */
	__u64 lost_cause_bits;	   /* no room for the cause bits of a copy */
	__u64 completions_before;  /* of sends from before the window, on sockets that sent in it */
	__u64 unsized_completions; /* whose bytes came together with those of other sends */
	__u64 untracked;   /* sends whose completion cannot be known: no id, no room for the socket,
			      or too many at once */
	__u64 mptcp_sends; /* which are not measured, */
	__u64 mptcp_bytes;
	__u64 other_requests; /* nor are zero-copy sends by further protocols */
	/* completions not flagged, of which no copy was seen, nor that the data left the machine */
	__u64 unexplained;
};
ABI_SIZE(totals, 40 * 8);

/* What sends can be grouped by: a set. */
enum group_by { BY_PROCESS = 1, BY_DEVICE = 2, BY_PORT = 4, BY_ADDRESS = 8 };
/* Of zero-copy sends, always. */
#define BY_PEER (BY_DEVICE | BY_PORT | BY_ADDRESS)
#define BY_ALL	(BY_PROCESS | BY_PEER)

/* What the sends of a group have in common; 0 is what they are not grouped by. */
struct group_key {
	__u32 tgid;    /* in the initial PID namespace, where all processes have one */
	__u32 netns;   /* inode of the socket's network namespace */
	__u32 ifindex; /* where the socket's route leads; 0: it has none cached */
	__u16 port;    /* of the receiver, */
	__u16 family;  /* and its address, in network order; 0: not known */
	__u32 address[4];
};
ABI_SIZE(group_key, 32);

#define DEVICE_NAME_MAX 16 /* IFNAMSIZ */

/*
 * Atomic additions: completions come in interrupts, and threads share a group. Of peers no more is
 * counted than requests and what follows.
 */
struct group {
	__u64 sends; /* all that returned, failed ones too */
	__u64 failed;
	__u64 interrupted; /* of these: see call_slot */
	__u64 bytes;
	__u64 timed;	/* sends whose start was seen, */
	__u64 ns;	/* and their wall time */
	__u64 requests; /* zero-copy sends, the following too */
	__u64 ignored;
	__u64 refused;
	__u64 zerocopy_bytes;
	__u64 completions;
	__u64 copied;	  /* of these, flagged as copied, */
	__u64 unflagged;  /* and those that were copied without a flag: see totals */
	__u64 unknown;	  /* of these, by io_uring without word of a copy: see totals */
	__u32 address[4]; /* of the receiver of the first send, */
	__u16 family;
	__u16 addresses;	      /* and whether another send had another */
	__u32 pid;		      /* of the process, as the analyzer knows it; 0: it cannot, */
	char comm[16];		      /* its name, */
	char device[DEVICE_NAME_MAX]; /* and the device, when the group was met */
};
ABI_SIZE(group, 14 * 8 + 24 + 32);

/* Why the data of a send were copied. */
enum cause { CAUSE_NUMBERS, CAUSES };

/* The kernel's functions that copy what an skb carries: a set. */
enum copier {
	COPIER_UBUFS = 1,     /* skb_copy_ubufs: user pages are replaced by copies; flagged */
	COPIER_SEGMENT = 2,   /* skb_segment, for a device without scatter-gather */
	COPIER_PULL = 4,      /* __pskb_pull_tail, of all the data */
	COPIER_DUPLICATE = 8, /* skb_copy */
	COPIER_COW = 16,      /* skb_pp_cow_data: into pages that XDP programs may write to */
};

/* What a cause asks of the device that the skb is for, or came by. */
enum device_kind {
	DEVICE_ANY,
	DEVICE_LOOPBACK,
	DEVICE_NO_SCATTER_GATHER,
	DEVICE_NO_CHECKSUM,
};

struct address_range {
	__u64 from;
	__u64 to; /* exclusive; an empty range matches nothing */
};
ABI_SIZE(address_range, 16);

/*
 * One row of the table of causes, in this kernel's addresses: a copier was called from code,
 * perhaps by way of others, and that, if outer is not empty, from outer.
 */
struct call_site {
	struct address_range code;
	struct address_range outer;
	__u32 copiers; /* enum copier */
	__u32 device;  /* enum device_kind */
	__u32 cause;   /* enum cause, perhaps with CAUSE_BY_TAP */
	__u32 reserved;
};
ABI_SIZE(call_site, 48);

/* With a cause: this kernel delivers to taps there, before it knows where the packet goes. */
#define CAUSE_BY_TAP 0x100

#define CALL_SITES_MAX 80
#define STACK_FRAMES   12

/* What copies are grouped by; the unclassified ones by their stack, too. */
struct cause_key {
	__u32 cause; /* enum cause */
	__u32 netns; /* inode number; 0: no device */
	__u32 ifindex;
	__u32 stack; /* hash */
};
ABI_SIZE(cause_key, 16);

/* Written once, by the first copy of its kind. */
struct cause_info {
	struct cause_key key;
	char device[DEVICE_NAME_MAX];
	__u64 stack[STACK_FRAMES]; /* innermost first; 0 from where it ends */
};
ABI_SIZE(cause_info, 32 + 8 * STACK_FRAMES);

/* Per CPU. */
struct cause_counter {
	__u64 skbs;	    /* copied, */
	__u64 skbs_in_send; /* and of them inside a send by their socket */
	__u64 bytes;
	__u64 sends;	 /* completions flagged as copied, */
	__u64 unflagged; /* and completions that were not, though copied */
	/* Flagged, and not delivered here as it seemed: their data left by a NIC. */
	__u64 mirrored;
	__u64 tapped; /* the same, of a device that somebody listened to */
};
ABI_SIZE(cause_counter, 56);

#define CAUSE_COUNTERS_MAX 256
#define CAUSE_COUNTER_NONE 0 /* flagged, and no hook saw the data copied */
#define CAUSE_COUNTER_FULL 1 /* for those for which there was no room */

/* Into what the time of a send is divided, and sums of these: the call, and its time on the CPU. */
enum stage { STAGE_NUMBERS, STAGES, STAGE_WHOLE = STAGES, STAGE_ON_CPU, STAGE_SUMS };
#define STAGES_ON_CPU STAGE_BLOCKED

/* What a stage takes: time in ns, then the counters of a send. */
#define STAGE_METRICS (1 + CALL_COUNTERS_MAX)
#define STAGE_TIME    0

/*
 * For each slot of calls and each metric: the sends that were divided. Of a stage, those in which
 * it occurred. A CPU has its own, but of many CPUs some share one, as it takes much memory.
 */
#define STAGE_SHARES_MAX 32
struct stage_slot {
	__u64 bytes;
	struct coarse_hist of[STAGE_SUMS];
};
ABI_SIZE(stage_slot, 8 + STAGE_SUMS * (4 * 8 + COARSE_BUCKETS * 4));

/* What is timed beside calls: a histogram each. */
enum span {
	SPAN_COMPLETION, /* of a zero-copy send, from its beginning */
	SPAN_READ,	 /* of an error queue: something was found, */
	SPAN_READ_EMPTY, /* or nothing */
	SPAN_WAKE_UP,	 /* of who waits for completions, */
	SPAN_COPY_OUT,	 /* and copies to a receiver's memory: with --stages */
	SPANS,
};

/* What zero-copy sends have the kernel pin, since the window opened. One for all CPUs. */
struct pinned {
	__u64 bytes; /* that they asked for */
	__u64 pages; /* by the kernel's rule: see inflight.bpf.h */
	__u64 freed_bytes;
	__u64 freed_pages;
};
ABI_SIZE(pinned, 4 * 8);

/* Per CPU: the most that was pinned, on all of them, when it was this one that added to it. */
struct pinned_peak {
	__u64 bytes;
	__u64 pages;
};
ABI_SIZE(pinned_peak, 2 * 8);

/* Stacks of --profile: so many, of so many functions each; kernel.perf_event_max_stack is 127. */
#define PROFILE_STACKS_MAX 8192
#define PROFILE_DEPTH_MAX  96

/* With the role of a stack: the thread left its CPU there, because it waited, or for another. */
#define PROFILE_WAITED	  0x100
#define PROFILE_PREEMPTED 0x200

struct profile_key {
	__u64 hash; /* of the stack */
	__u32 slot; /* 1 + that of the send under way; 0: none */
	__u32 role; /* enum role, of the process, perhaps with one of the above */
};
ABI_SIZE(profile_key, 16);

struct profile_stack {
	__u64 samples; /* or, off the CPU, ns */
	__u64 depth;
	__u64 functions[PROFILE_DEPTH_MAX]; /* addresses, innermost first */
};
ABI_SIZE(profile_stack, 16 + PROFILE_DEPTH_MAX * 8);

/* What happens to the sends of a timeline. */
enum timeline_kind { EVENT_NUMBERS, EVENTS };

struct timeline_event {
	__u64 time; /* ns; of bpf_ktime_get_ns() */
	__u64 sock;
	__s64 bytes; /* asked for, moved; of a return what it gave back */
	__u32 tid;   /* of the thread that the CPU was in, */
	__u32 id;    /* the first of so many zero-copy sends; of a send and of data received the
			connection's ports */
	__u32 sends;
	__u32 extra; /* the place in the connection's bytes; a stage, a slot, a counter of causes */
	__u32 lost;  /* of this CPU, so far */
	__u16 cpu;
	__u16 kind;    /* enum timeline_kind */
	char comm[16]; /* of that thread */
};
ABI_SIZE(timeline_event, 64);

/* What is taken of a socket: of its ids and of its bytes all that come before these ends. */
struct timeline_part {
	__u64 sock;
	__u32 ports; /* as timeline__ports() */
	__u32 sends; /* that began */
	__u32 end_id;
	__u32 end_seq;
};
ABI_SIZE(timeline_part, 24);

#define TIMELINE_RING (8 << 20)

/* How many zero-copy sends of a socket are followed at once: a power of two. */
#ifndef RING_SLOTS
#define RING_SLOTS 256
#endif

/* On how many sockets at once others may send beside targets. */
#define SHARED_MAX 1024

/* What a thread is doing; lives as long as the thread. Two threads share no cache line. */
struct thread {
	__u32 tid;	    /* whose this is; 0: nobody's. Of that process alone: a thread that */
	__u32 tgid;	    /* execs may take its leader's id, and its own goes to a stranger */
	__u64 start;	    /* ns; of the send under way */
	__u64 sock;	    /* its socket; 0: no send under way */
	__u64 notification; /* of io_uring, which completes it; 0: none */
	__u64 size;	    /* bytes asked for, where known */
	__u16 kind;	    /* enum call_kind */
	__u16 role;	    /* enum role */
	__u32 plain_slot;   /* 1 + the slot of calls of a plain send, which has
			       neither kind nor flags here; else 0 */
	__u64 returned;	    /* the socket of the last send that returned: see send_over_tcp() */
	__u64 counters[CALL_COUNTERS_MAX]; /* what they said when the send began, */
	__u64 switches;			   /* how often the thread had left a CPU then, */
	__u32 cpu;			   /* and which one it was on */
	__u32 counters_read;
	__u64 reading;	  /* ns; when it began to read an error queue; 0: it does not */
	__u64 copying;	  /* ns; the same of a receiver's copy */
	__u32 flags;	  /* the MSG_ flags of the send under way */
	__u32 id;	  /* of a zero-copy send, */
	__u8 tracked;	  /* if it is known, */
	__u8 guessed;	  /* and guessed; */
	__u8 followed;	  /* and its slot of the ring was free */
	__u8 has_sent;	  /* an earlier send of it was seen in this window */
	__u8 before;	  /* the send under way began before the window */
	__u8 timed;	  /* the send under way is in the sample; of a plain one start says so */
	__u8 in_timeline; /* and its events are taken */
	struct group_key owner; /* whom a zero-copy send under way is charged to */
} __attribute__((aligned(64)));
ABI_SIZE(thread, 192);

/* Threads have a slot by the lower bits of their ids. A power of two. */
#define THREAD_SLOTS 4096

/* What is measured of a process: a set. */
enum role {
	ROLE_NONE = 0,
	ROLE_SENDER = 1,
	ROLE_RECEIVER = 2,
	ROLE_BOTH = ROLE_SENDER | ROLE_RECEIVER,
	/* Of threads, in the kernel: */
	ROLE_LASTING = 4,    /* it is kept as long as the thread lives */
	ROLE_IO_WORKER = 8,  /* of io_uring */
	ROLE_FULL_PATH = 16, /* full_path */
};

/* How a process that is measured is known. */
enum target_by {
	TARGET_PROCESS, /* by the map of targets */
	TARGET_COMM,	/* by the name of its main thread */
	TARGET_CGROUP,	/* by being in a control group, or below it */
	TARGET_ALL,
};

#define COMM_MAX    16	  /* TASK_COMM_LEN */
#define TGID_FILTER 65536 /* a power of two */

/* The gate of a window. */
enum gate {
	GATE_CLOSED, /* nothing counts */
	GATE_OPEN,
	GATE_CLOSING,	 /* sends that began before still count, */
	GATE_CORRECTING, /* or only what is still to be said of completions that were counted */
};

/* Code that frees a notification which it coalesced with an earlier one, */
#define COALESCE_RANGES 3
/* and code that frees one which an application has read. */
#define READ_RANGES 3
