// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/kernel/netdev.h"

#include <errno.h>
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static bool feature(int fd, struct ifreq *request, __u32 command)
{
	struct ethtool_value value = {.cmd = command};

	request->ifr_data = (char *)&value;
	return !ioctl(fd, SIOCETHTOOL, request) && value.data;
}

static void examine(int fd, struct netdev *d)
{
	struct ethtool_drvinfo info = {.cmd = ETHTOOL_GDRVINFO};
	struct ifreq request = {};

	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", d->name);
	if (!ioctl(fd, SIOCGIFFLAGS, &request))
		d->loopback = request.ifr_flags & IFF_LOOPBACK;
	d->scatter_gather = feature(fd, &request, ETHTOOL_GSG);
	d->checksum = feature(fd, &request, ETHTOOL_GTXCSUM);
	d->segmentation = feature(fd, &request, ETHTOOL_GTSO);
	request.ifr_data = (char *)&info;
	if (!ioctl(fd, SIOCETHTOOL, &request))
		snprintf(d->driver, sizeof(d->driver), "%.31s", info.driver);
}

int netdev__each(void (*found)(void *context, const struct netdev *d), void *context)
{
	struct if_nameindex *list = if_nameindex(), *entry;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), err = 0;
	struct netdev d;

	if (!list || fd < 0) {
		err = -errno;
		goto out;
	}
	for (entry = list; entry->if_index; entry++) {
		memset(&d, 0, sizeof(d));
		snprintf(d.name, sizeof(d.name), "%s", entry->if_name);
		examine(fd, &d);
		found(context, &d);
	}
out:
	if (fd >= 0)
		close(fd);
	if (list)
		if_freenameindex(list);
	return err;
}
