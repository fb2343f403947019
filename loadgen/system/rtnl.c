/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <errno.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loadgen/system/rtnl.h"

struct request {
	struct nlmsghdr header;
	char body[512];
};

int rtnl__open(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	return fd < 0 ? -errno : fd;
}

static void *tail(struct request *q)
{
	return (char *)&q->header + NLMSG_ALIGN(q->header.nlmsg_len);
}

static void *append(struct request *q, const void *data, size_t size)
{
	void *at = tail(q);

	memcpy(at, data, size);
	q->header.nlmsg_len = (uint32_t)(NLMSG_ALIGN(q->header.nlmsg_len) + size);
	return at;
}

static struct rtattr *attribute(struct request *q, unsigned short type, const void *data,
				size_t size)
{
	struct rtattr a = {.rta_type = type, .rta_len = (unsigned short)RTA_LENGTH(size)};
	struct rtattr *at = append(q, &a, sizeof(a));

	if (size)
		append(q, data, size);
	return at;
}

/* A nest holds all that is appended until its end. */
static void close_nest(struct request *q, struct rtattr *nest)
{
	nest->rta_len = (unsigned short)((char *)tail(q) - (char *)nest);
}

/* Sends it and waits for the kernel's word: 0 or -errno. */
static int ask(int rtnl, struct request *q, unsigned short type, unsigned short flags)
{
	struct {
		struct nlmsghdr header;
		struct nlmsgerr error;
		char rest[1024];
	} reply;
	ssize_t n;

	q->header.nlmsg_type = type;
	q->header.nlmsg_flags = (unsigned short)(NLM_F_REQUEST | NLM_F_ACK | flags);
	/* Not send(): who counts this process's sends shall see the load alone. */
	if (write(rtnl, q, q->header.nlmsg_len) != (ssize_t)q->header.nlmsg_len)
		return -errno;
	n = read(rtnl, &reply, sizeof(reply));
	if (n < 0)
		return -errno;
	if ((size_t)n < sizeof(reply.header) + sizeof(reply.error) ||
	    reply.header.nlmsg_type != NLMSG_ERROR)
		return -EPROTO;
	return reply.error.error;
}

int rtnl__add_veth(int rtnl, const char *name, const char *other, int netns_fd)
{
	struct request q = {.header.nlmsg_len = NLMSG_LENGTH(0)};
	struct ifinfomsg any = {.ifi_family = AF_UNSPEC};
	struct rtattr *info, *data, *peer;

	append(&q, &any, sizeof(any));
	attribute(&q, IFLA_IFNAME, name, strlen(name) + 1);
	info = attribute(&q, IFLA_LINKINFO, NULL, 0);
	attribute(&q, IFLA_INFO_KIND, "veth", sizeof("veth"));
	data = attribute(&q, IFLA_INFO_DATA, NULL, 0);
	peer = attribute(&q, VETH_INFO_PEER, NULL, 0);
	append(&q, &any, sizeof(any));
	attribute(&q, IFLA_IFNAME, other, strlen(other) + 1);
	attribute(&q, IFLA_NET_NS_FD, &netns_fd, sizeof(netns_fd));
	close_nest(&q, peer);
	close_nest(&q, data);
	close_nest(&q, info);
	q.header.nlmsg_len = NLMSG_ALIGN(q.header.nlmsg_len);
	return ask(rtnl, &q, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
}

int rtnl__set_up(int rtnl, const char *name)
{
	struct request q = {.header.nlmsg_len = NLMSG_LENGTH(0)};
	struct ifinfomsg device = {
		.ifi_index = (int)if_nametoindex(name),
		.ifi_flags = IFF_UP,
		.ifi_change = IFF_UP,
	};

	if (!device.ifi_index)
		return -errno;
	append(&q, &device, sizeof(device));
	return ask(rtnl, &q, RTM_NEWLINK, 0);
}

int rtnl__add_address(int rtnl, const char *name, uint32_t address, unsigned int prefix)
{
	struct request q = {.header.nlmsg_len = NLMSG_LENGTH(0)};
	struct ifaddrmsg a = {
		.ifa_family = AF_INET,
		.ifa_prefixlen = (unsigned char)prefix,
		.ifa_index = if_nametoindex(name),
	};

	if (!a.ifa_index)
		return -errno;
	append(&q, &a, sizeof(a));
	attribute(&q, IFA_LOCAL, &address, sizeof(address));
	attribute(&q, IFA_ADDRESS, &address, sizeof(address));
	return ask(rtnl, &q, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL);
}
