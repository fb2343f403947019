/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The commands: first words of the command line. Each gets the words from its own name on. */
#pragma once

/* Name, function, line in --help. */
/* clang-format off */
#define COMMANDS(of) \
	of("doctor", doctor, "what can be measured here, and what is missing") \
	of("advise", advise, "does MSG_ZEROCOPY pay on a path or for a program?") \
	of("sweep", sweep, "run a grid of workloads, and keep the records") \
	of("timeline", timeline, "show what happens to single sends, and when") \
	of("report", analysis, "answer questions from records, with figures") \
	of("compare", analysis, "list what differs between two sets of records") \
	of("table", analysis, "make one table of records: CSV or Parquet") \
	of("exporter", exporter, "serve metrics of all sends to Prometheus") \
	of("derive", derive, "make records of the lines that --raw printed") \
	of("crosscheck", crosscheck, "count the same sends with bcc, and compare")
/* clang-format on */

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
};

/* help [COMMAND]: does the same as COMMAND --help. */
int help(int argc, char **argv);

/* Measures all configurations of a grid, and keeps the records in a folder. */
int sweep(int argc, char **argv);

/* Measures as without a command, and takes the events of single sends. */
int timeline(int argc, char **argv);

/* Observes until it is stopped, and serves the counts so far to Prometheus. */
int exporter(int argc, char **argv);

/*
 * Prints what can be measured here, with which hooks, and what is missing; for each network device,
 * whether zero-copy can work. Exit status 0 if sends can be timed, 3 if not, 2 on wrong usage.
 */
int doctor(int argc, char **argv);

/*
 * Makes records and a report of raw lines, in Python without libraries. Returns only if it cannot.
 */
int derive(int argc, char **argv);

/*
 * The commands that read records. Runs analysis/ as the user who called sudo, without any
 * capability. Returns an exit status only if it cannot.
 */
int analysis(int argc, char **argv);

/*
 * Runs analysis/crosscheck/crosscheck.py, which counts the same sends with bcc, an independent
 * toolchain that Debian installs for its own Python only. Returns an exit status only if it cannot.
 */
int crosscheck(int argc, char **argv);

/* Measures, on the front's requests, whether zero-copy pays on a path or for a program. */
int advise(int argc, char **argv);
