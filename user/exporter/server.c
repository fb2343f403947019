// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/exporter/server.h"

#include "user/exporter/exposition.h"

#include "common/program.h"
#include "common/units.h"

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

#define CONNECTIONS_MAX 64
/*
 * More than these: the oldest go. libmicrohttpd accepts 10 each time that it is run, and reads from
 * them the next time, when 10 more came: who asks at once is answered before.
 */
#define CONNECTIONS_AT_REST 32
#define BACKLOG		    256	  /* connections that the kernel takes meanwhile */
#define MEMORY_MAX	    16384 /* of a connection, for its request */
#define HEADERS_SECONDS_MAX 2	  /* to have sent all of them */
#define SECONDS_MAX	    5
#define TICK_MS		    1000 /* between looks at who has been here for too long */

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

/* A library of this name has all of them. */
static int load_library(char *reason, size_t size)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		snprintf(reason, size, "--listen needs libmicrohttpd: %s", dlerror());
		return -ENOENT;
	}
	CALLS(FIND)
	return 0;
}

struct server {
	struct MHD_Daemon *daemon;
	server_text make;
	void *context;
	struct allowed_names names;
	char endpoint[INET6_ADDRSTRLEN + 16];
	struct guest {
		struct MHD_Connection *connection; /* NULL: none */
		struct in6_addr address;
		struct timespec since;
		bool asked; /* sent all headers of its request */
		bool ended; /* by us: the library has yet to see it */
	} guests[CONNECTIONS_MAX];
};

static enum MHD_Result answer(struct MHD_Connection *c, unsigned int status, const char *type,
			      const char *text, size_t size)
{
	struct MHD_Response *r =
		mhd.create_response_from_buffer(size, (void *)text, MHD_RESPMEM_MUST_COPY);
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

static enum MHD_Result answer_plainly(struct MHD_Connection *c, unsigned int status,
				      const char *text)
{
	return answer(c, status, PLAIN, text, strlen(text));
}

static enum MHD_Result answer_metrics(struct server *s, struct MHD_Connection *c)
{
	bool open_metrics = exposition__wants_open_metrics(
		mhd.lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT));
	enum MHD_Result queued;
	size_t size;
	char *text;

	if (s->make(s->context, open_metrics, &text, &size))
		return answer_plainly(c, MHD_HTTP_INTERNAL_SERVER_ERROR,
				      "what the kernel counted cannot be read\n");
	queued = answer(c, MHD_HTTP_OK, open_metrics ? OPEN_METRICS : TEXT_FORMAT, text, size);
	free(text);
	return queued;
}

/* The place of a connection; NULL: a free one. NULL if there is none. */
static struct guest *find_guest(struct server *s, const struct MHD_Connection *c)
{
	size_t i;

	for (i = 0; i < CONNECTIONS_MAX; i++)
		if (s->guests[i].connection == c)
			return &s->guests[i];
	return NULL;
}

/* No browser leaves out its Host. */
static bool is_ours(const struct server *s, struct MHD_Connection *c)
{
	const char *host = mhd.lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);

	return !host || allowed__host(&s->names, host);
}

/* Of a request its body is not waited for: none that is answered has one. */
static enum MHD_Result on_request(void *server, struct MHD_Connection *c, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_size, void **unused)
{
	struct guest *g = find_guest(server, c);

	(void)version, (void)upload, (void)upload_size, (void)unused;
	if (g)
		g->asked = true;
	if (!is_ours(server, c))
		return answer_plainly(c, MHD_HTTP_FORBIDDEN,
				      "the exporter does not go by this name: ask it by an "
				      "address, or start it with --allow-host NAME\n");
	if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD))
		return answer_plainly(c, MHD_HTTP_METHOD_NOT_ALLOWED, "only GET is answered\n");
	if (!strcmp(url, "/metrics"))
		return answer_metrics(server, c);
	if (!strcmp(url, "/"))
		return answer_plainly(c, MHD_HTTP_OK, "sendpath exporter: see /metrics\n");
	return answer_plainly(c, MHD_HTTP_NOT_FOUND, "there is only /metrics\n");
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

