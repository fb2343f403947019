// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/kernel/facts.h"

static void fact_function(const void *f, const char *name, struct kernel_function *out)
{
	features__function(f, name, out);
}

static bool fact_code(const void *f, const char *name)
{
	struct address_range range;

	return features__code(f, name, &range);
}

static int fact_tracepoint(const void *f, const char *name)
{
	return features__tracepoint_args(f, name);
}

static bool fact_type(const void *f, const char *name)
{
	return features__type(f, name);
}

static const char *fact_refused(const void *f, enum mechanism m)
{
	return features__refused(f, m);
}

static bool fact_preempts(const void *f)
{
	return features__preempts(f);
}

static bool fact_graph(const void *f)
{
	return features__graph_probes(f);
}

struct kernel_facts facts__of(const struct features *features)
{
	return (struct kernel_facts){features,	fact_function, fact_code,     fact_tracepoint,
				     fact_type, fact_refused,  fact_preempts, fact_graph};
}
