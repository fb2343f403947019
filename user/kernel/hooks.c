// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/kernel/hooks.h"

#include "common/program.h"

#include <string.h>

/* A new hook also needs its name in hooks.h, and its symbols in tests/unit/test_hooks.c. */

/*
 * The kernel skips a kprobe's program in an interrupt of another program (trace_call_bpf), and does
 * not count that before 6.7. Programs of sends do not run in interrupts, so none is skipped.
 */
#define SKIPPED_IN_INTERRUPTS "skipped where it interrupts another program"

/* The number of return probes is fixed when a probe is created; perf has no option for it. */
#define FEW_RETURNS "loses returns while more threads send than the kernel has return probes"
#define FEW_READ_RETURNS \
	"loses returns while more threads read error queues than the kernel has return probes"

#define FEW_STAGE_RETURNS \
	"loses returns while more threads are in the function than the kernel has return probes"

/* Copies are inferred, without hooks on the copying functions. */
#define BY_PATH                                                                                   \
	"without fentry and kprobes, the cause of a copy is deduced from the packet's path, and " \
	"copies without a flag are seen only on devices without scatter-gather"

/*
 * A stage of a send: the time in a function. program: how the names of its programs begin; then the
 * names of the function.
 */
#define STAGE(name_, purpose_, zerocopy, program, ...)                                            \
	{                                                                                         \
		.name = name_, .purpose = purpose_, .zerocopy_only = zerocopy,                    \
		.stages_only = true,                                                              \
		.options = {                                                                      \
			{MECHANISM_FENTRY, .programs = {program "_fentry", program "_fexit"},     \
			 .functions = {__VA_ARGS__}, .preemptible = true},                        \
			{MECHANISM_KPROBE, .programs = {program "_kprobe", program "_kretprobe"}, \
			 .functions = {__VA_ARGS__}, .by_graph = true},                           \
			{MECHANISM_KPROBE, .programs = {program "_kprobe", program "_kretprobe"}, \
			 .functions = {__VA_ARGS__}, .misses = FEW_STAGE_RETURNS},                \
		},                                                                                \
	}

/* The entry of a syscall. */
#define ENTRY(syscall, program)                                                        \
	{                                                                              \
		.name = "entry of " syscall, .purpose = "when " syscall "() began",    \
		.stages_only = true,                                                   \
		.options = {                                                           \
			{MECHANISM_FENTRY, .programs = {program "_fentry"},            \
			 .functions = {"__x64_sys_" syscall, "__arm64_sys_" syscall},  \
			 .preemptible = true},                                         \
			{MECHANISM_KPROBE, .programs = {program "_kprobe"},            \
			 .functions = {"__x64_sys_" syscall, "__arm64_sys_" syscall}}, \
		},                                                                     \
	}

/* A function that copies zero-copy data. */
#define COPIER(name_, purpose_, program, function)                                  \
	{                                                                           \
		.name = name_, .purpose = purpose_, .zerocopy_only = true,          \
		.options = {                                                        \
			{MECHANISM_FENTRY, .programs = {program "_fentry"},         \
			 .functions = {function}},                                  \
			{MECHANISM_KPROBE, .programs = {program "_kprobe"},         \
			 .functions = {function}, .misses = SKIPPED_IN_INTERRUPTS}, \
		},                                                                  \
	}

