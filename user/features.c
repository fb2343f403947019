// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#include "features.h"

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The functions whose place in memory matters; a row each. */
static const char *const code_names[] = {
	"sock_ofree",
	"__msg_zerocopy_callback",
	"msg_zerocopy_complete",
	"msg_zerocopy_callback",
};
#define CODE_COUNT (sizeof(code_names) / sizeof(code_names[0]))

struct features {
	struct btf *btf;
	char fentry_refused[128]; /* empty: it works */
	struct address_range code[CODE_COUNT];
};

static const struct bpf_insn return_0[] = {
	{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0},
	{.code = BPF_JMP | BPF_EXIT},
};

/* Loads an empty raw tracepoint program: the least that measuring needs. 0 or -errno. */
static int probe_raw_tracepoint(void)
{
	int fd = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "sp_probe", "GPL", return_0, 2, NULL);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/* What all our programs rest on: 5.11 and 5.15 brought them. NULL, or what is missing. */
static const char *missing_basics(void)
{
	if (libbpf_probe_bpf_map_type(BPF_MAP_TYPE_TASK_STORAGE, NULL) == 0)
		return "this kernel has no BPF task storage (Linux 5.15 has all that is needed)";
	if (libbpf_probe_bpf_helper(BPF_PROG_TYPE_RAW_TRACEPOINT, BPF_FUNC_task_pt_regs, NULL) == 0)
		return "this kernel has no bpf_task_pt_regs() (Linux 5.15 has all that is needed)";
	return NULL;
}

/*
 * Loads and attaches an empty fentry program: some systems refuse the load
 * (a seccomp or security policy), some only the attaching (arm64 before 6.0 has
 * no direct calls). 0 or -errno.
 */
static int probe_fentry(const struct btf *btf)
{
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_FENTRY);
	int fd, link, err = 0;
	int id = btf__find_by_name_kind(btf, "tcp_sendmsg", BTF_KIND_FUNC);

	if (id < 0)
		return -ENOENT;
	opts.attach_btf_id = id;
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

/*
 * kallsyms has starts only: a function ends where the next one starts, and the
 * kernel's own symbols come sorted. Zero addresses (kptr_restrict) leave no range.
 * Reading it takes tens of milliseconds.
 */
static void read_code(struct features *f)
{
	FILE *file = fopen("/proc/kallsyms", "re");
	unsigned long long address;
	char line[512], name[256], type;
	size_t i;

	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "%llx %c %255s", &address, &type, name) != 3 || !address)
			continue;
		for (i = 0; i < CODE_COUNT; i++) {
			if (!strcmp(name, code_names[i]))
				f->code[i] = (struct address_range){address, ~0ULL};
			else if (address > f->code[i].from && address < f->code[i].to)
				f->code[i].to = address;
		}
	}
	if (file)
		fclose(file);
}

static int fail(struct features *f, int err, char *reason, unsigned long size, const char *what)
{
	if (reason)
		snprintf(reason, size, "%s: %s", what, strerror(-err));
	features__free(f);
	return err;
}

int features__probe(struct features **out, bool code, char *reason, unsigned long size)
{
	struct features *f = calloc(1, sizeof(*f));
	const char *missing;
	int err;

	if (!f)
		return -ENOMEM;
	f->btf = btf__load_vmlinux_btf();
	if (!f->btf)
		return fail(f, -ENOENT, reason, size,
			    "this kernel has no BTF (/sys/kernel/btf/vmlinux; it comes with "
			    "CONFIG_DEBUG_INFO_BTF)");
	err = probe_raw_tracepoint();
	if (err)
		return fail(f, err, reason, size,
			    "the kernel refuses a BPF program (needs CAP_BPF and CAP_PERFMON: "
			    "run with sudo)");
	missing = missing_basics();
	if (missing) {
		if (reason)
			snprintf(reason, size, "%s", missing);
		features__free(f);
		return -ENOTSUP;
	}
	err = probe_fentry(f->btf);
	if (err)
		snprintf(f->fentry_refused, sizeof(f->fentry_refused),
			 "the kernel refuses tracing programs: %s", strerror(-err));
	if (code)
		read_code(f);
	*out = f;
	return 0;
}

void features__free(struct features *f)
{
	if (!f)
		return;
	btf__free(f->btf);
	free(f);
}

bool features__has_function(const struct features *f, const char *name)
{
	return btf__find_by_name_kind(f->btf, name, BTF_KIND_FUNC) > 0;
}

/*
 * The kernel describes a raw tracepoint by the type of its probe function, a
 * typedef of a pointer to a function whose first argument is the probe's own.
 */
int features__tracepoint_args(const struct features *f, const char *name)
{
	const struct btf_type *t;
	char typedef_name[128];
	int id;

	snprintf(typedef_name, sizeof(typedef_name), "btf_trace_%s", name);
	id = btf__find_by_name_kind(f->btf, typedef_name, BTF_KIND_TYPEDEF);
	if (id < 0)
		return -1;
	t = btf__type_by_id(f->btf, btf__type_by_id(f->btf, id)->type);
	t = t ? btf__type_by_id(f->btf, t->type) : NULL;
	return t && btf_is_func_proto(t) ? btf_vlen(t) - 1 : -1;
}

const char *features__fentry_refused(const struct features *f)
{
	return f->fentry_refused[0] ? f->fentry_refused : NULL;
}

bool features__code(const struct features *f, const char *name, struct address_range *range)
{
	size_t i;

	for (i = 0; i < CODE_COUNT; i++) {
		if (strcmp(name, code_names[i]) || !f->code[i].from)
			continue;
		*range = f->code[i];
		return true;
	}
	return false;
}
