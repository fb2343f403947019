// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* A client's header Accept, and the name of a process: whatever it is, a sample stays a line. */
#include "user/exporter/exposition.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Is it one line of printable characters, in which quotes and backslashes are escaped? */
static int is_sample(const char *line)
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
	return quotes == 2 && !strcmp(line, "\n");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct exposition *e;
	char *text = strndup((const char *)data, size), *written = NULL;
	size_t length;
	FILE *out = open_memstream(&written, &length);

	e = e ? e : exposition__new();
	if (!e || !text || !out)
		abort();
	exposition__begin(e, out, exposition__wants_open_metrics(text));
	exposition__family(e, METRIC_GAUGE, "g", "", text, text);
	fflush(out);
	size = length;
	if (strlen(text) < 16) /* as a name of the kernel's */
		exposition__count(e, LABELS({"comm", text}), 1);
	if (fclose(out) || (strlen(text) < 16 && !is_sample(written + size)))
		abort();
	free(written);
	free(text);
	return 0;
}
