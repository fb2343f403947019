// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Hooks the functions by which the kernel copies zero-copy data. The stack shows the cause. */
#include "functions.bpf.h"
#include "rx_pending.bpf.h"
#include "taps.bpf.h"
#include "uring.bpf.h"

#include "classify.h"

/* The table of causes, in this kernel's addresses. */
const volatile struct call_site call_sites[CALL_SITES_MAX] = {};
const volatile __u32 call_site_count = 0;

/* Returns a set of 1 << enum device_kind. */
static __always_inline __u32 device_kinds(struct net_device *dev, struct sk_buff *skb)
{
	__u32 kinds = 1 << DEVICE_ANY;

	if (dev && is_loopback(dev))
		kinds |= 1 << DEVICE_LOOPBACK;
	if (dev && !(READ(dev, features) & NETIF_F_SG))
		kinds |= 1 << DEVICE_NO_SCATTER_GATHER;
	if (dev && !checksums(READ(dev, features), skb))
		kinds |= 1 << DEVICE_NO_CHECKSUM;
	return kinds;
}

GLOBAL __u32 cause_at(__u64 address, __u64 caller, __u64 second, __u64 third, __u32 asked)
{
	struct frame frame = {address, {caller, second, third}};

	return classify__frame(call_sites, call_site_count, &frame, asked);
}

/*
 * At the entry of a function on arm64, only the link register has the caller of the function: a
 * stack walk follows the frames, and omits it.
 */
#ifdef __TARGET_ARCH_arm64
#define CALLER(ctx) \
	_Generic((ctx), struct pt_regs * : PT_REGS_RET_CORE((struct pt_regs *)(ctx)), default : 0)
#else
#define CALLER(ctx) 0
#endif

static __always_inline void insert_caller(__u64 *stack, __u64 caller)
{
	int i;

	for (i = STACK_FRAMES - 1; i > 1; i--)
		stack[i] = stack[i - 1];
	stack[1] = caller;
}

/* A packet came in. It is not known yet whether it will be delivered or forwarded, or is a copy. */
static __always_inline void delivered(struct sk_buff *skb, const struct sighting *seen,
				      const struct cause_key *key, __u32 counter, bool by_tap)
{
	__u16 bits = counter | (is_tapped(READ(skb, dev), false) ? CAUSE_BIT_TAPPED : 0);

	rx_pending__remember(number_of(skb), seen, bits, by_tap, 0);
	if (!sighting__goes_on(seen, key, 0))
		note__add_bits(&seen->send, bits);
}

/* Like delivered(), for data of a send by io_uring. */
static __always_inline void uring_delivered(struct sk_buff *skb, const struct notification *n,
					    bool by_tap)
{
	rx_pending__remember(number_of(skb), NULL, n->counter, by_tap, n->key);
}

/* The values that decide which counter counts a copy. */
struct copy_key {
	__u64 stack[STACK_FRAMES];
	struct cause_key in; /* only the device is set */
	__u64 asked;	     /* CLASSIFY_ASKED */
};

struct copy_cause {
	__u32 cause; /* enum cause, perhaps with CAUSE_BY_TAP */
	__u32 counter;
};

/* Copies classified so far: one lookup replaces the search of the table for each frame. */
HASH(copy_causes, 1024, struct copy_key, struct copy_cause);

/* Classifies a copy, and keeps the result for copies with the same key, unless the map is full. */
static __noinline void copy__classify(const struct copy_key *key, struct net_device *dev,
				      struct copy_cause *out)
{
	struct cause_info info = {.key = key->in};

	__builtin_memcpy(info.stack, key->stack, sizeof(info.stack));
	out->cause = classify(info.stack, key->asked, cause_at);
	info.key.cause = out->cause & ~CAUSE_BY_TAP;
	/* If the kernel hides its addresses, all stacks are equal. */
	if (info.key.cause == CAUSE_UNCLASSIFIED && call_site_count && !causes_by_name)
		info.key.stack = hash_words(info.stack, STACK_FRAMES, STACK_FRAMES) >> 32;
	out->counter = cause_counter__find_index(&info, dev);
	bpf_map_update_elem(&copy_causes, key, out, BPF_ANY);
}

