/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Groups sends by the keys of --by, and zero-copy sends also by their receiver. Sends whose group
 * has no room in a map are charged to the map's rest, so that sums stay exact.
 */
#pragma once

#include "state.bpf.h"

/* A set of enum group_by; the loader removes the code of --by if it is 0. */
const volatile __u32 group_by = 0;
/* Zero-copy sends are also counted by receiver. */
const volatile bool by_receiver = true;

/* The analyzer sizes these maps, and preallocates them on kernels that require it. */
struct group_map {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, struct group_key);
	__type(value, struct group);
};
struct group_map groups SEC(".maps");
struct group_map peers SEC(".maps");

struct group groups_rest, peers_rest;

/* The paths of the control groups of --by cgroup; they are removed with their groups. */
GROWING_HASH(group_paths, 65536, struct group_key, struct cgroup_path);
/* A new path: too large for a program's stack. */
PERCPU_ARRAY(new_path, 1, struct cgroup_path);

/* Ignores the operation's result, which Linux 5.10 cannot return. */
static __always_inline void add(__u64 *field, __u64 n)
{
	__sync_fetch_and_add(field, n);
}

#define V4_MAPPED bpf_htonl(0xffff)

struct in6_addr___words {
	union {
		__be32 u6_addr32[4];
	} in6_u;
} __attribute__((preserve_access_index));

/* An IPv4 receiver of an IPv6 socket has the key of the IPv4 address. */
static __always_inline void key__set_address(struct group_key *key, struct sock *sk)
{
	struct in6_addr___words *v6 =
		(void *)sk + bpf_core_field_offset(struct sock, __sk_common.skc_v6_daddr);

	key->family = READ(sk, __sk_common.skc_family);
	if (key->family == AF_INET6) {
		key->address[0] = READ(v6, in6_u.u6_addr32[0]);
		key->address[1] = READ(v6, in6_u.u6_addr32[1]);
		key->address[2] = READ(v6, in6_u.u6_addr32[2]);
		key->address[3] = READ(v6, in6_u.u6_addr32[3]);
		if (key->address[0] || key->address[1] || key->address[2] != V4_MAPPED)
			return;
		key->family = AF_INET;
		key->address[2] = key->address[3] = 0;
	}
	key->address[0] = READ(sk, __sk_common.skc_daddr);
}

/*
 * Fills in the keys of enum group_by that `by` has, for a send of the current process on this
 * socket by this device.
 */
static __always_inline void key__of(struct group_key *key, struct sock *sk,
				    struct net_device *device, __u32 by)
{
	__builtin_memset(key, 0, sizeof(*key));
	if (by & BY_PROCESS)
		key->tgid = current_tgid();
	if (by & BY_CGROUP & group_by)
		key->cgroup = bpf_get_current_cgroup_id();
	if (by & BY_DEVICE) {
		key->netns = READ(sk, __sk_common.skc_net.net, ns.inum);
		key->ifindex = device ? READ(device, ifindex) : 0;
	}
	if (by & BY_PORT)
		key->port = peer_port(sk);
	if (by & BY_ADDRESS)
		key__set_address(key, sk);
}

static __always_inline void key__reduce(struct group_key *to, const struct group_key *from,
					__u32 by)
{
	__builtin_memset(to, 0, sizeof(*to));
	if (by & BY_PROCESS)
		to->tgid = from->tgid;
	if (by & BY_CGROUP)
		to->cgroup = from->cgroup;
	if (by & BY_DEVICE) {
		to->netns = from->netns;
		to->ifindex = from->ifindex;
	}
	if (by & BY_PORT)
		to->port = from->port;
	if (by & BY_ADDRESS) {
		to->family = from->family;
		__builtin_memcpy(to->address, from->address, sizeof(to->address));
	}
}

static __always_inline bool same_address(const struct group *g, const struct group_key *who)
{
	return g->family == who->family && g->address[0] == who->address[0] &&
	       g->address[1] == who->address[1] && g->address[2] == who->address[2] &&
	       g->address[3] == who->address[3];
}

struct kernfs_node___before_6_15 {
	struct kernfs_node *parent;
} __attribute__((preserve_access_index));

struct kernfs_node___with_rcu {
	struct kernfs_node *__parent;
} __attribute__((preserve_access_index));

/* "kernfs: Use RCU to access kernfs_node::parent" (6.15) renamed the member. */
static __always_inline struct kernfs_node *parent_of(struct kernfs_node *node)
{
	struct kernfs_node___with_rcu *with_rcu = (void *)node;

	if (bpf_core_field_exists(with_rcu->__parent))
		return READ(with_rcu, __parent);
	return READ((struct kernfs_node___before_6_15 *)node, parent);
}

/* Reads the path of a control group, given by its node, into new_path. The root has no name. */
GLOBAL int cgroup__read_path(__u64 from)
{
	struct kernfs_node *node = (struct kernfs_node *)from, *parent;
	struct cgroup_path *path;
	__u64 end = 0;
	char *name;
	long size;
	__u32 i;

	/* Older kernels check a global function that nothing calls, too. */
	path = group_by & BY_CGROUP ? FIRST_OF(new_path) : NULL;
	if (!path)
		return 0;
	path->whole = 0;
	path->names[0] = 0;
	for (i = 0; i < CGROUP_LEVELS; i++) {
		parent = parent_of(node);
		if (!parent)
			path->whole = 1;
		if (!parent || end >= CGROUP_PATH_MAX)
			break;
		name = path->names + end;
		size = bpf_probe_read_kernel_str(name, CGROUP_NAME_MAX, READ(node, name));
		if (size < 2 || size > CGROUP_NAME_MAX)
			break;
		name[size - 1] = '/';
		end += size;
		node = parent;
	}
	if (end < sizeof(path->names))
		path->names[end] = 0;
	return 0;
}