static void end_guest(struct guest *g)
{
	const union MHD_ConnectionInfo *info =
		mhd.get_connection_info(g->connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	if (info)
		shutdown(info->connect_fd, SHUT_RDWR);
	g->ended = true;
}

static bool is_here(const struct guest *g)
{
	return g->connection && !g->ended;
}

/* How many are here, of one address or of all. */
static size_t count_guests(const struct server *s, const struct in6_addr *address)
{
	size_t i, count = 0;

	for (i = 0; i < CONNECTIONS_MAX; i++)
		count += is_here(&s->guests[i]) &&
			 (!address || IN6_ARE_ADDR_EQUAL(&s->guests[i].address, address));
	return count;
}

/* The oldest of the address that has the most. NULL: nobody is here. */
static struct guest *first_to_go(struct server *s)
{
	size_t i, count, most = 0;
	struct guest *g, *first = NULL;

	for (i = 0; i < CONNECTIONS_MAX; i++) {
		g = &s->guests[i];
		count = is_here(g) ? count_guests(s, &g->address) : 0;
		if (count > most || (count && count == most &&
				     elapsed_since(&g->since) > elapsed_since(&first->since))) {
			first = g;
			most = count;
		}
	}
	return first;
}

static void on_connection(void *server, struct MHD_Connection *c, void **unused,
			  enum MHD_ConnectionNotificationCode code)
{
	bool begins = code == MHD_CONNECTION_NOTIFY_STARTED;
	struct server *s = server;
	struct guest *g = find_guest(s, begins ? NULL : c);

	(void)unused;
	if (!g)
		return;
	*g = (struct guest){};
	if (!begins)
		return;
	g->connection = c;
	g->address = address_of(c);
	clock_gettime(CLOCK_MONOTONIC, &g->since);
	while (count_guests(s, NULL) > CONNECTIONS_AT_REST)
		end_guest(first_to_go(s));
}

/* The library's own limit is for clients that do nothing at all. */
static void end_overdue(struct server *s)
{
	struct guest *g;
	size_t i;

	for (i = 0; i < CONNECTIONS_MAX; i++) {
		g = &s->guests[i];
		if (is_here(g) &&
		    elapsed_since(&g->since) >= (g->asked ? SECONDS_MAX : HEADERS_SECONDS_MAX))
			end_guest(g);
	}
}

static int fail_to_listen(int fd, int err, const char *endpoint, char *reason, size_t size)
{
	snprintf(reason, size, "--listen %s: %s", endpoint,
		 err == -EADDRINUSE ? "the port is in use: name another, or end what listens there"
		 : err == -EACCES   ? "this user may not listen at that port: name one above 1023"
				    : strerror(-err));
	if (fd >= 0)
		close(fd);
	return err;
}

static int listen_at(const struct addrinfo *at, const char *endpoint, char *reason, size_t size)
{
	int fd = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) ||
	    bind(fd, at->ai_addr, at->ai_addrlen) || listen(fd, BACKLOG))
		return fail_to_listen(fd, -errno, endpoint, reason, size);
	return fd;
}

/* The address, and the port that the kernel may have chosen. */
static void name_endpoint(struct server *s, int fd)
{
	struct sockaddr_storage address;
	socklen_t length = sizeof(address);
	char host[INET6_ADDRSTRLEN] = "?", port[8] = "?";
	bool v6;

	if (!getsockname(fd, (struct sockaddr *)&address, &length))
		getnameinfo((struct sockaddr *)&address, length, host, sizeof(host), port,
			    sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV);
	v6 = strchr(host, ':');
	snprintf(s->endpoint, sizeof(s->endpoint), "%s%s%s:%s", v6 ? "[" : "", host, v6 ? "]" : "",
		 port);
}

static int start(struct server *s, int fd)
{
	name_endpoint(s, fd);
	s->daemon = mhd.start_daemon(
		MHD_USE_EPOLL, 0, NULL, NULL, on_request, s, MHD_OPTION_LISTEN_SOCKET, fd,
		MHD_OPTION_CONNECTION_LIMIT, CONNECTIONS_MAX, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)MEMORY_MAX, MHD_OPTION_CONNECTION_TIMEOUT, SECONDS_MAX,
		MHD_OPTION_NOTIFY_CONNECTION, on_connection, s, MHD_OPTION_END);
	return s->daemon ? 0 : -EIO;
}

int server__open(struct server **out, const char *endpoint, const struct allowed_names *names,
		 server_text make, void *context, char *reason, size_t size)
{
	struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
				 .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV},
			*found;
	char host[256], port[8];
	struct server *s;
	int fd, err;

	err = load_library(reason, size);
	if (err)
		return err;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -ENOMEM;
	*s = (struct server){.make = make, .context = context, .names = *names};
	err = units__endpoint(endpoint, host, sizeof(host), port)
		      ? EAI_NONAME
		      : getaddrinfo(host, port, &hints, &found);
	if (err) {
		snprintf(reason, size,
			 "--listen %s: give the address in numbers, such as 127.0.0.1", endpoint);
		free(s);
		return -EINVAL;
	}
	fd = err = listen_at(found, endpoint, reason, size);
	freeaddrinfo(found);
	if (fd >= 0 && (err = start(s, fd)))
		fail_to_listen(fd, err, endpoint, reason, size);
	if (err < 0)
		free(s);
	else
		*out = s;
	return err < 0 ? err : 0;
}

void server__close(struct server *s)
{
	if (!s)
		return;
	mhd.stop_daemon(s->daemon);
	free(s);
}

const char *server__endpoint(const struct server *s)
{
	return s->endpoint;
}

int server__fd(const struct server *s)
{
	return mhd.get_daemon_info(s->daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd;
}

int server__ms_left(const struct server *s, int most)
{
	MHD_UNSIGNED_LONG_LONG ms;

	if (mhd.get_timeout(s->daemon, &ms) && ms < (MHD_UNSIGNED_LONG_LONG)most)
		return (int)ms;
	return most < TICK_MS ? most : TICK_MS;
}

void server__run(struct server *s)
{
	end_overdue(s);
	mhd.run(s->daemon);
}
