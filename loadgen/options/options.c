/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "common/program.h"
#include "common/units.h"
#include "loadgen/options/help.h"
#include "loadgen/options/rows.h"
#include "loadgen/send/send_ops.h"
#include "loadgen/system/link.h"

#define FIRST_KEY 0x4c00

/* The default of --inflight: as many messages as fit in these bytes, within these bounds. */
#define INFLIGHT_BYTES (1u << 20)
#define INFLIGHT_FEW   32u
#define INFLIGHT_MANY  1024u

int refuse(struct refusal *r, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(r->why, r->room, format, args);
	va_end(args);
	return -EINVAL;
}

const void *row__value(const struct load_row *row, const struct load *load)
{
	return (const char *)load + row->at;
}

static int set_count(const struct load_row *row, const char *value, unsigned long long *count,
		     struct refusal *r)
{
	if (!units__count(value, count) && *count >= row->low && *count <= row->high)
		return 0;
	return refuse_value(r, "give a whole number from %llu to %llu", row->low, row->high);
}

static int set_bytes(const struct load_row *row, const char *value, size_t *size, struct refusal *r)
{
	if (units__size(value, size) || *size < row->low || *size > row->high)
		return refuse_value(r, "give bytes from %s to %s, such as %s",
				    units__size_text(row->low), units__size_text(row->high),
				    row->such);
	if (row->power_of_two && *size & (*size - 1))
		return refuse_value(r, "give a power of two, such as 64 or 4K");
	return 0;
}

#define SECONDS_MAX 1e6

static int set_seconds(const struct load_row *row, const char *value, double *seconds,
		       struct refusal *r)
{
	double s;

	if (units__duration(value, &s))
		return refuse_value(r,
				    "give a time in us, ms, s, m or h, such as 10s, 0.5 or 200ms");
	if (s > SECONDS_MAX)
		return refuse_value(r, "give a time of at most %g s", SECONDS_MAX);
	if (s * 1e6 < (double)row->low)
		return refuse_value(r, "give a time %s",
				    row->low > 1
					    ? units__text("of %g s or more", (double)row->low / 1e6)
					    : "above 0");
	*seconds = s;
	return 0;
}

static int set_word(const struct load_row *row, const char *value, unsigned int *word,
		    struct refusal *r)
{
	char names[ROW_TEXT_MAX] = "";
	size_t used = 0;

	for (unsigned int i = 0; row->words[i]; i++) {
		if (!strcmp(row->words[i], value)) {
			*word = i;
			return 0;
		}
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
					 !i		     ? ""
					 : row->words[i + 1] ? ", "
							     : " or ",
					 row->words[i]);
	}
	return refuse_value(r, "give %s", names);
}

static int set_name(const char *value, char to[SOCKET_NAME], struct refusal *r)
{
	if (!value[0] || strlen(value) >= SOCKET_NAME || strchr(value, '/'))
		return refuse_value(r, "give a name of 1 to %d letters", SOCKET_NAME - 1);
	strcpy(to, value);
	return 0;
}

int row__set(const struct load_row *row, void *all, const char *value, struct refusal *r)
{
	void *to = (char *)all + row->at;
	unsigned long long count;

	if (row->set)
		return row->set(all, value, r);
	switch (row->type) {
	case ROW_FLAG:
		*(bool *)to = true;
		return 0;
	case ROW_UNSIGNED:
		if (set_count(row, value, &count, r))
			return -EINVAL;
		*(unsigned int *)to = (unsigned int)count;
		return 0;
	case ROW_COUNT:
		return set_count(row, value, to, r);
	case ROW_BYTES:
		return set_bytes(row, value, to, r);
	case ROW_SECONDS:
		return set_seconds(row, value, to, r);
	case ROW_WORD:
		return set_word(row, value, to, r);
	case ROW_NAME:
		return set_name(value, to, r);
	default:
		*(const char **)to = value;
		return 0;
	}
}

