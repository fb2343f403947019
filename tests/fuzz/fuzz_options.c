// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Fuzzes a load's command line, with newlines between words, and computes all its loads. */
#include "loadgen/options/options.h"

#include <argp.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define WORDS_MAX 40
#define CELLS_MAX 1000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *words[WORDS_MAX + 2] = {(char *)"loadgen"}, *text = strndup((const char *)data, size);
	char *next = text, *word, why[256];
	struct load_options *o = calloc(1, sizeof(*o));
	struct load load;
	int count = 1;

	if (!text || !o)
		abort();
	while (count <= WORDS_MAX && (word = strsep(&next, "\n")))
		words[count++] = word;
	if (!argp_parse(&load_argp, count, words, ARGP_NO_EXIT | ARGP_NO_ERRS | ARGP_NO_HELP, NULL,
			o) &&
	    !load_options__resolve(o, why, sizeof(why)))
		for (size_t i = 0; i < load_options__cells(o) && i < CELLS_MAX; i++) {
			load = load_options__nth(o, i);
			load__impossible(&load, why, sizeof(why));
		}
	free(o);
	free(text);
	return 0;
}
