/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One row declares one option of a load. Parsing, help, range errors, the load generator's
 * arguments, the record's block load and the name of a configuration follow from it. The analyzer's
 * other options also have rows, in analysis/tables/options.py.
 */
#pragma once

#include "loadgen/options/options.h"

/* The type of the member of struct load. */
enum row_type {
	ROW_FLAG,     /* bool */
	ROW_UNSIGNED, /* unsigned int */
	ROW_COUNT,    /* unsigned long long */
	ROW_BYTES,    /* size_t */
	ROW_SECONDS,  /* double */
	ROW_WORD,     /* an enum; words has its names */
	ROW_TEXT,     /* const char * */
	ROW_NAME,     /* char[SOCKET_NAME] */
	ROW_PARTS,    /* socket_rows */
};

/* The workloads that have an option. */
enum row_of { OF_ALL, OF_MESSAGES, OF_CONNECTIONS };

/* The buffer for the reason of a refusal, and the option and value that are refused. */
struct refusal {
	char *why;
	size_t room;
	const char *option, *value;
};

struct load_row {
	const char *name, *arg; /* arg NULL: a flag */
	enum row_type type;
	size_t at;		      /* offset in struct load */
	unsigned long long low, high; /* bounds; ROW_SECONDS: low is in microseconds */
	int group;		      /* enum help_group */
	enum row_of of;
	const char *help;
	const char *key;	  /* key in the record's block load; NULL: none */
	const char *cell;	  /* in a configuration's name, %s: the value; NULL: left out */
	const char *usual;	  /* the default in words; NULL: 0 */
	const char *such;	  /* examples of valid values of ROW_BYTES */
	bool power_of_two;	  /* bytes */
	const char *const *words; /* the words of ROW_WORD; NULL after the last */
	size_t list;		  /* offset of its LOAD_LIST in struct load_options; or 0 */
	bool (*means)(const struct load *load); /* does this load use the value? NULL: always */
	/* set reads a value. If it is a word for a list, all writes the list and returns true. */
	int (*set)(struct load *load, const char *value, struct refusal *r);
	bool (*all)(struct load_options *o, const char *value);
};

/* The rows, in the order of the record's keys. A row without a name ends each table. */
extern const struct load_row load_rows[], socket_rows[];

/*
 * refuse() and refuse_value() return -EINVAL, so a caller can write "return refuse(...)".
 * refuse_value() begins the reason with the option and its value.
 */
int refuse(struct refusal *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
#define refuse_value(r, format, ...) \
	refuse(r, "--%s %s: " format, (r)->option, (r)->value, ##__VA_ARGS__)

const void *row__value(const struct load_row *row, const struct load *load);
/* Reads a value into the row's struct: a load or other options. Returns 0 or -EINVAL. */
int row__set(const struct load_row *row, void *all, const char *value, struct refusal *r);

/* Calls add for each element of a list with commas. */
int row__each(const char *value, struct refusal *r,
	      int (*add)(void *to, const char *item, struct refusal *r), void *to);
