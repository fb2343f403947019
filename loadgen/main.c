/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common/capabilities.h"
#include "common/json.h"
#include "common/program.h"
#include "common/units.h"
#include "loadgen/options/help.h"
#include "loadgen/options/options.h"
#include "loadgen/run/control.h"
#include "loadgen/run/run.h"
#include "loadgen/send/send_ops.h"

enum { OPT_JSON = 0x100, OPT_CONTROL };

static const struct argp_option options[] = {
	{"json", OPT_JSON, "FILE", 0, "write the result as one line of JSON (- for stdout)",
	 HELP_MEASURING},
	{"control", OPT_CONTROL, "FD", OPTION_HIDDEN, "a driver's socket", HELP_MEASURING},
	{0},
};

static const struct help_topic topics[] = {
	HELP_TOPICS_OF_A_LOAD,
	{"all", ~0u, ""},
	{0},
};

static const struct help help = {
	.groups = HELP_BIT(HELP_LOAD) | HELP_BIT(HELP_MEASURING) | HELP_BIT(HELP_ABOUT),
	.topics = topics,
	.options = options,
	.usage = "Usage: %1$s [OPTION...]\n       %1$s serve [--address=ADDR] [--port=N]\n",
	.doc = "Send TCP messages to a receiver process, and time the sends.\v"
	       "Exit status: 0 done, 1 failed while running, 2 wrong usage, 3 this system cannot "
	       "do it.",
};

struct arguments {
	struct load_options load;
	const char *json; /* "-": standard output */
	int json_fd;
	int control; /* -1: no driver */
};

const char *argp_program_version = "loadgen " SENDPATH_VERSION;

/* Refuses lists of several elements, which make a grid: a run of loadgen is one load. */
static error_t check_single(const struct load_options *o, struct argp_state *state)
{
	const char *list = o->variants.count > 1  ? "--variant"
			   : o->sizes.count > 1	  ? "--size"
			   : o->threads.count > 1 ? "--threads"
			   : o->links.count > 1	  ? "--link"
			   : load_options__cells(o) > 1
				   ? (o->models.count > 1 ? "--server-model" : "--connections")
				   : NULL;

	return list ? program__refuse(state,
				      "%s (a list): loadgen runs one load, give one element; lists "
				      "are for analyze",
				      list)
		    : 0;
}

/* Returns whether the path is in /proc/self/fd, whose links only the kernel sets: /dev/stdout. */
static bool is_kernels(const char *path)
{
	char *copy = strdup(path), *folder = copy ? realpath(dirname(copy), NULL) : NULL;
	char *descriptors = realpath("/proc/self/fd", NULL);
	bool is = folder &&
		  (!strcmp(folder, "/dev") || (descriptors && !strcmp(folder, descriptors)));

	free(descriptors);
	free(folder);
	free(copy);
	return is;
}

/*
 * Opens the output. The last component may be a symbolic link of another user, so only the kernel's
 * own links are followed. Does not wait for the reader of a FIFO. Returns -errno on failure.
 */
static int open_output(const char *path, int flags)
{
	int fd, links = is_kernels(path) ? 0 : O_NOFOLLOW;

	/*
	 * Duplicates standard output: to reopen it would need the permission of sudo's caller, and
	 * the new descriptor would have its own offset.
	 */
	if (!strcmp(path, "-") || !strcmp(path, "/dev/stdout"))
		return STDOUT_FILENO;
	fd = open(path, flags | O_WRONLY | O_CLOEXEC | O_NONBLOCK | links, 0666);
	if (fd < 0)
		return -errno;
	fcntl(fd, F_SETFL, 0);
	return fd;
}

/*
 * Checks the output before the run, so that nothing is measured in vain. Keeps an existing file
 * until the result is written. A file that does not exist is created and removed again, so that no
 * empty file is left; json_fd is then negative.
 */
static error_t check_json(struct arguments *a, struct argp_state *state)
{
	int fd = a->json_fd = open_output(a->json, 0);

	if (fd == -ENOENT) {
		fd = open_output(a->json, O_CREAT | O_EXCL);
		if (fd >= 0) {
			close(fd);
			unlink(a->json);
		}
	}
	if (fd >= 0)
		return 0;
	return program__refuse(state, "--json %s: %s", a->json,
			       fd == -ELOOP ? "it is a symbolic link; remove it, or choose another "
					      "name"
			       : fd == -ENXIO ? "nobody reads from it: start its reader first"
					      : strerror(-fd));
}

