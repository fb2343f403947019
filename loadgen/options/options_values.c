/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the load's options mean. Pure: the words of a refusal go to the caller. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "loadgen/options/options_parts.h"
#include "loadgen/send/send_ops.h"
#include "loadgen/system/units.h"

#define RCVLOWAT_MAX (1u << 30) /* an int for the kernel */

void load_options__init(struct load_options *o)
{
	*o = (struct load_options){
		.variants = {"zerocopy"},
		.variant_count = 1,
		.sizes = {16 << 10},
		.size_count = 1,
		.threads = {1},
		.thread_count = 1,
		.models = {"iterative"},
		.model_count = 1,
		.connections = {10, 50, 100},
		.connection_count = 3,
		.link_count = 1,
		.load =
			{
				.fields = FIELDS_DEFAULT,
				.duration_s = 5,
				.warmup_s = 0.2,
				.pinning = PIN_AUTO,
				.address = "127.0.0.1",
				.seed = 1,
				.backlog = BACKLOG_DEFAULT,
			},
	};
}

static int set_seconds(const char *option, const char *value, bool zero, double *seconds,
		       struct refusal *r)
{
	double s;

	if (units__duration(value, &s) || s > 1e6 || (!zero && s <= 0))
		return refusal__say(r, "%s %s: give a time%s, such as 10s, 0.5 or 200ms", option,
				    value, zero ? "" : " above 0");
	*seconds = s;
	return 0;
}

static int set_size(const char *option, const char *value, size_t low, size_t *size,
		    struct refusal *r)
{
	char least[UNITS_TEXT_MAX];

	if (!units__size(value, size) && *size >= low && *size <= MESSAGE_MAX)
		return 0;
	return refusal__say(r, "%s %s: give bytes from %s to 16M, such as 256, 4K or 1M", option,
			    value, units__size_text(low, least));
}

static int add_variant(struct load_options *o, const char *item, struct refusal *r)
{
	const struct send_ops *v = variants__find(item);
	char names[200];

	if (!v)
		return refusal__say(r, "--variant %s: unknown; there are %s, or all, or every",
				    item, variants__names(names, sizeof(names)));
	o->variants[o->variant_count++] = v->name;
	return 0;
}

static int add_size(struct load_options *o, const char *item, struct refusal *r)
{
	return set_size("--size", item, MESSAGE_MIN, &o->sizes[o->size_count++], r);
}

static int add_threads(struct load_options *o, const char *item, struct refusal *r)
{
	return options__set_unsigned("--threads", item, 1, THREADS_MAX,
				     &o->threads[o->thread_count++], r);
}

static int set_variants(struct load_options *o, const char *value, struct refusal *r)
{
	bool every = !strcmp(value, "every");

	o->variants_given = true;
	o->every = every;
	if (strcmp(value, "all") && !every)
		return options__set_list(o, "--variant", value, add_variant, &o->variant_count, r);
	o->variant_count = 0;
	/* What sends nothing is asked for by name. */
	for (size_t i = 0; i < send_variant_count && i < LIST_MAX; i++)
		if (send_variants[i]->flags & SEND_COURSE ||
		    (every && !(send_variants[i]->flags & SEND_NOTHING)))
			o->variants[o->variant_count++] = send_variants[i]->name;
	return 0;
}

static int set_pinning(struct load_options *o, const char *value, struct refusal *r)
{
	if (strcmp(value, "auto") && strcmp(value, "none"))
		return refusal__say(r, "--pin %s: give auto or none", value);
	o->load.pinning = strcmp(value, "auto") ? PIN_NONE : PIN_AUTO;
	return 0;
}

