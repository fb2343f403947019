/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Causes: their counters, and the bits by which a copy of an skb leads to them through the shared
 * ubuf: docs/zerocopy.md.
 */
#pragma once

#include "zerocopy.bpf.h"

#define NETIF_F_SG	   (1ULL << 0)
#define NETIF_F_CSUM	   (1ULL << 1 | 1ULL << 3 | 1ULL << 4) /* IP, HW, IPV6 */
#define IFF_LOOPBACK	   0x8
#define CAUSE_BIT_ASSUMED  0x8000 /* counts only if the completion is flagged */
#define CAUSE_BIT_LEFT	   0x4000 /* no cause: a device that leaves the machine got the data */
#define CAUSE_BIT_TAPPED   0x2000 /* came in by a device that somebody listens to */
#define CAUSE_BIT_LAST	   0x1000 /* no cause: the last device that got the data */
#define CAUSE_BITS_COUNTER 0x0fff
#define CLAIM_TRIES	   16

struct ubuf_key {
	__u64 sock;
	__u32 born;
	__u32 id; /* of its first send */
};

/* Shared ubufs of which something was seen, and that have not completed. */
struct ubuf_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__type(key, struct ubuf_key);
	__type(value, struct ubuf_entry);
};
extern struct ubuf_map ubufs SEC(".maps");

struct cause_index_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CAUSE_COUNTERS_MAX);
	__type(key, struct cause_key);
	__type(value, __u32);
};
extern struct cause_index_map cause_index SEC(".maps");

/* A hash, because its insertion settles who may use an index. */
struct cause_info_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CAUSE_COUNTERS_MAX);
	__type(key, __u32);
	__type(value, struct cause_info);
};
extern struct cause_info_map cause_infos SEC(".maps");

struct cause_counter_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CAUSE_COUNTERS_MAX);
	__type(key, __u32);
	__type(value, struct cause_counter);
};
extern struct cause_counter_map cause_counters SEC(".maps");

/* Send ids wrap around. */
static __always_inline bool id_before(__u32 id, __u32 that)
{
	return (__s32)(id - that) < 0;
}

/* A ubuf's first send may have begun before its socket was watched. */
static __always_inline __u32 first_watched(const struct zerocopy_socket *s, __u32 id)
{
	return id_before(id, s->first) ? s->first : id;
}

/* Zero-copy data seen in an skb. */
struct sighting {
	struct ubuf_key ubuf;
	__u64 bytes;
};

/* False unless the skb carries zero-copy data of a socket that is watched, sent since then. */
static __always_inline bool sighted(struct sk_buff *skb, struct sighting *seen)
{
	void *uarg = skb_uarg(skb);
	struct zerocopy_socket *s;
	struct ubuf_view view;

	if (!uarg || !uarg__view(uarg, &view))
		return false;
	seen->ubuf.sock = view.sock;
	s = bpf_map_lookup_elem(&sockets, &seen->ubuf.sock);
	if (!s)
		return false;
	if (id_before(view.id, s->first) && !id_before(s->first, view.id + view.len))
		return false;
	seen->ubuf.born = s->born;
	seen->ubuf.id = first_watched(s, view.id);
	seen->bytes = BPF_CORE_READ(skb, data_len);
	return true;
}

/* Creates the entry where there is none; NULL: no room, which counts as lost. */
static __always_inline struct ubuf_entry *ubuf__get(const struct ubuf_key *key)
{
	struct ubuf_entry *ubuf = bpf_map_lookup_elem(&ubufs, key), fresh = {};

	if (ubuf)
		return ubuf;
	bpf_map_update_elem(&ubufs, key, &fresh, BPF_NOEXIST);
	ubuf = bpf_map_lookup_elem(&ubufs, key);
	if (!ubuf)
		TOTALS_COUNT(lost_cause_bits);
	return ubuf;
}

/*
 * Functions of their own, of numbers, in causes.bpf.c: the verifier goes through them once a
 * program, not once a call and for each way there.
 */
int ubuf__set_bits(__u64 sock, __u32 born, __u32 id, __u32 bits);
/* Of this cause on a device; 0: none. */
__u32 cause_counter__index_of(__u32 cause, __u64 dev);

static __always_inline void ubuf__add_bits(const struct ubuf_key *key, __u16 bits)
{
	ubuf__set_bits(key->sock, key->born, key->id, bits);
}

