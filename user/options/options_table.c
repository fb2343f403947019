// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The options beside those of a load, and in which topic of the help each is. */
#include "user/options/options_table.h"

const struct argp_option options_list[] = {
	{NULL, 0, NULL, 0, "Programs to observe, instead of a load:", HELP_OBSERVED},
	{"pid", OPT_PID, "LIST", 0, "these processes, all their threads", HELP_OBSERVED},
	{"comm", OPT_COMM, "NAME", 0, "processes of this name", HELP_OBSERVED},
	{"cgroup", OPT_CGROUP, "PATH", 0, "of this control group and those below it",
	 HELP_OBSERVED},
	{"all", OPT_ALL, NULL, 0, "all processes", HELP_OBSERVED},
	{NULL, 0, NULL, 0, "A sweep (analyze sweep):", HELP_SWEEP},
	{"out", OPT_OUT, "DIR", 0, "folder of the plan and of the records", HELP_SWEEP},
	{"grid", OPT_GRID, "NAME", 0, "start from the options of copies, sizes, servers or records",
	 HELP_SWEEP},
	{"order-seed", OPT_ORDER, "N", 0, "seed of the order of runs (default: a random one)",
	 HELP_SWEEP},
	{"shard", OPT_SHARD, "I/N", 0, "run the I-th of N parts", HELP_SWEEP},
	{"retry", OPT_RETRY, NULL, 0, "run again what failed or was skipped", HELP_SWEEP},
	{NULL, 0, NULL, 0, "Always on (analyze exporter):", HELP_EXPORTER},
	{"listen", OPT_LISTEN, "ADDRESS:PORT", 0,
	 "serve metrics to Prometheus there (default 127.0.0.1:9435)", HELP_EXPORTER},
	{"allow-host", OPT_ALLOW_HOST, "NAME", 0,
	 "answer to requests by this name of the host, too, not by addresses and localhost alone "
	 "(may be given again)",
	 HELP_EXPORTER},
	{"textfile", OPT_TEXTFILE, "DIR", 0,
	 "write sendpath.prom there for node_exporter, every --interval (default 15); "
	 "nothing listens",
	 HELP_EXPORTER},
	{"top", OPT_TOP, "N", 0, "name N processes, the rest is other (default 32; 0: none)",
	 HELP_EXPORTER},
	{NULL, 0, NULL, 0, "Measuring:", HELP_MEASURING},
	{"json", OPT_JSON, "FILE", 0, "append a record a run, as JSON (- for stdout)",
	 HELP_MEASURING},
	{"by", OPT_BY, "LIST", 0, "group by process, device, port", HELP_MEASURING},
	{"by-max", OPT_BY_MAX, "N", 0, "room for N groups of --by (default 65536)", HELP_DETAILS},
	{"interval", OPT_INTERVAL, "SECONDS", 0, "print statistics every SECONDS while measuring",
	 HELP_MEASURING},
	{"repeat", OPT_REPEAT, "N", 0,
	 "run everything N times, interleaved (default: several configurations share --duration "
	 "among 5 repeats, one alone has 1)",
	 HELP_MEASURING},
	{"events", OPT_EVENTS, "LIST", 0, "count these events too, by their libpfm4 names",
	 HELP_MEASURING},
	{"memory", OPT_MEMORY, NULL, 0, "also count the traffic of memory and PCIe (needs perf)",
	 HELP_MEASURING},
	{"stages", OPT_STAGES, NULL, 0, "divide the kernel time of a send into its stages",
	 HELP_MEASURING},
	{"packets", OPT_PACKETS, NULL, 0, "count the packets (skbs) that a load's sends become",
	 HELP_DETAILS},
	{"sample", OPT_SAMPLE, "N", 0,
	 "time, and divide, one send in N, chosen at random; counts are of all sends",
	 HELP_DETAILS},
	{"call-counters", OPT_CALL_COUNTERS, "LIST", 0,
	 "read up to 4 events at both ends of each send, and of its stages", HELP_DETAILS},
	{"histogram", OPT_HISTOGRAM, NULL, 0, "print histograms of more than 6 configurations, too",
	 HELP_DETAILS},
	{"wait-quiet", OPT_WAIT_QUIET, "T", OPTION_ARG_OPTIONAL,
	 "before each run wait until others leave the CPUs alone, at most T (default 60s)",
	 HELP_DETAILS},
	{"tier", OPT_TIER, "NAME", 0, "time sends by fentry, kprobe, tracepoint or none",
	 HELP_DETAILS},
	{"cost", OPT_COST, NULL, 0, "also measure the overhead of measuring", HELP_DETAILS},
	{"verbose", OPT_VERBOSE, NULL, 0, "show libbpf's messages", HELP_DETAILS},
	{NULL, 0, NULL, 0, "Measuring, in detail:", HELP_DETAILS},
	{0},
};

