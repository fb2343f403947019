// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/exporter/server.h"

#include "user/exporter/exposition.h"
#include "user/system/log.h"

#include "common/program.h"
#include "common/units.h"

#include <arpa/inet.h>
#include <dlfcn.h>
#include <errno.h>
#include <microhttpd.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define GUESTS_MAX 64
/*
 * More than these: the oldest go. libmicrohttpd accepts 10 each time that it is run, and reads from
 * them the next time, when 10 more came: who asks at once is answered before.
 */
#define GUESTS_AT_REST 32
#define BACKLOG		    256	  /* connections that the kernel takes meanwhile */
#define MEMORY_MAX	    16384 /* of a connection, for its request */
#define HEADERS_SECONDS_MAX 2	  /* to have sent all of them */
#define SECONDS_MAX	    5
#define ROUNDS_MAX	    64 /* of the library, before others have their turn */

#define OPEN_METRICS "application/openmetrics-text; version=1.0.0; charset=utf-8"
#define TEXT_FORMAT  "text/plain; version=0.0.4; charset=utf-8"
#define PLAIN	     "text/plain; charset=utf-8"

/* With all that it needs it takes 2.5 MiB, which only the exporter is to pay for. */
#define LIBRARY "libmicrohttpd.so.12"

/* clang-format off */
#define CALLS(of) \
	of(add_response_header) of(create_response_from_buffer) of(destroy_response) \
	of(get_connection_info) of(get_daemon_info) of(get_timeout) \
	of(lookup_connection_value) of(queue_response) of(run) of(start_daemon) of(stop_daemon)
#define POINTER(name) typeof(MHD_##name) *name;
#define FIND(name)    mhd.name = (typeof(mhd.name))dlsym(library, "MHD_" #name);
/* clang-format on */

static struct {
	CALLS(POINTER)
} mhd;

struct server {
	struct MHD_Daemon *daemon;
	const struct exporter_options *asked;
	server_text make;
	void *context;
	size_t guest_count;
	/* Connections that are neither ended nor about to be, the oldest first. */
	struct guest {
		struct MHD_Connection *connection;
		struct in6_addr address;
		struct timespec since;
		bool has_asked; /* sent all headers of its request */
	} guests[GUESTS_AT_REST + 1];
};

static enum MHD_Result answer(struct MHD_Connection *c, unsigned int status, const char *type,
			      const char *text)
{
	struct MHD_Response *r =
		mhd.create_response_from_buffer(strlen(text), (void *)text, MHD_RESPMEM_MUST_COPY);
	enum MHD_Result queued = MHD_NO;

	if (!r)
		return MHD_NO;
	if (mhd.add_response_header(r, MHD_HTTP_HEADER_CONTENT_TYPE, type) &&
	    mhd.add_response_header(r, MHD_HTTP_HEADER_CONNECTION, "close") &&
	    (status != MHD_HTTP_METHOD_NOT_ALLOWED ||
	     mhd.add_response_header(r, MHD_HTTP_HEADER_ALLOW, "GET, HEAD")))
		queued = mhd.queue_response(c, status, r);
	mhd.destroy_response(r);
	return queued;
}

static const char *header_of(struct MHD_Connection *c, const char *name)
{
	return mhd.lookup_connection_value(c, MHD_HEADER_KIND, name);
}

static enum MHD_Result answer_metrics(struct server *s, struct MHD_Connection *c)
{
	bool open_metrics = exposition__wants_open_metrics(header_of(c, MHD_HTTP_HEADER_ACCEPT));
	char *text = s->make(s->context, open_metrics);
	enum MHD_Result queued;

	if (!text)
		return answer(c, MHD_HTTP_INTERNAL_SERVER_ERROR, PLAIN,
			      "what the kernel counted cannot be read\n");
	queued = answer(c, MHD_HTTP_OK, open_metrics ? OPEN_METRICS : TEXT_FORMAT, text);
	free(text);
	return queued;
}

bool server__has_name(const struct exporter_options *asked, const char *host)
{
	char name[254]; /* RFC 1035 */
	bool v6 = host[0] == '[';
	struct in6_addr address;
	int end = 0;
	size_t i;

	sscanf(host, v6 ? "[%253[^]]]%n" : "%253[^:]%n", name, &end);
	if (!end || (host[end] && host[end] != ':') ||
	    (host[end] && host[end + 1 + (int)strspn(host + end + 1, "0123456789")]))
		return false;
	if (inet_pton(v6 ? AF_INET6 : AF_INET, name, &address) == 1)
		return true;
	for (i = 0; i < asked->name_count; i++)
		if (!v6 && !strcasecmp(name, asked->names[i]))
			return true;
	return !v6 && !strcasecmp(name, "localhost");
}

/* NULL: it is about to be ended. */
static struct guest *find_guest(struct server *s, const struct MHD_Connection *c)
{
	size_t i;

	for (i = 0; i < s->guest_count; i++)
		if (s->guests[i].connection == c)
			return &s->guests[i];
	return NULL;
}

/* Of a request its body is not waited for: none that is answered has one. */
static enum MHD_Result on_request(void *server, struct MHD_Connection *c, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_size, void **unused)
{
	const char *host = header_of(c, MHD_HTTP_HEADER_HOST); /* no browser leaves it out */
	struct server *s = server;
	struct guest *g = find_guest(s, c);

