// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "loadgen/system/link.h"

struct word {
	struct rtattr head;
	char text[8];
};

/*
 * A request to rtnetlink, in the namespace of its socket. info, data and peer are nested
 * attributes.
 */
struct pair_request {
	struct nlmsghdr header;
	struct ifinfomsg device;
	struct word name;
	struct rtattr info;
	struct word kind;
	struct rtattr data, peer;
	struct ifinfomsg other_device;
	struct word other_name;
	struct rtattr netns;
	int netns_fd;
};
#define REST(from) (sizeof(struct pair_request) - offsetof(struct pair_request, from))

/* Sends the request and waits for the kernel's answer: 0 or -errno. */
static int exchange_netlink(int rtnl, const struct pair_request *q)
{
	struct {
		struct nlmsghdr header;
		struct nlmsgerr error;
		char rest[1024];
	} reply;
	ssize_t n;

	/* Not send(): see control__send(). */
	if (write(rtnl, q, sizeof(*q)) != sizeof(*q))
		return -errno;
	n = read(rtnl, &reply, sizeof(reply));
	if (n < 0)
		return -errno;
	if ((size_t)n < sizeof(reply.header) + sizeof(reply.error) ||
	    reply.header.nlmsg_type != NLMSG_ERROR)
		return -EPROTO;
	return reply.error.error;
}

/* Creates a veth pair: one device here, the other in that namespace. */
static int add_pair(int other)
{
	const struct pair_request q = {
		.header = {.nlmsg_len = sizeof(q),
			   .nlmsg_type = RTM_NEWLINK,
			   .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_EXCL},
		.name = {{sizeof(q.name), IFLA_IFNAME}, "veth1"},
		.info = {REST(info), IFLA_LINKINFO},
		.kind = {{sizeof(q.kind), IFLA_INFO_KIND}, "veth"},
		.data = {REST(data), IFLA_INFO_DATA},
		.peer = {REST(peer), VETH_INFO_PEER},
		.other_name = {{sizeof(q.other_name), IFLA_IFNAME}, LINK_DEVICE},
		.netns = {REST(netns), IFLA_NET_NS_FD},
		.netns_fd = other,
	};
	int rtnl = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE), err;

	if (rtnl < 0)
		return -errno;
	err = exchange_netlink(rtnl, &q);
	close(rtnl);
	return err;
}

static int fail_link(struct failure *f, int err)
{
	const char *why = err == -EPERM ? "making network namespaces needs CAP_SYS_ADMIN: run as "
					  "root, not by sudo"
			  : err == -EOPNOTSUPP
				  ? "this kernel has no virtual Ethernet devices (modprobe veth)"
				  : NULL;

	return failure__set(f, why ? STATUS_SYSTEM : STATUS_FAILED, err, "--link veth: %s",
			    why ? why : strerror(-err));
}

static int bring_up(int fd, struct ifreq *r)
{
	int err = ioctl(fd, SIOCGIFFLAGS, r);

	r->ifr_flags |= IFF_UP;
	return err ? err : ioctl(fd, SIOCSIFFLAGS, r);
}

/* Sets up the devices of the current namespace. */
static int configure(const char *device, const char *address)
{
	struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = inet_addr(address)};
	struct ifreq lo = {.ifr_name = "lo"}, r = {.ifr_name = ""};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), err;

	if (fd < 0)
		return -errno;
	strcpy(r.ifr_name, device);
	memcpy(&r.ifr_addr, &a, sizeof(a));
	err = bring_up(fd, &lo) || ioctl(fd, SIOCSIFADDR, &r) || bring_up(fd, &r) ? -errno : 0;
	close(fd);
	return err;
}

int link__create(struct link *l, struct failure *f)
{
	int err = unshare(CLONE_NEWNET) ? -errno : 0;

	if (!err)
		l->sender = open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
	if (!err && (l->sender < 0 || unshare(CLONE_NEWNET)))
		err = -errno;
	if (!err)
		err = add_pair(l->sender);
	if (!err)
		err = configure("veth1", LINK_RECEIVER);
	return err ? fail_link(f, err) : 0;
}

int link__enter_sender(const struct link *l, struct failure *f)
{
	int err;

	if (l->sender < 0)
		return 0;
	err = setns(l->sender, CLONE_NEWNET) ? -errno : configure(LINK_DEVICE, LINK_SENDER);
	return err ? fail_link(f, err) : 0;
}

void link__close(struct link *l)
{
	if (l->sender >= 0)
		close(l->sender);
	l->sender = -1;
}
