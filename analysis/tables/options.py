# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The options, except those of a load, and the named grids.

analysis/tables/generate.py generates C from them, and analysis/tables/documents.py the options of the man pages, with
--NAME and NAME(1) in bold. Flags, texts, numbers and seconds need only the row; another type needs a member of struct
options and its code in user/options/. If readers of records need the value, user/record/raw.c writes it.
user/options/options.c puts the options of a grid before those of the command line.
"""

import math
from typing import NamedTuple

# Topic of the help -> the topic's heading.
TOPICS = {
    "observed": "Programs to observe, instead of a load:",
    "sweep": "A sweep (analyze sweep):",
    "timeline": "The life of single sends (analyze timeline):",
    "top": "A live table (analyze top):",
    "exporter": "Always on (analyze exporter):",
    "measuring": "Measuring:",
    "details": "Measuring, in detail:",
}


class Option(NamedTuple):
    name: str         # OPT_NAME in C
    argument: str     # the argument's name; "": there is none; in brackets: it may be left out
    topic: str
    help: str         # a line for --help, which is also the first sentence in the man page
    page: str = ""    # more sentences for the man page
    sets: tuple = ()  # "flag", "text", "number" or "seconds"; the member of struct options; the least value (of
    #                   seconds in microseconds); the largest number. (): user/options/ has code for the option


class CommandOption(NamedTuple):
    name: str
    argument: str  # the argument's name; "": there is none
    help: str


def add_options(parser, options, **more):
    """Adds options to a parser or group of argparse. more: {option: other arguments of add_argument()}."""
    for o in options:
        kind = {"metavar": o.argument} if o.argument else {"action": "store_true"}
        parser.add_argument(f"--{o.name}", help=o.help, **kind, **more.get(o.name, {}))


# The options of advise: for the path (options of a load), for the program, and options that only the front reads.
ADVISE_PATH = (
    CommandOption("peer", "HOST:PORT", "the receiver is loadgen serve there"),
    CommandOption("key", "FILE", "file with the key of that receiver"),
    CommandOption("address", "ADDR", "the receiver is on this machine, at this address"),
    CommandOption("netns", "NAME", "the receiver is in this network namespace (as root, without sudo)"),
    CommandOption("link", "veth", "over a veth pair that the run creates (as root, without sudo)"),
    CommandOption("fields", "N", "separately allocated fields of a message (default 8)"),
    CommandOption("socket", "LIST", "socket options, as for a load"),
)
ADVISE_PROGRAM = (
    CommandOption("pid", "LIST", "these processes"),
    CommandOption("comm", "NAME", "processes of this name"),
    CommandOption("cgroup", "PATH", "processes of this control group or one below it"),
)
ADVISE_WATCHED = (
    CommandOption("watch", "T", "observe the program for T seconds (default 10s; a command: until it ends)"),
    CommandOption("path", "FILE", "read the answer for its path from FILE, which --json wrote, instead of "
                  "measuring it"),
)
ADVISE_ANSWER = (
    CommandOption("budget", "T", "measure for at most T seconds (default 60s)"),
    CommandOption("json", "FILE", "also write the answer as JSON (- for stdout)"),
)

TABLE = (
    CommandOption("csv", "FILE", "write CSV (- for standard output)"),
    CommandOption("parquet", "FILE", "write Parquet"),
    CommandOption("summary", "", "show the median of a column for every configuration, with its interval, "
                  "instead of the table"),
    CommandOption("column", "NAME", "the column of --summary (default throughput_bps)"),
)
COMPARE = (
    CommandOption("threshold", "PERCENT", "the smallest difference that matters (default 3)"),
    CommandOption("metric", "NAME", "compare only this column of the table (an unknown name lists them); may be "
                  "repeated"),
    CommandOption("strict", "", "exit with status 5 if nothing is worse but something is inconclusive"),
    CommandOption("details", "", "print every comparison, and the medians of both"),
    CommandOption("json", "FILE", "write the result as JSON (- for standard output, instead of text)"),
    CommandOption("flame", "FILE", "draw how the sampled kernel functions differ: .html, .svg or .png"),
)
REPORT = (
    CommandOption("out", "DIR", "write there (default: the folder report in the first PATH, or beside it)"),
    CommandOption("figures", "LIST", "formats of the figures (default svg,png)"),
    CommandOption("title", "TITLE", "the title of the report (default: what it is about)"),
)


# Earlier names of options, which still work.
OLD_NAMES = {"tier": "mechanism"}


def _records(field, sizes):
    return ("variant=twocopy,zerocopy", f"field-size={field}", f"size={','.join(map(str, sizes))}",
            "working-set=256M", "pick=random")


# The parts of each grid. A part has options of a load, and its configurations are all combinations of their values.
# Options on the command line override them. The man page lists the grids below --grid.
GRIDS = {
    "copies": (("variant=all", "size=256,1K,4K,16K", "threads=1,2,4,8"),),
    "sizes": (("variant=all", "size=1K,4K,16K,64K,256K,1M", "threads=1,2,4,8"),),
    "servers": (("workload=procinfo", "server-model=iterative,threaded,select,epoll", "connections=10,50,100"),),
    # Messages of 1 to 32 records.
    "records": (_records("128", range(128, 4097, 128)),
                _records("1K", [f"{n}K" for n in range(1, 33)])),
}
# Keys of --sort, each for a column of top. The first letter of a key selects the column in top.
SORTS = ("sends", "gbit", "us", "zero-copy", "copied", "refused")
ALL_VARIANTS = 3  # the number of variants of --variant all


def _configurations(grid):
    """Returns the number of a grid's configurations."""
    values = [[option.partition("=")[2] for option in part] for part in GRIDS[grid]]
    return sum(math.prod(ALL_VARIANTS if value == "all" else value.count(",") + 1 for value in part) for part in values)