int row__each(const char *value, struct refusal *r,
	      int (*add)(void *to, const char *item, struct refusal *r), void *to)
{
	char item[UNITS_ITEM_MAX];
	int more, err;

	for (const char *cursor = value; (more = units__next(&cursor, item)) > 0;) {
		r->value = item;
		err = add(to, item, r);
		if (err)
			return err;
	}
	r->value = value;
	return more ? refuse_value(r, "separate elements by single commas") : 0;
}

/* The rows and the headers of their groups. */
static struct argp_option options[OPTIONS_MAX + HELP_DETAILS];

static const struct load_row *find_row(const char *name)
{
	const struct load_row *row = load_rows;

	while (row->name && strcmp(row->name, name))
		row++;
	return row->name ? row : NULL;
}

bool load_options__given(const struct load_options *o, const char *name)
{
	return o->given[find_row(name) - load_rows];
}

/* Returns the size of one element of a list. */
static size_t size_of(const struct load_row *row)
{
	return row->type == ROW_BYTES  ? sizeof(size_t)
	       : row->type == ROW_TEXT ? sizeof(char *)
				       : sizeof(unsigned int);
}

/* Reads a list: the row's parser writes each element to load, which is then copied to list. */
struct list_parser {
	const struct load_row *row;
	struct load load;
	LOAD_LIST(unsigned long long) * list;
};

static int append_element(void *to, const char *item, struct refusal *r)
{
	struct list_parser *a = to;
	size_t size = size_of(a->row);
	int err;

	if (a->list->count == LIST_MAX)
		return -E2BIG;
	err = row__set(a->row, &a->load, item, r);
	memcpy((char *)a->list->of + a->list->count++ * size, row__value(a->row, &a->load), size);
	return err;
}

/* Sets an option. A repeated option replaces the earlier list, like any other option. */
static int set_option(struct load_options *o, const struct load_row *row, const char *value,
		      struct refusal *r)
{
	struct list_parser a = {.row = row, .list = (void *)((char *)o + row->list)};
	int err;

	r->option = row->name;
	r->value = value;
	if (!row->list)
		return row__set(row, &o->load, value, r);
	if (row->all && row->all(o, value))
		return 0;
	a.list->count = 0;
	err = row__each(value, r, append_element, &a);
	r->value = value;
	return err == -E2BIG ? refuse_value(r, "give at most %d elements", LIST_MAX) : err;
}

void load_options__init(struct load_options *o)
{
	struct refusal r = {.room = 0};

	*o = (struct load_options){};
	for (const struct load_row *row = load_rows; row->name; row++)
		if (row->usual)
			set_option(o, row, row->usual, &r);
}

int load_options__set(struct load_options *o, const char *name, const char *value, char *why,
		      size_t room)
{
	const struct load_row *row = find_row(name);
	struct refusal r = {.why = why, .room = room};

	o->load_given |= !!strcmp(name, "duration");
	o->given[row - load_rows] = true;
	if (row->of == OF_MESSAGES)
		o->stream_given = row->name;
	if (row->of == OF_CONNECTIONS)
		o->procinfo_given = row->name;
	return set_option(o, row, value, &r);
}

/* Options whose values are compared. Consecutive configurations differ in these first. */
static const char *const varied[] = {"variant", "server-model", "connections",
				     "threads", "size",		"link"};

/*
 * Copies the values of a configuration from the lists into a load, and returns the number of
 * configurations.
 */
static size_t fill_configuration(const struct load_options *o, size_t n, struct load *load)
{
	enum row_of others = load->workload == WORKLOAD_PROCINFO ? OF_MESSAGES : OF_CONNECTIONS;
	size_t cells = 1;

	for (size_t i = 0; i < sizeof(varied) / sizeof(varied[0]); i++) {
		const struct load_row *row = find_row(varied[i]);
		const LOAD_LIST(unsigned long long) *list = (void *)((char *)o + row->list);
		size_t size = size_of(row);

		if (row->of == others)
			continue;
		if (!list->count)
			return 0;
		memcpy((char *)load + row->at,
		       (const char *)list->of + n / cells % list->count * size, size);
		cells *= list->count;
	}
	return cells;
}

