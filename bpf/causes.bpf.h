/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Counts the causes of copies. The bits in a ubuf's note name the counters of its copies: see
 * docs/zerocopy.md.
 */
#pragma once

#include "inflight.bpf.h"
#include "timeline.bpf.h"

#define SKBFL_ZEROCOPY_ENABLE 1
#define SKBTX_DEV_ZEROCOPY    8 /* of tx_flags */
#define NETIF_F_IP_CSUM	      (1ULL << 1)
#define NETIF_F_HW_CSUM	      (1ULL << 3)
#define NETIF_F_IPV6_CSUM     (1ULL << 4)
#define ETH_P_IPV6	      0x86dd
#define IFF_LOOPBACK	      0x8
#define CAUSE_BIT_ASSUMED     0x8000 /* counts only if the completion is flagged */
#define CAUSE_BIT_LEFT	      0x4000 /* not a cause: data left the machine by a device */
#define CAUSE_BIT_TAPPED      0x2000 /* the packet came in by a device with an open packet socket */
#define CAUSE_BIT_LAST	      0x1000 /* not a cause: the last device that got the data */
#define CAUSE_BITS_COUNTER    0x0fff
#define CLAIM_TRIES	      16

HASH(cause_index, CAUSE_COUNTERS_MAX, struct cause_key, __u32);

/* A hash, because its insertion decides which CPU gets an index. */
HASH(cause_infos, CAUSE_COUNTERS_MAX, __u32, struct cause_info);

PERCPU_ARRAY(cause_counters, CAUSE_COUNTERS_MAX, struct cause_counter);

/* Before 6.1 struct ubuf_info itself had these members. */
struct ubuf_info___before_6_1 {
	__u32 id;
	__u16 len;
	__u16 zerocopy : 1;
	__u32 bytelen;
} __attribute__((preserve_access_index));

/* The old type is not read by TYPED(): kernels that have it lack bpf_rdonly_cast(). */
#define UARG_READ(uarg, field)                                   \
	(bpf_core_type_exists(struct ubuf_info_msgzc)            \
		 ? READ((struct ubuf_info_msgzc *)(uarg), field) \
		 : BPF_CORE_READ((struct ubuf_info___before_6_1 *)(uarg), field))
/*
 * bytelen is read by a helper: it is in a union with a pointer, and the verifier would take a load
 * of it for a load of that pointer.
 */
#define UARG_BYTES(uarg)                                                    \
	(bpf_core_type_exists(struct ubuf_info_msgzc)                       \
		 ? BPF_CORE_READ((struct ubuf_info_msgzc *)(uarg), bytelen) \
		 : BPF_CORE_READ((struct ubuf_info___before_6_1 *)(uarg), bytelen))
#define UARG_COPIED(uarg)                                                                  \
	(bpf_core_type_exists(struct ubuf_info_msgzc)                                      \
		 ? !READ_BITFIELD((struct ubuf_info_msgzc *)(uarg), zerocopy)              \
		 : !BPF_CORE_READ_BITFIELD_PROBED((struct ubuf_info___before_6_1 *)(uarg), \
						  zerocopy))

static __always_inline bool is_loopback(struct net_device *dev)
{
	return READ(dev, flags) & IFF_LOOPBACK;
}

/* A ubuf lies in the control block of the skb that will become the notification. */
static __always_inline struct sock *uarg_sock(void *uarg)
{
	struct sk_buff *skb = uarg - bpf_core_field_offset(struct sk_buff, cb);

	return READ(skb, sk);
}

/* Like skb_shinfo() of 64-bit kernels, where skb->end is an offset. */
static __always_inline struct skb_shared_info *skb_shared(struct sk_buff *skb)
{
	return (void *)(READ(skb, head) + READ(skb, end));
}

/*
 * Without typed reads each read is a helper call, which costs more than copying some dozen bytes.
 * Therefore members that lie close together are read at once. IN_RANGE is a member in a range that
 * begins at an offset of the type. The asm hides the member's position from clang, which would
 * otherwise subtract from a pointer; the verifier refuses that.
 */
#define IN_RANGE(type, range, begin, member)                               \
	({                                                                 \
		__u64 at_ = bpf_core_field_offset(type, member) - (begin); \
		__asm__ volatile("" : "+r"(at_));                          \
		*(typeof(((type *)0)->member) *)((range) + at_);           \
	})

