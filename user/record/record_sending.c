// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* What a load sends from, when, and on what socket, as the record has it. */
#include "user/record/record_parts.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "loadgen/load.h"

static json_object *size_or_null(size_t bytes)
{
	return bytes ? json_object_new_uint64(bytes) : NULL;
}

static json_object *name_or_null(const char *name)
{
	return name && name[0] ? json_object_new_string(name) : NULL;
}

/* Null: left to the kernel. */
static json_object *socket_block(const struct socket_options *s)
{
	json_object *o = json_object_new_object();

	json_object_object_add(o, "nodelay", json_object_new_boolean(s->nodelay));
	json_object_object_add(o, "more", json_object_new_boolean(s->more));
	json_object_object_add(o, "sndbuf", size_or_null(s->sndbuf));
	json_object_object_add(o, "rcvbuf", size_or_null(s->rcvbuf));
	json_object_object_add(o, "congestion", name_or_null(s->congestion));
	json_object_object_add(o, "device", name_or_null(s->device));
	return o;
}

void record__add_sending(json_object *o, const struct load *load)
{
	bool random = load->pick == PICK_RANDOM;

	json_object_object_add(o, "working_set_bytes", size_or_null(load->working_set));
	json_object_object_add(
		o, "pick",
		load->working_set ? json_object_new_string(random ? "random" : "order") : NULL);
	json_object_object_add(o, "seed", random ? json_object_new_uint64(load->seed) : NULL);
	json_object_object_add(o, "align_bytes", size_or_null(load->align));
	json_object_object_add(o, "huge_pages", json_object_new_boolean(load->huge_pages));
	json_object_object_add(o, "registered", json_object_new_boolean(load->registered));
	json_object_object_add(o, "file_dir", name_or_null(load->file_dir));
	json_object_object_add(o, "reuse_early", json_object_new_boolean(load->reuse_early));
	json_object_object_add(o, "rate_per_thread",
			       load->rate ? json_object_new_uint64(load->rate) : NULL);
	json_object_object_add(o, "socket", socket_block(&load->socket));
}

static void append(char *name, size_t size, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static void append(char *name, size_t size, const char *format, ...)
{
	size_t used = strlen(name);
	va_list list;

	va_start(list, format);
	vsnprintf(name + used, size - used, format, list);
	va_end(list);
}

/* What is as it always is goes without saying. */
void record__name_sending(const struct load *load, char *name, size_t size)
{
	const struct socket_options *s = &load->socket;

	if (load->working_set)
		append(name, size, ",set%zu", load->working_set);
	if (load->pick == PICK_RANDOM)
		append(name, size, ",random%llu", load->seed);
	if (load->align)
		append(name, size, ",align%zu", load->align);
	append(name, size, "%s%s%s%s", load->huge_pages ? ",huge" : "",
	       load->registered ? ",registered" : "", load->file_dir ? ",file" : "",
	       load->reuse_early ? ",early" : "");
	if (load->rate)
		append(name, size, ",%llups", load->rate);
	append(name, size, "%s%s", s->nodelay ? ",nodelay" : "", s->more ? ",more" : "");
	if (s->sndbuf)
		append(name, size, ",sndbuf%zu", s->sndbuf);
	if (s->rcvbuf)
		append(name, size, ",rcvbuf%zu", s->rcvbuf);
	append(name, size, "%s%s%s%s", s->congestion[0] ? "," : "", s->congestion,
	       s->device[0] ? "," : "", s->device);
}
