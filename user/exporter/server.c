// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/exporter/exporter.h"

#include "user/system/library.h"

#include "common/program.h"
#include "common/units.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define GUESTS_MAX 64
/*
 * Above this number, the oldest connections are closed. libmicrohttpd accepts 10 per run and reads
 * from them in the next run, when 10 more have come: a client that asks at once is answered first.
 */
#define GUESTS_AT_REST	    32
#define BACKLOG		    256	  /* connections that the kernel accepts meanwhile */
#define MEMORY_MAX	    16384 /* per connection, for its request */
#define HEADERS_SECONDS_MAX 2	  /* to send all headers */
#define SECONDS_MAX	    5
#define ROUNDS_MAX	    64 /* of the library, before other work is done */

#define OPEN_METRICS "application/openmetrics-text; version=1.0.0; charset=utf-8"
#define TEXT_FORMAT  "text/plain; version=0.0.4; charset=utf-8"
#define PLAIN	     "text/plain; charset=utf-8"

/* libmicrohttpd is loaded at run time: it takes 2.5 MiB, which only the exporter should use. */
#define LIBRARY "libmicrohttpd.so.12"

/* clang-format off */
#define CALLS(of) \
	of(add_response_header) of(create_response_from_buffer) of(destroy_response) \
	of(get_connection_info) of(get_daemon_info) of(get_timeout) \
	of(lookup_connection_value) of(queue_response) of(run) of(start_daemon) of(stop_daemon)
#define POINTER(name) typeof(MHD_##name) *name;
#define FIND(name)    mhd.name = LIBRARY_FIND(library, MHD_##name);
#define GET_INFO(connection, what) mhd.get_connection_info(connection, MHD_CONNECTION_INFO_##what)
/* clang-format on */

static struct {
	CALLS(POINTER)
} mhd;

static struct {
	struct MHD_Daemon *daemon;
	const struct exporter_options *asked;
	size_t guest_count;
	/* Connections that are open and not being closed, the oldest first. */
	struct guest {
		struct MHD_Connection *connection;
		const struct sockaddr_storage *address;
		struct timespec since;
	} guests[GUESTS_AT_REST + 1];
} server;

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

static enum MHD_Result answer_metrics(struct MHD_Connection *c)
{
	bool open_metrics = exposition__wants_open_metrics(
		mhd.lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT));
	char *text = exporter__text(open_metrics);
	enum MHD_Result queued;

	if (!text)
		return answer(c, MHD_HTTP_INTERNAL_SERVER_ERROR, PLAIN,
			      "the counts in the kernel cannot be read\n");
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

	sscanf(host, v6 ? "[%253[^]]]%n:%*[0-9]%n" : "%253[^:]%n:%*[0-9]%n", name, &end, &end);
	if (!end || (host[end] && strcmp(host + end, ":")))
		return false;
	if (inet_pton(v6 ? AF_INET6 : AF_INET, name, &address) == 1)
		return true;
	for (size_t i = 0; i < asked->name_count; i++)
		if (!v6 && !strcasecmp(name, asked->names[i]))
			return true;
	return !v6 && !strcasecmp(name, "localhost");
}

/* Answers without reading a body, because no valid request has one. */
static enum MHD_Result on_request(void *unused, struct MHD_Connection *c, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_size, void **state)
{
	const char *host = mhd.lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);

	(void)unused, (void)version, (void)upload, (void)upload_size, (void)state;
	if (host && !server__has_name(server.asked, host)) /* every browser sends it */
		return answer(c, MHD_HTTP_FORBIDDEN, PLAIN,
			      "the exporter does not serve this host name: use an address, "
			      "or start it with --allow-host NAME\n");
	if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD))
		return answer(c, MHD_HTTP_METHOD_NOT_ALLOWED, PLAIN, "only GET is answered\n");
	if (!strcmp(url, "/metrics"))
		return answer_metrics(c);
	if (!strcmp(url, "/"))
		return answer(c, MHD_HTTP_OK, PLAIN, "sendpath exporter: see /metrics\n");
	return answer(c, MHD_HTTP_NOT_FOUND, PLAIN, "there is only /metrics\n");
}

static void forget_guest(struct guest *g)
{
	struct guest *end = server.guests + --server.guest_count;

	memmove(g, g + 1, (size_t)(end - g) * sizeof(*g));
}

