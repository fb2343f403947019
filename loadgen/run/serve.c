/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <argp.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>

#include "common/capabilities.h"
#include "common/program.h"
#include "common/units.h"
#include "loadgen/options/help.h"
#include "loadgen/options/options.h"
#include "loadgen/receive/wire.h"
#include "loadgen/run/run.h"
#include "loadgen/system/listener.h"
#include "loadgen/system/log.h"

#define SESSION_BYTES	(64ULL << 40) /* one hour at more than 100 Gbit/s */
#define SESSION_SECONDS 3600
#define DESCRIPTORS_MIN 96 /* pending connections, and a session of a few connections */
/* Buffers of this size or larger are returned to the system when a session ends. */
#define RETURNED_MIN (64 << 10)

struct serve_options {
	struct load_options load; /* only its address and port are used */
	struct session_limits limits;
	const char *key;
	bool open;
};

enum { OPT_ADDRESS = 0x100, OPT_PORT, OPT_KEY, OPT_OPEN, OPT_BYTES, OPT_SECONDS };

static const struct argp_option options[] = {
	{"address", OPT_ADDRESS, "ADDR", 0,
	 "listen on this address (default 127.0.0.1; 0.0.0.0: any)", 0},
	{"port", OPT_PORT, "N", 0, "listen on this port (default 0: any free one)", 0},
	{"key", OPT_KEY, "FILE", 0, "serve only senders with the same key (16 bytes or more)", 0},
	{"open", OPT_OPEN, NULL, 0, "serve anyone who reaches the address", 0},
	{"session-bytes", OPT_BYTES, "B", 0, "bytes that one sender may send (default 65536G)", 0},
	{"session-seconds", OPT_SECONDS, "T", 0, "seconds that one sender may take (default 3600)",
	 0},
	{0},
};

static error_t parse_serve_option(int key, char *arg, struct argp_state *state)
{
	struct serve_options *o = state->input;
	char why[256];

	switch (key) {
	case OPT_ADDRESS:
	case OPT_PORT:
		if (!load_options__set(&o->load, key == OPT_PORT ? "port" : "address", arg, why,
				       sizeof(why)))
			return 0;
		return program__refuse(state, "%s", why);
	case OPT_KEY:
		o->key = arg;
		return 0;
	case OPT_OPEN:
		o->open = true;
		return 0;
	case OPT_BYTES:
		if (!units__size(arg, &o->limits.bytes) && o->limits.bytes)
			return 0;
		return program__refuse(state,
				       "--session-bytes %s: give a number above 0, such as 1M or "
				       "100G",
				       arg);
	case OPT_SECONDS:
		if (!units__duration(arg, &o->limits.seconds) && o->limits.seconds > 0)
			return 0;
		return program__refuse(
			state, "--session-seconds %s: give a number above 0, such as 60 or 0.5",
			arg);
	case ARGP_KEY_ARG:
		return program__refuse(state, "serve %s: not an option", arg);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp serve_argp = {
	.options = options,
	.parser = parse_serve_option,
	.doc = "Receive what loadgen or analyze sends with --peer, one sender at a time, until "
	       "interrupted.",
};

/* Requires a key beyond loopback: anyone who reaches the address could use this machine. */
static int check_address(const struct serve_options *o, const struct listener *l, struct failure *f)
{
	if (o->key || o->open || listener__is_loopback(l))
		return 0;
	return failure__set(f, STATUS_USAGE, -EACCES,
			    "--address %s is beyond loopback: give --key FILE, here and at the "
			    "senders, or --open to serve anyone",
			    o->load.load.address);
}

static int open_all(struct serve_options *o, struct listener *l, struct control *control,
		    struct key *key, struct failure *f)
{
	int err = o->key ? key__read(key, o->key, f) : 0;

	if (!err)
		err = raise_files("serve", DESCRIPTORS_MIN, "", f);
	if (!err)
		err = control__open(control, -1, f);
	control__catch_signals(control);
	if (!err)
		err = listener__open(l, &o->load.load, f);
	if (!err)
		err = check_address(o, l, f);
	return err ? err : capabilities__keep(NULL, 0, f);
}

int serve__main(int argc, char **argv)
{
	static struct control control;
	static struct key key;
	struct serve_options o = {.limits = {SESSION_BYTES, SESSION_SECONDS}};
	struct listener l = {.fd = -1};
	struct failure f = {0};
	char name[ADDRESS_NAME];
	int err;

	load_options__init(&o.load);
	argp_err_exit_status = STATUS_USAGE;
	help__check_options(&(struct help){.options = options}, argc, argv);
	if (argp_parse(&serve_argp, argc, argv, 0, NULL, &o))
		return STATUS_USAGE;
	if (open_all(&o, &l, &control, &key, &f)) {
		program__complain("%s", f.text);
		listener__close(&l);
		return f.status;
	}
	log__begin();
	mallopt(M_MMAP_THRESHOLD, RETURNED_MIN);
	listener__name(&l.address, name);
	printf("listening on %s\n", name);
	fflush(stdout);
	err = session__serve(l.fd, control.fd, &o.limits, &key);
	if (err)
		log__line("cannot serve: %s", strerror(-err));
	log__end();
	if (err || control__read(&control, &f) < 0)
		return STATUS_FAILED;
	program__die_by(control.signal);
	return STATUS_OK;
}
