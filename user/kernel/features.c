// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "user/kernel/features.h"

#include "user/kernel/causes.h"
#include "user/kernel/types.h"
#include "user/system/files.h"

#include <assert.h>
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Functions whose address is needed, in addition to those of the hook table. */
static const char *const code_names[] = {
	"sock_ofree",	 "msg_zerocopy_complete", "msg_zerocopy_callback",
	"ip_recv_error", "ipv6_recv_error",
};
#define CODE_COUNT  (sizeof(code_names) / sizeof(code_names[0]))
#define SYMBOLS_MAX 96

/* Variables that have the packet taps of all devices. */
static const char *const variable_names[] = {"ptype_all", "net_hotdata"};
#define VARIABLE_COUNT (sizeof(variable_names) / sizeof(variable_names[0]))

/* Functions and types on which features depend, in addition to those of the hook table. */
static const struct kernel_type other_types[] = {
	{.name = "bpf_for_each_map_elem", .kind = TYPE_FUNCTION},
	{.name = "bpf_rdonly_cast", .kind = TYPE_FUNCTION},
	{.name = "bpf_mem_alloc", .kind = TYPE_STRUCT},
	{.name = "fprobe", .kind = TYPE_STRUCT},
	{.name = "io_notif_data", .kind = TYPE_STRUCT},
};
#define OTHER_COUNT (sizeof(other_types) / sizeof(other_types[0]))
#define TYPES_MAX   128

struct features {
	struct kernel_type types[TYPES_MAX];
	size_t type_count;
	bool graph_probes;
	char fentry_refused[128]; /* empty: it works */
	char kprobe_refused[128];
	bool preempts;
	FILE *table; /* kallsyms, opened while it still shows addresses; NULL: unreadable */
	char table_buffer[KALLSYMS_BUFFER];
	struct kernel_symbol symbols[SYMBOLS_MAX];
	size_t symbol_count;
	pthread_t reader; /* reads symbols while reads is true */
	bool reads;
	bool looked_up; /* symbols were found without the table */
	int read_err;	/* 0 or -errno */
};

static const struct bpf_insn return_0[] = {
	{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0},
	{.code = BPF_JMP | BPF_EXIT},
};

/* Loads an empty raw tracepoint program, the minimum for measuring. 0 or -errno. */
static int probe_raw_tracepoint(void)
{
	int fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "sp_probe", "GPL", return_0, 2, NULL);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/*
 * Loads and attaches an empty fentry program. Some systems refuse to load it (seccomp or a security
 * policy), some only to attach it (arm64 before 6.0 has no direct calls). 0 or -errno.
 */
static int probe_fentry(__u32 function)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_FENTRY,
		    .attach_btf_id = function);
	int fd, link, err = 0;

	if (!function)
		return -ENOENT;
	fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "sp_probe", "GPL", return_0, 2, &opts);
	if (fd < 0)
		return -errno;
	link = bpf_raw_tracepoint_open(NULL, fd);
	if (link < 0)
		err = -errno;
	else
		close(link);
	close(fd);
	return err;
}

/* Loads an empty kprobe program and attaches it. 0 or -errno. */
static int probe_kprobe(void)
{
	struct perf_event_attr attr = {.size = sizeof(attr),
				       .config1 = (__u64)(unsigned long)"tcp_sendmsg"};
	int program, event, err = 0;
	long type;

	if (!files__number("/sys/bus/event_source/devices/kprobe/type", &type))
		return -ENOENT;
	program = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "sp_probe", "GPL", return_0, 2, NULL);
	if (program < 0)
		return -errno;
	attr.type = (__u32)type;
	event = (int)syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (event < 0 || ioctl(event, PERF_EVENT_IOC_SET_BPF, program))
		err = -errno;
	if (event >= 0)
		close(event);
	close(program);
	return err;
}

static const struct kernel_type *find_type(const struct features *f, const char *name,
					   enum type_kind kind)
{
	size_t i;

	for (i = 0; i < f->type_count; i++)
		if (f->types[i].kind == kind && !strcmp(f->types[i].name, name))
			return &f->types[i];
	return NULL;
}

static const struct kernel_symbol *find_symbol(const struct features *f, const char *name)
{
	size_t i;

	for (i = 0; i < f->symbol_count; i++)
		if (!strcmp(f->symbols[i].name, name))
			return &f->symbols[i];
	return NULL;
}

/* Returns 0 if this kernel has no such type. */
static __u32 type_id(const struct features *f, const char *name, enum type_kind kind)
{
	const struct kernel_type *t = find_type(f, name, kind);

	return t ? t->id : 0;
}

