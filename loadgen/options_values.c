/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the load's options mean. Pure: the words of a refusal go to the caller. */
#include <errno.h>
#include <netdb.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "loadgen/options_parts.h"
#include "loadgen/send_ops.h"
#include "loadgen/units.h"

#define RCVLOWAT_BULK_MIN (512u << 10)
#define RCVLOWAT_BULK_MAX (2u << 20)
#define RCVLOWAT_MAX	  (1u << 30) /* an int for the kernel */

int refusal__say(struct refusal *r, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(r->why, r->room, format, args);
	va_end(args);
	return -EINVAL;
}

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
		.load =
			{
				.fields = FIELDS_DEFAULT,
				.inflight = 32,
				.duration_s = 5,
				.warmup_s = 0.2,
				.pinning = PIN_AUTO,
				.address = "127.0.0.1",
				.seed = 1,
				.backlog = BACKLOG_DEFAULT,
			},
	};
}

int options__set_count(const char *option, const char *value, unsigned long long low,
		       unsigned long long high, unsigned long long *count, struct refusal *r)
{
	if (!units__count(value, count) && *count >= low && *count <= high)
		return 0;
	return refusal__say(r, "%s %s: give a whole number from %llu to %llu", option, value, low,
			    high);
}

static int set_unsigned(const char *option, const char *value, unsigned int low, unsigned int high,
			unsigned int *number, struct refusal *r)
{
	unsigned long long count;
	int err = options__set_count(option, value, low, high, &count, r);

	if (!err)
		*number = (unsigned int)count;
	return err;
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
	return set_unsigned("--threads", item, 1, THREADS_MAX, &o->threads[o->thread_count++], r);
}

typedef int (*add_fn)(struct load_options *o, const char *item, struct refusal *r);

/* A repeated option replaces the list, as any other option is replaced. */
static int set_list(struct load_options *o, const char *option, const char *value, add_fn add,
		    size_t *count, struct refusal *r)
{
	char item[UNITS_ITEM_MAX];
	const char *cursor = value;
	int more;

	*count = 0;
	while ((more = units__next(&cursor, item)) > 0) {
		int err;

		if (*count == LIST_MAX)
			return refusal__say(r, "%s %s: give at most %d elements", option, value,
					    LIST_MAX);
		err = add(o, item, r);
		if (err)
			return err;
	}
	return more ? refusal__say(r,
				   "%s %s: give elements with commas between, none of them empty",
				   option, value)
		    : 0;
}