/* Stores the current control group's path with its group. */
static __noinline void group__keep_path(const struct group_key *key)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct cgroup_path *path = FIRST_OF(new_path);

	cgroup__read_path(number_of(READ(task, cgroups, dfl_cgrp, kn)));
	if (path)
		bpf_map_update_elem(&group_paths, key, path, BPF_ANY);
}

/* A new group: too large for the stack of a program whose functions call functions. */
PERCPU_ARRAY(new_group, 1, struct group);

/* Called in the context of the sender: the group gets the current names. */
static __noinline void group__make(bool of_peers, const struct group_key *key,
				   const struct group_key *who, struct sock *sk)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct group *fresh = FIRST_OF(new_group);

	if (!fresh)
		return;
	fresh->family = who->family;
	fresh->pid = current_process_id();
	__builtin_memcpy(fresh->address, who->address, sizeof(fresh->address));
	__builtin_memset(fresh->comm, 0, sizeof(fresh->comm));
	__builtin_memset(fresh->device, 0, sizeof(fresh->device));
	BPF_CORE_READ_STR_INTO(&fresh->comm, task, group_leader, comm);
	BPF_CORE_READ_STR_INTO(&fresh->device, sk, sk_dst_cache, dev, name);
	/* A map that is not used is not created, so no path may load its address. */
	if (group_by & BY_CGROUP && !of_peers)
		group__keep_path(key);
	if (by_receiver && of_peers)
		bpf_map_update_elem(&peers, key, fresh, BPF_NOEXIST);
	else if (group_by)
		bpf_map_update_elem(&groups, key, fresh, BPF_NOEXIST);
}

/* Returns a group, or rest. Creates the group if sk, the sending process's socket, is not NULL. */
static __always_inline struct group *group__find(struct group_map *map, struct group *rest,
						 const struct group_key *who, __u32 by,
						 struct sock *sk)
{
	struct group_key key;
	struct group *g;

	key__reduce(&key, who, by);
	g = bpf_map_lookup_elem(map, &key);
	if (!g && sk) {
		group__make(map == &peers, &key, who, sk);
		g = bpf_map_lookup_elem(map, &key);
	}
	/*
	 * Two tests: clang would combine the two pointers into a number, which the verifier
	 * refuses.
	 */
	if (!g)
		return rest;
	if (sk && !same_address(g, who))
		g->addresses = 1;
	return g;
}

/* ERESTARTSYS and similar codes: a signal interrupted the send. */
static __always_inline bool is_interrupted(long ret)
{
	return ret <= -512 && ret >= -516;
}

/* Flags beside MSG_ZEROCOPY. They have bits of MSG_ flags that no code here reads. */
#define SEND_IGNORED 1
#define SEND_OWNED   2 /* the owner of the send's completion is known */

/* Counts any send of a process. */
static __always_inline void group__count_send(struct group *g, long ret, __u64 ns)
{
	add(&g->sends, 1);
	if (ns) {
		add(&g->timed, 1);
		add(&g->ns, ns);
	}
	if (ret < 0)
		add(&g->failed, 1);
	else
		add(&g->bytes, ret);
	if (is_interrupted(ret))
		add(&g->interrupted, 1);
}

/* Counts what only zero-copy sends have. Groups by receiver count nothing else of sends. */
static __always_inline void group__count_request(struct group *g, __u32 flags, long ret)
{
	add(&g->requests, 1);
	if (ret < 0)
		add(&g->refused, 1);
	else
		add(&g->zerocopy_bytes, ret);
	if (flags & SEND_IGNORED)
		add(&g->ignored, 1);
}

/* Creates the groups of a new zero-copy send: its completion, in an interrupt, cannot do it. */
static __always_inline void groups__make_room(const struct group_key *who, struct sock *sk)
{
	if (by_receiver)
		group__find(&peers, &peers_rest, who, BY_PEER, sk);
	if (group_by)
		group__find(&groups, &groups_rest, who, group_by, sk);
}

static __always_inline void group__count_completions(struct group *g, __u64 sends, __u64 copied)
{
	add(&g->completions, sends);
	add(&g->copied, copied);
}

/* Counts completed sends, and how many more completed sends are known to be copied. */
static __noinline void groups__count_completions(const struct group_key *owner, __u64 sends,
						 __u64 copied)
{
	if (by_receiver)
		group__count_completions(group__find(&peers, &peers_rest, owner, BY_PEER, NULL),
					 sends, copied);
	if (group_by)
		group__count_completions(group__find(&groups, &groups_rest, owner, group_by, NULL),
					 sends, copied);
}

/*
 * Adds n to another member that counts completed sends, given by its offset. n is negative if
 * unflagged copies are corrected.
 */
static __noinline void groups__add(const struct group_key *owner, __u32 field, __u64 n)
{
	if (by_receiver)
		add((void *)group__find(&peers, &peers_rest, owner, BY_PEER, NULL) + field, n);
	if (group_by)
		add((void *)group__find(&groups, &groups_rest, owner, group_by, NULL) + field, n);
}