static void probe_mechanisms(struct features *f)
{
	int err = probe_fentry(type_id(f, "tcp_sendmsg", TYPE_FUNCTION));

	if (err)
		snprintf(f->fentry_refused, sizeof(f->fentry_refused),
			 "the kernel refuses tracing programs: %s", strerror(-err));
	err = probe_kprobe();
	if (err)
		snprintf(f->kprobe_refused, sizeof(f->kprobe_refused), "%s%s",
			 err == -ENOENT ? "this kernel has no kprobes"
					: "the kernel refuses kprobes: ",
			 err == -ENOENT ? "" : strerror(-err));
}

/*
 * Returns whether the kernel preempts its threads. With PREEMPT_DYNAMIC, debugfs shows the mode in
 * parentheses; otherwise the version line does. False if neither shows it.
 */
static bool probe_preemption(void)
{
	struct utsname name;
	char modes[128];

	if (files__first_line("/sys/kernel/debug/sched/preempt", modes, sizeof(modes)))
		return strstr(modes, "(full)") || strstr(modes, "(lazy)");
	return !uname(&name) && strstr(name.version, " PREEMPT") &&
	       !strstr(name.version, "PREEMPT_DYNAMIC");
}

/* A thread's first counter waits for a grace period: opens one here, while symbols are read. */
static void warm_up_counters(void)
{
	struct perf_event_attr attr = {.size = sizeof(attr), .type = PERF_TYPE_SOFTWARE};
	int event = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (event >= 0)
		close(event);
}

static void want_symbol(struct features *f, const char *name, bool data)
{
	if (name && !find_symbol(f, name) && f->symbol_count < SYMBOLS_MAX)
		f->symbols[f->symbol_count++] = (struct kernel_symbol){.name = name, .data = data};
}

static void want_type(struct features *f, const char *name, enum type_kind kind)
{
	if (name && !find_type(f, name, kind) && f->type_count < TYPES_MAX)
		f->types[f->type_count++] = (struct kernel_type){.name = name, .kind = kind};
}

static void want_function(struct features *f, const char *name)
{
	want_symbol(f, name, false);
	want_type(f, name, TYPE_FUNCTION);
}

static void want_option(struct features *f, const struct hook_option *option)
{
	const struct tracepoint_need *tracepoint;
	const char *const *name;

	for (name = option->functions; *name; name++)
		want_function(f, *name);
	for (tracepoint = option->tracepoints; tracepoint->name; tracepoint++)
		want_type(f, tracepoint->name, TYPE_TRACEPOINT);
	want_function(f, option->also);
	want_type(f, option->type, TYPE_STRUCT);
}

static void want_names(struct features *f)
{
	enum hook_id id;
	size_t i;

	for (id = 0; id < HOOK_COUNT; id++)
		for (i = 0; i < HOOK_OPTIONS_MAX; i++)
			want_option(f, &hook__get(id)->options[i]);
	for (i = 0; i < CODE_COUNT; i++)
		want_symbol(f, code_names[i], false);
	for (i = 0; i < VARIABLE_COUNT; i++)
		want_symbol(f, variable_names[i], true);
	for (i = 0; cause_sites[i].function; i++) {
		want_symbol(f, cause_sites[i].function, false);
		want_symbol(f, cause_sites[i].outer, false);
	}
	for (i = 0; i < OTHER_COUNT; i++)
		want_type(f, other_types[i].name, other_types[i].kind);
}

static void *read_table(void *features)
{
	struct features *f = features;

	f->read_err = kallsyms__read(f->table, f->symbols, f->symbol_count);
	return NULL;
}

/* Awaits the table. Without it no function is found, which becomes the reason of each hook. */
static void await_symbols(struct features *f)
{
	if (f->reads)
		pthread_join(f->reader, NULL);
	f->reads = false;
	if (f->read_err)
		program__complain("%s cannot be read: %s", KALLSYMS, strerror(-f->read_err));
	f->read_err = 0;
}

/* Starts a thread for the table, which the kernel writes more slowly than all other probes run. */
static void begin_table(struct features *f)
{
	if (!f->table)
		return;
	f->reads = !pthread_create(&f->reader, NULL, read_table, f);
	if (!f->reads)
		read_table(f);
}

static void begin_symbols(struct features *f)
{
	int err;

	f->table = kallsyms__open(KALLSYMS, f->table_buffer);
	err = f->table ? 0 : -errno;
	f->looked_up = !kallsyms__look_up(f->symbols, f->symbol_count);
	if (f->looked_up)
		return;
	f->read_err = err;
	begin_table(f);
}

/* Returns whether a function was not found, so that only the table can show its variant. */
static bool is_symbol_missed(const struct features *f)
{
	const struct kernel_symbol *s;

	for (s = f->symbols; f->looked_up && s < f->symbols + f->symbol_count; s++)
		if (!s->found && !s->variant[0] && type_id(f, s->name, TYPE_FUNCTION))
			return true;
	return false;
}

static int fail_probe(struct features *f, int err, const char *what, struct failure *failure)
{
	features__free(f);
	return failure__set(failure, err == -ENOMEM ? STATUS_FAILED : STATUS_SYSTEM, err, "%s: %s",
			    what, strerror(-err));
}