static __always_inline void ubuf__set_last_device(const struct ubuf_key *key, __u32 counter)
{
	struct cause_bits *ubuf = bpf_map_lookup_elem(&ubufs, key);
	__u16 bits = counter | CAUSE_BIT_LAST;
	int i;

	for (i = 0; ubuf && i < CAUSE_BITS_MAX; i++) {
		if (!(ubuf->bits[i] & CAUSE_BIT_LAST))
			continue;
		ubuf->bits[i] = bits;
		return;
	}
	ubuf__add_bits(key, bits);
}

static __always_inline bool ubuf__has_bits(const struct ubuf_key *key, __u16 bits)
{
	struct cause_bits *ubuf = bpf_map_lookup_elem(&ubufs, key);
	bool has = false;
	int i;

	for (i = 0; ubuf && i < CAUSE_BITS_MAX; i++)
		has |= ubuf->bits[i] == bits;
	return has;
}

static __always_inline void ubuf__clear_bits(const struct ubuf_key *key, __u16 bits)
{
	struct cause_bits *ubuf = bpf_map_lookup_elem(&ubufs, key);
	int i;

	for (i = 0; ubuf && i < CAUSE_BITS_MAX; i++)
		if (ubuf->bits[i] == bits)
			ubuf->bits[i] = 0;
}

static __always_inline struct cause_counter *cause_counter__get(__u32 index)
{
	return bpf_map_lookup_elem(&cause_counters, &index);
}

/* Inside a send by that socket, in the sender's time? Else in a softirq or another thread. */
static __always_inline bool inside_send(__u64 sock)
{
	struct thread *thread = thread__peek();

	return thread && thread->sock == sock;
}

/* skbs: 1, or -1 to take one back. */
static __always_inline void cause_counter__add_skbs(__u32 index, const struct sighting *seen,
						    __s64 skbs)
{
	struct cause_counter *counter = cause_counter__get(index);

	if (!counter)
		return;
	__sync_fetch_and_add(&counter->skbs, skbs);
	__sync_fetch_and_add(&counter->bytes, skbs < 0 ? -seen->bytes : seen->bytes);
	if (inside_send(seen->ubuf.sock))
		__sync_fetch_and_add(&counter->skbs_in_send, skbs);
}

/* Of two CPUs at once, one claims an index in vain. */
static __always_inline void cause_counter__claim_index(const struct cause_info *info)
{
	__u32 hash = info->key.cause * 31 + info->key.ifindex * 37 + info->key.netns * 41 +
		     info->key.stack;
	__u32 index, i;

	for (i = 0; i < CLAIM_TRIES; i++) {
		index = (hash + i) % CAUSE_COUNTERS_MAX;
		if (index > CAUSE_COUNTER_FULL &&
		    !bpf_map_update_elem(&cause_infos, &index, info, BPF_NOEXIST)) {
			bpf_map_update_elem(&cause_index, &info->key, &index, BPF_NOEXIST);
			return;
		}
	}
}

static __always_inline __u32 cause_counter__find_index(const struct cause_info *info)
{
	__u32 *index = bpf_map_lookup_elem(&cause_index, &info->key);

	if (!index) {
		cause_counter__claim_index(info);
		index = bpf_map_lookup_elem(&cause_index, &info->key);
	}
	return index ? *index : CAUSE_COUNTER_FULL;
}

static __always_inline void cause_info__set_device(struct cause_info *info, struct net_device *dev)
{
	if (!dev)
		return;
	info->key.ifindex = BPF_CORE_READ(dev, ifindex);
	info->key.netns = BPF_CORE_READ(dev, nd_net.net, ns.inum);
	BPF_CORE_READ_STR_INTO(&info->device, dev, name);
}

static __always_inline bool ubuf__has_cause(const struct ubuf_key *ubuf, const struct cause_key *in,
					    enum cause cause, __u16 how)
{
	struct cause_key onwards = *in;
	__u32 *index;

	onwards.cause = cause;
	index = bpf_map_lookup_elem(&cause_index, &onwards);
	return index && ubuf__has_bits(ubuf, *index | how);
}

/*
 * A packet came in by a device. If others of its ubuf went on from there, this one will: the last
 * one (a retransmitted segment) may complete before that is seen.
 */
static __always_inline bool ubuf__goes_on(const struct ubuf_key *ubuf, const struct cause_key *in,
					  __u16 how)
{
	return ubuf__has_cause(ubuf, in, CAUSE_FORWARDED, how) ||
	       ubuf__has_cause(ubuf, in, CAUSE_PACKET_TAP, how);
}
