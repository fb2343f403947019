// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/exporter/allowed.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#define NAME_MAX_LENGTH 253 /* of a host: RFC 1035 */

static bool is_port_or_nothing(const char *text)
{
	return !*text || (*text == ':' && !text[1 + strspn(text + 1, "0123456789")]);
}

static bool is_one_of(const struct allowed_names *names, const char *name)
{
	size_t i;

	for (i = 0; i < names->count; i++)
		if (!strcasecmp(name, names->of[i]))
			return true;
	return !strcasecmp(name, "localhost");
}

bool allowed__host(const struct allowed_names *names, const char *host)
{
	char name[NAME_MAX_LENGTH + 1];
	bool v6 = host[0] == '[';
	const char *begin = host + v6, *end = begin + strcspn(begin, v6 ? "]" : ":");
	size_t length = (size_t)(end - begin);
	struct in6_addr address;

	if (length > NAME_MAX_LENGTH || (v6 && !*end) || !is_port_or_nothing(end + v6))
		return false;
	memcpy(name, begin, length);
	name[length] = '\0';
	return inet_pton(v6 ? AF_INET6 : AF_INET, name, &address) == 1 ||
	       (!v6 && is_one_of(names, name));
}
