// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * A thread that is not its process's first calls exec, and so gets the id of the first:
 *
 *   execs --port P [--sends N]     makes one send in such a thread, which then calls exec.
 * 	Prints the thread's old and new id as one JSON object. After a line on its
 * 	standard input, it makes N (default 10) more sends and ends.
 */
#include "common.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

struct config {
	unsigned long port, sends;
	unsigned long fd;  /* the connection's descriptor */
	unsigned long was; /* the thread's id before exec */
};

static struct config config = {.sends = 10};

static void send_some(unsigned long sends)
{
	while (sends--)
		if (send((int)config.fd, "execs", 5, 0) != 5)
			die("send");
}

static void *begin(void *argument)
{
	char fd[16], was[16], sends[32];

	(void)argument;
	send_some(1);
	snprintf(fd, sizeof(fd), "%lu", config.fd);
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
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	pthread_t thread;

	if (fd < 0 || connect(fd, (struct sockaddr *)&to, length))
		die("connect");
	config.fd = (unsigned long)fd;
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

static const struct row rows[] = {
	{"port", 'p', "PORT", "to connect to", AT(port), .max = 65535},
	{"sends", 'n', "N", "after exec (10)", AT(sends), .max = 1000000},
	{"fd", 'f', "FD", NULL, AT(fd), .max = 1 << 20},
	{"was", 'w', "ID", NULL, AT(was), .max = 1 << 22},
	{.name = NULL},
};

int main(int argc, char **argv)
{
	read_options(rows, &config, argc, argv);
	return config.was ? end_after_exec() : begin_by_thread();
}