static error_t parse_word(int key, char *arg, struct argp_state *state)
{
	struct arguments *a = state->input;
	unsigned long long fd;
	error_t err;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->load;
		state->child_inputs[1] = (void *)&help;
		a->control = a->json_fd = -1;
		return 0;
	case OPT_JSON:
		a->json = arg;
		return 0;
	case OPT_CONTROL:
		if (units__count(arg, &fd) || fd > 1u << 20)
			return program__refuse(state, "--control %s: give an open socket's number",
					       arg);
		a->control = (int)fd;
		return 0;
	case ARGP_KEY_ARG:
		return program__refuse(state, "%s: not an option; --help=all lists them", arg);
	case ARGP_KEY_SUCCESS:
		err = check_single(&a->load, state);
		return err || !a->json ? err : check_json(a, state);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {
	{&load_argp, 0, NULL, 0}, {&help_argp, 0, NULL, 0}, {0}};

static const struct argp loadgen_argp = {
	.options = options,
	.parser = parse_word,
	.children = children,
};

/* Empties the file. Keeps standard output, which may be shared and contain other text. */
static int truncate_output(int fd)
{
	return fd != STDOUT_FILENO && ftruncate(fd, 0) && errno != EINVAL ? -errno : 0;
}

/* Writes the result. On failure, removes what was written, and a file that this process created. */
static int write_json(struct arguments *a, const char *line, struct failure *f)
{
	bool fresh = a->json_fd < 0;
	int err;

	if (fresh)
		a->json_fd = open_output(a->json, O_CREAT);
	err = a->json_fd < 0 ? a->json_fd : truncate_output(a->json_fd);
	if (!err)
		err = program__write_all(a->json_fd, line, strlen(line));
	if (err && a->json_fd >= 0 && !truncate_output(a->json_fd) && fresh)
		unlink(a->json);
	return failure__set(f, STATUS_FAILED, err, "--json %s: %m", a->json);
}

static int report(struct arguments *a, struct control *control, const struct result *r,
		  struct failure *f)
{
	struct json_object *o = result__json(r);
	char *line = o ? json__line(o) : NULL;
	int err = line ? 0 : -ENOMEM;

	if (err)
		failure__set(f, STATUS_FAILED, err, "out of memory for the result");
	if (!err && a->json)
		err = write_json(a, line, f);
	if (!err)
		err = control__send(control, CONTROL_RESULT, line, f);
	free(line);
	if (a->control < 0 && (!a->json || strcmp(a->json, "-")))
		r->ops->print(r);
	return err;
}

/* Reports the failure, to the driver or on stderr. */
static int conclude(const struct arguments *a, struct control *control, const struct failure *f)
{
	struct failure ignored = {0};

	if (f->status && a->control < 0) {
		program__complain("%s", f->text);
	} else if (f->status) {
		control->message.status = f->status;
		control__send(control, CONTROL_ERROR, f->text, &ignored);
	}
	return f->status;
}

/* Keeps only the capabilities that this load needs. */
static int give_up_privilege(const struct load *load, bool writes, struct failure *f)
{
	const struct socket_options *o = &load->socket;
	bool namespaces = load->netns || load->link == OVER_VETH;
	const struct {
		cap_value_t value;
		bool needed;
	} rows[] = {
		{CAP_IPC_LOCK, true}, /* zero-copy may pin as much as a root program */
		{CAP_SYS_ADMIN, namespaces},
		{CAP_NET_ADMIN, namespaces || o->sndbuf || o->rcvbuf || o->congestion[0]},
		{CAP_NET_RAW, o->device[0]},
		{CAP_NET_BIND_SERVICE, load->port && load->port < 1024},
		{CAP_DAC_OVERRIDE, load->file_dir || load->key || writes},
	};
	cap_value_t kept[sizeof(rows) / sizeof(rows[0])];
	int count = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].needed)
			kept[count++] = rows[i].value;
	return capabilities__keep(kept, count, f);
}

static int run_load(struct arguments *a, struct control *control, struct failure *f)
{
	static struct result r; /* too large for a stack */
	struct load load = load_options__nth(&a->load, 0);
	char why[256];

	if (!give_up_privilege(&load, a->json, f) && load.variant &&
	    variants__probe(load.variant, why, sizeof(why)))
		failure__set(f, STATUS_SYSTEM, -EOPNOTSUPP, "%s", why);
	else if (!f->status && !run__execute(&load, control, &r, f) && !report(a, control, &r, f)) {
		if (control->driven) /* the result contains the failure, and the driver has it */
			return r.failure.status;
		failure__adopt(f, &r.failure);
	}
	return conclude(a, control, f);
}

/* If a signal ended the run, this process ends by the same signal, so that a shell sees it. */
int main(int argc, char **argv)
{
	static struct control control;
	struct arguments a = {0};
	struct failure f = {0};
	int status;

	program__begin();
	if (argc > 1 && !strcmp(argv[1], "serve"))
		return serve__main(argc - 1, argv + 1);
	argp_err_exit_status = STATUS_USAGE;
	help__check_options(&help, argc, argv);
	if (argp_parse(&loadgen_argp, argc, argv, ARGP_NO_HELP, NULL, &a))
		return STATUS_USAGE;
	if (control__open(&control, a.control, &f)) {
		program__complain("%s", f.text);
		return f.status;
	}
	status = run_load(&a, &control, &f);
	if (control.signal)
		program__die_by(control.signal);
	return status;
}