/* Closes the connection; the library notices that. */
static void end_guest(struct guest *g)
{
	shutdown(GET_INFO(g->connection, CONNECTION_FD)->connect_fd, SHUT_RDWR);
	forget_guest(g);
}

/* The oldest connection of the address that has the most. */
static struct guest *first_to_go(void)
{
	struct guest *g, *other, *end = server.guests + server.guest_count, *first = NULL;
	size_t count, most = 0;

	for (g = server.guests; g < end; g++) {
		for (count = 0, other = g; other < end; other++)
			count += listener__same_host(g->address, other->address);
		if (count > most) {
			first = g;
			most = count;
		}
	}
	return first;
}

static void on_connection(void *unused, struct MHD_Connection *c, void **state,
			  enum MHD_ConnectionNotificationCode code)
{
	struct guest *g = server.guests, *end = g + server.guest_count;

	(void)unused, (void)state;
	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		end->connection = c;
		end->address = (const void *)GET_INFO(c, CLIENT_ADDRESS)->client_addr;
		clock_gettime(CLOCK_MONOTONIC, &end->since);
		if (server.guest_count++ == GUESTS_AT_REST)
			end_guest(first_to_go());
		return;
	}
	while (g < end && g->connection != c)
		g++;
	if (g < end) /* not found if we closed it */
		forget_guest(g);
}

static void end_overdue(void)
{
	bool asked; /* it has sent all headers */

	for (struct guest *g = server.guests + server.guest_count; g-- > server.guests;) {
		asked = GET_INFO(g->connection, REQUEST_HEADER_SIZE);
		if (elapsed_since(&g->since) >= (asked ? SECONDS_MAX : HEADERS_SECONDS_MAX))
			end_guest(g);
	}
}

/* Looks up all functions of the library. */
static bool load_library(void)
{
	void *library = LIBRARY_LOAD(LIBRARY);

	if (!library)
		return program__fail(false, "--listen needs libmicrohttpd: %s", dlerror());
	CALLS(FIND)
	return true;
}

bool server__open(const struct exporter_options *asked)
{
	struct listener at;
	char host[256], port[8];
	int fd, on = 1;

	if (!load_library())
		return false;
	if (units__endpoint(asked->listen, host, sizeof(host), port) ||
	    listener__resolve(&at, host, port))
		return program__fail(false, "--listen %s: there is no such interface",
				     asked->listen);
	server.asked = asked;
	fd = socket(at.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && !setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) &&
	    !bind(fd, (struct sockaddr *)&at.address, at.length) && !listen(fd, BACKLOG))
		server.daemon = mhd.start_daemon(
			MHD_USE_EPOLL, 0, NULL, NULL, on_request, NULL, MHD_OPTION_LISTEN_SOCKET,
			fd, MHD_OPTION_CONNECTION_LIMIT, GUESTS_MAX,
			MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY_MAX,
			MHD_OPTION_NOTIFY_CONNECTION, on_connection, NULL, MHD_OPTION_END);
	if (server.daemon)
		return true;
	return program__fail(
		false, "--listen %s: %s", asked->listen,
		errno == EADDRINUSE ? "the port is in use: name another, or end what listens there"
		: errno == EACCES   ? "this user may not listen at that port: name one above 1023"
				    : strerror(errno));
}

void server__close(void)
{
	if (server.daemon)
		mhd.stop_daemon(server.daemon);
}

void server__name(char name[ADDRESS_NAME])
{
	int fd = mhd.get_daemon_info(server.daemon, MHD_DAEMON_INFO_LISTEN_FD)->listen_fd;
	struct sockaddr_storage at;
	socklen_t length = sizeof(at);

	getsockname(fd, (struct sockaddr *)&at, &length);
	listener__name(&at, name);
}

void server__run(int ms)
{
	struct pollfd work = {
		.fd = mhd.get_daemon_info(server.daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd,
		.events = POLLIN};
	MHD_UNSIGNED_LONG_LONG left;
	int rounds = 0;

	poll(&work, 1, ms);
	end_overdue();
	do
		mhd.run(server.daemon);
	while (++rounds < ROUNDS_MAX && mhd.get_timeout(server.daemon, &left) && !left);
}
