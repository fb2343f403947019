/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Types that the kernel programs and the analyzer share. Members have a fixed width and each size
 * is asserted, so that both sides agree whatever compiler built them.
 */
#pragma once

#include "hist.h"
#include "tables.h" /* generated from analysis/tables: numbers and rows */

#define ABI_SIZE(type, size) \
	_Static_assert(sizeof(struct type) == (size), #type " changed its size")

/* The syscall that made a send. */
enum call_kind { CALL_NUMBERS, CALL_KINDS };

/* Each kind of call has two slots: without and with MSG_ZEROCOPY. */
#define CALL_SLOTS		  (CALL_KINDS * 2)
#define CALL_SLOT(kind, zerocopy) ((kind)*2 + !!(zerocopy))

/* The most counters that are read at the beginning and the end of a send. */
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

/*
 * Errors are counted by errno. Slot 0 counts those beyond the table. Slot ERRNO_RESTART counts
 * sends that a signal interrupted: the kernel restarts them or returns EINTR.
 */
#define ERRNO_RESTART 134
#define ERRNO_SLOTS   135

/* Per CPU. Only the program that sees the return of a send writes it. */
struct call_slot {
	__u64 failed;
	__u64 interrupted; /* failed because of a signal: restarted, or EINTR */
	__u64 ignored;	   /* sends with MSG_ZEROCOPY, but no data or no SO_ZEROCOPY */
	__u64 counted;	   /* sends that the counters below include */
	__u64 left_out;	   /* sends whose thread left its CPU, which then counted other threads */
	__u64 counters[CALL_COUNTERS_MAX];
	struct sized_sends sizes[SIZE_CLASSES]; /* successful sends, by the bytes accepted */
	struct hist wall;			/* time of sends whose start was seen */
	__u64 errors[ERRNO_SLOTS];
};
ABI_SIZE(call_slot,
	 (5 + CALL_COUNTERS_MAX + SIZE_CLASSES * 2 + ERRNO_SLOTS) * 8 + 4 * 8 + HIST_BUCKETS * 8);

/* io_uring's operations that send. */
enum uring_operation { URING_NUMBERS, URING_OPERATIONS };

/* Per CPU: requests of one operation that ended. */
struct uring_requests {
	__u64 ended;
	__u64 errors[ERRNO_SLOTS]; /* as in call_slot */
};
ABI_SIZE(uring_requests, (1 + ERRNO_SLOTS) * 8);

/*
 * Per CPU. Programs add atomically (COUNT), because an interrupt on the same CPU may add to the
 * same member.
 */
struct totals {
	__u64 completions;    /* sends that completed */
	__u64 flagged;	      /* of these, flagged as copied when first counted */
	__u64 flag_added;     /* coalesced completions, counted unflagged, whose own flag is set */
	__u64 flag_retracted; /* coalesced completions, counted flagged, whose own flag is clear */
	__u64 coalesced;      /* completions whose notification was coalesced with an earlier one */
	__u64 coalesced_seen; /* of these, completions whose own flag was read */
	__u64 bytes;	      /* bytes of completions, if the hook knows them */
	__u64 bytes_copied;
	__u64 unflagged;       /* completions without a flag whose data a hook saw copied */
	__u64 unflagged_bytes; /* bytes of these completions, if the hook knows them */
	__u64 receiver_copies; /* copies from skbs to user space, in the receiver */
	__u64 receiver_bytes;
	__u64 plain_beside;    /* plain sends with zero-copy sends in flight: see plain_ended() */
	__u64 enabled_unused;  /* plain sends seen on sockets with SO_ZEROCOPY: see plain_ended() */
	__u64 refused_optmem;  /* zero-copy sends that failed with ENOBUFS for lack of optmem */
	__u64 refused_memlock; /* the same for lack of lockable memory */
	__u64 unreturned; /* sends whose return was not seen: their thread sent again, or ended */
	__u64 returned_first;	   /* threads whose first send was first seen at its return */
	__u64 lost_processes;	   /* children of a target for which there was no room */
	__u64 lost_threads;	   /* threads for whose state there was no room */
	__u64 uring_completions;   /* completed sends of io_uring's zero-copy operations */
	__u64 uring_copied;	   /* of these, known to be copied */
	__u64 uring_unknown;	   /* of these, neither seen copied nor reported on by io_uring */
	__u64 lost_notifications;  /* notifications without room; their completions do not count */
	__u64 lost_completions;	   /* sends that completed unseen: see zsock__end() */
	__u64 ubufs_done;	   /* ubufs that completed, each with one range of send ids */
	__u64 queues;		   /* sockets that no longer exist, and had completed sends */
	__u64 queues_unread;	   /* of these, sockets whose queue was never read: never_read() */
	__u64 notifications_read;  /* notifications that applications read from error queues */
	__u64 reported;		   /* sends that these notifications reported */
	__u64 errqueue_copied;	   /* sends that these notifications reported as copied */
	__u64 untimed;		   /* sends whose guessed id may be another send's */
	__u64 unsized;		   /* sends whose requested size is not fully known */
	__u64 packets;		   /* packets with data of the load, handed to a device */
	__u64 packet_frags;	   /* frags of these packets */
	__u64 lost_cause_bits;	   /* copies for whose cause bits there was no room */
	__u64 completions_before;  /* completed sends that began before the window */
	__u64 unsized_completions; /* completions whose share of the ubuf's bytes is not known */
	__u64 untracked;	   /* sends without an id or a slot: their completion is not seen */
	__u64 mptcp_sends;	   /* sends over MPTCP, which are not measured */
	__u64 mptcp_bytes;
	__u64 udp_sends; /* the same by UDP */
	__u64 udp_bytes;
	__u64 unix_sends; /* the same over Unix sockets */
	__u64 unix_bytes;
	__u64 other_requests; /* zero-copy sends by other protocols, which are not measured */
	/* completions without a flag or a seen copy, of data not seen to leave the machine */
	__u64 unexplained;
};
ABI_SIZE(totals, 47 * 8);

/* The most segments of a send that are read, and the bytes below which a segment is small. */
#define SEGMENTS_READ 32
#define SMALL_SEGMENT 4096

/* Indexes of per-CPU maps: sends with MSG_ZEROCOPY, and those by io_uring's own operations. */
enum { SHAPES_MSG_ZEROCOPY, SHAPES_URING, SEND_SHAPES };

/* Per CPU, an element of the map send_shapes: the segments of zero-copy sends. */
struct send_shapes {
	__u64 sends;
	__u64 segments; /* segments with data, among those that were read */
	__u64 unread;	/* segments that were not read */
	__u64 small;
	__u64 small_bytes;
	__u64 headed;	    /* sends that begin with small segments, and have a larger one */
	__u64 header_bytes; /* bytes of the small segments at the beginning of these sends */
	__u64 min;	    /* bytes of the smallest segment; 0: there was none */
};
ABI_SIZE(send_shapes, 8 * 8);

/* Classes of the number of zero-copy sends in flight: 0, 1, 2-3, 4-7, ..., 64 and more. */
#define DEPTHS 8

/* Why a program waited for a completion. */
enum wait_reason {
	WAIT_ROUND_TRIP,  /* about as long as a round trip takes */
	WAIT_DELAYED_ACK, /* as long as Linux delays an acknowledgement */
	WAIT_OTHER,	  /* longer: the receiver is slow, or data were lost */
	WAIT_REASONS,
};

/* Per CPU, an element of the map send_waits: how zero-copy sends of a socket follow each other. */
struct send_waits {
	__u64 depths[DEPTHS]; /* sends, by how many others of their socket were in flight */
	__u64 intervals;      /* sends that followed another one of their socket */
	__u64 interval_ns;    /* sum of the times from the beginning of the other one to theirs */
	__u64 awaited[WAIT_REASONS]; /* sends whose completion was awaited: see waits.bpf.h */
	__u64 awaited_ns[WAIT_REASONS];
};
ABI_SIZE(send_waits, 16 * 8);

/* Error queues of sockets that exist. */
struct error_queues {
	__u64 sockets; /* sockets with completed sends */
	__u64 unread;  /* of these, sockets with at least UNREAD_SENDS and a queue never read */
	__u64 counted; /* 0: sockets cannot be counted on this kernel */
};
ABI_SIZE(error_queues, 24);

/* Keys by which sends can be grouped; a set of bits. */
enum group_by { BY_PROCESS = 1, BY_DEVICE = 2, BY_PORT = 4, BY_CGROUP = 8, BY_ADDRESS = 16 };
/* Keys by which zero-copy sends are always grouped. */
#define BY_PEER (BY_DEVICE | BY_PORT | BY_ADDRESS)
#define BY_ALL	(BY_PROCESS | BY_CGROUP | BY_PEER)

/* Values that the sends of a group share. A value by which sends are not grouped is 0. */
struct group_key {
	__u64 cgroup;  /* id of the sender's control group of version 2 */
	__u32 tgid;    /* process id in the initial PID namespace, where every process has one */
	__u32 netns;   /* inode of the socket's network namespace */
	__u32 ifindex; /* device of the socket's route; 0: no cached route */
	__u16 port;    /* of the receiver */
	__u16 family;  /* of the receiver's address, which is in network order; 0: not known */
	__u32 address[4];
};
ABI_SIZE(group_key, 40);

/* Limits of a control group's path. A name in it begins at byte 511 at most. */
#define CGROUP_LEVELS	16
#define CGROUP_NAME_MAX 256 /* NAME_MAX, and a zero */
#define CGROUP_PATH_MAX 512

/* Written once, when the group is created. */
struct cgroup_path {
	__u64 whole;				       /* 1: the path begins at the root */
	char names[CGROUP_PATH_MAX + CGROUP_NAME_MAX]; /* innermost first, each with a "/" */
};
ABI_SIZE(cgroup_path, 8 + CGROUP_PATH_MAX + CGROUP_NAME_MAX);

#define DEVICE_NAME_MAX 16 /* IFNAMSIZ */

/*
 * Programs add atomically, because completions are counted in interrupts and threads share a group.
 * Groups by receiver use only `requests` and the members after it. The sums of completions, which
 * another CPU mostly counts, are a cache line away from the sums of sends.
 */
struct group {
	__u64 sends; /* sends that returned, failed ones too */
	__u64 failed;
	__u64 interrupted; /* of these, interrupted by a signal: see call_slot */
	__u64 bytes;
	__u64 timed;	/* sends whose start was seen */
	__u64 ns;	/* wall time of these sends */
	__u64 requests; /* zero-copy sends; all sends counted below are zero-copy, too */
	__u64 ignored;
	__u64 refused;
	__u64 zerocopy_bytes;
	__u32 address[4]; /* of the first send's receiver */
	__u16 family;
	__u16 addresses;	      /* 1: another send had another receiver */
	__u32 pid;		      /* process id in the analyzer's PID namespace; 0: none */
	char comm[16];		      /* name of the process when the group was created */
	char device[DEVICE_NAME_MAX]; /* name of the device at that time */
	__u64 completions;
	__u64 copied;	 /* completions flagged as copied */
	__u64 unflagged; /* completions copied without a flag: see totals */
	__u64 unknown;	 /* completions by io_uring without a report of copies: see totals */
};
ABI_SIZE(group, 14 * 8 + 24 + 32);

/* Why the data of a send were copied. */
enum cause { CAUSE_NUMBERS, CAUSES };

/* Kernel functions that copy the data of an skb; a set of bits. */
enum copier {
	COPIER_UBUFS = 1,     /* skb_copy_ubufs: user pages are replaced by copies; flagged */
	COPIER_SEGMENT = 2,   /* skb_segment, for a device without scatter-gather */
	COPIER_PULL = 4,      /* __pskb_pull_tail, if it pulls all the data */
	COPIER_DUPLICATE = 8, /* skb_copy */
	COPIER_COW = 16,      /* skb_pp_cow_data: into pages that XDP programs may write to */
};

/*
 * The kind of device that a cause requires. The device is the one that the skb is for, or by which
 * it came in.
 */
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
 * One row of the table of causes, with this kernel's addresses. It matches a copier that was
 * called, directly or indirectly, from the range `code`. If `outer` is not empty, `code` must have
 * been called from the range `outer`.
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

/*
 * A flag added to a cause: its call site also delivers to taps, before it is known where the packet
 * goes.
 */
#define CAUSE_BY_TAP 0x100

#define CALL_SITES_MAX 80
#define STACK_FRAMES   12

/* Values by which copies are grouped. Only unclassified copies are also grouped by their stack. */
struct cause_key {
	__u32 cause; /* enum cause */
	__u32 netns; /* inode number; 0: no device */
	__u32 ifindex;
	__u32 stack; /* hash */
};
ABI_SIZE(cause_key, 16);

/* Written once, by the first copy with this key. */
struct cause_info {
	struct cause_key key;
	char device[DEVICE_NAME_MAX];
	__u64 stack[STACK_FRAMES]; /* innermost first; 0 after the outermost */
};
ABI_SIZE(cause_info, 32 + 8 * STACK_FRAMES);

/* Per CPU. */
struct cause_counter {
	__u64 skbs;	    /* copied skbs */
	__u64 skbs_in_send; /* of these, skbs copied inside a send on their own socket */
	__u64 bytes;
	__u64 sends;	 /* completions flagged as copied */
	__u64 unflagged; /* completions copied without a flag */
	/* Flagged completions whose data left by a NIC: what came in here was a mirror's copy. */
	__u64 mirrored;
	__u64 tapped; /* the same on a device with an open packet socket: it was a tap's copy */
	__u64 uring;  /* copied sends by io_uring, which no member above counts */
};
ABI_SIZE(cause_counter, 64);

#define CAUSE_COUNTERS_MAX	256
#define CAUSE_COUNTER_NONE	0 /* completions with a flag, though no hook saw the data copied */
#define CAUSE_COUNTER_FULL	1 /* copies for which no counter was free */
#define CAUSE_COUNTERS_RESERVED 2

/* The stages of a send's time, then two sums: the whole call, and its time on the CPU. */
enum stage { STAGE_NUMBERS, STAGES, STAGE_WHOLE = STAGES, STAGE_ON_CPU, STAGE_SUMS };
#define STAGES_ON_CPU STAGE_BLOCKED

/* Metrics of a stage: its time in ns, then the counters of a send. */
#define STAGE_METRICS (1 + CALL_COUNTERS_MAX)
#define STAGE_TIME    0

/*
 * One for each slot of calls and each metric. Sums have all divided sends; a stage has those in
 * which it occurred. This takes much memory, so several CPUs share one on machines with many CPUs.
 */
#define STAGE_SHARES_MAX 32
struct stage_slot {
	__u64 bytes;
	struct coarse_hist of[STAGE_SUMS];
};
ABI_SIZE(stage_slot, 8 + STAGE_SUMS * (4 * 8 + COARSE_BUCKETS * 4));

/* Times other than those of calls. Each has a histogram. */
enum span {
	SPAN_COMPLETION,   /* from the beginning of a zero-copy send to its completion */
	SPAN_READ,	   /* read of an error queue that found a notification */
	SPAN_READ_EMPTY,   /* read that found nothing */
	SPAN_WAKE_UP,	   /* wake-up of a thread that waits for completions */
	SPAN_COPY_OUT,	   /* copy to a receiver's memory, with --stages */
	SPAN_NOTIFICATION, /* from the beginning of io_uring's zero-copy send to its notification */
	SPAN_WAIT,	   /* wait for a completion with no other send in flight: see waits.bpf.h */
	SPAN_URING_WAIT,   /* the same, for a notification of io_uring */
	SPANS,
};

/*
 * Memory that zero-copy sends have pinned and freed since the window opened. All CPUs share it: one
 * cache line is for sends, and one for completions, which mostly run on another CPU.
 */
struct pinned {
	__u64 bytes; /* that the sends requested */
	__u64 pages; /* by the kernel's rule: see pages_of() */
	__u64 freed_bytes __attribute__((aligned(64)));
	__u64 freed_pages;
} __attribute__((aligned(64)));
ABI_SIZE(pinned, 2 * 64);

/* Per CPU: the most that all CPUs together had pinned when this CPU pinned more. */
struct pinned_peak {
	__u64 bytes;
	__u64 pages;
	__u64 freed_bytes; /* the sums of struct pinned that this CPU read most recently */
	__u64 freed_pages;
};
ABI_SIZE(pinned_peak, 4 * 8);

/* What refused zero-copy sends needed, and the limits. 0: the limit refused no send. */
struct refusal_limits {
	__u64 pages;	    /* the most pages that a refused send would have pinned */
	__u64 pages_locked; /* pages that the user of this send had pinned then */
	__u64 pages_limit;  /* RLIMIT_MEMLOCK of the send's process */
	__u64 optmem;	    /* the most bytes of optmem charged to a refused send's socket */
	__u64 optmem_limit;
};
ABI_SIZE(refusal_limits, 5 * 8);

/* Limits of --profile: stacks, and functions in a stack (kernel.perf_event_max_stack is 127). */
#define PROFILE_STACKS_MAX 8192
#define PROFILE_DEPTH_MAX  96

/* Flags added to the role of a stack at which a thread left its CPU: it waited or was preempted. */
#define PROFILE_WAITED	  0x100
#define PROFILE_PREEMPTED 0x200

struct profile_key {
	__u64 hash; /* of the stack */
	__u32 slot; /* 1 + slot of calls of the send in progress; 0: none */
	__u32 role; /* enum role of the process, perhaps with one of the flags above */
};
ABI_SIZE(profile_key, 16);

struct profile_stack {
	__u64 samples; /* the number of samples; off the CPU, ns */
	__u64 depth;
	__u64 functions[PROFILE_DEPTH_MAX]; /* addresses, innermost first */
};
ABI_SIZE(profile_stack, 16 + PROFILE_DEPTH_MAX * 8);

/* The events of a timeline's sends. */
enum timeline_kind { EVENT_NUMBERS, EVENTS };

#define COPIES_UNKNOWN 0xffffffffU

struct timeline_event {
	__u64 time; /* ns, from bpf_ktime_get_ns() */
	__u64 sock;
	__s64 bytes; /* requested or moved; EVENT_RETURN: the return value of the send */
	__u32 tid;   /* thread that the CPU ran */
	union {
		__u32 id;    /* of the first send; io_uring: lower half of the notification's key */
		__u32 ports; /* of the connection: EVENT_SEND, EVENT_RECEIVED */
	};
	__u32 sends;
	union {
		__u32 seq;	 /* TCP sequence number: EVENT_SEND, EVENT_RECEIVED, packets */
		__u32 slot;	 /* slot of calls: EVENT_RETURN */
		__u32 stage;	 /* EVENT_STAGE_BEGIN, EVENT_STAGE_END */
		__u32 vector;	 /* EVENT_SOFTIRQ_BEGIN */
		__u32 preempted; /* EVENT_SWITCH_OUT */
		__u32 to;	 /* thread id: EVENT_SWITCH_IN */
		__u32 counter;	 /* index of the cause's counter: EVENT_COPIED */
		__u32 copied;	 /* EVENT_COMPLETED: copied sends, or COPIES_UNKNOWN (io_uring); */
				 /* EVENT_NOTIFIED, EVENT_READ: the flag */
		__u32 detail;	 /* any of the above */
	};
	__u32 lost; /* events that this CPU has lost so far */
	__u16 cpu;
	__u16 kind;    /* enum timeline_kind */
	char comm[16]; /* name of the thread */
};
ABI_SIZE(timeline_event, 64);

/* The socket whose events are emitted, and the ends of the send ids and bytes that have events. */
struct timeline_part {
	__u64 sock;
	__u32 ports; /* from timeline__ports() */
	__u32 sends; /* sends that began */
	__u32 end_id;
	__u32 end_seq;
};
ABI_SIZE(timeline_part, 24);

#define TIMELINE_RING (8 << 20)

/* The most sockets at once on which both targets and other processes send. */
#define SHARED_MAX 1024

/* The state of a thread, kept until it ends. Two threads share no cache line. */
struct thread {
	__u32 tid;	     /* thread id; 0: unused. Valid only with this process id, because */
	__u32 tgid;	     /* a thread that execs takes its leader's id, and its own is reused */
	__u64 returned;	     /* socket of the last send that returned: see length_over_tcp() */
	__u64 zerocopy_sock; /* socket of the last zero-copy send with an id */
	__u32 zerocopy_ns;   /* how long the call of that send took */
	__u16 role;	     /* enum role */
	__u8 has_sent;	     /* the thread has sent in this window */
	__u8 checks;	     /* large plain sends whose socket was checked: see plain_ended() */
	struct {
		__u8 tracked;	    /* the id is known */
		__u8 guessed;	    /* the id is a guess */
		__u8 before;	    /* the send began before the window */
		__u8 timed;	    /* the send is sampled; a plain send sets start instead */
		__u8 in_timeline;   /* the events of the send are emitted */
		__u16 kind;	    /* enum call_kind */
		__u32 plain_slot;   /* plain send: 1 + slot of calls; kind and flags are not set */
		__u32 flags;	    /* MSG_ flags */
		__u32 id;	    /* send id of a zero-copy send */
		__u64 start;	    /* ns */
		__u64 sock;	    /* 0: no send is in progress */
		__u64 size;	    /* requested bytes, if known */
		__u64 notification; /* of io_uring, at which the send completes; 0: none */
		struct group_key owner; /* group that the zero-copy send is charged to */
	} send;				/* in progress */
	struct {
		__u64 values[CALL_COUNTERS_MAX]; /* when the send began */
		__u64 switches;			 /* context switches of the thread until then */
		__u32 cpu;			 /* CPU of the thread at that time */
		__u32 read;			 /* 1: all counters could be read */
	} counters;
	struct {
		__u64 queue_read; /* read of an error queue */
		__u64 copy;	  /* copy to the receiver's memory */
	} begun;		  /* ns; 0: not in progress */
} __attribute__((aligned(64)));
ABI_SIZE(thread, 192);

/* The lower bits of a thread's id give its slot. A power of two. */
#define THREAD_SLOTS 4096

/* The part of a process in a measurement; a set of bits. */
enum role {
	ROLE_NONE = 0,
	ROLE_SENDER = 1,
	ROLE_RECEIVER = 2,
	ROLE_BOTH = ROLE_SENDER | ROLE_RECEIVER,
	/* Only in struct thread: */
	ROLE_LASTING = 4,    /* the role is valid until the thread ends */
	ROLE_IO_WORKER = 8,  /* a worker of io_uring */
	ROLE_FULL_PATH = 16, /* full_path is set */
};

/* How targets are recognized. */
enum target_by {
	TARGET_PROCESS, /* by process id, in the map of targets */
	TARGET_COMM,	/* by the name of its main thread */
	TARGET_CGROUP,	/* by control group: in this group, or in one below it */
	TARGET_ALL,
};

#define COMM_MAX    16	  /* TASK_COMM_LEN */
#define TGID_FILTER 65536 /* a power of two */

/* The gate of a window. */
enum gate {
	GATE_CLOSED, /* nothing is counted */
	GATE_OPEN,
	GATE_CLOSING,	 /* only the returns and completions of earlier sends are counted */
	GATE_CORRECTING, /* only flags of counted completions are corrected */
};

/* The number of address ranges of code that frees coalesced notifications. */
#define COALESCE_RANGES 3
/* The number of address ranges of code that frees notifications that an application read. */
#define READ_RANGES 3
