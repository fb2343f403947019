/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* TCP_INFO of the sending sockets, over all of them. */
#pragma once

#include <stdint.h>

struct json_object;

/* One socket's counts since it was connected, and its state. */
struct tcp_state {
	uint64_t retransmits; /* segments */
	uint64_t retransmitted_bytes;
	uint64_t segments;
	uint64_t data_segments;
	uint64_t busy_us, peer_window_us,
		send_buffer_us; /* time with data under way; held back by */
	uint32_t cwnd;		/* segments */
	uint32_t rtt_us, rtt_min_us, mss;
	char congestion[16]; /* name of its congestion control; "": unknown */
};

/* Over sockets: sums of the differences, extremes of the states. */
struct tcp_sockets {
	uint32_t count;
	struct tcp_state sum; /* of its counters alone */
	uint32_t cwnd_min, cwnd_max, rtt_max_us, rtt_min_us, mss_min, mss_max;
	uint64_t cwnd_sum, rtt_sum_us;
	char congestion[16]; /* of the first: all were made alike */
};

/* 0 or -errno. What an older kernel does not tell is 0. */
int tcp_state__read(int fd, struct tcp_state *s);
/* Adds what a socket did between the two; pure. */
void tcp_sockets__add_socket(struct tcp_sockets *all, const struct tcp_state *before,
			     const struct tcp_state *after);
/* NULL for no sockets. */
struct json_object *tcp_sockets__json(const struct tcp_sockets *all);
