/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Made by vmlinux/generate from a kernel's BTF and the lists there: do not edit. */
#ifndef __VMLINUX_H__
#define __VMLINUX_H__

struct Qdisc;
struct cgroup;
struct css_set;
struct device;
struct dst_entry;
struct fdtable;
struct file;
struct files_struct;
struct inode;
struct io_notif_data;
struct io_uring_task;
struct iovec;
struct kernfs_node;
struct list_head;
struct net;
struct net_device;
struct pid;
struct pid_namespace;
struct signal_struct;
struct sk_buff;
struct sock;
struct task_struct;
struct ubuf_info;
struct user_namespace;
struct user_struct;

typedef unsigned char __u8;
typedef short unsigned int __u16;
typedef unsigned int __u32;
typedef long long unsigned int __u64;
typedef signed char __s8;
typedef short int __s16;
typedef int __s32;
typedef long long int __s64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u64 __be64;
typedef __u32 __wsum;
typedef _Bool bool;
typedef long unsigned int __kernel_ulong_t;
typedef __kernel_ulong_t __kernel_size_t;
typedef __kernel_size_t size_t;
typedef int __kernel_pid_t;
typedef __kernel_pid_t pid_t;
typedef __u64 u64;
typedef struct {
	u64 val;
} __attribute__((preserve_access_index)) kernel_cap_t;
typedef struct {
	int counter;
} __attribute__((preserve_access_index)) atomic_t;
typedef __s64 s64;
typedef struct {
	s64 counter;
} __attribute__((preserve_access_index)) atomic_long_t;
typedef short unsigned int umode_t;
typedef struct {
	struct net *net;
} __attribute__((preserve_access_index)) possible_net_t;
typedef __u32 u32;
typedef u64 netdev_features_t;
typedef __u16 u16;
typedef __u8 u8;
typedef unsigned int sk_buff_data_t;
typedef struct refcount_struct refcount_t;
typedef __s32 s32;

struct thread_info {
	long unsigned int flags;
} __attribute__((preserve_access_index));

struct sched_info {
	long long unsigned int run_delay;
} __attribute__((preserve_access_index));

struct cred {
	kernel_cap_t cap_effective;
	struct user_struct *user;
	struct user_namespace *user_ns;
} __attribute__((preserve_access_index));

struct task_struct {
	struct thread_info thread_info;
	void *stack;
	unsigned int flags;
	struct sched_info sched_info;
	pid_t pid;
	pid_t tgid;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	long unsigned int nvcsw;
	long unsigned int nivcsw;
	const struct cred *cred;
	char comm[16];
	struct files_struct *files;
	struct io_uring_task *io_uring;
	struct signal_struct *signal;
	struct css_set *cgroups;
} __attribute__((preserve_access_index));

struct css_set {
	struct cgroup *dfl_cgrp;
} __attribute__((preserve_access_index));

struct cgroup {
	struct kernfs_node *kn;
} __attribute__((preserve_access_index));

struct kernfs_node {
	const char *name;
} __attribute__((preserve_access_index));

struct upid {
	int nr;
	struct pid_namespace *ns;
} __attribute__((preserve_access_index));

struct pid {
	unsigned int level;
	struct upid numbers[0];
} __attribute__((preserve_access_index));

struct ns_common {
	unsigned int inum;
} __attribute__((preserve_access_index));

struct pid_namespace {
	struct ns_common ns;
} __attribute__((preserve_access_index));

struct rlimit {
	__kernel_ulong_t rlim_cur;
} __attribute__((preserve_access_index));

struct signal_struct {
	atomic_t live;
	struct rlimit rlim[16];
} __attribute__((preserve_access_index));

struct user_struct {
	atomic_long_t locked_vm;
} __attribute__((preserve_access_index));

struct user_namespace {
	int level;
} __attribute__((preserve_access_index));

struct files_struct {
	struct fdtable *fdt;
} __attribute__((preserve_access_index));

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
} __attribute__((preserve_access_index));

struct file {
	void *private_data;
	struct inode *f_inode;
} __attribute__((preserve_access_index));

struct inode {
	umode_t i_mode;
} __attribute__((preserve_access_index));

struct socket {
	struct sock *sk;
} __attribute__((preserve_access_index));

struct tcp_ulp_ops {

} __attribute__((preserve_access_index));

struct inet_connection_sock {
	const struct tcp_ulp_ops *icsk_ulp_ops;
} __attribute__((preserve_access_index));

struct in6_addr {

} __attribute__((preserve_access_index));

struct sock_common {
	__be32 skc_daddr;
	__be16 skc_dport;
	__u16 skc_num;
	short unsigned int skc_family;
	volatile unsigned char skc_state;
	possible_net_t skc_net;
	struct in6_addr skc_v6_daddr;
	long unsigned int skc_flags;
} __attribute__((preserve_access_index));

struct sk_buff_head {
	struct sk_buff *prev;
} __attribute__((preserve_access_index));

struct sock {
	struct sock_common __sk_common;
	struct sk_buff_head sk_error_queue;
	u32 sk_tsflags;
	atomic_t sk_omem_alloc;
	atomic_t sk_zckey;
	struct dst_entry *sk_dst_cache;
	netdev_features_t sk_route_caps;
	u16 sk_protocol;
} __attribute__((preserve_access_index));

struct kvec {

} __attribute__((preserve_access_index));

struct iov_iter {
	u8 iter_type;
	size_t iov_offset;
	const struct kvec *kvec;
	size_t count;
	long unsigned int nr_segs;
} __attribute__((preserve_access_index));