static __always_inline void *skb_uarg_by_range(struct sk_buff *skb)
{
	__u64 begin = bpf_core_field_offset(struct sk_buff, end) & ~7ULL; /* aligned */
	char range[24] __attribute__((aligned(8))) = {};
	char shared[56] __attribute__((aligned(8))) = {};

	/* skb->end, an offset, is followed by the pointers head and data. */
	if (bpf_probe_read_kernel(range, sizeof(range), (void *)skb + begin) ||
	    bpf_probe_read_kernel(shared, sizeof(shared),
				  IN_RANGE(struct sk_buff, range, begin, head) +
					  IN_RANGE(struct sk_buff, range, begin, end)))
		return NULL;
	if (bpf_core_field_exists(((struct skb_shared_info *)0)->flags)
		    ? !(IN_RANGE(struct skb_shared_info, shared, 0, flags) & SKBFL_ZEROCOPY_ENABLE)
		    : !(IN_RANGE(struct skb_shared_info, shared, 0, tx_flags) & SKBTX_DEV_ZEROCOPY))
		return NULL;
	return IN_RANGE(struct skb_shared_info, shared, 0, destructor_arg);
}

/*
 * The ubuf of the send whose user pages this skb carries, or NULL. The flag was in tx_flags until
 * 5.12.
 */
static __always_inline void *skb_uarg(struct sk_buff *skb)
{
	struct skb_shared_info *shared;

	if (!reads_typed)
		return skb_uarg_by_range(skb);
	shared = skb_shared(skb);
	return READ(shared, flags) & SKBFL_ZEROCOPY_ENABLE ? READ(shared, destructor_arg) : NULL;
}

/* Zero-copy data that a hook saw in an skb. */
struct sighting {
	struct send_key send; /* the first send of the data's ubuf that has a slot */
	__u64 bytes;
};

/*
 * Reads from a ubuf its socket, its first send id, and its number of sends. The ubuf lies in the
 * control block of the notification's skb, behind the skb's socket, so one helper call reads all
 * three.
 */
static __always_inline bool uarg__read(void *uarg, struct sighting *seen, __u32 *sends)
{
	__u64 sk = bpf_core_field_offset(struct sk_buff, sk);
	__u64 ahead = bpf_core_field_offset(struct sk_buff, cb) - sk;
	char range[80] __attribute__((aligned(8))) = {};

	if (reads_typed) {
		seen->send.sock = (__u64)uarg_sock(uarg);
		seen->send.id = UARG_READ(uarg, id);
		*sends = UARG_READ(uarg, len);
		return true;
	}
	if (bpf_probe_read_kernel(range, sizeof(range), uarg - ahead))
		return false;
	seen->send.sock = (__u64)IN_RANGE(struct sk_buff, range, sk, sk);
	if (bpf_core_type_exists(struct ubuf_info_msgzc)) {
		seen->send.id = IN_RANGE(struct ubuf_info_msgzc, range, -ahead, id);
		*sends = IN_RANGE(struct ubuf_info_msgzc, range, -ahead, len);
	} else {
		seen->send.id = IN_RANGE(struct ubuf_info___before_6_1, range, -ahead, id);
		*sends = IN_RANGE(struct ubuf_info___before_6_1, range, -ahead, len);
	}
	return true;
}

/* Returns whether the skb carries data of zero-copy sends that have slots, and fills in seen. */
static __noinline bool sighted(struct sk_buff *skb, struct sighting *seen)
{
	void *uarg = skb_uarg(skb);
	struct zsock *s;
	__u32 sends;

	if (!uarg || !uarg__read(uarg, seen, &sends))
		return false;
	s = zsock__find(seen->send.sock);
	if (!s)
		return false;
	seen->send.sock = s->sock; /* a number: see number_of() */
	seen->send.generation = s->generation;
	if (id_before(seen->send.id, s->first)) {
		sends -= s->first - seen->send.id;
		seen->send.id = s->first;
	}
	seen->bytes = READ(skb, data_len);
	return (__s32)sends > 0 && slot__first_of(&seen->send, sends);
}

/* Sets the last device of the note, or replaces it if there is one. */
static __always_inline void note__set_last_device(const struct send_key *send, __u32 counter)
{
	if (!note__replace_bits(send, CAUSE_BIT_LAST, CAUSE_BIT_LAST, counter | CAUSE_BIT_LAST))
		note__add_bits(send, counter | CAUSE_BIT_LAST);
}

