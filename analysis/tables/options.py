# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The options beside those of a load: what is observed and measured, and those of sweep, exporter and
advise; the grids that have a name.

analysis/tables/generate.py makes C of it, analysis/tables/documents.py their part of docs/sendpath.1.
"""

from typing import NamedTuple

# Topic of the help -> its heading.
TOPICS = {
    "observed": "Programs to observe, instead of a load:",
    "sweep": "A sweep (analyze sweep):",
    "exporter": "Always on (analyze exporter):",
    "measuring": "Measuring:",
    "details": "Measuring, in detail:",
}


class Option(NamedTuple):
    name: str         # OPT_NAME in C
    argument: str     # its name; "": it has none; in brackets: it may be left out
    topic: str
    help: str         # a line for --help
    page: str         # for the manual, in troff
    sets: tuple = ()  # flag, text or number; the member of struct options; a number's most.
    #                   (): user/options/ has code for it


class AdviseOption(NamedTuple):
    name: str
    argument: str
    help: str


# Of the path, which are options of a load; and of the program that advise is asked of.
ADVISE_PATH = (
    AdviseOption("peer", "HOST:PORT", "the receiver is loadgen serve there"),
    AdviseOption("key", "FILE", "and asks for this key"),
    AdviseOption("address", "ADDR", "the receiver is of this machine, at this address"),
    AdviseOption("netns", "NAME", "and in this network namespace"),
    AdviseOption("link", "veth", "a pair of devices of the run's own"),
    AdviseOption("fields", "N", "allocations that a message has (default 8)"),
    AdviseOption("socket", "LIST", "options of the socket, as of a load"),
)
ADVISE_PROGRAM = (
    AdviseOption("pid", "LIST", "these processes"),
    AdviseOption("comm", "NAME", "processes of this name"),
    AdviseOption("cgroup", "PATH", "of this control group and those below it"),
)
# The front's alone.
ADVISE_OWN = ("budget", "json", "watch", "path")


def _records(field, sizes):
    return ("variant=twocopy,zerocopy", f"field-size={field}", f"size={','.join(map(str, sizes))}",
            "working-set=256M", "pick=random")


# Name -> its parts, each the options of a load, which make cells by themselves. The command line's
# override them. The manual has them below --grid.
GRIDS = {
    "copies": (("variant=all", "size=256,1K,4K,16K", "threads=1,2,4,8"),),
    "sizes": (("variant=all", "size=1K,4K,16K,64K,256K,1M", "threads=1,2,4,8"),),
    "servers": (("workload=procinfo", "server-model=iterative,threaded,select", "connections=10,50,100"),),
    # Messages of 1 to 32 records.
    "records": (_records("128", range(128, 4097, 128)),
                _records("1K", [f"{n}K" for n in range(1, 33)])),
}

OPTIONS = (
    Option("pid", "LIST", "observed",
           "these processes, all their threads",
           r"""
These processes, all their threads, later ones too. Ids are those of the PID namespace that
sendpath runs in: in a container, those of the container.
"""),
    Option("comm", "NAME", "observed",
           "processes of this name",
           r"""
Processes of this name, as /proc/PID/comm has it, now or later.
"""),
    Option("cgroup", "PATH", "observed",
           "of this control group and those below it",
           r"""
Processes of this control group (version 2) and of those below it.
"""),
    Option("all", "", "observed",
           "all processes",
           r"""
All processes.
"""),
    Option("out", "DIR", "sweep",
           "folder of the plan and of the records",
           r"""
The folder, made if there is none. It keeps the plan of its first sweep, and refuses another,
and a second sweep while one is writing.
""", ("text", "sweep.out")),
    Option("grid", "NAME", "sweep",
           "start from the options of copies, sizes, servers or records",
           r"""
Put these options of a load before those of the command line, which override them:
.RS
.TP
.B copies
\-\-variant=all \-\-size=256,1K,4K,16K \-\-threads=1,2,4,8: 48 cells
.TP
.B sizes
\-\-variant=all \-\-size=1K,4K,16K,64K,256K,1M \-\-threads=1,2,4,8: 72 cells
.TP
.B servers
\-\-workload=procinfo \-\-server\-model=iterative,threaded,select \-\-connections=10,50,100: 9 cells
.TP
.B records
messages of 1 to 32 records of 128 bytes, and of 1K, picked at random from 256M
(\-\-field\-size, \-\-working\-set, \-\-pick), by twocopy and zerocopy: 128 cells
.RE
""", ("text", "sweep.grid")),
    Option("order-seed", "N", "sweep",
           "seed of the order of runs (default: random)",
           r"""
