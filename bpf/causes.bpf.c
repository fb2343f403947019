// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What causes.bpf.h declares. */
#include "causes.bpf.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

__noinline int ubuf__set_bits(__u64 sock, __u32 born, __u32 id, __u32 bits)
{
	struct ubuf_key key = {.sock = sock, .born = born, .id = id};
	struct ubuf_entry *kept = ubuf__get(&key);
	volatile __u16 *slot;
	int i;

	if (!kept)
		return 0;
	for (i = 0; i < CAUSE_BITS_MAX; i++) {
		slot = &kept->causes.bits[i];
		if (!*slot)
			*slot = bits;
		if (*slot == (__u16)bits)
			return 0;
	}
	TOTALS_COUNT(lost_cause_bits);
	return 0;
}

__noinline __u32 cause_counter__index_of(__u32 cause, __u64 dev)
{
	struct cause_info info = {.key.cause = cause};

	cause_info__set_device(&info, (struct net_device *)dev);
	return cause_counter__find_index(&info);
}
