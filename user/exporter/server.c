// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/exporter/exporter.h"

#include "user/system/library.h"

#include "common/program.h"
#include "common/units.h"

#include <arpa/inet.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#define CLIENTS_MAX 64
/*
 * Above this number, the oldest connections are closed. libmicrohttpd accepts 10 per run and reads
 * from them in the next run. Therefore a client that sends its request at once gets its reply
 * before 20 newer connections could close it.
 */
#define CLIENTS_KEPT	    32
#define BACKLOG		    256	  /* connections that the kernel accepts meanwhile */
#define MEMORY_MAX	    16384 /* per connection, for its request */
#define HEADERS_SECONDS_MAX 2	  /* to send all headers */
#define SECONDS_MAX	    5
#define ROUNDS_MAX	    64 /* runs of the library before signals are checked */

#define OPEN_METRICS "application/openmetrics-text; version=1.0.0; charset=utf-8"
#define TEXT_FORMAT  "text/plain; version=0.0.4; charset=utf-8"
#define PLAIN	     "text/plain; charset=utf-8"

/* Loaded at run time, because it takes 2.5 MiB that only the exporter needs. */
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
	const struct exporter_options *options;
	size_t client_count;
	/* Connections that are open and not being closed, the oldest first. */
	struct client {
		struct MHD_Connection *connection;
		const struct sockaddr_storage *address;
		struct timespec since;
	} clients[CLIENTS_KEPT + 1];
} server;

static enum MHD_Result respond(struct MHD_Connection *c, unsigned int status, const char *type,
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

static enum MHD_Result respond_metrics(struct MHD_Connection *c)
{
	bool open_metrics = exposition__wants_open_metrics(
		mhd.lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_ACCEPT));
	char *text = exporter__text(open_metrics);
	enum MHD_Result queued;

	if (!text)
		return respond(c, MHD_HTTP_INTERNAL_SERVER_ERROR, PLAIN,
			       "the counts in the kernel cannot be read\n");
	queued = respond(c, MHD_HTTP_OK, open_metrics ? OPEN_METRICS : TEXT_FORMAT, text);
	free(text);
	return queued;
}

bool server__has_name(const struct exporter_options *options, const char *host)
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
	for (size_t i = 0; i < options->name_count; i++)
		if (!v6 && !strcasecmp(name, options->names[i]))
			return true;
	return !v6 && !strcasecmp(name, "localhost");
}

/* Replies without reading a body, because no valid request has one. */
static enum MHD_Result on_request(void *unused, struct MHD_Connection *c, const char *url,
				  const char *method, const char *version, const char *upload,
				  size_t *upload_size, void **state)
{
	const char *host = mhd.lookup_connection_value(c, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST);

	(void)unused, (void)version, (void)upload, (void)upload_size, (void)state;
	if (host && !server__has_name(server.options, host)) /* every browser sends Host */
		return respond(c, MHD_HTTP_FORBIDDEN, PLAIN,
			       "the exporter does not serve this host name: use an address, "
			       "or start it with --allow-host NAME\n");
	if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD))
		return respond(c, MHD_HTTP_METHOD_NOT_ALLOWED, PLAIN, "only GET is answered\n");
	if (!strcmp(url, "/metrics"))
		return respond_metrics(c);
	if (!strcmp(url, "/"))
		return respond(c, MHD_HTTP_OK, PLAIN, "sendpath exporter: see /metrics\n");
	return respond(c, MHD_HTTP_NOT_FOUND, PLAIN, "there is only /metrics\n");
}

static void forget_client(struct client *g)
{
	struct client *end = server.clients + --server.client_count;

	memmove(g, g + 1, (size_t)(end - g) * sizeof(*g));
}

/* Closes the connection. The library then frees it. */
static void close_client(struct client *g)
{
	shutdown(GET_INFO(g->connection, CONNECTION_FD)->connect_fd, SHUT_RDWR);
	forget_client(g);
}

/* Returns the oldest connection of the address that has the most connections. */
static struct client *client_to_close(void)
{
	struct client *g, *other, *end = server.clients + server.client_count, *first = NULL;
	size_t count, most = 0;

	for (g = server.clients; g < end; g++) {
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
	struct client *g = server.clients, *end = g + server.client_count;

	(void)unused, (void)state;
	if (code == MHD_CONNECTION_NOTIFY_STARTED) {
		end->connection = c;
		end->address = (const void *)GET_INFO(c, CLIENT_ADDRESS)->client_addr;
		clock_gettime(CLOCK_MONOTONIC, &end->since);
		if (server.client_count++ == CLIENTS_KEPT)
			close_client(client_to_close());
		return;
	}
	while (g < end && g->connection != c)
		g++;
	if (g < end) /* a connection that close_client() closed is not found */
		forget_client(g);
}

static void close_overdue(void)
{
	bool has_headers;

	for (struct client *g = server.clients + server.client_count; g-- > server.clients;) {
		has_headers = GET_INFO(g->connection, REQUEST_HEADER_SIZE);
		if (elapsed_since(&g->since) >= (has_headers ? SECONDS_MAX : HEADERS_SECONDS_MAX))
			close_client(g);
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

bool server__open(const struct exporter_options *options)
{
	struct listener at;
	char host[256], port[8];
	int fd, on = 1;

	if (!load_library())
		return false;
	if (units__endpoint(options->listen, host, sizeof(host), port) ||
	    listener__resolve(&at, host, port))
		return program__fail(false, "--listen %s: there is no such interface",
				     options->listen);
	server.options = options;
	fd = socket(at.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd >= 0 && !setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) &&
	    !bind(fd, (struct sockaddr *)&at.address, at.length) && !listen(fd, BACKLOG))
		server.daemon = mhd.start_daemon(
			MHD_USE_EPOLL, 0, NULL, NULL, on_request, NULL, MHD_OPTION_LISTEN_SOCKET,
			fd, MHD_OPTION_CONNECTION_LIMIT, CLIENTS_MAX,
			MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY_MAX,
			MHD_OPTION_NOTIFY_CONNECTION, on_connection, NULL, MHD_OPTION_END);
	if (server.daemon)
		return true;
	return program__fail(
		false, "--listen %s: %s", options->listen,
		errno == EADDRINUSE
			? "the port is in use: give another, or end the program that listens there"
		: errno == EACCES ? "this user may not listen at that port: give one above 1023"
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
	close_overdue();
	do
		mhd.run(server.daemon);
	while (++rounds < ROUNDS_MAX && mhd.get_timeout(server.daemon, &left) && !left);
}