Seed of the order of runs. Default: random; the plan and the records have it.
""", ("text", "sweep.order_seed")),
    Option("shard", "I/N", "sweep",
           "run the I-th of N parts",
           r"""
Run the I-th of N parts, for as many machines or jobs; they may share a folder. Loads that
differ in the variant or server model alone stay in one part, with all their repeats. Parts
should not run on one machine at once: they would measure each other.
""", ("text", "sweep.shard")),
    Option("retry", "", "sweep",
           "run again what failed, was skipped or was disturbed",
           r"""
Run again what failed or was skipped, and what other programs, the hypervisor or a full run queue
disturbed.
""", ("flag", "sweep.retry")),
    Option("decide", "", "sweep",
           "repeat what is inconclusive until it is decided",
           r"""
Repeat the configurations whose comparison with their first variant is inconclusive, after half as many
repeats more each time, until all are better, worse or the same, or until
.B \-\-budget
is spent. Looking so often costs confidence, which the intervals account for.
""", ("flag", "sweep.decide")),
    Option("budget", "T", "sweep",
           "seconds for runs beyond the plan (default: as long as its runs take)",
           r"""
Seconds for what comes when the runs of the plan are made: disturbed ones are made again, at most three
times, and
.B \-\-decide
repeats. Default: as long as the runs of the plan take. 0: none.
""", ("text", "sweep.budget")),
    Option("listen", "ADDRESS:PORT", "exporter",
           "serve metrics to Prometheus there (default 127.0.0.1:9435)",
           r"""
Answer GET /metrics there by HTTP, in the OpenMetrics format where the client asks for it, else in
version 0.0.4 of the text format. Default 127.0.0.1:9435, which other machines do not reach;
an IPv6 address stands in brackets. Port 0 is any free one: a line on standard error tells. Whoever reaches
the port may read, if the request is for an address, localhost or a name of
.BR \-\-allow\-host .
A client has 2 seconds to ask and 5 in all. Of more than 32 the oldest go, those first of the address that has
most of them.
"""),
    Option("allow-host", "NAME", "exporter",
           "answer to requests by this name of the host, too, not by addresses and localhost "
           "alone (may be given again)",
           r"""
Answer requests for this name, too, as Prometheus has it in its targets; it may be given again. Others
get status 403: a page in a browser may give a name of its own this machine's address.
"""),
    Option("textfile", "DIR", "exporter",
           "write sendpath.prom there for node_exporter, every --interval (default 15); "
           "nothing listens",
           r"""
Do not listen; write sendpath.prom to DIR, for the textfile collector of
.BR prometheus\-node\-exporter (1),
every
.B \-\-interval
seconds (default 15). The file is replaced in one step, and removed in the end.
"""),
    Option("top", "N", "exporter",
           "name N processes, the rest is other (default 32; 0: none)",
           r"""
Name N processes (default 32, at most 256; 0: none). The first names stay, the
largest of those that are there when counts are read come first; all others, and a process that
is called so, are
.BR other .
"""),
    Option("json", "FILE", "measuring",
           "append a record a run, as JSON (- for stdout)",
           r"""
Append a run record to FILE as each run ends; \- for standard output, instead of the text.
""", ("text", "json")),
    Option("by", "LIST", "details",
           "group by process, device, port",
           r"""
