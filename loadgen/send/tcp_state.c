/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <linux/tcp.h> /* of netinet's there are fewer members */
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "common/json.h"
#include "loadgen/send/tcp_state.h"

int tcp_state__read(int fd, struct tcp_state *s)
{
	struct tcp_info i;
	socklen_t length = sizeof(i);

	memset(&i, 0, sizeof(i));
	if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &i, &length))
		return -errno;
	*s = (struct tcp_state){
		.retransmits = i.tcpi_total_retrans,
		.retransmitted_bytes = i.tcpi_bytes_retrans,
		.segments = i.tcpi_segs_out,
		.data_segments = i.tcpi_data_segs_out,
		.busy_us = i.tcpi_busy_time,
		.peer_window_us = i.tcpi_rwnd_limited,
		.send_buffer_us = i.tcpi_sndbuf_limited,
		.cwnd = i.tcpi_snd_cwnd,
		.rtt_us = i.tcpi_rtt,
		.rtt_min_us = i.tcpi_min_rtt,
		.mss = i.tcpi_snd_mss,
	};
	length = sizeof(s->congestion);
	if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, s->congestion, &length))
		s->congestion[0] = 0;
	s->congestion[sizeof(s->congestion) - 1] = 0;
	return 0;
}

/* The least and the most that was seen so far; of the first socket both are its own. */
static void extend(uint32_t *least, uint32_t *most, uint32_t value, uint32_t seen)
{
	if (!seen || value < *least)
		*least = value;
	if (!seen || value > *most)
		*most = value;
}

void tcp_sockets__add_socket(struct tcp_sockets *all, const struct tcp_state *before,
			     const struct tcp_state *after)
{
	uint32_t unused = 0;

	all->sum.retransmits += after->retransmits - before->retransmits;
	all->sum.retransmitted_bytes += after->retransmitted_bytes - before->retransmitted_bytes;
	all->sum.segments += after->segments - before->segments;
	all->sum.data_segments += after->data_segments - before->data_segments;
	all->sum.busy_us += after->busy_us - before->busy_us;
	all->sum.peer_window_us += after->peer_window_us - before->peer_window_us;
	all->sum.send_buffer_us += after->send_buffer_us - before->send_buffer_us;
	extend(&all->cwnd_min, &all->cwnd_max, after->cwnd, all->count);
	extend(&all->mss_min, &all->mss_max, after->mss, all->count);
	extend(&unused, &all->rtt_max_us, after->rtt_us, all->count);
	extend(&all->rtt_min_us, &unused, after->rtt_min_us, all->count);
	all->cwnd_sum += after->cwnd;
	all->rtt_sum_us += after->rtt_us;
	if (!all->count)
		memcpy(all->congestion, after->congestion, sizeof(all->congestion));
	all->count++;
}

struct json_object *tcp_sockets__json(const struct tcp_sockets *all)
{
	struct json_object *o;

	if (!all->count)
		return NULL;
	o = json_object_new_object();
	json__add_count(o, "sockets", all->count);
	json__add_count(o, "retransmits", all->sum.retransmits);
	json__add_count(o, "retransmitted_bytes", all->sum.retransmitted_bytes);
	json__add_count(o, "segments", all->sum.segments);
	json__add_count(o, "data_segments", all->sum.data_segments);
	json__add_count(o, "busy_us", all->sum.busy_us);
	json__add_count(o, "peer_window_limited_us", all->sum.peer_window_us);
	json__add_count(o, "send_buffer_limited_us", all->sum.send_buffer_us);
	json__add_count(o, "cwnd_min", all->cwnd_min);
	json__add_count(o, "cwnd_mean", all->cwnd_sum / all->count);
	json__add_count(o, "cwnd_max", all->cwnd_max);
	json__add_count(o, "rtt_min_us", all->rtt_min_us);
	json__add_count(o, "rtt_mean_us", all->rtt_sum_us / all->count);
	json__add_count(o, "rtt_max_us", all->rtt_max_us);
	json__add_count(o, "mss_min", all->mss_min);
	json__add_count(o, "mss_max", all->mss_max);
	json__add_text(o, "congestion", all->congestion);
	return o;
}