	(void)version, (void)upload, (void)upload_size, (void)unused;
	if (g)
		g->has_asked = true;
	if (host && !server__has_name(s->asked, host))
		return answer(c, MHD_HTTP_FORBIDDEN, PLAIN,
			      "the exporter does not go by this name: ask it by an "
			      "address, or start it with --allow-host NAME\n");
	if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD))
		return answer(c, MHD_HTTP_METHOD_NOT_ALLOWED, PLAIN, "only GET is answered\n");
	if (!strcmp(url, "/metrics"))
		return answer_metrics(s, c);
	if (!strcmp(url, "/"))
		return answer(c, MHD_HTTP_OK, PLAIN, "sendpath exporter: see /metrics\n");
	return answer(c, MHD_HTTP_NOT_FOUND, PLAIN, "there is only /metrics\n");
}

static struct in6_addr address_of(struct MHD_Connection *c)
{
	const union MHD_ConnectionInfo *info =
		mhd.get_connection_info(c, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	const struct sockaddr *address = info ? info->client_addr : NULL;
	struct in6_addr found = {};

	if (address && address->sa_family == AF_INET6)
		found = ((const struct sockaddr_in6 *)address)->sin6_addr;
	else if (address)
		found.s6_addr32[3] = ((const struct sockaddr_in *)address)->sin_addr.s_addr;
	return found;
}

static void forget_guest(struct server *s, struct guest *g)
{
	struct guest *end = s->guests + s->guest_count--;

	memmove(g, g + 1, (size_t)((char *)end - (char *)(g + 1)));
}

/* The library sees that the connection has ended. */
static void end_guest(struct server *s, struct guest *g)
{
	const union MHD_ConnectionInfo *info =
		mhd.get_connection_info(g->connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	if (info)
		shutdown(info->connect_fd, SHUT_RDWR);
	forget_guest(s, g);
}

/* The oldest of the address that has the most. */
static struct guest *first_to_go(struct server *s)
{
	struct guest *first = s->guests;
	size_t i, j, count, most = 0;

	for (i = 0; i < s->guest_count; i++) {
		for (count = 0, j = i; j < s->guest_count; j++)
			count += IN6_ARE_ADDR_EQUAL(&s->guests[i].address, &s->guests[j].address);
		if (count > most) {
			first = &s->guests[i];
			most = count;
		}
	}
	return first;
}

static void on_connection(void *server, struct MHD_Connection *c, void **unused,
			  enum MHD_ConnectionNotificationCode code)
{
	struct server *s = server;
	struct guest *g;

	(void)unused;
	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		g = &s->guests[s->guest_count++];
		*g = (struct guest){.connection = c, .address = address_of(c)};
		clock_gettime(CLOCK_MONOTONIC, &g->since);
		if (s->guest_count > GUESTS_AT_REST)
			end_guest(s, first_to_go(s));
	} else if ((g = find_guest(s, c))) {
		forget_guest(s, g);
	}
}

static void end_overdue(struct server *s)
{
	struct guest *g;

	for (g = s->guests + s->guest_count; g-- > s->guests;)
		if (elapsed_since(&g->since) >= (g->has_asked ? SECONDS_MAX : HEADERS_SECONDS_MAX))
			end_guest(s, g);
}

/* The descriptor; -1: it has said why not. */
static int listen_at(const char *endpoint)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
				 .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV},
			*at;
	char host[256], port[8];
	int fd, failed, on = 1;

	if (units__endpoint(endpoint, host, sizeof(host), port) ||
	    getaddrinfo(host, port, &hints, &at)) {
		log_error("--listen %s: give the address in numbers, such as 127.0.0.1", endpoint);
		return -1;
	}
	fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	failed = fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
		 bind(fd, at->ai_addr, at->ai_addrlen) || listen(fd, BACKLOG);
	if (failed)
		log_error("--listen %s: %s", endpoint,
			  errno == EADDRINUSE
				  ? "the port is in use: name another, or end what listens there"
			  : errno == EACCES
				  ? "this user may not listen at that port: name one above 1023"
				  : strerror(errno));
	freeaddrinfo(at);
	if (failed && fd >= 0)
		close(fd);
	return failed ? -1 : fd;
}

/* A library of this name has all of them. */
static bool load_library(void)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		log_error("--listen needs libmicrohttpd: %s", dlerror());
		return false;
	}
	CALLS(FIND)
	return true;
}

struct server *server__open(const struct exporter_options *asked, server_text make, void *context)
{
	static struct server s;
	int fd = load_library() ? listen_at(asked->listen) : -1;

	if (fd < 0)
		return NULL;
	s = (struct server){.asked = asked, .make = make, .context = context};
	s.daemon = mhd.start_daemon(MHD_USE_EPOLL, 0, NULL, NULL, on_request, &s,
				    MHD_OPTION_LISTEN_SOCKET, fd, MHD_OPTION_CONNECTION_LIMIT,
				    GUESTS_MAX, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
				    (size_t)MEMORY_MAX, MHD_OPTION_NOTIFY_CONNECTION, on_connection,
				    &s, MHD_OPTION_END);
	if (!s.daemon)
		log_error("--listen %s: %s", asked->listen, strerror(EIO));
	return s.daemon ? &s : NULL;
}

void server__close(struct server *s)
{
	if (s)
		mhd.stop_daemon(s->daemon);
}

unsigned int server__port(const struct server *s)
{
	return mhd.get_daemon_info(s->daemon, MHD_DAEMON_INFO_BIND_PORT)->port;
}

int server__fd(const struct server *s)
{
	return mhd.get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
}

void server__run(struct server *s)
{
	MHD_UNSIGNED_LONG_LONG ms;
	int rounds = 0;

	end_overdue(s);
	do
		mhd.run(s->daemon);
	while (++rounds < ROUNDS_MAX && mhd.get_timeout(s->daemon, &ms) && !ms);
}
