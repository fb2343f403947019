/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

#include "loadgen/system/link.h"
#include "loadgen/system/rtnl.h"

#define PREFIX 30

static int fail(struct failure *f, int err)
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
static int make(struct link *l, int *receiver)
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
	err = make(l, &receiver);
	if (receiver >= 0)
		close(receiver);
	return err ? fail(f, err) : 0;
}

int link__enter_sender(const struct link *l, struct failure *f)
{
	if (l->sender < 0 || !setns(l->sender, CLONE_NEWNET))
		return 0;
	return fail(f, -errno);
}

void link__close(struct link *l)
{
	if (l->sender >= 0)
		close(l->sender);
	l->sender = -1;
}