/* Like can_checksum_protocol(): a device may compute checksums for only one version of IP. */
static __always_inline bool checksums(__u64 features, struct sk_buff *skb)
{
	bool v6 = READ(skb, protocol) == bpf_htons(ETH_P_IPV6);

	return features & (NETIF_F_HW_CSUM | (v6 ? NETIF_F_IPV6_CSUM : NETIF_F_IP_CSUM));
}

static __always_inline struct cause_counter *cause_counter__get(__u32 index)
{
	return bpf_map_lookup_elem(&cause_counters, &index);
}

/* skbs is 1, or -1 to undo an addition. */
static __always_inline void cause_counter__add_skbs(__u32 index, const struct sighting *seen,
						    __s64 skbs)
{
	struct cause_counter *counter = cause_counter__get(index);
	struct thread *thread = thread__peek();

	timeline__of_ids(EVENT_COPIED, seen->send.sock, seen->send.id, 1, skbs * (__s64)seen->bytes,
			 index);
	if (!counter)
		return;
	__sync_fetch_and_add(&counter->skbs, skbs);
	__sync_fetch_and_add(&counter->bytes, skbs < 0 ? -seen->bytes : seen->bytes);
	/* Copied inside the sender's call, not in a softirq or another thread. */
	if (thread && thread->send.sock == seen->send.sock)
		__sync_fetch_and_add(&counter->skbs_in_send, skbs);
}

/* If two CPUs do this at once, one of them occupies an index that stays unused. */
static __noinline void cause_counter__claim_index(struct cause_info *info, struct net_device *dev)
{
	__u32 hash = info->key.cause * 31 + info->key.ifindex * 37 + info->key.netns * 41 +
		     info->key.stack;
	__u32 index, i;

	if (dev)
		BPF_CORE_READ_STR_INTO(&info->device, dev, name);
	for (i = 0; i < CLAIM_TRIES; i++) {
		index = CAUSE_COUNTERS_RESERVED +
			(hash + i) % (CAUSE_COUNTERS_MAX - CAUSE_COUNTERS_RESERVED);
		if (!bpf_map_update_elem(&cause_infos, &index, info, BPF_NOEXIST)) {
			bpf_map_update_elem(&cause_index, &info->key, &index, BPF_NOEXIST);
			return;
		}
	}
}

/* Finds the index of a counter, or creates it. A new counter gets the name of dev. */
static __always_inline __u32 cause_counter__find_index(struct cause_info *info,
						       struct net_device *dev)
{
	__u32 *index = bpf_map_lookup_elem(&cause_index, &info->key);

	if (!index) {
		cause_counter__claim_index(info, dev);
		index = bpf_map_lookup_elem(&cause_index, &info->key);
	}
	return index ? *index : CAUSE_COUNTER_FULL;
}

/*
 * True if causes distinguish devices only by name: an exporter runs for months, in which containers
 * create more devices than there are counters.
 */
const volatile bool causes_by_name = false;

static __always_inline __u32 device_name_hash(struct net_device *dev)
{
	union {
		char text[DEVICE_NAME_MAX];
		__u64 words[DEVICE_NAME_MAX / sizeof(__u64)];
	} name = {};

	BPF_CORE_READ_STR_INTO(&name.text, dev, name);
	return hash_words(name.words, 2, 2) >> 32;
}

static __always_inline void cause_key__set_device(struct cause_key *key, struct net_device *dev)
{
	if (!dev)
		return;
	if (causes_by_name) {
		key->ifindex = device_name_hash(dev);
		return;
	}
	key->ifindex = READ(dev, ifindex);
	key->netns = READ(dev, nd_net.net, ns.inum);
}

/* Finds or creates the counter of a cause on the device at this address. */
GLOBAL __u32 cause_counter__begin(__u32 cause, __u64 dev)
{
	struct cause_info info = {.key.cause = cause};

	cause_key__set_device(&info.key, (struct net_device *)dev);
	return cause_counter__find_index(&info, (struct net_device *)dev);
}

/* Returns the index of the counter of a cause on a device. dev may be NULL. */
static __noinline __u32 cause_counter__index_of(__u32 cause, struct net_device *dev)
{
	struct cause_key key = {.cause = cause};
	__u32 *index;

	cause_key__set_device(&key, dev);
	index = bpf_map_lookup_elem(&cause_index, &key);
	return index ? *index : cause_counter__begin(cause, number_of(dev));
}

