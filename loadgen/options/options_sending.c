/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the options mean that say from what memory, when, and on what socket is sent. Pure. */
#include <stdint.h>
#include <string.h>

#include "loadgen/data/dataset.h"
#include "loadgen/options/options_parts.h"
#include "loadgen/send/send_ops.h"
#include "loadgen/system/units.h"

static int set_bytes(const char *option, const char *value, size_t low, size_t high, size_t *size,
		     struct refusal *r)
{
	char least[UNITS_TEXT_MAX], most[UNITS_TEXT_MAX];

	if (!units__size(value, size) && *size >= low && *size <= high)
		return 0;
	return refusal__say(r, "%s %s: give bytes from %s to %s, such as 4K or 1M", option, value,
			    units__size_text(low, least), units__size_text(high, most));
}

static int set_align(struct load *l, const char *value, struct refusal *r)
{
	int err = set_bytes("--align", value, 16, ALIGN_MAX, &l->align, r);

	if (err || !(l->align & (l->align - 1)))
		return err;
	return refusal__say(r, "--align %s: give a power of two, such as 64 or 4K", value);
}

static int set_pick(struct load *l, const char *value, struct refusal *r)
{
	if (strcmp(value, "order") && strcmp(value, "random"))
		return refusal__say(r, "--pick %s: give order or random", value);
	l->pick = strcmp(value, "order") ? PICK_RANDOM : PICK_ORDER;
	return 0;
}

static int set_name(const char *value, const char *name, char to[SOCKET_NAME], struct refusal *r)
{
	if (!name[0] || strlen(name) >= SOCKET_NAME || strchr(name, '/'))
		return refusal__say(r, "--socket %s: give a name of 1 to %d letters", value,
				    SOCKET_NAME - 1);
	strcpy(to, name);
	return 0;
}

static int set_buffer(const char *item, const char *value, size_t *size, struct refusal *r)
{
	if (!units__size(value, size) && *size >= 1 && *size <= 1u << 30)
		return 0;
	return refusal__say(r, "--socket %s: give bytes from 1 to 1G, such as 256K", item);
}

/* One element: WORD, or WORD=VALUE. */
static int set_socket_option(struct socket_options *s, const char *item, struct refusal *r)
{
	const char *sign = strchr(item, '=');
	size_t length = sign ? (size_t)(sign - item) : strlen(item);
	const char *value = sign ? sign + 1 : "";

#define is(word) (length == strlen(word) && !strncmp(item, word, length))
	if (is("nodelay") && !sign)
		s->nodelay = true;
	else if (is("more") && !sign)
		s->more = true;
	else if (is("sndbuf") && sign)
		return set_buffer(item, value, &s->sndbuf, r);
	else if (is("rcvbuf") && sign)
		return set_buffer(item, value, &s->rcvbuf, r);
	else if (is("congestion") && sign)
		return set_name(item, value, s->congestion, r);
	else if (is("device") && sign)
		return set_name(item, value, s->device, r);
	else
		return refusal__say(r,
				    "--socket %s: give nodelay, more, sndbuf=B, rcvbuf=B, "
				    "congestion=NAME or device=NAME, with commas between",
				    item);
#undef is
	return 0;
}

static int set_socket(struct load *l, const char *value, struct refusal *r)
{
	char item[UNITS_ITEM_MAX];
	const char *cursor = value;
	int more;

	l->socket = (struct socket_options){0};
	while ((more = units__next(&cursor, item)) > 0) {
		int err = set_socket_option(&l->socket, item, r);

		if (err)
			return err;
	}
	return more ? refusal__say(r,
				   "--socket %s: give elements with commas between, none of them "
				   "empty",
				   value)
		    : 0;
}

int options__set_sending(struct load_options *o, int key, const char *value, struct refusal *r)
{
	struct load *l = &o->load;

	switch ((enum load_option_key)key) {
	case LOAD_WORKING_SET:
		return set_bytes("--working-set", value, MESSAGE_MIN, WORKING_SET_MAX,
				 &l->working_set, r);
	case LOAD_PICK:
		return set_pick(l, value, r);
	case LOAD_SEED:
		return options__set_count("--seed", value, 0, INT64_MAX, &l->seed, r);
	case LOAD_ALIGN:
		return set_align(l, value, r);
	case LOAD_HUGE_PAGES:
		l->huge_pages = true;
		return 0;
	case LOAD_REGISTERED:
		l->registered = true;
		return 0;
	case LOAD_REUSE_EARLY:
		l->reuse_early = true;
		return 0;
	case LOAD_FILE_DIR:
		l->file_dir = value;
		return 0;
	case LOAD_RATE:
		return options__set_count("--rate", value, 1, RATE_MAX, &l->rate, r);
	case LOAD_SOCKET:
		return set_socket(l, value, r);
	default:
		return refusal__say(r, "unknown option key %d", key);
	}
}

/* Does any of the variants have this flag? */
static bool any(const struct load_options *o, unsigned int flag)
{
	for (size_t i = 0; i < o->variant_count; i++)
		if (variants__find(o->variants[i])->flags & flag)
			return true;
	return false;
}

static int resolve_working_set(const struct load_options *o, struct refusal *r)
{
	const struct load *l = &o->load;

	if (!l->working_set)
		return l->pick == PICK_RANDOM
			       ? refusal__say(r, "--pick random: from what? give --working-set too")
			       : 0;
	for (size_t i = 0; i < o->size_count * o->variant_count; i++) {
		struct load cell =
			load_options__cell(o, i % o->variant_count, i / o->variant_count, 0);

		if (dataset__picker(&cell).count < load__fields(&cell))
			return refusal__say(r,
					    "--working-set %zu: does not hold the fields of one "
					    "message of --size %zu, give more",
					    l->working_set, cell.message_bytes);
	}
	return l->reuse_early
		       ? refusal__say(r,
				      "--reuse-early: a --working-set is never written to, leave "
				      "one of them out")
		       : 0;
}

int options__resolve_sending(const struct load_options *o, struct refusal *r)
{
	const struct load *l = &o->load;

	if (l->reuse_early && !l->verify)
		return refusal__say(r, "--reuse-early: give --verify too, to see what it does");
	if (l->reuse_early && !any(o, SEND_SHARES))
		return refusal__say(r,
				    "--reuse-early: --variant %s leaves the kernel no memory to "
				    "send from later, choose zerocopy or its like",
				    o->variants[0]);
	if (l->registered && !any(o, SEND_REGISTERS))
		return refusal__say(r, "--registered: only --variant uring_zc has registered "
				       "buffers, leave it out");
	if (l->registered && l->working_set)
		return refusal__say(r, "--registered: messages then have memory of their own, "
				       "leave out --working-set");
	if (l->file_dir && !any(o, SEND_FILE))
		return refusal__say(r, "--file-dir %s: only --variant sendfile sends from a file",
				    l->file_dir);
	if (l->socket.more && any(o, SEND_FLAGLESS))
		return refusal__say(r, "--socket more: write, writev and sendfile take no flags, "
				       "leave out more, or them");
	return resolve_working_set(o, r);
}