int load_options__set(struct load_options *o, int key, const char *value, char *why, size_t room)
{
	struct refusal r = {why, room};
	struct load *l = &o->load;

	o->load_given |= key != LOAD_DURATION;
	options__note(o, key);
	switch ((enum load_option_key)key) {
	case LOAD_VARIANT:
		return set_variants(o, value, &r);
	case LOAD_SIZE:
		o->sizes_given = true;
		return options__set_list(o, "--size", value, add_size, &o->size_count, &r);
	case LOAD_FIELDS:
		o->fields_given = true;
		return options__set_unsigned("--fields", value, 1, FIELDS_MAX, &l->fields, &r);
	case LOAD_FIELD_SIZE:
		return set_size("--field-size", value, 1, &o->field_size, &r);
	case LOAD_THREADS:
		o->threads_given = true;
		return options__set_list(o, "--threads", value, add_threads, &o->thread_count, &r);
	case LOAD_DURATION:
		o->duration_given = true;
		return set_seconds("--duration", value, false, &l->duration_s, &r);
	case LOAD_MESSAGES:
		return options__set_count("--messages", value, 1, 1ULL << 60, &l->messages, &r);
	case LOAD_WARMUP:
		return set_seconds("--warmup", value, true, &l->warmup_s, &r);
	case LOAD_INFLIGHT:
		return options__set_unsigned("--inflight", value, 1, INFLIGHT_MAX, &l->inflight,
					     &r);
	case LOAD_VERIFY:
		l->verify = true;
		return 0;
	case LOAD_RCVLOWAT:
		if (set_size("--rcvlowat", value, 1, &l->rcvlowat, &r))
			return -EINVAL;
		return l->rcvlowat > RCVLOWAT_MAX
			       ? refusal__say(&r, "--rcvlowat %s: give at most 1G", value)
			       : 0;
	case LOAD_PIN:
		return set_pinning(o, value, &r);
	case LOAD_ADDRESS:
	case LOAD_PORT:
	case LOAD_NETNS:
	case LOAD_PEER:
	case LOAD_LINK:
		return options__set_ends(o, key, value, &r);
	case LOAD_WORKLOAD:
	case LOAD_SERVER_MODEL:
	case LOAD_CONNECTIONS:
	case LOAD_CLIENT_MODEL:
	case LOAD_BACKLOG:
		return options__set_serving(o, key, value, &r);
	default:
		return options__set_sending(o, key, value, &r);
	}
}

/* size = fields x field-size: whichever two are given say the third. */
static int resolve_fields(struct load_options *o, struct refusal *r)
{
	size_t product = o->load.fields * o->field_size;

	if (!o->field_size)
		return 0;
	if (!o->sizes_given) {
		if (product < MESSAGE_MIN || product > MESSAGE_MAX)
			return refusal__say(
				r,
				"%u fields x --field-size %zu are %zu bytes: a message has "
				"64 to 16M, change --fields or --field-size",
				o->load.fields, o->field_size, product);
		o->sizes[0] = product;
		return 0;
	}
	for (size_t i = 0; i < o->size_count; i++) {
		size_t fields = o->sizes[i] / o->field_size;

		if (o->fields_given && o->sizes[i] != product)
			return refusal__say(
				r,
				"--size %zu is not --fields %u x --field-size %zu: leave one "
				"of the three out",
				o->sizes[i], o->load.fields, o->field_size);
		if (o->sizes[i] % o->field_size || fields > FIELDS_MAX)
			return refusal__say(r,
					    "--size %zu is not 1 to %d fields of --field-size %zu: "
					    "change one of them",
					    o->sizes[i], FIELDS_MAX, o->field_size);
	}
	return 0;
}

int load_options__resolve(struct load_options *o, char *why, size_t room)
{
	struct refusal r = {why, room};
	int err = options__check_workload(o, &r);

	if (!err)
		err = resolve_fields(o, &r);
	if (err)
		return err;
	for (size_t i = 0; i < o->size_count && !o->field_size; i++)
		if (o->load.fields > o->sizes[i])
			return refusal__say(
				&r,
				"--fields %u: more than the %zu bytes of a message, give at "
				"most --fields %zu",
				o->load.fields, o->sizes[i], o->sizes[i]);
	if (o->load.messages && o->duration_given)
		return refusal__say(
			&r, "--messages and --duration both say when to end: leave one out");
	err = options__resolve_ends(o, &r);
	if (!err && o->load.workload != WORKLOAD_PROCINFO)
		err = options__resolve_sending(o, &r);
	return err ? err : options__check_cells(o, &r);
}