/* clang-format off */
static const struct hook hooks[HOOK_COUNT] = {
	[HOOK_SEND] = {
		.name = "send", .purpose = "kernel time, bytes and errors of each send",
		.options = {
			{MECHANISM_FENTRY, .span = "tcp_sendmsg",
			 .completion_span = "tcp_sendmsg..completion",
			 .programs = {"send_fentry", "send_fexit"}, .functions = {"tcp_sendmsg"},
			 .also = "tcp_sendpage",
			 .also_programs = {"sendpage_fentry", "sendpage_fexit"},
			 .preemptible = true},
			{MECHANISM_KPROBE, .span = "tcp_sendmsg",
			 .completion_span = "tcp_sendmsg..completion",
			 .programs = {"send_kprobe", "send_kretprobe"},
			 .functions = {"tcp_sendmsg"}, .by_graph = true},
			{MECHANISM_KPROBE, .span = "tcp_sendmsg",
			 .completion_span = "tcp_sendmsg..completion",
			 .programs = {"send_kprobe", "send_kretprobe"},
			 .functions = {"tcp_sendmsg"}, .also = "tcp_sendpage",
			 .also_programs = {"sendpage_kprobe", "sendpage_kretprobe"},
			 .misses = FEW_RETURNS},
			{MECHANISM_TRACEPOINT, .span = "tcp_sendmsg_locked..return",
			 .completion_span = "tcp_sendmsg_locked..completion",
			 .programs = {"send_loop", "send_length", "socket_state"},
			 .tracepoints = {{"tcp_sendmsg_locked", 2}, {"sock_send_length", 2},
					 {"inet_sock_set_state", 3}},
			 .preemptible = true, .counts_at_end = true},
			{MECHANISM_TRACEPOINT, .span = "syscall",
			 .completion_span = "syscall..completion",
			 .programs = {"send_enter", "send_exit"},
			 .tracepoints = {{"sys_enter", 2}, {"sys_exit", 2}},
			 .misses = "sees sendto, sendmsg, write and writev only",
			 .unseen = "sendmmsg, sendfile, splice, io_uring and 32-bit programs",
			 .preemptible = true},
		},
	},
	[HOOK_SEND_OVER] = {
		.name = "kTLS send",
		.purpose = "bytes and errors of kTLS and sockmap sends, which bypass tcp_sendmsg",
		.observed_only = true,
		.options = {
			{MECHANISM_TRACEPOINT, .programs = {"send_length"},
			 .tracepoints = {{"sock_send_length", 2}}},
		},
	},
	[HOOK_COMPLETION] = {
		.name = "completion", .purpose = "whether a zero-copy send was flagged as copied",
		.zerocopy_only = true,
		/*
		 * The kernel skips a program that interrupts itself. A program whose name ends in
		 * _again then does the skipped work, and has to be called after the first program.
		 * The kernel calls fentry programs in reverse order.
		 */
		.options = {
			/*
			 * 5.10 has the second name. Later kernels call msg_zerocopy_callback once
			 * per reference, not once per notification.
			 */
			{MECHANISM_FENTRY,
			 .programs = {"completion_fentry_again", "completion_fentry"},
			 .functions = {"__msg_zerocopy_callback", "sock_zerocopy_callback"}},
			{MECHANISM_FENTRY,
			 .programs = {"reference_fentry_again", "reference_fentry",
				      "reference_reported", "reference_reported_again"},
			 .functions = {"msg_zerocopy_complete"}, .also = "sock_dequeue_err_skb",
			 .also_programs = {"reference_dequeued"},
			 .tracepoints = {{"inet_sk_error_report", 1}}},
			{MECHANISM_TRACEPOINT,
			 .programs = {"notification_queued", "notification_freed",
				      "notification_freed_again", "notification_left"},
			 .tracepoints = {{"inet_sk_error_report", 1}, {"consume_skb", 2}},
			 .code = "sock_ofree", .sees_coalesced = "notification_freed",
			 .preemptible = true, .by_queue = true},
			{MECHANISM_TRACEPOINT,
			 .programs = {"notification_queued", "notification_freed_in_stack",
				      "notification_left"},
			 .tracepoints = {{"inet_sk_error_report", 1}, {"consume_skb", 1}},
			 .code = "sock_ofree", .sees_coalesced = "notification_freed_in_stack",
			 .preemptible = true, .by_stack = true, .by_queue = true},
			{MECHANISM_KPROBE, .programs = {"completion_kprobe"},
			 .functions = {"__msg_zerocopy_callback", "sock_zerocopy_callback"},
			 .misses = SKIPPED_IN_INTERRUPTS},
			{MECHANISM_TRACEPOINT,
			 .programs = {"notification_queued", "notification_gone",
				      "notification_left"},
			 .tracepoints = {{"inet_sk_error_report", 1}, {"consume_skb", 1}},
			 .misses = "cannot read the flag of a coalesced notification",
			 .preemptible = true, .by_queue = true},
		},
	},
	[HOOK_URING] = {
		.name = "io_uring completion",
		.purpose = "whether an io_uring zero-copy send was flagged as copied", .zerocopy_only = true,
		.options = {
			/*
			 * 6.10 has the first name; 6.2 has the second, if no reports are requested;
			 * 6.1 has the third.
			 */
			{MECHANISM_FENTRY, .programs = {"uring_copied_fentry", "uring_completed",
						     "notifications_left"},
			 .functions = {"io_tx_ubuf_complete", "io_tx_ubuf_callback",
				       "io_uring_tx_zerocopy_callback"},
			 .tracepoints = {{"io_uring_complete", 2}}, .preemptible = true},
			{MECHANISM_KPROBE, .programs = {"uring_copied_kprobe", "uring_completed",
						     "notifications_left"},
			 .functions = {"io_tx_ubuf_complete", "io_tx_ubuf_callback",
				       "io_uring_tx_zerocopy_callback"},
			 .tracepoints = {{"io_uring_complete", 2}}, .misses = SKIPPED_IN_INTERRUPTS,
			 .preemptible = true},
			{MECHANISM_TRACEPOINT, .programs = {"uring_completed", "notifications_left"},
			 .tracepoints = {{"io_uring_complete", 2}}, .type = "io_notif_data",
			 .preemptible = true, .by_report = true},
		},
	},
	[HOOK_SKB_COPY] = {
		.name = "skb copy",
		.purpose = "the kernel replacing a zero-copy send's pages by copies, and why",
		.zerocopy_only = true,
		.options = {
			{MECHANISM_FENTRY, .programs = {"ubufs_fentry", "packet_queued"},
			 .functions = {"skb_copy_ubufs"}, .tracepoints = {{"net_dev_queue", 1}}},
			{MECHANISM_KPROBE, .programs = {"ubufs_kprobe", "packet_queued"},
			 .functions = {"skb_copy_ubufs"}, .tracepoints = {{"net_dev_queue", 1}},
			 .misses = SKIPPED_IN_INTERRUPTS},
			{MECHANISM_TRACEPOINT,
			 .programs = {"packet_queued", "packet_sent", "path_received"},
			 .tracepoints = {{"net_dev_queue", 1}, {"net_dev_start_xmit", 2},
					 {"netif_receive_skb", 1}},
			 .misses = BY_PATH, .by_path = true},
		},
	},
	[HOOK_SKB_SEGMENT] = COPIER("skb segment",
				    "copies for a device without scatter-gather, which are not "
				    "flagged", "segment", "skb_segment"),
	[HOOK_SKB_PULL] = COPIER("skb pull", "copies of all the data of a packet into its head",
				 "pull", "__pskb_pull_tail"),
	[HOOK_SKB_DUPLICATE] = COPIER("skb duplicate",
				      "copies of a whole packet, which are not flagged",
				      "duplicate", "skb_copy"),
	[HOOK_SKB_COW] = COPIER("skb cow",
				"copies for XDP programs of virtual devices, which are not flagged",
				"cow", "skb_pp_cow_data"),
	[HOOK_DEVICE_EXIT] = {
		.name = "device exit",
		.purpose = "whether zero-copy data reach a device that leaves this machine",
		.zerocopy_only = true,
		.options = {
			{MECHANISM_TRACEPOINT, .programs = {"packet_sent"},
			 .tracepoints = {{"net_dev_start_xmit", 2}}},
		},
	},
	[HOOK_RECEIVER_COPY] = {
		.name = "receiver copy",
		.purpose = "the copy from skb to user space in the receiver",
		.options = {
			{MECHANISM_TRACEPOINT, .programs = {"receiver_copy"},
			 .tracepoints = {{"skb_copy_datagram_iovec", 2}}, .preemptible = true},
			{MECHANISM_KPROBE, .programs = {"receiver_copy_kprobe"},
			 .functions = {"skb_copy_datagram_iter"}},
		},
	},
	[HOOK_PACKET] = {
		.name = "packet", .purpose = "skbs per send, and frags per skb",
		.packets_only = true,
		.load_only = "packets are identified by the port of a load",
		.options = {
			{MECHANISM_TRACEPOINT, .programs = {"packet_queued"},
			 .tracepoints = {{"net_dev_queue", 1}}},
		},
	},
	[HOOK_SEND_ID] = {
		.name = "send id",
		.purpose = "the id of a zero-copy send, which identifies its completion",
		.zerocopy_only = true,
		.options = {
			{MECHANISM_FENTRY, .programs = {"send_id_fexit"},
			 .functions = {"msg_zerocopy_realloc", "sock_zerocopy_realloc"},
			 .preemptible = true},
			{MECHANISM_KPROBE, .programs = {"send_id_kretprobe"},
			 .functions = {"msg_zerocopy_realloc", "sock_zerocopy_realloc"},
			 .by_graph = true},
			{MECHANISM_TRACEPOINT, .programs = {"send_loop"},
			 .tracepoints = {{"tcp_sendmsg_locked", 2}}, .preemptible = true,
			 .with_sends = true},
			{MECHANISM_KPROBE, .programs = {"send_id_kretprobe"},
			 .functions = {"msg_zerocopy_realloc", "sock_zerocopy_realloc"},
			 .misses = FEW_RETURNS},
			{MECHANISM_TRACEPOINT, .programs = {"send_enter"},
			 .tracepoints = {{"sys_enter", 2}},
			 .misses = "inferred, and not if threads share a socket",
			 .preemptible = true, .with_sends = true, .guesses = true},
		},
	},
	[HOOK_ERROR_QUEUE] = {
		.name = "error queue",
		.purpose = "what applications read about their zero-copy sends",
		.zerocopy_only = true,
		.options = {
			{MECHANISM_FENTRY, .programs = {"dequeued_fexit"},
			 .functions = {"sock_dequeue_err_skb"}, .preemptible = true},
			{MECHANISM_KPROBE, .programs = {"dequeued_kretprobe"},
			 .functions = {"sock_dequeue_err_skb"}, .by_graph = true},
			{MECHANISM_TRACEPOINT, .programs = {"notification_freed"},
			 .tracepoints = {{"consume_skb", 2}}, .code = "ip_recv_error",
			 .sees_coalesced = "notification_freed", .preemptible = true,
			 .by_queue = true},
			/*
			 * inet_sk_error_report is required, but not used: a kernel that has it
			 * also has atomic exchange for programs (5.12).
			 */
			{MECHANISM_TRACEPOINT, .programs = {"notification_freed_in_stack"},
			 .tracepoints = {{"consume_skb", 1}, {"inet_sk_error_report", 1}},
			 .code = "ip_recv_error", .sees_coalesced = "notification_freed_in_stack",
			 .preemptible = true, .by_stack = true, .by_queue = true},
			{MECHANISM_KPROBE, .programs = {"dequeued_kretprobe"},
			 .functions = {"sock_dequeue_err_skb"}, .misses = FEW_READ_RETURNS},
		},
	},
	[HOOK_ERROR_READ] = {
		.name = "error queue read",
		.purpose = "the time that reading the error queue takes", .zerocopy_only = true,
		.options = {
			{MECHANISM_FENTRY, .programs = {"read_fentry", "read_fexit"},
			 .functions = {"inet_recv_error"}, .preemptible = true},
			{MECHANISM_KPROBE, .programs = {"read_kprobe", "read_kretprobe"},
			 .functions = {"inet_recv_error"}, .by_graph = true},
			{MECHANISM_KPROBE, .programs = {"read_kprobe", "read_kretprobe"},
			 .functions = {"inet_recv_error"}, .misses = FEW_READ_RETURNS},
		},
	},
	[HOOK_ENTRY_SENDTO] = ENTRY("sendto", "entry_sendto"),
	[HOOK_ENTRY_SENDMSG] = ENTRY("sendmsg", "entry_sendmsg"),
	[HOOK_ENTRY_WRITE] = ENTRY("write", "entry_write"),
	[HOOK_ENTRY_WRITEV] = ENTRY("writev", "entry_writev"),
	[HOOK_STAGE_REQUEST] = STAGE("zero-copy request", "zero-copy bookkeeping of a send", true,
				     "stage_request", "msg_zerocopy_realloc",
				     "sock_zerocopy_realloc"),
	[HOOK_STAGE_ALLOC] = STAGE("skb allocation", "allocating skbs", false, "stage_alloc",
				   "tcp_stream_alloc_skb", "sk_stream_alloc_skb"),
	[HOOK_STAGE_FRAGMENT] = STAGE("page fragment", "pages for copied data", false,
				      "stage_fragment", "sk_page_frag_refill"),
	[HOOK_STAGE_COPY] = STAGE("user copy", "copying user data: the rest of the send loop",
				  false, "stage_copy", "tcp_sendmsg_locked"),
	[HOOK_STAGE_PIN] = STAGE("page pin", "pinning user pages", true, "stage_pin",
				 "skb_zerocopy_iter_stream"),
	[HOOK_STAGE_TRANSMIT] = STAGE("transmit", "TCP, IP, queue and driver", false,
				      "stage_transmit", "tcp_write_xmit"),
	[HOOK_STAGE_DEEP_COPY] = STAGE("deep copy", "the time of copies of user pages", true,
				       "stage_deep_copy", "skb_copy_ubufs"),
	[HOOK_STAGE_COMPLETION] = STAGE("completion time", "what completing a send takes", true,
					"stage_completion", "msg_zerocopy_complete",
					"msg_zerocopy_callback", "sock_zerocopy_callback"),
	[HOOK_STAGE_WAIT] = STAGE("memory wait", "going to sleep for send-buffer space", false,
				  "stage_wait", "sk_stream_wait_memory"),
	[HOOK_SOFTIRQ] = {
		.name = "softirq", .purpose = "softirqs that run inside a send",
		.stages_only = true,
		.options = {
			{MECHANISM_TRACEPOINT, .programs = {"softirq_begins", "softirq_ends"},
			 .tracepoints = {{"softirq_entry", 1}, {"softirq_exit", 1}}},
		},
	},
	[HOOK_SWITCH] = {
		.name = "switch", .purpose = "how long a send is off the CPU",
		.stages_only = true,
		.options = {
			{MECHANISM_TRACEPOINT, .programs = {"thread_switched"},
			 .tracepoints = {{"sched_switch", 3}}},
		},
	},
	[HOOK_WAKE_UP] = STAGE("wake-up", "waking who waits for completions", true, "wake_up",
			       "sock_def_error_report"),
	[HOOK_COPY_OUT] = STAGE("copy-out", "the time of the receiver's copy", false, "copy_out",
				"skb_copy_datagram_iter"),
};
/* clang-format on */

static const char *const names[] = {"", "fentry", "kprobe", "tracepoint", "none"};

const struct hook *hook__get(enum hook_id id)
{
	return &hooks[id];
}

void hook_option__symbols(const struct hook_option *option, char *text, size_t size)
{
	text[0] = 0;
	for (size_t i = 0; option->functions[i]; i++)
		text__append(text, size, "%s%s", i ? " or " : "", option->functions[i]);
	for (size_t i = 0; !option->functions[0] && option->tracepoints[i].name; i++)
		text__append(text, size, "%s%s", i ? ", " : "", option->tracepoints[i].name);
}

const char *mechanism_name(enum mechanism m)
{
	return names[m];
}

enum mechanism mechanism_parse(const char *name)
{
	for (enum mechanism m = MECHANISM_FENTRY; m <= MECHANISM_OFF; m++)
		if (!strcmp(name, names[m]))
			return m;
	return MECHANISM_NONE;
}
