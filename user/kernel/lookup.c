// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Looks symbols up by a program in the kernel. */
#include "user/kernel/kallsyms.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <errno.h>
#include <string.h>

#include "symbols.skel.h"

/*
 * Linux 6.2 added this function with "kallsyms: Improve the performance of kallsyms_lookup_name()".
 * Before, a look-up expands all names.
 */
#define FAST_SINCE "kallsyms_on_each_match_symbol"

/* Compilers give these endings to the variants of a function. */
static const char *const suffixes[] = {".isra.0", ".constprop.0", ".part.0"};

/* Finds the range of a symbol, which ends where the next one begins. 0 or -errno. */
static int look_up(const struct symbols *skel, const char *name, const char *suffix,
		   struct address_range *range)
{
	LIBBPF_OPTS(bpf_test_run_opts, opts);
	char *text = skel->bss->symbol_name, *size;
	int err;

	memset(text, 0, sizeof(skel->bss->symbol_name));
	snprintf(text, sizeof(skel->bss->symbol_name), "%s%s", name, suffix);
	err = bpf_prog_test_run_opts(bpf_program__fd(skel->progs.look_up_symbol), &opts);
	if (err || opts.retval)
		return err ? err : (int)opts.retval;
	size = strchr(skel->bss->symbol_place, '/');
	range->from = skel->bss->symbol_address;
	range->to = size ? range->from + strtoull(size + 1, NULL, 16) : ~0ULL;
	return 0;
}

static void look_up_variant(const struct symbols *skel, struct kernel_symbol *s)
{
	struct address_range range;

	for (size_t i = 0; i < sizeof(suffixes) / sizeof(suffixes[0]); i++) {
		if (look_up(skel, s->name, suffixes[i], &range))
			continue;
		if (s->variant_code.from && s->variant_code.from < range.from)
			continue;
		s->variant_code = range;
		snprintf(s->variant, sizeof(s->variant), "%s%s", s->name, suffixes[i]);
	}
}

int kallsyms__look_up(struct kernel_symbol *symbols, size_t count)
{
	libbpf_print_fn_t print = libbpf_set_print(NULL); /* the kernel may refuse the program */
	struct symbols *skel = symbols__open_and_load();
	struct address_range range;
	int err = skel ? look_up(skel, FAST_SINCE, "", &range) : -errno;

	libbpf_set_print(print);
	for (struct kernel_symbol *s = symbols; !err && s < symbols + count; s++) {
		s->found = !look_up(skel, s->name, "", &s->code);
		if (!s->data)
			look_up_variant(skel, s);
	}
	symbols__destroy(skel);
	return err;
}
