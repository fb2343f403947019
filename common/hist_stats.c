// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "common/hist_stats.h"
#include "common/json.h"

void hist__merge(struct hist *to, const struct hist *from)
{
	if (!from->count)
		return;
	if (!to->count || from->min < to->min)
		to->min = from->min;
	if (from->max > to->max)
		to->max = from->max;
	to->count += from->count;
	to->sum += from->sum;
	for (__u32 i = 0; i < HIST_BUCKETS; i++)
		to->buckets[i] += from->buckets[i];
}

__u64 hist__high(const struct hist *h, __u32 i)
{
	__u64 low = hist_low(i + 1), high = low - 1;

	return low == HIST_LIMIT && h->max > high ? h->max : high;
}

void hist__settle(struct hist *h)
{
	__u32 low = 0, high = 0;

	h->count = 0;
	for (__u32 i = 0; i < HIST_BUCKETS; i++) {
		if (!h->buckets[i])
			continue;
		if (!h->count)
			low = i;
		high = i;
		h->count += h->buckets[i];
	}
	if (!h->count)
		return;
	if (h->min < hist_low(low) || h->min > hist__high(h, low))
		h->min = hist_low(low);
	if (h->max < hist_low(high))
		h->max = hist__high(h, high);
}

__u64 hist__percentile(const struct hist *h, unsigned int per_mille)
{
	__u64 rank = h->count / 1000 * per_mille + (h->count % 1000 * per_mille + 999) / 1000;
	__u64 seen = 0, high = h->max;

	for (__u32 i = 0; i < HIST_BUCKETS && !(seen && seen >= rank); i++) {
		seen += h->buckets[i];
		high = hist__high(h, i);
	}
	return high < h->max ? high : h->max;
}

static struct json_object *bucket_list(const struct hist *h)
{
	struct json_object *list = json_object_new_array(), *bucket;

	for (__u32 i = 0; list && i < HIST_BUCKETS; i++) {
		if (!h->buckets[i])
			continue;
		bucket = json_object_new_array_ext(3);
		json_object_array_add(bucket, json_object_new_uint64(hist_low(i)));
		json_object_array_add(bucket, json_object_new_uint64(hist__high(h, i)));
		json_object_array_add(bucket, json_object_new_uint64(h->buckets[i]));
		json_object_array_add(list, bucket);
	}
	return list;
}

struct json_object *hist__json(const struct hist *h, const char *span)
{
	struct json_object *o = json_object_new_object();

	json__add_text(o, "span", span);
	json__add_count(o, "count", h->count);
	json__add_count(o, "sum", h->sum);
	json__add_known(o, "min", h->count, h->min);
	json__add_known(o, "max", h->count, h->max);
	json__add_known(o, "p50", h->count, hist__percentile(h, 500));
	json__add_known(o, "p90", h->count, hist__percentile(h, 900));
	json__add_known(o, "p99", h->count, hist__percentile(h, 990));
	json__add_known(o, "p999", h->count, hist__percentile(h, 999));
	json__add(o, "buckets", bucket_list(h));
	return o;
}
