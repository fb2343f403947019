/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Adds members to a JSON object, and writes it as a line. */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* Adds a member. o is NULL if the object is left out, or if there was no memory for it. */
static inline void json__add(struct json_object *o, const char *key, struct json_object *value)
{
	if (o)
		json_object_object_add(o, key, value);
	else
		json_object_put(value);
}

static inline void json__add_known(struct json_object *o, const char *key, bool known,
				   uint64_t value)
{
	json__add(o, key, known ? json_object_new_uint64(value) : NULL);
}

static inline void json__add_count(struct json_object *o, const char *key, uint64_t value)
{
	json__add_known(o, key, true, value);
}

static inline void json__add_truth(struct json_object *o, const char *key, bool value)
{
	json__add(o, key, json_object_new_boolean(value));
}

/* Adds a string; NULL becomes null. */
static inline void json__add_string(struct json_object *o, const char *key, const char *text)
{
	json__add(o, key, text ? json_object_new_string(text) : NULL);
}

/* Adds a text; "" becomes null. */
static inline void json__add_text(struct json_object *o, const char *key, const char *text)
{
	json__add_string(o, key, text[0] ? text : NULL);
}

/* Returns the object as a line, to be freed; NULL: out of memory. Frees the object. */
static inline char *json__line(struct json_object *o)
{
	const char *text = json_object_to_json_string_ext(
		o, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE);
	char *line;

	if (!text || asprintf(&line, "%s\n", text) < 0)
		line = NULL;
	json_object_put(o);
	return line;
}