/*
 * The data of an skb are being copied. caller: the copier's caller if the stack omits it, else 0.
 */
static __noinline int copied(void *ctx, struct sk_buff *skb, enum copier copier, __u64 bytes,
			     __u64 caller)
{
	struct notification *n = NULL;
	struct copy_cause *known, of;
	struct copy_key key = {};
	struct net_device *dev;
	struct sighting seen;
	bool is_local;

	if (!sighted(skb, &seen)) {
		n = uring_sighted(skb);
		if (!n)
			return 0;
		seen.bytes = READ(skb, data_len);
	}
	if (copier == COPIER_PULL && bytes != seen.bytes)
		return 0;
	dev = READ(skb, dev);
	bpf_get_stack(ctx, key.stack, sizeof(key.stack), 0);
	if (caller)
		insert_caller(key.stack, caller);
	key.asked = CLASSIFY_ASKED(copier, device_kinds(dev, skb));
	cause_key__set_device(&key.in, dev);
	known = bpf_map_lookup_elem(&copy_causes, &key);
	if (known)
		of = *known;
	else
		copy__classify(&key, dev, &of);
	is_local = (of.cause & ~CAUSE_BY_TAP) == CAUSE_LOCAL_DELIVERY;
	if (n) {
		n->counter = of.counter;
		if (is_local)
			uring_delivered(skb, n, of.cause & CAUSE_BY_TAP);
		return 0;
	}
	cause_counter__add_skbs(of.counter, &seen, 1);
	if (is_local)
		delivered(skb, &seen, &key.in, of.counter, of.cause & CAUSE_BY_TAP);
	else
		note__add_bits(&seen.send, of.counter);
	return 0;
}

/* The programs of a function that copies skb's data if `copies` is true. bytes: only of a pull. */
#define COPIER(name, function, copier, copies, bytes, ...)                                         \
	ON_ENTRY(name, function,                                                                   \
		 if (zerocopy_watched() && (copies)) copied(ctx, skb, copier, bytes, CALLER(ctx)), \
		 __VA_ARGS__)

COPIER(ubufs, "skb_copy_ubufs", COPIER_UBUFS, true, 0, struct sk_buff *skb)
/* With scatter-gather the segments share the pages: nothing is copied. */
COPIER(segment, "skb_segment", COPIER_SEGMENT, !(features & NETIF_F_SG), 0, struct sk_buff *skb,
       __u64 features)
/* Drivers pull the headers of nearly every skb: only a pull of all data is a copy. */
COPIER(pull, "__pskb_pull_tail", COPIER_PULL, true, (__u32)pulled, struct sk_buff *skb, int pulled)
COPIER(duplicate, "skb_copy", COPIER_DUPLICATE, true, 0, struct sk_buff *skb)

static __always_inline int cow(void *ctx, struct sk_buff **skb, __u64 caller)
{
	struct sk_buff *old = NULL;

	bpf_probe_read_kernel(&old, sizeof(old), skb);
	return old ? copied(ctx, old, COPIER_COW, 0, caller) : 0;
}

/* The verifier refuses to read an argument that is a pointer to a pointer. */
SEC("fentry/skb_pp_cow_data")
int cow_fentry(unsigned long long *ctx)
{
	__u64 skb = 0;

	return zerocopy_watched() && !bpf_get_func_arg(ctx, 1, &skb)
		       ? cow(ctx, (struct sk_buff **)skb, 0)
		       : 0;
}

SEC("kprobe/skb_pp_cow_data")
int BPF_KPROBE(cow_kprobe, void *pool, struct sk_buff **skb)
{
	return zerocopy_watched() ? cow(ctx, skb, CALLER(ctx)) : 0;
}
