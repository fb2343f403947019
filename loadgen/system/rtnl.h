/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The few requests to the kernel that a link between two namespaces takes (rtnetlink). */
#pragma once

#include <stdint.h>

/* A conversation with the caller's present namespace: a descriptor, or -errno. */
int rtnl__open(void);

/* A pair of virtual Ethernet devices; the other one in the namespace of netns_fd. */
int rtnl__add_veth(int rtnl, const char *name, const char *other, int netns_fd);
int rtnl__set_up(int rtnl, const char *name);
/* address: IPv4, as inet_addr() has it. */
int rtnl__add_address(int rtnl, const char *name, uint32_t address, unsigned int prefix);
