// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A thread that is not its process's first execs, and so takes that one's id:
 *
 *   execs --port P [--sends N]     sends once by such a thread, which execs; says which
 *	id it had and which it has, as one JSON object; at a line on its standard input
 *	sends N times more (10) and ends
 */
#include "common.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>

struct config {
	unsigned short port;
	unsigned long sends;
	int fd;	   /* of the connection, and */
	pid_t was; /* the id that the thread had, after it did exec */
};

static struct config config = {.sends = 10};

static void send_some(unsigned long sends)
{
	while (sends--)
		if (send(config.fd, "execs", 5, 0) != 5)
			die("send");
}

static void *begin(void *argument)
{
	char fd[16], was[16], sends[32];

	(void)argument;
	send_some(1);
	snprintf(fd, sizeof(fd), "%d", config.fd);
	snprintf(was, sizeof(was), "%d", (int)syscall(SYS_gettid));
	snprintf(sends, sizeof(sends), "%lu", config.sends);
	execl("/proc/self/exe", "execs", "--fd", fd, "--was", was, "--sends", sends, (char *)NULL);
	die("exec");
	return NULL;
}

static int begin_by_thread(void)
{
	struct sockaddr_storage to;
	socklen_t length = endpoint("127.0.0.1", config.port, &to);
	pthread_t thread;

	config.fd = socket(AF_INET, SOCK_STREAM, 0);
	if (config.fd < 0 || connect(config.fd, (struct sockaddr *)&to, length))
		die("connect");
	if (pthread_create(&thread, NULL, begin, NULL))
		die("thread");
	pthread_join(thread, NULL);
	return 1;
}

static int end_after_exec(void)
{
	char line[16];

	printf("{\"was\": %d, \"is\": %d}\n", (int)config.was, (int)syscall(SYS_gettid));
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		die("standard input");
	send_some(config.sends);
	return 0;
}

static const struct argp_option list[] = {
	{"port", 'p', "PORT", 0, "to connect to", 0},
	{"sends", 'n', "N", 0, "after exec (10)", 0},
	{"fd", 'f', "FD", OPTION_HIDDEN, NULL, 0},
	{"was", 'w', "ID", OPTION_HIDDEN, NULL, 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case 'p':
		config.port = (unsigned short)number(state, arg, 65535);
		return 0;
	case 'n':
		config.sends = number(state, arg, 1000000);
		return 0;
	case 'f':
		config.fd = (int)number(state, arg, 1 << 20);
		return 0;
	case 'w':
		config.was = (pid_t)number(state, arg, 1 << 22);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int main(int argc, char **argv)
{
	struct argp argp = {list, parse, NULL, NULL, NULL, NULL, NULL};

	argp_err_exit_status = 2;
	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	return config.was ? end_after_exec() : begin_by_thread();
}
