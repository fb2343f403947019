// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Sends by the syscalls of 32-bit programs (int 0x80), which have other numbers and arguments.
 * Prints its own counts as one JSON object; exits with 77 if the kernel lacks these syscalls.
 *
 *   compat --port P [--sends N] [--zerocopy] [--refused N]
 */
#include "common.h"

#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#define SKIP 77
#define SIZE (64 << 10)
#ifndef MSG_ZEROCOPY
#define MSG_ZEROCOPY 0x4000000
#endif

#define NR32_GETPID  20
#define NR32_SENDTO  369
#define NR32_SENDMSG 370

struct config {
	unsigned long port;
	unsigned long sends;
	unsigned long refused; /* further sends, which exceed the limit of locked memory */
	bool zerocopy;
};

/* The struct iovec of a 32-bit program. */
struct iovec32 {
	uint32_t base, length;
};

struct msghdr32 {
	uint32_t name, name_length, parts, count, control, control_length, flags;
};

/* Memory below 4 GiB, so that 32-bit pointers reach it. */
struct memory {
	struct msghdr32 message;
	struct iovec32 part;
	char data[SIZE];
};

static struct memory *memory;

static void cannot(int signal)
{
	(void)signal;
	puts("this kernel has no syscalls of 32-bit programs");
	fflush(stdout);
	_exit(SKIP);
}

static long call32(long number, long first, long second, long third, long fourth)
{
#if defined(__x86_64__)
	long result;

	__asm__ volatile("int $0x80"
			 : "=a"(result)
			 : "a"(number), "b"(first), "c"(second), "d"(third), "S"(fourth), "D"(0L)
			 : "memory", "r8", "r9", "r10", "r11");
	return (int)result;
#else
	(void)number, (void)first, (void)second, (void)third, (void)fourth;
	cannot(0);
	return -ENOSYS;
#endif
}

static uint32_t address32(const void *pointer)
{
	return (uint32_t)(uintptr_t)pointer;
}

static long transmit(int fd, unsigned long turn, int flags)
{
	if (turn % 2)
		return call32(NR32_SENDTO, fd, address32(memory->data), SIZE, flags);
	memory->part = (struct iovec32){address32(memory->data), SIZE};
	memory->message = (struct msghdr32){.parts = address32(&memory->part), .count = 1};
	return call32(NR32_SENDMSG, fd, address32(&memory->message), flags, 0);
}

/* Limits locked memory to a page, and drops the capability that would lift the limit. */
static void lock_out(void)
{
	struct rlimit page = {4096, 4096};

	if (setrlimit(RLIMIT_MEMLOCK, &page) || setresuid(65534, 65534, 65534))
		die("lock out");
}

static int observed(const struct config *c)
{
	int fd = socket(AF_INET, SOCK_STREAM, 0), one = 1, flags = c->zerocopy ? MSG_ZEROCOPY : 0;
	struct sockaddr_storage to;
	socklen_t length = endpoint("127.0.0.1", c->port, &to);
	unsigned long sends = 0, bytes = 0, failed = 0, i;
	long n;

	if (fd < 0 || connect(fd, (struct sockaddr *)&to, length))
		die("connect");
	if (c->zerocopy && setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one)))
		die("SO_ZEROCOPY");
	for (i = 0; i < c->sends + c->refused; i++) {
		if (i == c->sends)
			lock_out();
		n = transmit(fd, i, flags);
		if (n >= 0) {
			sends++;
			bytes += (unsigned long)n;
		} else if (n == -ENOBUFS) {
			failed++;
		} else {
			errno = (int)-n;
			die("send");
		}
	}
	printf("{\"sends\": %lu, \"bytes\": %lu, \"refused\": %lu}\n", sends, bytes, failed);
	return 0;
}

static const struct row rows[] = {
	{"port", 'p', "PORT", "to connect to", AT(port), .max = 65535},
	{"sends", 'n', "N", "how many (20)", AT(sends), .max = 1000000},
	{"zerocopy", 'z', NULL, "request zero-copy", .at = AT(zerocopy)},
	{"refused", 'r', "N", "further sends, which the kernel refuses", AT(refused),
	 .max = 1000000},
	{.name = NULL},
};

int main(int argc, char **argv)
{
	struct config c = {.sends = 20};

	read_options(rows, &c, argc, argv);
#ifndef MAP_32BIT
#define MAP_32BIT 0
#endif
	memory = mmap(NULL, sizeof(*memory), PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
	if (memory == MAP_FAILED)
		die("mmap");
	signal(SIGSEGV, cannot);
	call32(NR32_GETPID, 0, 0, 0, 0);
	signal(SIGSEGV, SIG_DFL);
	return observed(&c);
}
