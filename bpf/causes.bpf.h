/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Why sends were copied: tallies of causes, and the marks by which a copy of an skb leads to
 * them. See docs/zerocopy.md.
 */
#pragma once

#include "zerocopy.bpf.h"

#define NETIF_F_SG   (1ULL << 0)
#define NETIF_F_CSUM (1ULL << 1 | 1ULL << 3 | 1ULL << 4) /* IP, HW, IPV6 */
#define IFF_LOOPBACK 0x8
#define MARK_ASSUMED 0x8000 /* counts only if the completion is flagged */
#define MARK_LEFT    0x4000 /* no cause: its data were handed to a device that leaves the machine */
#define MARK_TAPPED  0x2000 /* came in by a device that somebody listens to */
#define MARK_LAST    0x1000 /* no cause: the device that was last to be handed its data */
#define MARK_TALLY   0x0fff
#define CLAIM_TRIES  16

struct run_key {
	__u64 sock;
	__u32 born;
	__u32 id; /* of its first send */
};

/* Runs that were copied and are not completed. What no completion removes is pushed out. */
struct run_map {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct run_key);
	__type(value, struct kept_run);
};
extern struct run_map runs SEC(".maps");

struct tally_index_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, TALLIES_MAX);
	__type(key, struct tally_key);
	__type(value, __u32);
};
extern struct tally_index_map tally_index SEC(".maps");

/* A hash, because its insertion settles who may use an index. */
struct tally_info_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, TALLIES_MAX);
	__type(key, __u32);
	__type(value, struct tally_info);
};
extern struct tally_info_map tally_infos SEC(".maps");

struct tally_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, TALLIES_MAX);
	__type(key, __u32);
	__type(value, struct tally);
};
extern struct tally_map tallies SEC(".maps");

/* Is this send id before that? They come round. */
static __always_inline bool id_before(__u32 id, __u32 that)
{
	return (__s32)(id - that) < 0;
}

/* The first send of a run that counts: one may have begun before its socket was watched. */
static __always_inline __u32 first_watched(const struct zerocopy_socket *s, __u32 id)
{
	return id_before(id, s->first) ? s->first : id;
}

/* Data of a run of sends, seen at some place in the kernel. */
struct sighting {
	struct run_key run;
	__u64 bytes;
};

/*
 * Whose data does this skb carry? False unless it is zero-copy data of a watched socket, sent
 * since it is watched.
 */
static __always_inline bool sighted(struct sk_buff *skb, struct sighting *seen)
{
	void *uarg = skb_uarg(skb);
	struct zerocopy_socket *s;
	__u32 id;

	if (!uarg)
		return false;
	seen->run.sock = (__u64)uarg_sock(uarg);
	s = bpf_map_lookup_elem(&sockets, &seen->run.sock);
	if (!s)
		return false;
	id = UARG_READ(uarg, id);
	if (id_before(id, s->first) && !id_before(s->first, id + UARG_READ(uarg, len)))
		return false;
	seen->run.born = s->born;
	seen->run.id = first_watched(s, id);
	seen->bytes = BPF_CORE_READ(skb, data_len);
	return true;
}

/* Made where there is none; NULL if there is no room. */
static __always_inline struct kept_run *run__get(const struct run_key *key)
{
	struct kept_run *run = bpf_map_lookup_elem(&runs, key), fresh = {};

	if (run)
		return run;
	bpf_map_update_elem(&runs, key, &fresh, BPF_NOEXIST);
	return bpf_map_lookup_elem(&runs, key);
}

/* A mark not yet there goes into the first free place. */
static __always_inline void run__mark(const struct run_key *key, __u16 mark)
{
	struct kept_run *kept = run__get(key);
	volatile __u16 *place;
	struct totals *t;
	int i;

	for (i = 0; kept && i < RUN_MARKS; i++) {
		place = &kept->run.marks[i];
		if (!*place)
			*place = mark;
		if (*place == mark)
			return;
	}
	t = totals__get();
	if (t)
		__sync_fetch_and_add(&t->lost_marks, 1);
}

/* Its data are handed to another device. */
static __always_inline void run__pass(const struct run_key *key, __u32 tally)
{
	struct run *run = bpf_map_lookup_elem(&runs, key);
	__u16 mark = tally | MARK_LAST;
	int i;

	for (i = 0; run && i < RUN_MARKS; i++) {
		if (!(run->marks[i] & MARK_LAST))
			continue;
		run->marks[i] = mark;
		return;
	}
	run__mark(key, mark);
}

static __always_inline bool run__has(const struct run_key *key, __u16 mark)
{
	struct run *run = bpf_map_lookup_elem(&runs, key);
	bool has = false;
	int i;

	for (i = 0; run && i < RUN_MARKS; i++)
		has |= run->marks[i] == mark;
	return has;
}

