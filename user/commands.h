/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The commands: first words of the command line. Each receives the words from its name on. */
#pragma once

/* Name, function, line in --help. */
/* clang-format off */
#define COMMANDS(of) \
	of("doctor", doctor, "what can be measured here, and what is missing") \
	of("advise", advise, "does MSG_ZEROCOPY pay on a path or for a program?") \
	of("sweep", measure_command, "run a grid of workloads, and keep the records") \
	of("timeline", measure_command, "show what happens to single sends, and when") \
	of("top", measure_command, "show a live table of the processes that send") \
	of("report", analysis, "answer questions from records, with figures") \
	of("compare", analysis, "list what differs between two sets of records") \
	of("table", analysis, "make one table of records: CSV or Parquet") \
	of("exporter", measure_command, "serve metrics of all sends to Prometheus") \
	of("derive", derive, "make records of the lines that --raw printed") \
	of("crosscheck", crosscheck, "count the same sends with bcc, and compare")
/* clang-format on */

struct command {
	const char *name;
	int (*run)(int argc, char **argv);
};

/* Prints the help of a command, as COMMAND --help does, or of the program. */
int help(int argc, char **argv);

/* Measures, as without a command, a grid (sweep), single sends, or until it is stopped. */
int measure_command(int argc, char **argv);

/* Measures, on the front's requests, whether zero-copy pays on a path or for a program. */
int advise(int argc, char **argv);

/* Lists what can be measured. Returns 0 if sends can be timed, 3 if not, 2 on wrong usage. */
int doctor(int argc, char **argv);

/*
 * Run Python, as the user who called sudo and without any capability: the commands that read
 * records, and one that reads raw lines. They return an exit status only if Python cannot start.
 */
int analysis(int argc, char **argv);
int derive(int argc, char **argv);
/* Runs Debian's Python, the only one that has bcc, as root. */
int crosscheck(int argc, char **argv);
