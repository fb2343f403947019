// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Times of completions and of reading error queues, and what zero-copy sends had pinned. */
#include "user/trace/tracer_private.h"

#include "common/hist_stats.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <stdlib.h>

static int read_spans(struct tracer *t, struct measured *out, struct hist *values, int cpus)
{
	__u32 span;
	int cpu, err;

	for (span = 0; span < SPANS; span++) {
		err = bpf_map__lookup_elem(t->skel->maps.spans, &span, sizeof(span), values,
					   sizeof(*values) * (size_t)cpus, 0);
		if (err)
			return err;
		for (cpu = 0; cpu < cpus; cpu++) {
			measured__mend(&values[cpu]);
			hist__merge(&out->spans[span], &values[cpu]);
		}
	}
	return 0;
}

static int read_pinned(struct tracer *t, struct measured *out, struct pinned_peak *peaks, int cpus)
{
	__u32 zero = 0;
	int cpu, err;

	err = bpf_map__lookup_elem(t->skel->maps.pinned, &zero, sizeof(zero), &out->pinned,
				   sizeof(out->pinned), 0);
	if (!err)
		err = bpf_map__lookup_elem(t->skel->maps.pinned_peaks, &zero, sizeof(zero), peaks,
					   sizeof(*peaks) * (size_t)cpus, 0);
	for (cpu = 0; cpu < cpus && !err; cpu++) {
		if (peaks[cpu].bytes > out->peak.bytes)
			out->peak.bytes = peaks[cpu].bytes;
		if (peaks[cpu].pages > out->peak.pages)
			out->peak.pages = peaks[cpu].pages;
	}
	return err;
}

int collect__inflight(struct tracer *t, struct measured *out, int cpus)
{
	void *buffer = malloc(sizeof(struct hist) * (size_t)cpus);
	int err;

	if (!buffer)
		return -ENOMEM;
	err = read_spans(t, out, buffer, cpus);
	if (!err)
		err = read_pinned(t, out, buffer, cpus);
	free(buffer);
	return err;
}