/* What was assumed turned out otherwise. */
static __always_inline void run__unmark(const struct run_key *key, __u16 mark)
{
	struct run *run = bpf_map_lookup_elem(&runs, key);
	int i;

	for (i = 0; run && i < RUN_MARKS; i++)
		if (run->marks[i] == mark)
			run->marks[i] = 0;
}

static __always_inline struct tally *tally__get(__u32 index)
{
	return bpf_map_lookup_elem(&tallies, &index);
}

/* Is it done inside a send by that socket, in the sender's time? Else softirqs and others do it. */
static __always_inline bool inside_send(__u64 sock)
{
	struct thread *thread = thread__peek();

	return thread && thread->sock == sock;
}

/* One skb more is copied, or (-1) one less than was thought. */
static __always_inline void tally__add(__u32 index, const struct sighting *seen, __s64 skbs)
{
	struct tally *tally = tally__get(index);

	if (!tally)
		return;
	__sync_fetch_and_add(&tally->skbs, skbs);
	__sync_fetch_and_add(&tally->bytes, skbs < 0 ? -seen->bytes : seen->bytes);
	if (inside_send(seen->run.sock))
		__sync_fetch_and_add(&tally->skbs_in_send, skbs);
}

/* An index for a tally that has none yet; of two CPUs at once, one claims in vain. */
static __always_inline void tally__claim(const struct tally_info *info)
{
	__u32 hash = info->key.cause * 31 + info->key.ifindex * 37 + info->key.netns * 41 +
		     info->key.stack;
	__u32 index, i;

	for (i = 0; i < CLAIM_TRIES; i++) {
		index = (hash + i) % TALLIES_MAX;
		if (index > TALLY_FULL &&
		    !bpf_map_update_elem(&tally_infos, &index, info, BPF_NOEXIST)) {
			bpf_map_update_elem(&tally_index, &info->key, &index, BPF_NOEXIST);
			return;
		}
	}
}

static __always_inline __u32 tally__find(const struct tally_info *info)
{
	__u32 *index = bpf_map_lookup_elem(&tally_index, &info->key);

	if (!index) {
		tally__claim(info);
		index = bpf_map_lookup_elem(&tally_index, &info->key);
	}
	return index ? *index : TALLY_FULL;
}

static __always_inline void tally__device(struct tally_info *info, struct net_device *dev)
{
	if (!dev)
		return;
	info->key.ifindex = BPF_CORE_READ(dev, ifindex);
	info->key.netns = BPF_CORE_READ(dev, nd_net.net, ns.inum);
	BPF_CORE_READ_STR_INTO(&info->device, dev, name);
}

static __always_inline bool run__has_cause(const struct run_key *run, const struct tally_key *in,
					   enum cause cause, __u16 how)
{
	struct tally_key onwards = *in;
	__u32 *index;

	onwards.cause = cause;
	index = bpf_map_lookup_elem(&tally_index, &onwards);
	return index && run__has(run, *index | how);
}

/*
 * A packet of a run came in by a device. If others of the run went on from there, this one
 * will: it may be the run's last (a retransmitted segment), completed before that is seen.
 */
static __always_inline bool run__goes_on(const struct run_key *run, const struct tally_key *in,
					 __u16 how)
{
	return run__has_cause(run, in, CAUSE_FORWARDED, how) ||
	       run__has_cause(run, in, CAUSE_PACKET_TAP, how);
}

/* For a cause that needs no stack. */
static __always_inline __u32 tally__of(enum cause cause, struct net_device *dev)
{
	struct tally_info info = {.key.cause = cause};

	tally__device(&info, dev);
	return tally__find(&info);
}

/*
 * A zero-copy send begins that gets this id. On a route without scatter-gather,
 * which is not forced on all sockets, the kernel copies at once and flags it. So it does if
 * there is no route yet: a send that opens a connection, of which its first packet tells more.
 */
static __always_inline struct zerocopy_socket *zerocopy_begin(struct sock *sk, __u32 id)
{
	struct run_key run = {.sock = (__u64)sk, .id = id};
	struct zerocopy_socket *s = socket__watch(sk, id);

	if (!s || BPF_CORE_READ(sk, sk_route_caps) & NETIF_F_SG)
		return s;
	run.born = s->born;
	if (BPF_CORE_READ(sk, __sk_common.skc_state) == TCP_CLOSE) {
		run__pass(&run, tally__of(CAUSE_FAST_OPEN, NULL));
		return s;
	}
	run__mark(&run,
		  tally__of(CAUSE_ROUTE, BPF_CORE_READ(sk, sk_dst_cache, dev)) | MARK_ASSUMED);
	return s;
}