struct msghdr {
	struct iov_iter msg_iter;
	unsigned int msg_flags;
	struct ubuf_info *msg_ubuf;
} __attribute__((preserve_access_index));

struct user_msghdr {
	void *msg_name;
	int msg_namelen;
	struct iovec *msg_iov;
	__kernel_size_t msg_iovlen;
	void *msg_control;
	__kernel_size_t msg_controllen;
	unsigned int msg_flags;
} __attribute__((preserve_access_index));

struct iovec {
	void *iov_base;
	__kernel_size_t iov_len;
} __attribute__((preserve_access_index));

struct sk_buff {
	struct net_device *dev;
	struct sock *sk;
	char cb[48];
	void *destructor;
	unsigned int len;
	unsigned int data_len;
	__u8 encapsulation:1;
	__be16 protocol;
	__u16 transport_header;
	sk_buff_data_t end;
	unsigned char *head;
	unsigned char *data;
} __attribute__((preserve_access_index));

struct list_head {
	struct list_head *next;
} __attribute__((preserve_access_index));

struct device {
	struct device *parent;
} __attribute__((preserve_access_index));

struct rtnl_link_ops {
	const char *kind;
} __attribute__((preserve_access_index));

struct net_device {
	long unsigned int priv_flags:32;
	unsigned int flags;
	netdev_features_t features;
	int ifindex;
	possible_net_t nd_net;
	char name[16];
	struct list_head ptype_all;
	netdev_features_t hw_enc_features;
	struct Qdisc *qdisc;
	struct device dev;
	const struct rtnl_link_ops *rtnl_link_ops;
} __attribute__((preserve_access_index));

struct Qdisc_ops {
	char id[16];
} __attribute__((preserve_access_index));

struct Qdisc {
	const struct Qdisc_ops *ops;
} __attribute__((preserve_access_index));

struct net {
	struct ns_common ns;
} __attribute__((preserve_access_index));

struct dst_entry {
	struct net_device *dev;
} __attribute__((preserve_access_index));

struct tcphdr {
	__be32 seq;
} __attribute__((preserve_access_index));

struct minmax_sample {
	u32 v;
} __attribute__((preserve_access_index));

struct minmax {
	struct minmax_sample s[3];
} __attribute__((preserve_access_index));

struct tcp_sock {
	u32 mss_cache;
	u32 copied_seq;
	struct minmax rtt_min;
	u32 write_seq;
} __attribute__((preserve_access_index));

struct io_ring_ctx {
	unsigned int flags;
} __attribute__((preserve_access_index));

struct skb_shared_info {
	__u8 flags;
	__u8 nr_frags;
	__u8 tx_flags;
	void *destructor_arg;
} __attribute__((preserve_access_index));

struct ubuf_info_ops {

} __attribute__((preserve_access_index));

struct refcount_struct {
	atomic_t refs;
} __attribute__((preserve_access_index));

struct ubuf_info {
	const struct ubuf_info_ops *ops;
	refcount_t refcnt;
} __attribute__((preserve_access_index));

struct ubuf_info_msgzc {
	struct ubuf_info ubuf;
	u32 id;
	u16 len;
	u16 zerocopy:1;
	u32 bytelen;
} __attribute__((preserve_access_index));

struct io_notif_data {
	struct ubuf_info uarg;
	struct io_notif_data *head;
	bool zc_report;
	bool zc_used;
	bool zc_copied;
} __attribute__((preserve_access_index));

struct io_cqe {
	__s32 res;
} __attribute__((preserve_access_index));

struct io_kiocb {
	u8 opcode;
	struct io_cqe cqe;
} __attribute__((preserve_access_index));

enum io_uring_op {
	IORING_OP_SENDMSG = 9,
	IORING_OP_SEND = 26,
	IORING_OP_SEND_ZC = 47,
	IORING_OP_SENDMSG_ZC = 48,
};

struct sock_extended_err {
	__u32 ee_errno;
	__u8 ee_origin;
	__u8 ee_type;
	__u8 ee_code;
	__u8 ee_pad;
	__u32 ee_info;
	__u32 ee_data;
} __attribute__((preserve_access_index));

struct sock_exterr_skb {
	struct sock_extended_err ee;
} __attribute__((preserve_access_index));

enum iter_type {
	ITER_BVEC = 2,
};

enum sock_flags {
	SOCK_DEAD = 0,
	SOCK_ZEROCOPY = 18,
};

enum bpf_func_id {
	BPF_FUNC_task_pt_regs = 175,
	BPF_FUNC_get_func_ret = 184,
};

enum {
	TCP_SYN_SENT = 2,
	TCP_SYN_RECV = 3,
	TCP_CLOSE = 7,
};

enum {
	false = 0,
	true = 1,
};

struct bpf_perf_event_value {
	__u64 counter;
	__u64 enabled;
	__u64 running;
} __attribute__((preserve_access_index));

enum bpf_map_type {
	BPF_MAP_TYPE_ARRAY = 2,
	BPF_MAP_TYPE_CGROUP_ARRAY = 8,
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_LRU_HASH = 9,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_PERF_EVENT_ARRAY = 4,
	BPF_MAP_TYPE_RINGBUF = 27,
};

enum {
	BPF_ANY = 0,
	BPF_NOEXIST = 1,
};

enum {
	BPF_F_NO_PREALLOC = 1,
};

struct user_pt_regs {
	__u64 regs[31];
	__u64 sp;
	__u64 pc;
	__u64 pstate;
} __attribute__((preserve_access_index));

struct pt_regs {
	u64 regs[31];
	u64 pstate;
	u64 orig_x0;
	s32 syscallno;
} __attribute__((preserve_access_index));

#endif