Group sends by
.BR process ,
.B device
(the network device that the socket's route leads to),
.B port
(the receiver's), or several of these with commas: a table of the 20 largest, all of them in
the record.
"""),
    Option("by-max", "N", "details",
           "room for N groups of --by (default 65536)",
           r"""
Room for N groups of \-\-by; sends of others count in all totals, but in no row. Default
65536.
""", ("number", "by_max", "GROUPS_MAX_MAX")),
    Option("interval", "SECONDS", "measuring",
           "print statistics every SECONDS while measuring",
           r"""
Print what was counted since the previous line, every SECONDS while measuring: sends, throughput,
median and 99th percentile of the kernel time of a send, failed and zero-copy sends,
and the share of completed zero-copy sends that were copied. Lines go to standard error where
standard output carries JSON or a command's output. The lines add up to the report; a last fraction
of an interval belongs to the line before it.
"""),
    Option("repeat", "N", "measuring",
           "run everything N times, interleaved (default: several configurations share "
           "--duration among 9 repeats, one alone has 1)",
           r"""
Run everything N times, interleaved: A B C A B C. By default several configurations share
.B \-\-duration
among nine repeats, as a comparison needs, unless
.BR \-\-messages ,
.B \-\-interval
or less than 0.9 seconds is given; a single configuration runs once. A sweep has 9 repeats, each as
long as
.BR \-\-duration .
""", ("number", "repeat", "REPEAT_MAX")),
    Option("events", "LIST", "details",
           "count these events too, by their libpfm4 names",
           r"""
Count these events too, by their libpfm4 names.
""", ("text", "events")),
    Option("memory", "", "details",
           "also count the traffic of memory and PCIe (needs perf)",
           r"""
Also count what the whole machine reads from and writes to memory meanwhile, for each byte sent too,
and what PCIe devices move and miss in the last-level cache, by counters outside of the cores.
.BR perf (1)
does it, and has to be there. What this machine lacks reads "not supported"; where only LLC misses
are there, an estimate by these is marked as one.
""", ("flag", "memory")),
    Option("stages", "", "measuring",
           "divide the kernel time of a send into its stages",
           r"""
Divide the kernel time of a send into its stages: taking the lock, copying or pinning, transmitting,
softirqs, waiting and others. Tracepoints alone see softirqs and the time off the CPU.
""", ("flag", "stages")),
    Option("packets", "", "details",
           "count the packets (skbs) that a load's sends become",
           r"""
Count the packets (skbs) that the sends of a load become, and their frags.
""", ("flag", "packets")),
    Option("sample", "N", "details",
           "time, and divide, one send in N, chosen at random; counts are of all sends",
           r"""
Time one send in
.IR N ,
chosen at random for each send; with
.B \-\-stages
these sends are divided. Counts, bytes, causes and completions are of all sends.
""", ("number", "sample", "SAMPLE_MAX")),
    Option("call-counters", "LIST", "details",
           "read up to 4 events at both ends of each send, and of its stages",
           r"""
Read up to 4 events, by their libpfm4 names, when a send begins and when it ends. A send
counts if its thread stayed on its CPU with no other in between; interrupts are in it. Context
switches and migrations would so always be 0, and are refused. With
.B \-\-stages
they are read at the ends of the stages, too.
""", ("text", "call_counters")),
    Option("details", "", "details",
           "print all that is known, not the answer alone",
           r"""
Print all that is known of each configuration: ranges, causes of copies, histograms, also of stages,
counters, TCP. The report is otherwise the answer, a table, and what casts doubt on it.
""", ("flag", "details")),
    Option("wait-quiet", "[T]", "details",
           "before each run wait until others leave the CPUs alone, at most T (default 60s)",
           r"""
Before each run wait until other programs use less than 5 % of the CPUs, for at most T (default 60s).
A machine that does not become quiet is an error.
"""),
    Option("tier", "NAME", "details",
           "time sends by fentry, kprobe, tracepoint or none",
           r"""
Time sends by this mechanism,
.BR fentry ,
.B kprobe
or
.BR tracepoint ;
the other hooks then come by it or by a tracepoint. Default the best there is.
.B none
attaches nothing: the load's own figures and the counters, to compare with.
"""),
    Option("cost", "", "details",
           "also measure the overhead of measuring",
           r"""
Also have the kernel count the overhead of the BPF programs, which costs a little too: time per
send, share of the CPU time, runs.
""", ("flag", "cost")),
    Option("raw", "", "details",
           "print the raw line of each run, and no report: needs no Python",
           r"""
Print the raw line of each run instead of a report.
.B analyze derive
makes records and a report of them, on any machine. It needs no Python.
""", ("flag", "raw")),
    Option("verbose", "", "details",
           "show libbpf's messages",
           r"""
Show libbpf's messages.
.TP
.BI \-h\fR,\ \fB\-\-help\fR[\fB= TOPIC\fR]
Show what a first measurement needs, or the options of a topic:
.BR load ,
.BR ends ,
.BR serving ,
.BR sweep ,
.BR exporter ,
.B measuring
or
.BR all .
""", ("flag", "verbose")),
)