static int set_variants(struct load_options *o, const char *value, struct refusal *r)
{
	bool every = !strcmp(value, "every");

	o->variants_given = true;
	o->every = every;
	if (strcmp(value, "all") && !every)
		return set_list(o, "--variant", value, add_variant, &o->variant_count, r);
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

static int set_address(struct load_options *o, const char *value, struct refusal *r)
{
	struct addrinfo hints = {.ai_flags = AI_NUMERICHOST, .ai_socktype = SOCK_STREAM};
	struct addrinfo *found;

	if (getaddrinfo(value, NULL, &hints, &found))
		return refusal__say(
			r, "--address %s: give an IPv4 or IPv6 address, such as 127.0.0.1 or ::1",
			value);
	freeaddrinfo(found);
	o->load.address = value;
	o->address_given = true;
	return 0;
}

static int set_netns(struct load_options *o, const char *value, struct refusal *r)
{
	if (!value[0] || value[0] == '.' || strchr(value, '/') || strlen(value) > 200)
		return refusal__say(r, "--netns %s: give a name that ip netns list shows", value);
	o->load.netns = value;
	return 0;
}

/* Options that belong to one workload; which is told only after the last. */
static void note_workload(struct load_options *o, int key)
{
	static const char *const of_messages[] = {
		[LOAD_VARIANT - LOAD_VARIANT] = "--variant",
		[LOAD_SIZE - LOAD_VARIANT] = "--size",
		[LOAD_FIELDS - LOAD_VARIANT] = "--fields",
		[LOAD_FIELD_SIZE - LOAD_VARIANT] = "--field-size",
		[LOAD_THREADS - LOAD_VARIANT] = "--threads",
		[LOAD_INFLIGHT - LOAD_VARIANT] = "--inflight",
		[LOAD_VERIFY - LOAD_VARIANT] = "--verify",
		[LOAD_RCVLOWAT - LOAD_VARIANT] = "--rcvlowat",
		[LOAD_WORKING_SET - LOAD_VARIANT] = "--working-set",
		[LOAD_PICK - LOAD_VARIANT] = "--pick",
		[LOAD_SEED - LOAD_VARIANT] = "--seed",
		[LOAD_ALIGN - LOAD_VARIANT] = "--align",
		[LOAD_HUGE_PAGES - LOAD_VARIANT] = "--huge-pages",
		[LOAD_REGISTERED - LOAD_VARIANT] = "--registered",
		[LOAD_REUSE_EARLY - LOAD_VARIANT] = "--reuse-early",
		[LOAD_FILE_DIR - LOAD_VARIANT] = "--file-dir",
		[LOAD_RATE - LOAD_VARIANT] = "--rate",
		[LOAD_SOCKET - LOAD_VARIANT] = "--socket",
		[LOAD_PEER - LOAD_VARIANT] = "--peer",
		[LOAD_KEYS_END - LOAD_VARIANT] = NULL,
	};

	if (of_messages[key - LOAD_VARIANT])
		o->stream_given = of_messages[key - LOAD_VARIANT];
}

int load_options__set(struct load_options *o, int key, const char *value, char *why, size_t room)
{
	struct refusal r = {why, room};
	struct load *l = &o->load;

	o->load_given |= key != LOAD_DURATION;
	note_workload(o, key);
	switch ((enum load_option_key)key) {
	case LOAD_VARIANT:
		return set_variants(o, value, &r);
	case LOAD_SIZE:
		o->sizes_given = true;
		return set_list(o, "--size", value, add_size, &o->size_count, &r);
	case LOAD_FIELDS:
		o->fields_given = true;
		return set_unsigned("--fields", value, 1, FIELDS_MAX, &l->fields, &r);
	case LOAD_FIELD_SIZE:
		return set_size("--field-size", value, 1, &o->field_size, &r);
	case LOAD_THREADS:
		o->threads_given = true;
		return set_list(o, "--threads", value, add_threads, &o->thread_count, &r);
	case LOAD_DURATION:
		o->duration_given = true;
		return set_seconds("--duration", value, false, &l->duration_s, &r);
	case LOAD_MESSAGES:
		return options__set_count("--messages", value, 1, 1ULL << 60, &l->messages, &r);
	case LOAD_WARMUP:
		return set_seconds("--warmup", value, true, &l->warmup_s, &r);
	case LOAD_INFLIGHT:
		return set_unsigned("--inflight", value, 1, INFLIGHT_MAX, &l->inflight, &r);
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
		return set_address(o, value, &r);
	case LOAD_PORT:
		o->port_given = true;
		return set_unsigned("--port", value, 0, 65535, &l->port, &r);
	case LOAD_NETNS:
		return set_netns(o, value, &r);
	case LOAD_PEER:
	case LOAD_LINK:
		return load_options__set_ends(o, key, value, why, room);
	case LOAD_WORKLOAD:
	case LOAD_SERVER_MODEL:
	case LOAD_CONNECTIONS:
	case LOAD_CLIENT_MODEL:
	case LOAD_BACKLOG:
		return load_options__set_serving(o, key, value, why, room);
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
	int err = load_options__resolve_serving(o, why, room);

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
	err = load_options__resolve_ends(o, why, room);
	return err ? err : options__resolve_sending(o, &r);
}

struct load load_options__cell(const struct load_options *o, size_t variant, size_t size,
			       size_t threads)
{
	struct load load = o->load;

	load.variant = o->variants[variant];
	load.message_bytes = o->sizes[size];
	load.threads = o->threads[threads];
	if (o->field_size)
		load.fields = (unsigned int)(load.message_bytes / o->field_size);
	load_options__fit(&load);
	return load;
}

size_t load_options__cells(const struct load_options *o)
{
	if (o->load.workload == WORKLOAD_PROCINFO)
		return o->model_count * o->connection_count;
	return o->variant_count * o->size_count * o->thread_count;
}

struct load load_options__nth(const struct load_options *o, size_t n)
{
	if (o->load.workload == WORKLOAD_PROCINFO)
		return load_options__serving_cell(o, n % o->model_count, n / o->model_count);
	return load_options__cell(o, n % o->variant_count, n / o->variant_count / o->thread_count,
				  n / o->variant_count % o->thread_count);
}

int load__rcvlowat(const struct load *load)
{
	const struct send_ops *ops = variants__find(load->variant);
	size_t bulk = 2 * load->message_bytes;
	size_t quarter = load->inflight * load->message_bytes / 4;

	if (load->rcvlowat)
		return (int)load->rcvlowat;
	if (load->workload == WORKLOAD_REQUEST)
		return 1; /* the last byte is what is waited for */
	if (bulk < RCVLOWAT_BULK_MIN)
		bulk = RCVLOWAT_BULK_MIN;
	if (bulk > RCVLOWAT_BULK_MAX)
		bulk = RCVLOWAT_BULK_MAX;
	if (ops && ops->flags & SEND_SHARES && quarter < bulk)
		bulk = quarter;
	return bulk ? (int)bulk : 1;
}