/* The member hlist_array came with "fprobe: Rewrite fprobe on function-graph tracer". */
static bool has_graph_probes(const struct features *f, const struct btf *kernel)
{
	__u32 id = type_id(f, "fprobe", TYPE_STRUCT);
	const struct btf_type *t = id ? btf__type_by_id(kernel, id) : NULL;
	int i;

	for (i = 0; t && i < btf_vlen(t); i++)
		if (!strcmp(btf__name_by_offset(kernel, btf_members(t)[i].name_off), "hlist_array"))
			return true;
	return false;
}

int features__probe(struct features **out, bool code, struct failure *failure)
{
	struct features *f = calloc(1, sizeof(*f));
	struct btf *kernel;
	int err;

	if (!f)
		return failure__set(failure, STATUS_FAILED, -ENOMEM, "out of memory");
	want_names(f);
	if (code)
		begin_symbols(f);
	kernel = btf__load_vmlinux_btf();
	if (!kernel && errno == ENOMEM)
		return fail_probe(f, -ENOMEM,
				  "the kernel's types (BTF) cannot be read: raise the limit of "
				  "memory (ulimit -v)",
				  failure);
	if (!kernel)
		return fail_probe(f, -ENOENT,
				  "this kernel has no BTF (/sys/kernel/btf/vmlinux; it comes with "
				  "CONFIG_DEBUG_INFO_BTF)",
				  failure);
	types__find(kernel, f->types, f->type_count);
	f->graph_probes = has_graph_probes(f, kernel);
	types__keep(kernel);
	err = probe_raw_tracepoint();
	if (err)
		return fail_probe(
			f, err,
			"the kernel refuses a BPF program (needs CAP_BPF and CAP_PERFMON: "
			"run with sudo)",
			failure);
	probe_mechanisms(f);
	/* Tracepoints need no symbols. */
	if (!code && (!f->fentry_refused[0] || !f->kprobe_refused[0]))
		begin_symbols(f);
	if (is_symbol_missed(f))
		begin_table(f);
	f->preempts = probe_preemption();
	warm_up_counters();
	await_symbols(f);
	*out = f;
	return 0;
}

void features__free(struct features *f)
{
	if (!f)
		return;
	types__keep(NULL);
	await_symbols(f);
	if (f->table)
		fclose(f->table);
	free(f);
}

static void function(const struct features *f, const char *name, struct kernel_function *out)
{
	const struct kernel_symbol *s = find_symbol(f, name);

	memset(out, 0, sizeof(*out));
	out->typed = type_id(f, name, TYPE_FUNCTION);
	if (!s)
		return;
	out->code = s->found;
	snprintf(out->variant, sizeof(out->variant), "%s", s->variant);
}

static int tracepoint_args(const struct features *f, const char *name)
{
	const struct kernel_type *t = find_type(f, name, TYPE_TRACEPOINT);

	return t ? t->args : -1;
}

/* Returns whether the kernel has the type, which must be one of the requested types. */
static bool has_type(const struct features *f, const char *name, enum type_kind kind)
{
	assert(find_type(f, name, kind));
	return type_id(f, name, kind);
}

bool features__function(const struct features *f, const char *name)
{
	return has_type(f, name, TYPE_FUNCTION);
}

bool features__type(const struct features *f, const char *name)
{
	return has_type(f, name, TYPE_STRUCT);
}

size_t features__codes(const struct features *f, const char *name, struct address_range ranges[2])
{
	const struct kernel_symbol *s = find_symbol(f, name);
	size_t count = 0;

	if (s && s->code.from)
		ranges[count++] = s->code;
	if (s && s->variant_code.from)
		ranges[count++] = s->variant_code;
	return count;
}

int features__symbolize(const struct features *f, struct kernel_address *addresses, size_t *count)
{
	return f->table ? kallsyms__nearest(f->table, addresses, count) : -ENOENT;
}

unsigned long long features__variable(const struct features *f, const char *name)
{
	const struct kernel_symbol *s = find_symbol(f, name);

	return s && s->data ? s->code.from : 0;
}

bool features__code(const struct features *f, const char *name, struct address_range *range)
{
	const struct kernel_symbol *s = find_symbol(f, name);

	if (!s || !s->code.from)
		return false;
	if (range)
		*range = s->code;
	return true;
}

static bool has_code(const struct features *f, const char *name)
{
	return features__code(f, name, NULL);
}

struct kernel_facts features__facts(const struct features *f)
{
	return (struct kernel_facts){
		.features = f,
		.function = function,
		.has_code = has_code,
		.tracepoint_args = tracepoint_args,
		.has_type = features__type,
		.refused = {[MECHANISM_FENTRY] = f->fentry_refused,
			    [MECHANISM_KPROBE] = f->kprobe_refused},
		.preempts = f->preempts,
		.graph_probes = f->graph_probes,
	};
}