OPTIONS = (
    Option("pid", "LIST", "observed",
           "these processes, all their threads",
           "Threads that start later are included. In a container, give the ids that it shows."),
    Option("comm", "NAME", "observed",
           "processes of this name",
           "The name is that of /proc/PID/comm. Processes that start later are included."),
    Option("cgroup", "PATH", "observed",
           "processes of this control group or one below it",
           "Control groups of version 2 only."),
    Option("all", "", "observed",
           "all processes"),
    Option("out", "DIR", "sweep",
           "folder of the plan and of the records",
           "It is created if missing. A folder takes only the sweep that it was created for, and one "
           "writer at a time.", ("text", "out")),
    Option("grid", "NAME", "sweep",
           f"use a named grid: {', '.join(f'{name} ({_configurations(name)})' for name in GRIDS)}; in brackets the "
           "number of its configurations",
           "Options on the command line override those of the grid:", ("text", "grid")),
    Option("order-seed", "N", "sweep",
           "seed of the order of runs (default: random)",
           "The plan and the records contain it.", ("text", "order_seed")),
    Option("shard", "I/N", "sweep",
           "run the I-th of N parts",
           "Each part is for a machine or a job of its own; they may share a folder, where each part has one "
           "writer at a time. Loads that differ "
           "only in variant or server model stay in one part, with all their repeats. Parts that run "
           "on one machine at the same time disturb each other.", ("text", "shard")),
    Option("retry", "", "sweep",
           "run again what failed, was skipped, or ran on a busy machine",
           "Other programs, the hypervisor or a full run queue make it busy.", ("flag", "retry")),
    Option("decide", "", "sweep",
           "repeat what is inconclusive until it is decided",
           "Configurations whose comparison with their first variant is inconclusive get half as many "
           "repeats again, and again, until all are better, worse or the same, or until --budget "
           "is spent. The intervals account for deciding several times.", ("flag", "decide")),
    Option("budget", "T", "sweep",
           "limit the time of runs beyond the plan (default: that of its runs)",
           "After the runs of the plan, a sweep first repeats those on a busy machine, at most three times, then what "
           "--decide repeats. 0: neither.", ("text", "budget")),
    Option("sends", "N", "timeline",
           "take N sends (default 200)",
           "They are the first N consecutive sends of the socket that sends first in the window. The window of a "
           "running program ends with them, unless --duration is given.",
           ("number", "sends", "1", "TIMELINE_SENDS_MAX")),
    Option("slower-than", "T", "timeline",
           "take only sends that took longer than T, of any socket",
           "The time counts from the call to its return, of a zero-copy send to its completion. The analyzer reads all "
           "events and drops those of faster sends, which costs more. --sends limits these sends, too.", ("seconds", "slower_than_s", "1")),
    Option("out", "FILE", "timeline",
           "write the events to FILE: .pftrace for Perfetto, or .json",
           "ui.perfetto.dev opens both. .pftrace needs the libraries of the report."),
    Option("interval", "SECONDS", "top",
           "redraw the table every SECONDS (default 1)",
           "The table shows the sends since the one before it."),
    Option("count", "N", "top",
           "end after N tables", sets=("number", "count", "1", "COUNT_MAX")),
    Option("sort", "KEY", "top",
           f"largest first by {', '.join(SORTS[:-1])} or {SORTS[-1]} (default gbit)",
           "Letters change it while the table is shown.", ("text", "sort")),
    Option("by", "LIST", "top",
           "a row for each process (default) or cgroup, or both"),
    Option("top", "N", "top",
           "show at most N rows (default 32)",
           "At most 256. The rest is one row."),
    Option("listen", "ADDRESS:PORT", "exporter",
           "serve metrics to Prometheus there (default 127.0.0.1:9435)",
           "The exporter answers GET /metrics by HTTP, in the OpenMetrics format if the client accepts "
           "it, else in the text format 0.0.4. An IPv6 address stands in brackets. Port 0 is any free "
           "port, printed on standard error. Everybody who reaches the port can read the metrics. A "
           "client has 2 seconds to send its request, and 5 in all. Of more than 32 clients, the oldest "
           "of the address with the most is disconnected.", ("text", "exporter.listen")),
    Option("allow-host", "NAME", "exporter",
           "also answer requests for this host name; may be repeated",
           "Requests for an IP address and for localhost are always answered, others get status 403: a "
           "web page could otherwise read the metrics by DNS rebinding."),
    Option("textfile", "DIR", "exporter",
           "write sendpath.prom to DIR, for node_exporter, every --interval seconds (default 15); do "
           "not listen",
           "The file is for the textfile collector of prometheus-node-exporter(1). It is replaced "
           "atomically, and removed when the exporter ends.", ("text", "exporter.textfile")),
    Option("top", "N", "exporter",
           "name N processes, count the rest as other (default 32; 0: none)",
           "At most 256. With --by process,cgroup, a process has a name in each of its control groups. The "
           "first names stay. When several new names compete, those with most bytes win.", ("number", "top", "0", "TOP_MAX")),
    Option("json", "FILE", "measuring",
           "append a run record to FILE after each run, as JSON (- for stdout)",
           "On standard output the records replace the report.", ("text", "json")),
    Option("fail-on", "LIST", "measuring",
           "exit with status 4 if one of these findings is reported, such as ignored",
           "findings.md lists the codes. A severity, such as failure, stands for all its findings.",
           ("text", "fail_on")),
    Option("by", "LIST", "details",
           "group sends by process, device, port or cgroup, or several",
           "The device is that of the socket's route, the port is the receiver's, the cgroup (v2) the "
           "sender's. The report shows the 20 largest groups, the record all."),
    Option("by-max", "N", "details",
           "room for N groups of --by (default 65536)",
           "Sends beyond that are counted in all totals, but in no group.",
           ("number", "by_max", "1", "GROUPS_MAX_MAX")),
    Option("interval", "SECONDS", "measuring",
           "print statistics every SECONDS while measuring",
           "Each line has the sends since the line before it, their throughput, median and 99th "
           "percentile of kernel time, failed and zero-copy sends, and the share that was copied. Lines "
           "go to standard error if standard output carries JSON or the output of a command. They add "
           "up to the report; the last line includes a remaining fraction of an interval.",
           ("seconds", "interval", "LIVE_MIN_US")),
    Option("repeat", "N", "details",
           "run everything N times, interleaved (default: enough to decide, 8 to 13)",
           "Interleaved is A B C A B C; by default, blocks after the first have a random order. A single "
           "configuration runs once. Comparisons of one pair of variants "
           "over several sizes or threads are decided together: the default is 8 repeats for one of them, 9 "
           "for 2, 10 for 4, 11 for 8, 12 for 24, 13 for 48. By default, runs on a busy machine are made again at the "
           "end, at most half as many as were planned. With --messages or --interval the default is 1.",
           ("number", "repeat", "1", "REPEAT_MAX")),
    Option("total", "T", "details",
           "measure each configuration for T seconds, shared by its repeats",
           "Three configurations take three times as long; warm-ups come on top. --duration is the window of one run. Without both options, the default repeats of several "
           "configurations share 5 seconds; otherwise, and in a sweep, a window is 5 seconds long.",
           ("seconds", "total_s", "1")),
    Option("events", "LIST", "details",
           "also count these events, by their libpfm4 names", sets=("text", "events")),
    Option("memory", "", "details",
           "also count the traffic of memory and PCIe (needs perf)",
           "perf(1) counts it for the whole machine, by counters outside of the cores. What this machine "
           "lacks is \"not supported\". If only LLC misses can be counted, the report shows an "
           "estimate and marks it.", ("flag", "memory")),
    Option("stages", "", "details",
           "divide the kernel time of a send into its stages",
           "Stages are taking the lock, copying or pinning, transmitting, softirqs, waiting and others. "
           "Tracepoints alone show only softirqs and off-CPU time; samples show the rest, as with "
           "--profile.", ("flag", "stages")),
    Option("profile", "[HZ]", "details",
           "sample the kernel functions of sends",
           "HZ times a second, by default 997. Cycles sample where the machine counts them, else the CPU's "
           "clock, which misses code that runs with interrupts off. The report has the functions with "
           "most of the CPU time.",
           ("number", "profile", "1", "PROFILE_MAX")),
    Option("folded", "FILE", "details",
           "write the stacks of --profile to FILE, for flame graphs",
           "FILE has one line per stack, as flamegraph.pl, inferno and speedscope read it. "
           "- is standard output; no report is printed then.", ("text", "folded")),
    Option("packets", "", "details",
           "count the packets (skbs) that a load's sends become, and their frags",
           sets=("flag", "packets")),
    Option("sample", "N", "details",
           "time one send in N, chosen at random; count all",
           "With --stages, these sends are divided.", ("number", "sample", "1", "SAMPLE_MAX")),
    Option("call-counters", "LIST", "details",
           "read up to 4 events at both ends of each send, and of its stages",
           "Names are those of libpfm4. Only sends that never lost their CPU are counted; interrupts "
           "are included. Context switches and migrations would therefore always be 0, and are refused.",
           ("text", "call_counters")),
    Option("details", "", "details",
           "print everything, not only the answer",
           "For each configuration: ranges, causes of copies, histograms, also of stages, counters, TCP.",
           ("flag", "details")),
    Option("wait-quiet", "[T]", "details",
           "before each run, wait at most T (default 60s) until other programs use less than 5 % of "
           "the CPUs",
           "It is an error if they do not.", ("seconds", "wait_quiet_s", "1")),
    Option("mechanism", "NAME", "details",
           "time sends by fentry, kprobe, tracepoint or none (default: the first that works here)",
           "The other hooks use the same mechanism or a tracepoint. With none, nothing is attached: the "
           "record has the load's own figures and counters."),
    Option("cost", "", "details",
           "also measure the overhead of measuring",
           "The kernel times the BPF programs, which adds overhead: time per send, share of the CPU "
           "time, runs.", ("flag", "cost")),
    Option("raw", "", "details",
           "print the raw line of each run, and no report: needs no Python",
           "sendpath derive makes records and a report of the lines, on any machine.", ("flag", "raw")),
    Option("verbose", "", "details",
           "show libbpf's messages", sets=("flag", "verbose")),
)
