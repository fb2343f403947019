// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Fuzzes a client's header Accept, and the name of a process: each sample must remain one line. */
#include "user/exporter/exposition.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Returns whether a sample is one line of printable characters with this many labels. */
static int is_sample(const char *line, size_t labels)
{
	size_t quotes = 0;

	for (; *line && *line != '\n'; line++) {
		if (*line < ' ' || *line > '~')
			return 0;
		if (*line == '\\' && !strchr("\\\"", *++line))
			return 0;
		else if (*line == '"' && line[-1] != '\\')
			quotes++;
	}
	return quotes == 2 * labels && !strcmp(line, "\n");
}

#define HEAD_END "\n# TYPE g gauge\n" /* a help text contains no newline */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct exposition e;
	char *text = strndup((const char *)data, size), *written, *sample;
	const struct family f = {METRIC_GAUGE, "g", "", text, {"comm"}};
	bool open_metrics;

	if (!text)
		abort();
	open_metrics = exposition__wants_open_metrics(text);
	if (!exposition__begin(&e, open_metrics))
		abort();
	exposition__family(&e, &f, text);
	if (strlen(text) < 16) /* a process name in the kernel is shorter */
		exposition__number(&e, LABELS(text), 1);
	written = exposition__end(&e);
	sample = written ? strstr(written, HEAD_END) : NULL;
	if (!sample)
		abort();
	if (open_metrics)
		written[strlen(written) - strlen("# EOF\n")] = 0;
	if (strlen(text) < 16 && !is_sample(sample + strlen(HEAD_END), text[0] != 0))
		abort();
	free(written);
	free(text);
	return 0;
}
