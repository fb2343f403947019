// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loadgen/system/link.h"

#define PREFIX 30

/* A request to the kernel (rtnetlink), about the namespace that the socket was made in. */
struct request {
	struct nlmsghdr header;
	char body[512];
};

static int rtnl__open(void)
{
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE);

	return fd < 0 ? -errno : fd;
}

static void *tail(struct request *q)
{
	return (char *)&q->header + NLMSG_ALIGN(q->header.nlmsg_len);
}

static void *append_data(struct request *q, const void *data, size_t size)
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
	struct rtattr *at = append_data(q, &a, sizeof(a));

	if (size)
		append_data(q, data, size);
	return at;
}

/* A nest holds all that is appended until its end. */
static void close_nest(struct request *q, struct rtattr *nest)
{
	nest->rta_len = (unsigned short)((char *)tail(q) - (char *)nest);
}

/* Sends the request and waits for the kernel's answer: 0 or -errno. */
static int exchange(int rtnl, struct request *q, unsigned short type, unsigned short flags)
{
	struct {
		struct nlmsghdr header;
		struct nlmsgerr error;
		char rest[1024];
	} reply;
	ssize_t n;

	q->header.nlmsg_type = type;
	q->header.nlmsg_flags = (unsigned short)(NLM_F_REQUEST | NLM_F_ACK | flags);
	/* Not send(): a tracer of this process's sends shall see the workload alone. */
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

static int rtnl__add_veth(int rtnl, const char *name, const char *other, int netns_fd)
{
	struct request q = {.header.nlmsg_len = NLMSG_LENGTH(0)};
	struct ifinfomsg any = {.ifi_family = AF_UNSPEC};
	struct rtattr *info, *data, *peer;

	append_data(&q, &any, sizeof(any));
	attribute(&q, IFLA_IFNAME, name, strlen(name) + 1);
	info = attribute(&q, IFLA_LINKINFO, NULL, 0);
	attribute(&q, IFLA_INFO_KIND, "veth", sizeof("veth"));
	data = attribute(&q, IFLA_INFO_DATA, NULL, 0);
	peer = attribute(&q, VETH_INFO_PEER, NULL, 0);
	append_data(&q, &any, sizeof(any));
	attribute(&q, IFLA_IFNAME, other, strlen(other) + 1);
	attribute(&q, IFLA_NET_NS_FD, &netns_fd, sizeof(netns_fd));
	close_nest(&q, peer);
	close_nest(&q, data);
	close_nest(&q, info);
	q.header.nlmsg_len = NLMSG_ALIGN(q.header.nlmsg_len);
	return exchange(rtnl, &q, RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL);
}

static int rtnl__set_up(int rtnl, const char *name)
{
	struct request q = {.header.nlmsg_len = NLMSG_LENGTH(0)};
	struct ifinfomsg device = {
		.ifi_index = (int)if_nametoindex(name),
		.ifi_flags = IFF_UP,
		.ifi_change = IFF_UP,
	};

	if (!device.ifi_index)
		return -errno;
	append_data(&q, &device, sizeof(device));
	return exchange(rtnl, &q, RTM_NEWLINK, 0);
}

static int rtnl__add_address(int rtnl, const char *name, uint32_t address, unsigned int prefix)
{
	struct request q = {.header.nlmsg_len = NLMSG_LENGTH(0)};
	struct ifaddrmsg a = {
		.ifa_family = AF_INET,
		.ifa_prefixlen = (unsigned char)prefix,
		.ifa_index = if_nametoindex(name),
	};

	if (!a.ifa_index)
		return -errno;
	append_data(&q, &a, sizeof(a));
	attribute(&q, IFA_LOCAL, &address, sizeof(address));
	attribute(&q, IFA_ADDRESS, &address, sizeof(address));
	return exchange(rtnl, &q, RTM_NEWADDR, NLM_F_CREATE | NLM_F_EXCL);
}

static int fail_link(struct failure *f, int err)
{
	if (err == -EPERM)
		return failure__set(f, STATUS_SYSTEM, err,
				    "--link veth: making network namespaces needs CAP_SYS_ADMIN: "
				    "run as root, not by sudo");
	if (err == -EOPNOTSUPP)
		return failure__set(f, STATUS_SYSTEM, err,
				    "--link veth: this kernel has no virtual Ethernet devices "
				    "(modprobe veth)");
	return failure__set(f, STATUS_FAILED, err, "--link veth: %s", strerror(-err));
}

/* The devices of the namespace that we are in. */
static int configure(const char *device, const char *address)
{
	int rtnl = rtnl__open(), err;

	if (rtnl < 0)
		return rtnl;
	err = rtnl__set_up(rtnl, "lo");
	if (!err)
		err = rtnl__add_address(rtnl, device, inet_addr(address), PREFIX);
	if (!err)
		err = rtnl__set_up(rtnl, device);
	close(rtnl);
	return err;
}

static int add_pair(int other)
{
	int rtnl = rtnl__open(), err;

	if (rtnl < 0)
		return rtnl;
	err = rtnl__add_veth(rtnl, "veth1", LINK_DEVICE, other);
	close(rtnl);
	return err;
}

static int own_namespace(void)
{
	int fd = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

/* Each end configures its own devices from inside. */
static int make_namespaces(struct link *l, int *receiver)
{
	int err = unshare(CLONE_NEWNET) ? -errno : 0;

	if (err)
		return err;
	l->sender = own_namespace();
	if (l->sender < 0)
		return l->sender;
	if (unshare(CLONE_NEWNET))
		return -errno;
	*receiver = own_namespace();
	if (*receiver < 0)
		return *receiver;
	err = add_pair(l->sender);
	if (!err)
		err = setns(l->sender, CLONE_NEWNET) ? -errno : 0;
	if (!err)
		err = configure(LINK_DEVICE, LINK_SENDER);
	if (!err)
		err = setns(*receiver, CLONE_NEWNET) ? -errno : 0;
	return err ? err : configure("veth1", LINK_RECEIVER);
}

int link__create(struct link *l, struct failure *f)
{
	int receiver = -1, err;

	l->sender = -1;
	err = make_namespaces(l, &receiver);
	if (receiver >= 0)
		close(receiver);
	return err ? fail_link(f, err) : 0;
}

int link__enter_sender(const struct link *l, struct failure *f)
{
	if (l->sender < 0 || !setns(l->sender, CLONE_NEWNET))
		return 0;
	return fail_link(f, -errno);
}

void link__close(struct link *l)
{
	if (l->sender >= 0)
		close(l->sender);
	l->sender = -1;
}