#define OBSERVING (HELP_BIT(HELP_OBSERVED) | HELP_BIT(HELP_MEASURING))

#define EXPORTER_TEXT                                                                        \
	"All TCP sends, or those of some processes, as metrics for Prometheus, until it is " \
	"ended. "                                                                            \
	"--tier, --sample, --cost and --verbose go with it."

static const struct help_topic topics[] = {
	{"", HELP_BIT(HELP_LOAD) | OBSERVING | HELP_BIT(HELP_ABOUT), ""},
	HELP_TOPICS_OF_A_LOAD,
	{"sweep", HELP_BIT(HELP_SWEEP),
	 "A grid of runs whose records go into a folder; interrupted, the same command goes on "
	 "from there."},
	{"exporter", HELP_BIT(HELP_EXPORTER) | HELP_BIT(HELP_OBSERVED), EXPORTER_TEXT},
	{"measuring", OBSERVING | HELP_BIT(HELP_DETAILS),
	 "What is measured, and how it is reported."},
	{"all", ~0u, ""},
	{0},
};

const struct help options_help = {
	.topics = topics,
	.options = options_list,
	.args_doc = "\nsweep --out=DIR\nexporter [--listen=ADDRESS:PORT]\n-- COMMAND "
		    "[ARG...]\ndoctor [--hooks[=NAME]]\n"
		    "advise [--peer=HOST:PORT] [--pid=LIST]\ncrosscheck "
		    "[OPTION...]\ntable|compare|report PATH...",
	.doc = "Ask the kernel what TCP sends cost, call by call, and whether zero-copy sends were "
	       "copied.\v"
	       "doctor tells what can be measured here. Needs root: sudo.\n"
	       "Exit status: 0 done, 1 failed, 2 wrong usage, 3 this system cannot.",
};

static const struct help_topic sweep_topics[] = {
	{"", HELP_BIT(HELP_SWEEP) | HELP_BIT(HELP_LOAD) | HELP_BIT(HELP_ABOUT), ""},
	HELP_TOPICS_OF_A_LOAD,
	{"measuring", HELP_BIT(HELP_MEASURING) | HELP_BIT(HELP_DETAILS),
	 "What is measured, and how it is reported."},
	{"all", ~0u, ""},
	{0},
};

const struct help options_help_sweep = {
	.topics = sweep_topics,
	.options = options_list,
	.args_doc = "sweep --out=DIR",
	.doc = "Run a grid of loads, in blocks of random order, and keep each record in a folder."
	       "\vInterrupted, the same command goes on from there.",
};

static const struct help_topic exporter_topics[] = {
	{"", HELP_BIT(HELP_EXPORTER) | HELP_BIT(HELP_OBSERVED) | HELP_BIT(HELP_ABOUT), ""},
	{"measuring", HELP_BIT(HELP_MEASURING) | HELP_BIT(HELP_DETAILS),
	 "What is measured, and how it is reported."},
	{"all", ~0u, ""},
	{0},
};

const struct help options_help_exporter = {
	.topics = exporter_topics,
	.options = options_list,
	.args_doc = "exporter",
	.doc = EXPORTER_TEXT "\v--textfile is for node_exporter's textfile collector.",
};