static __always_inline bool sighting__has_cause(const struct sighting *seen,
						const struct cause_key *in, enum cause cause,
						__u16 how)
{
	struct cause_key onwards = *in;
	__u32 *index;

	onwards.cause = cause;
	index = bpf_map_lookup_elem(&cause_index, &onwards);
	return index && note__replace_bits(&seen->send, ~0, *index | how, *index | how);
}

/*
 * A packet came in by a device. Returns whether other packets of its ubuf were forwarded from
 * there: then this one will be, too. The last packet (a retransmitted segment) may complete the
 * ubuf before its own forwarding is seen.
 */
static __always_inline bool sighting__goes_on(const struct sighting *seen,
					      const struct cause_key *in, __u16 how)
{
	return sighting__has_cause(seen, in, CAUSE_FORWARDED, how) ||
	       sighting__has_cause(seen, in, CAUSE_PACKET_TAP, how);
}

/* Completions count the causes that the bits of their notes name. */

/*
 * Returns the member that counts flagged sends with this cause. Data that left this machine were
 * not delivered on it: the packet that came in was a copy, for a tap or from a mirror.
 */
static __always_inline __u64 *flagged_sends(struct cause_counter *counter, __u32 bits, bool left)
{
	__u32 index = bits & CAUSE_BITS_COUNTER;
	struct cause_info *in = left ? bpf_map_lookup_elem(&cause_infos, &index) : NULL;

	if (!in || in->key.cause != CAUSE_LOCAL_DELIVERY)
		return &counter->sends;
	return bits & CAUSE_BIT_TAPPED ? &counter->tapped : &counter->mirrored;
}

/* Adds sends to one cause, or subtracts them if negative. Returns 0 if the bits name no cause. */
GLOBAL int count_cause(__u32 bits, __s64 sends, __u32 flagged, __u32 left)
{
	struct cause_counter *counter;
	__u64 *field;

	if (!bits || bits & (CAUSE_BIT_LEFT | CAUSE_BIT_LAST) ||
	    (!flagged && bits & CAUSE_BIT_ASSUMED))
		return 0;
	counter = cause_counter__get(bits & CAUSE_BITS_COUNTER);
	if (!counter)
		return 0;
	field = flagged ? flagged_sends(counter, bits, left) : &counter->unflagged;
	__sync_fetch_and_add(field, sends);
	return 1;
}

/* Takes the next bits out of the two words of a note. */
static __always_inline __u32 next_bits(__u64 *low, __u64 *high)
{
	__u32 bits = *low & 0xffff;

	*low = *low >> 16 | *high << 48;
	*high >>= 16;
	return bits;
}

/*
 * Adds sends to all causes that the bits name. A flagged completion without an observed copy counts
 * for the last device that got the data. A completion without flag, cause or exit from this machine
 * is unexplained. Returns whether the sends are unflagged, but a cause counted.
 */
GLOBAL int count_cause_bits(__u64 low, __u64 high, __s64 sends, __u32 flagged)
{
	__u32 counted = opaque_zero, last = CAUSE_COUNTER_NONE + counted, left = counted, bits;
	__u64 low_left = low, high_left = high;
	struct cause_counter *none;
	int i;

	/* Unrolled, the loops would take stack that the callers need. */
#pragma clang loop unroll(disable)
	for (i = 0; i < CAUSE_BITS && (low_left || high_left); i++) {
		bits = next_bits(&low_left, &high_left);
		left |= bits == CAUSE_BIT_LEFT;
		if (bits & CAUSE_BIT_LAST)
			last = bits & CAUSE_BITS_COUNTER;
	}
#pragma clang loop unroll(disable)
	for (i = 0; i < CAUSE_BITS && (low || high); i++)
		counted |= count_cause(next_bits(&low, &high), sends, flagged, left);
	if (flagged) {
		none = counted ? NULL : cause_counter__get(last);
		if (none)
			__sync_fetch_and_add(&none->sends, sends);
		return 0;
	}
	if (!counted && !left)
		COUNT(unexplained, sends);
	return counted;
}

/* Counts completed sends for the causes in their ubuf's note; subtracts if sends is negative. */
static __always_inline void count_causes(struct zsock *s, const union note *note, __s64 sends,
					 __u64 bytes, bool flagged)
{
	if (!count_cause_bits(note->words[0], note->words[1], sends, flagged))
		return;
	COUNT(unflagged, sends);
	if (bytes)
		COUNT(unflagged_bytes, bytes);
	groups__add(&s->owner, __builtin_offsetof(struct group, unflagged), sends);
}