/* Returns the default: a bound on bytes, so that small messages need not wait for ACKs. */
static unsigned int default_inflight(size_t message_bytes)
{
	size_t messages = INFLIGHT_BYTES / message_bytes;

	if (messages < INFLIGHT_FEW)
		return INFLIGHT_FEW;
	return messages < INFLIGHT_MANY ? (unsigned int)messages : INFLIGHT_MANY;
}

/* Removes the options that this variant of a list does not use. */
static void clear_unused(struct load *load)
{
	unsigned int flags = variants__find(load->variant)->flags;

	load->huge_pages &= !(flags & SEND_NO_FIELDS);
	load->registered &= !!(flags & SEND_REGISTERS);
	load->reuse_early &= !!(flags & SEND_SHARES);
	if (flags & SEND_FILE)
		load->fields = 1;
	else
		load->file_dir = NULL;
}

struct load load_options__nth(const struct load_options *o, size_t n)
{
	struct load load = o->load;

	fill_configuration(o, n, &load);
	if (load.link)
		load.address = LINK_RECEIVER;
	if (load.workload == WORKLOAD_PROCINFO) {
		if (!load_options__given(o, "client-model") &&
		    load.connections > CONNECTIONS_THREAD)
			load.client_model = CLIENT_EPOLL;
		return load;
	}
	if (load.field_size)
		load.fields = (unsigned int)(load.message_bytes / load.field_size);
	load.field_size = 0;
	if (!load.inflight)
		load.inflight = default_inflight(load.message_bytes);
	clear_unused(&load);
	return load;
}

size_t load_options__cells(const struct load_options *o)
{
	struct load any = o->load;

	return fill_configuration(o, 0, &any);
}

size_t load_options__compared(const struct load_options *o)
{
	return o->load.workload == WORKLOAD_PROCINFO ? o->models.count : o->variants.count;
}

int load_options__keep_available(struct load_options *o, void (*skip)(const char *why), char *why,
				 size_t room)
{
	size_t kept = 0;

	if (o->load.workload == WORKLOAD_PROCINFO)
		return 0;
	for (size_t i = 0; i < o->variants.count; i++) {
		struct load load = load_options__nth(o, i);
		int err = load__impossible(&load, why, room)
				  ? -EINVAL
				  : variants__probe(load.variant, why, room);

		if (err && !o->every)
			return err;
		if (err)
			skip(why);
		else
			o->variants.of[kept++] = load.variant;
	}
	o->variants.count = kept;
	return 0;
}

static error_t parse_load_option(int key, char *arg, struct argp_state *state)
{
	struct load_options *o = state->input;
	char why[256];
	int err;

	if (key == ARGP_KEY_INIT)
		load_options__init(o);
	if (key == ARGP_KEY_SUCCESS)
		err = load_options__resolve(o, why, sizeof(why));
	else if (key >= FIRST_KEY && key < FIRST_KEY + OPTIONS_MAX)
		err = load_options__set(o, load_rows[key - FIRST_KEY].name, arg, why, sizeof(why));
	else
		return key == ARGP_KEY_INIT ? 0 : ARGP_ERR_UNKNOWN;
	/* Not argp_error(), which would add a second line that only says to try --help. */
	return err ? program__refuse(state, "%s", why) : 0;
}

/* Fills argp's own array before main(), which passes it to argp. */
__attribute__((constructor)) static void fill_options(void)
{
	static const char *const headers[] = {
		[HELP_LOAD] = "The load:",
		[HELP_MESSAGES] = "Its messages:",
		[HELP_ENDS] = "The two ends:",
		[HELP_SERVING] = "Many short connections:",
	};
	struct argp_option *to = options;

	for (int group = HELP_LOAD; group <= HELP_SERVING; group++)
		*to++ = (struct argp_option){.doc = headers[group], .group = group};
	for (const struct load_row *row = load_rows; row->name; row++)
		*to++ = (struct argp_option){row->name, FIRST_KEY + (int)(row - load_rows),
					     row->arg,	0,
					     row->help, row->group};
}

const struct argp load_argp = {.options = options, .parser = parse_load_option};
