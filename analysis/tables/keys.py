# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The keys of run records, in the order in which analysis/derive writes them.

analysis/tables/documents.py generates docs/run-record.schema.json and the tables of docs/run-record.md from them. A
value that the raw line lacks needs a map or variable in the lists of user/trace/dump.c, or a member in
user/record/raw.c.
"""

from . import memory, protocol
from .calls import URING_OPERATIONS
from .causes import CAUSES, REFUSALS
from .findings import CODES, SEVERITIES, WAIT_REASONS
from .kinds import (COUNT, NAME, SHARE, TEXT, TRUTH, Key, Kind, block, integer, list_of,
                    mapping, null, number, one_of, only, positive, shared, text, tuples_of)
from .profile import CONTEXTS
from .schemas import FAILURE_SCHEMA, SCHEMA
from .timeline import LANES
from .stages import STAGES

MECHANISMS = ("fentry", "kprobe", "tracepoint")

# The spans of times: name, from, to.
SPANS = (
    ("message", "the load generator takes up a message", "it is sent, and its memory can be waited for"),
    ("message_due", "a message is due, at a fixed rate (`rate_per_thread`), whenever it is taken "
        "up",
     "as above"),
    ("request..answer", "the receiver requests it (or the window opens, if that is later)",
     "it read the last byte of the message"),
    ("connect", "the client calls connect", "connect returns: the connection is established"),
    ("connected..accepted", "the client's connect returns", "the server's accept returned; 0 where "
        "that was earlier"),
    ("accepted..ready", "the server's accept returned",
     "the answer is ready to be sent, waiting for its turn included"),
    ("connect..answer", "the client calls connect", "it read the answer and the end of file"),
    ("syscall", "`sys_enter`", "`sys_exit`"),
    ("tcp_sendmsg", "entry of `tcp_sendmsg`", "its return"),
    ("tcp_sendmsg_locked..return",
     "first pass of the copy loop: the socket is locked, zero-copy memory is charged",
     "return to the socket layer"),
    ("tcp_sendmsg..completion", "entry of `tcp_sendmsg`", "the kernel makes the send's completion known"),
    ("tcp_sendmsg_locked..completion", "first pass of the copy loop", "as above"),
    ("syscall..completion", "entry of the syscall", "as above"),
    ("return..completion", "a zero-copy send returns",
     "no zero-copy send of its socket is in flight any more"),
    ("syscall..tcp_sendmsg", "entry of the syscall", "return of `tcp_sendmsg`"),
    ("inet_recv_error", "entry of the function that reads an error queue", "its return"),
    ("sock_def_error_report",
     "entry of the function that wakes threads waiting for notifications", "its return"),
    ("skb_copy_datagram_iter", "entry of the function that copies to a receiver's memory", "its return"),
)

_DISTRIBUTION = (
    Key("count", COUNT, "values"),
    Key("sum", COUNT, "their sum"),
    Key("min", null(integer()), "the least"),
    Key("max", null(integer()), "the greatest"),
    *(Key(name, null(integer()), f"{percent} % are at most this: the upper end of its bucket")
      for name, percent in (("p50", "50"), ("p90", "90"), ("p99", "99"), ("p999", "99.9"))),
    Key("buckets", tuples_of(integer(), integer(), integer(1)),
        "`[low, high, count]`, both ends included, no wider than 1/16 of `low` (1/4 in `stages` and `calls[].cpu_ns`)"),
)
DISTRIBUTION = shared("distribution", Kind("distribution", {"type": "object"}, _DISTRIBUTION))
HISTOGRAM = shared("histogram", Kind("histogram", {"type": "object"}, (
    Key("span", one_of(*(name for name, _, _ in SPANS)), "what the times cover"), *_DISTRIBUTION)))
ERRORS = shared("errors", Kind("counts by errno's name",
                               {"type": "object", "additionalProperties": integer(1).schema}))
CPUS = null(list_of(COUNT))

REFUSED = list_of(block(
    Key("cause", one_of(*(refusal.name for refusal in REFUSALS)), "see [causes.md](causes.md)"),
    Key("errno", TEXT, "name of the error that the program got"),
    Key("count", integer(1), "sends")))

_ZEROCOPY_SUMS = (
    Key("requests", COUNT, "zero-copy sends"),
    Key("ignored", COUNT, "accepted without zero-copy"),
    Key("refused", COUNT, "failed before anything was copied"),
    Key("bytes", COUNT, "payload of these sends"),
    Key("completions", null(COUNT), "of these, completed; a completion counts where the latest "
        "zero-copy send of its socket did"),
    Key("copied", null(COUNT), "of these, copied: flagged and unflagged copies"),
)
ZEROCOPY_SUMS = block(*_ZEROCOPY_SUMS)
_SUMS = (
    Key("sends", COUNT, "sends, including failed ones"),
    Key("failed", COUNT, "of these, failed"),
    Key("interrupted", COUNT, "of these, by a signal (ERESTARTSYS)"),
    Key("bytes", COUNT, "bytes that the kernel accepted"),
    Key("wall_ns", block(
        Key("span", TEXT, "what the times cover, see [Times](#times)"),
        Key("count", COUNT, "sends with a time"),
        Key("sum", COUNT, "sum of their times")), "kernel time of the sends"),
    Key("zerocopy", null(ZEROCOPY_SUMS), "null without such sends"),
)
_NETNS = Key("netns", null(integer(1)), "inode of the socket's network namespace")
_IFINDEX = Key("ifindex", null(integer(1)), "where the socket's route leads; null without a cached route")
_DEVICE = Key("device", null(TEXT), "name of the device")

TOOL = shared("tool", block(Key("version", TEXT, "version of sendpath")))
STARTED = text(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?Z$")

RUN = shared("run", block(
    Key("id", NAME, "unique"),
    Key("command", null(NAME), "the command line; null if longer than 4 KiB"),
    Key("cell", NAME, "configuration: the same for all repeats of one load"),
    Key("repeat", integer(1), "from 1"),
    Key("seed", null(integer()), "seed of the random order of runs"),
    Key("steal_share", null(SHARE),
        "share of all CPUs' time in the window that the hypervisor gave to other guests"),
    Key("first_look", null(integer(1)), "repeats before the first look of `sweep --decide`; else null", required=False),
))

NOISE = block(
    Key("others_share", null(SHARE), "share of all CPUs' time: user and system time of programs "
        "other than the load's two; null where a program was observed"),
    Key("irq_share", null(SHARE), "share of all CPUs' time: interrupts and softirqs, whoever caused them"),
    Key("pressure_share", null(SHARE), "share of the window in which a thread waited for a CPU "
        "(`/proc/pressure/cpu`)"),
    Key("sender_waited_share", null(SHARE), "run-queue delay: share of the time in which the "
        "sender's threads could run that they waited for a CPU (schedstat, of threads that live as "
        "long as the window)"),
    Key("receiver_waited_share", null(SHARE), "run-queue delay of the receiver's "
        "threads, as a share like `sender_waited_share`"),
    Key("throttled", null(number()), "how often CPUs were throttled for their heat"),
    Key("slowdown", null(SHARE), "share by which their frequency fell"),
    Key("disturbed", null(NAME), "why comparisons exclude the run: `run.steal_share` is at least "
        "0.1, or `others_share` or `slowdown` at least 0.2; or other programs used a tenth of a CPU, and "
        "`sender_waited_share` or `receiver_waited_share` is at least 0.2 more than the load's own "
        "threads make it (where neither is known, `pressure_share` 0.5 more); else null"),
)

HOST = shared("host", block(
    Key("name", null(TEXT), "host name"),
    Key("kernel", TEXT, "its release"),
    Key("arch", TEXT, "architecture, as `uname -m` prints it"),
    Key("cpu", null(TEXT), "model of the CPU"),
    Key("nproc", integer(1), "CPUs that may be used"),
    Key("virtualized", null(TRUTH), "true: a virtual machine; null, like every key of the host "
        "that needs no privilege, in records that `derive` made of raw lines"),
    Key("debug_kernel", null(TRUTH), "true: built with options that slow it down"),
    Key("governor", null(TEXT), "CPU frequency governor"),
    Key("pmu", null(TEXT), "names of its PMUs"),
    Key("settings", null(mapping(TEXT)), "kernel settings that change what sends cost, as the run ended; "
        "those that this kernel has"),
    Key("devices", null(list_of(block(
        Key("name", TEXT, "name of the interface"),
        Key("driver", null(TEXT), "name of the driver"),
        Key("mtu_bytes", null(COUNT), "MTU in bytes"),
        Key("speed_mbit", null(COUNT), "link speed"),
        Key("scatter_gather", TRUTH, "true: the device has scatter-gather"),
        Key("checksum", TRUTH, "true: it computes checksums"),
        Key("segmentation", TRUTH, "true: it segments packets")))), "physical network devices"),
))

PRIVILEGE = block(
    Key("uid", COUNT, "user id that the load ran with (also in `app`)"),
    Key("capabilities", null(TEXT), "capabilities that the process had as the window closed"),
    Key("memlock", Kind("count or `unlimited`", {"anyOf": [COUNT.schema, {"const": "unlimited"}]}),
        "limit in bytes that the load ran with (also in `app`)"),
)

PLAN = block(
    Key("tier", one_of(*MECHANISMS, None), "the mechanism that timed the calls; null with `--mechanism "
        "none`"),
    Key("hooks", list_of(block(
        Key("name", TEXT, "what it sees"),
        Key("mechanism", one_of(*MECHANISMS, None), "null: not attached"),
        Key("symbol", null(TEXT), "function or tracepoint"),
        Key("status", one_of("attached", "unavailable", "disabled"), "`disabled`: not requested"),
        Key("reason", null(TEXT), "why it is not attached, or not by a better mechanism"),
        Key("missed", null(COUNT), "runs of its programs that the kernel skipped, for any process; "
            "of kprobes this is null before Linux 6.7, which began to count them"),
        **{"if": {"properties": {"status": {"const": "attached"}}},
           "then": {"properties": {"mechanism": TEXT.schema, "symbol": TEXT.schema}},
           "else": {"properties": {"mechanism": {"type": "null"}, "reason": NAME.schema,
                                   "missed": {"type": "null"}}}}), minItems=1),
                                       "a row for each hook"),
)

LOAD = null(block(
    Key("workload", one_of("stream", "request", "procinfo"), "what the load does: see `--workload`"),
    Key("variant", null(TEXT), "the way of sending"),
    Key("server_model", TEXT, "how the sender's threads serve connections"),
    Key("client_model", one_of("threaded", "epoll", None), "how the receiver's do"),
    Key("backlog", integer(1), "of `procinfo` alone: length of the listen queue", required=False),
    Key("message_bytes", null(integer(64, 16777216)), "size of a message"),
    Key("fields", null(integer(1)), "separate memory areas that make up a message"),
    Key("threads", null(integer(1)), "sending threads"),
    Key("connections", integer(1), "TCP connections"),
    Key("inflight", null(integer(1)), "zero-copy sends of a connection at once"),
    Key("rcvlowat", null(integer(1)), "bytes that wake the receiver"),
    Key("warmup_s", number(), "time of uncounted sends before the window"),
    Key("duration_s", null(positive()), "length of the window; null: the run ends after "
        "`messages_per_thread` messages"),
    Key("messages_per_thread", null(integer(1)), "messages that each thread sends; null: the run "
        "ends after `duration_s`"),
    Key("verify", TRUTH, "true: the receiver compares what it gets"),
    Key("working_set_bytes", null(integer(1)), "size of the working set that messages are taken from"),
    Key("pick", one_of("order", "random", None), "order in which fields are taken from the working set"),
    Key("seed", null(COUNT), "seed of the random order"),
    Key("align_bytes", null(integer(1)), "alignment of the fields in memory; null: not set"),
    Key("huge_pages", TRUTH, "true: messages lie in transparent huge pages"),
    Key("registered", TRUTH, "true: io_uring sends from registered buffers"),
    Key("file_dir", null(TEXT), "folder of the files sent"),
    Key("reuse_early", TRUTH, "true: memory is written to before its completion was read"),
    Key("rate_per_thread", null(integer(1)), "messages per second; null: as fast as possible"),
    Key("socket", block(
        Key("nodelay", TRUTH, "TCP_NODELAY"),
        Key("more", TRUTH, "MSG_MORE"),
        Key("sndbuf", null(integer(1)), "SO_SNDBUF"),
        Key("rcvbuf", null(integer(1)), "SO_RCVBUF"),
        Key("congestion", null(TEXT), "TCP_CONGESTION"),
        Key("device", null(TEXT), "SO_BINDTODEVICE")), "options that were set; null: left to the "
            "kernel"),
    Key("address", TEXT, "address of the receiver"),
    Key("netns", null(TEXT), "network namespace of the receiver"),
    Key("link", null(TEXT), "`loopback`, or the link that the run created between two namespaces; null: another "
        "path"),
    Key("device", null(TEXT), "network device of the route to the receiver"),
    Key("peer", null(TEXT), "address of a receiver that runs elsewhere"),
    Key("sender_pid", integer(1), "process id"),
    Key("receiver_pid", null(integer(1)), "process id"),
    Key("pinning", null(block(Key("sender", CPUS, "CPUs"), Key("receiver", CPUS, "CPUs"))),
        "null: nothing is pinned"),
))

OBSERVED = null(block(
    Key("by", one_of("command", "process", "comm", "cgroup", "all"), "how the program was selected"),
    Key("what", TEXT, "its command line, id, name or path"),
    Key("seconds", number(), "how long the window was open"),
    Key("in_flight", COUNT, "sends still under way when it closed; they count nowhere else"),
    Key("exit_status", null(integer()), "exit status of an observed command; null: no command was observed, or "
        "it was still running when `--duration` was over and sendpath ended it"),
    Key("so_zerocopy_unused", COUNT, "sends without MSG_ZEROCOPY on sockets with SO_ZEROCOPY, of the first 255 "
        "sends of at least 16 KiB without it of each thread, but those by sendfile and splice", required=False),
    Key("others", null(block(
        Key("mptcp_sends", COUNT, "sends by MPTCP"),
        Key("mptcp_bytes", COUNT, "bytes of these sends"),
        Key("udp_sends", COUNT, "sends by UDP", required=False),
        Key("udp_bytes", COUNT, "bytes of these sends", required=False),
        Key("unix_sends", COUNT, "sends over Unix sockets", required=False),
        Key("unix_bytes", COUNT, "bytes of these sends", required=False),
        Key("zerocopy_requests", COUNT, "zero-copy sends by MPTCP and other protocols such as UDP, "
            "through system calls other than io_uring's"))),
        "sends by other protocols, which count nowhere else; null where the tracepoint that all "
            "protocols' sends pass is not hooked"),
))

APP = null(block(
    Key("messages", COUNT, "messages sent"),
    Key("bytes", COUNT, "payload sent"),
    Key("send_calls", null(COUNT), "system calls that sent"),
    Key("throughput_bps", null(number()), "payload in bits per second"),
    Key("elapsed_s", number(), "length of the window"),
    Key("user_s", null(number()), "CPU time of the sender"),
    Key("system_s", null(number()), "CPU time of the sender in the kernel"),
    Key("message_latency_ns", HISTOGRAM, "time of a whole message, memcpy and waiting included"),
    Key("errors", ERRORS, "errors that sends returned"),
    Key("zerocopy", null(block(
        Key("requests", COUNT, "sends that requested zero-copy"),
        Key("completions", COUNT, "completions that the load generator read"),
        Key("notifications", COUNT, "notifications that reported these completions", required=False),
        Key("copied", null(COUNT), "null where io_uring does not report it"),
        Key("enobufs", COUNT, "refused with ENOBUFS, or ENOMEM by io_uring"))),
        "zero-copy, as the load generator counted it"),
    Key("received_bytes", COUNT, "payload that the receiver read"),
    Key("rate", null(block(
        Key("due", COUNT, "messages that were due"),
        Key("unsent", COUNT, "of these, not begun when the time was over"))),
        "at a fixed rate, else null", required=False),
    Key("receiver", null(block(
        Key("user_s", null(number()), "CPU time of the receiver"),
        Key("system_s", null(number()), "CPU time of the receiver in the kernel"))),
        "CPU time of the receiver; null if it was killed"),
    Key("port", integer(1, 65535), "port of the receiver", required=False),
    Key("peer", null(TEXT), "operating system, release, architecture and loadgen version of the "
        "receiver's machine; null: this machine", required=False),
    Key("pinning", null(block(Key("sender", CPUS, "CPUs"), Key("receiver", CPUS, "CPUs"))),
        "CPUs that the processes were pinned to; null: nothing is pinned", required=False),
    Key("uid", COUNT, "user id that the load ran with", required=False),
    Key("memlock_bytes", null(COUNT), "RLIMIT_MEMLOCK that the load ran with; null: unlimited",
        required=False),
    Key("memlock_unlimited", only(True), "where there was no limit", required=False),
    Key("verify", null(block(
        Key("bytes_checked", COUNT, "bytes that the receiver compared"),
        Key("bad_bytes", COUNT, "bytes that differed"),
        Key("first", null(block(*(Key(name, COUNT, meaning) for name, meaning in (
            ("connection", "number of the connection"), ("message", "number of the message"),
            ("offset", "in bytes, in the message"), ("expected", "byte that was sent"),
            ("got", "byte that came"))))), "the first that differed; null: none did"))),
        "with `--verify`"),
    Key("error", TEXT, "why the load failed", required=False),
))

SERVING = null(block(
    Key("started", COUNT, "connections"),
    Key("answered", COUNT, "connections that were answered"),
    Key("unfinished", COUNT, "connections given up because the run was ended"),
    Key("unanswered", COUNT, "connections that the client closed after 10 s without an answer, when "
        "no other had been answered for 5 s"),
    Key("turned_away", COUNT, "connections that were not the load's own", required=False),
    Key("answers_per_s", number(), "answered connections per second"),
    Key("connect_ns", HISTOGRAM, "histogram of `connect`, see [Times](#times)"),
    Key("accept_ns", HISTOGRAM, "of `connected..accepted`"),
    Key("work_ns", HISTOGRAM, "of `accepted..ready`"),
    Key("answer_ns", HISTOGRAM, "of `connect..answer`"),
))

_STAGES = null(block(
    Key("span", TEXT, "`syscall..tcp_sendmsg` where a hook sees the syscall begin, else as in `wall_ns`"),
    Key("one_in", integer(1), "one in so many sends is divided, chosen at random"),
    Key("sends", COUNT, "that were divided"),
    Key("bytes", COUNT, "of these"),
    Key("wall_ns", HISTOGRAM, "time in the call"),
    Key("parts", list_of(block(
        Key("stage", one_of(*(stage.name for stage in STAGES)), "see [stages.md](stages.md)"),
        Key("on_cpu", TRUTH, "true: time on a CPU"),
        Key("ns", null(DISTRIBUTION), "`count`: the sends in which the stage occurred; null where "
            "no hook sees it: its time is then in another, mostly in `unaccounted`"),
        Key("counters", list_of(Kind("distribution", {
            "allOf": [{"$ref": "#/$defs/distribution"},
                      {"required": ["event"], "properties": {"event": TEXT.schema}}]})),
            "with `--call-counters`: a distribution for each `event`"))),
        "the stages: their sums add up to that of `wall_ns`, those on the CPU to that of `cpu_ns`"),
))

CALLS = null(list_of(block(
    Key("syscall", TEXT, "`other`: rare ones such as pwritev2, and all of 32-bit programs; "
        "`io_uring`: sends by io_uring, in whichever thread or syscall"),
    Key("zerocopy", TRUTH, "true: zero-copy sends"),
    Key("notified_by", one_of("error queue", "io_uring", None), "how the program learns of a "
        "completion; `io_uring`: of io_uring's own zero-copy operations"),
    Key("sends", COUNT, "sends, including failed ones"),
    Key("syscalls", null(COUNT), "null where one can be several sends"),
    Key("bytes", COUNT, "bytes that the kernel accepted"),
    Key("sizes", Kind("list of lists", {"type": "array", "items": {
        "type": "array", "minItems": 4, "maxItems": 4, "items": COUNT.schema}}),
        "`[low, high, sends, bytes]`, see [Sizes](#sizes)"),
    Key("errors", ERRORS, "`ERESTARTSYS`: a signal interrupted the send, and the kernel restarted "
        "it or returned EINTR"),
    Key("timed_one_in", integer(1), "one in so many sends is timed (`--sample`); 1: all", required=False),
    Key("wall_ns", null(HISTOGRAM), "kernel time of a send"),
    Key("cpu_ns", null(HISTOGRAM), "with `--stages`, the time on the CPU"),
    Key("stages", _STAGES, "with `--stages`, see [Stages](#stages)"),
    Key("counters", null(block(
        Key("sends", COUNT, "calls that were not interrupted on their CPU"),
        Key("left_out", COUNT, "the others"),
        Key("events", list_of(block(
            Key("event", TEXT, "name of the event"),
            Key("sum", COUNT, "over `sends`"))), "a row for each event"))), "with "
                "`--call-counters`"),
)))

IO_URING = null(list_of(block(
    Key("operation", one_of(*URING_OPERATIONS), "of io_uring: IORING_OP_..."),
    Key("requests", integer(1), "requests that ended with a result (CQE), one for each; cancelled ones, too"),
    Key("errors", ERRORS, "of these, the requests that failed"))))

BY = null(block(
    Key("dimensions", list_of(one_of("process", "device", "port", "cgroup"), minItems=1), "as requested"),
    Key("groups", list_of(block(
        *_SUMS,
        Key("pid", null(integer(1)), "with `process`: the process (thread group) that sent, by its "
            "id in the PID namespace of the analyzer; null: it has none there", required=False),
        Key("comm", null(TEXT), "the name that its main thread had at its first send; anybody can "
            "choose one", required=False),
        _NETNS._replace(meaning=f"with `device`: {_NETNS.meaning}", required=False),
        _IFINDEX._replace(required=False),
        _DEVICE._replace(required=False),
        Key("cgroup", null(TEXT), "with `cgroup`: path of the sender's control group of version 2, below where "
            "these are mounted; whoever created it chose its name", required=False),
        Key("runtime", null(one_of("docker", "podman", "containerd", "cri-o")), "of the container, if the path "
            "names it", required=False),
        Key("container", null(TEXT), "id of the innermost container that the path names; null: it names none in a "
            "known form", required=False),
        Key("pod", null(TEXT), "UID of the container's pod, or podman's id of it, if the path names one",
            required=False),
        Key("remote_port", integer(0, 65535), "with `port`: of the receiver", required=False),
        Key("remote_address", null(TEXT), "null if the sends of the group had several", required=False))),
        "a row for each combination that occurred, most bytes first"),
    Key("rest", null(block(*_SUMS)), "what found no room"),
))

_PEER = (
    _NETNS, _IFINDEX, _DEVICE,
    Key("address", null(TEXT), "of the receiver"),
    Key("port", integer(0, 65535), "of the receiver"),
)

FINDINGS = list_of(block(
    Key("code", one_of(*(code.name for code in CODES)), "see [findings.md](findings.md)"),
    Key("severity", one_of(*SEVERITIES), "; ".join(f"`{name}`: {words}" for name, words in SEVERITIES.items())),
    Key("interface", one_of("msg_zerocopy", "io_uring", None), "of the sends: MSG_ZEROCOPY, or io_uring's own "
        "operations; null for other protocols"),
    Key("count", COUNT, "sends that it concerns; of `queue_never_read`, sockets if `evidence` has `sockets`"),
    Key("total", COUNT, "the number of sends, or sockets, that these are part of"),
    Key("device", null(TEXT), "on which they were copied"),
    Key("netns", null(integer(1)), "inode of its network namespace"),
    Key("stack", null(TEXT), "functions of a copy that no known cause explains"),
    Key("evidence", Kind("block", {"type": "object"}), "further numbers and names on which it rests"),
    Key("removable", null(TRUTH), "true: the remedy ends it; false: nothing ends it on this path; null: not known, "
        "or there is nothing to end"),
    Key("remedy", null(TEXT), "what to do"),
    Key("processes", list_of(block(
        Key("comm", TEXT, "its name"), Key("pid", null(integer(1)), "null: it is in another PID namespace"),
        Key("count", COUNT, "of its zero-copy sends, those that were copied, refused or ignored, for whatever cause"),
        Key("total", COUNT, "its completed sends if these are copied ones, else its requests")), maxItems=10),
        "with `--all --by process`: those it concerns, most sends first; of several findings of copies, or of refused "
        "sends, only the first has them", required=False)))
COMPARISON = block(
    Key("of", NAME, "`run.cell` of the configuration"),
    Key("against", NAME, "`run.cell` of its first variant"),
    Key("metric", one_of("throughput", "cpu"), "bits per second, of servers requests per second; or CPU time of both "
        "ends per byte"),
    Key("verdict", one_of("better", "worse", "same", "inconclusive"), "of the first over the second, "
        "see [statistics.md](statistics.md)"),
    Key("reason", null(TEXT), "why it is inconclusive"),
    Key("effect", null(positive()), "their ratio; null without a pair of runs"),
    Key("interval", null(list_of(positive(), minItems=2, maxItems=2)), "from and to; null: too few repeats"),
    Key("level", null(SHARE), "of confidence, of this interval"),
    Key("n", COUNT, "pairs of runs"),
    Key("resolved", null(number()), "the smallest difference that these pairs would have shown, as a share"),
    Key("repeats", null(COUNT), "so many might decide; null: it is decided, or no number is likely to"),
    Key("discarded", list_of(TEXT), "why runs were left out as disturbed, one reason per repeat"),
)

_CAUSE = (
    Key("cause", one_of(*(cause.name for cause in CAUSES)), "see [causes.md](causes.md)"),
    _NETNS._replace(meaning="inode of the device's network namespace"),
    _IFINDEX._replace(meaning="of the device"), _DEVICE)
_PINNED = (Key("bytes_now", COUNT, "bytes when the window closed"), Key("bytes_max", COUNT, "most bytes at once"))
_STACK = Key("stack", null(list_of(TEXT)), "call stack of a copy that no known cause explains")

_SEGMENTS = Key("segments", null(block(
    Key("sends", COUNT, "sends whose segments were read when they began: the parts of the message, as iovecs or in a "
        "registered buffer"),
    Key("count", COUNT, "segments with data, of the first 32 of each send (of a registered buffer, pages)"),
    Key("unread", COUNT, "segments after these; of a registered buffer 1 if there are any"),
    Key("smallest", null(integer(1)), "bytes of the smallest segment; null: there was none"),
    Key("small", COUNT, "segments of less than 4 KiB"),
    Key("small_bytes", COUNT, "bytes in these"),
    Key("headed", COUNT, "sends that begin with such segments and go on with a larger one"),
    Key("header_bytes", COUNT, "bytes in the segments with which they begin"))),
    "what these sends consisted of; null where only syscalls are traced", required=False)

_WAITS = Key("waits", null(block(
    Key("in_flight", list_of(block(
        Key("from", COUNT, "0, 1, 2, 4, 8, 16, 32 or 64 and more"), Key("sends", integer(1), "sends"))),
        "sends that began while so many others of their socket were in flight, and fewer than the next row's `from`"),
    Key("intervals", COUNT, "sends that followed another one of their socket"),
    Key("interval_ns", COUNT, "from the beginning of that one to theirs, in all"),
    Key("awaited", list_of(block(
        Key("reason", one_of(*WAIT_REASONS), "how long the waits were: about as long as a round "
            "trip; as long as Linux delays an acknowledgement (40 ms), after a short last segment; or longer"),
        Key("sends", integer(1), "sends"), Key("ns", COUNT, "from the return of the one before to its completion"))),
        "of these, sends that began soon after the last one in flight had completed (after an eighth of the wait, and "
        "4 ms at most): the program waited, unless it received data meanwhile, or its thread was preempted and did not "
        "sleep; waits below 50 us are left out"),
    Key("wait_ns", HISTOGRAM, "these waits"))),
    "whether the program waited for completions before it sent again", required=False)

ZEROCOPY = null(block(
    Key("requests", COUNT, "sends that carried MSG_ZEROCOPY"),
    Key("completions", null(COUNT), "sends whose completion the kernel made known"),
    Key("ignored", COUNT, "accepted without zero-copy: the socket lacks SO_ZEROCOPY, or the send "
        "has no data"),
    Key("ignored_empty", COUNT, "of these, the sends without data"),
    Key("refused", REFUSED, "sends that failed before anything was copied, by cause and errno: the "
        "sum of `count`"),
    Key("outstanding", null(COUNT), "accepted sends without a counted completion: in flight when the window closed, or "
        "lost (`lost.completions`)"),
    Key("completions_before", null(COUNT), "sends that began before the window, or that another "
        "process made, and completed in the window, on sockets that also sent in it; no other sum includes them",
        required=False),
    Key("copied", null(COUNT), "`flagged` and `unflagged` together; where the latter is null, a lower bound"),
    Key("flagged", null(COUNT), "sends that completed with the kernel's flag "
        "(SO_EE_CODE_ZEROCOPY_COPIED), counted before notifications coalesce"),
    Key("unflagged", null(COUNT), "sends that completed without the flag, though a hook saw "
        "their data copied, as for a device without scatter-gather; null where no hook sees that"),
    Key("unexplained", null(COUNT), "sends that completed without the flag, though no hook saw a "
        "copy and no physical device (one with `/sys/class/net/DEV/device`) got their data: a "
        "function without a hook copied them, or they were never sent; null if events were dropped "
        "(`lost.stacks`)", required=False),
    Key("fallback_rate", null(SHARE), "share of completed sends that the kernel copied: `copied / "
        "completions`; null if none completed, or `completions` is null"),
    Key("bytes", COUNT, "bytes that zero-copy sends accepted"),
    Key("bytes_copied", null(COUNT), "bytes of packets that the kernel copied; without fentry or "
        "kprobe known only if all sends or none were copied"),
    Key("bytes_unflagged", null(COUNT), "bytes copied without a flag"),
    Key("peers", list_of(block(*_PEER, *_ZEROCOPY_SUMS), maxItems=1000), "receivers of these "
        "sends, most requests first"),
    Key("peers_rest", null(block(Key("peers", COUNT, "receivers that are not listed"), *_ZEROCOPY_SUMS)),
        "the same sums over them; null if there are none"),
    Key("io_uring", null(block(
        Key("requests", COUNT, "sends by these operations"),
        Key("completions", null(COUNT), "of these, completed"),
        Key("ignored", COUNT, "accepted without zero-copy"),
        Key("ignored_empty", COUNT, "of these, sends without data"),
        Key("refused", REFUSED, "failed before anything was copied, by cause and errno, but not what io_uring "
            "itself refused: [`io_uring`](#io_uring-requests-to-send) has that"),
        Key("outstanding", null(COUNT), "not completed when the window closed"),
        Key("copied", null(COUNT), "null if of some sends neither io_uring's report "
            "(IORING_SEND_ZC_REPORT_USAGE) nor the packet's path showed whether they were copied"),
        Key("causes", null(list_of(block(*_CAUSE, Key("count", integer(1), "sends"), _STACK))),
            "why they were copied: a row for each cause and device", required=False),
        _SEGMENTS, _WAITS,
        Key("fallback_rate", null(SHARE), "`copied / completions`"),
        Key("bytes", COUNT, "payload of these sends"),
        Key("completion_ns", null(HISTOGRAM), "from the beginning of a request's first send to its notification, for "
            "each notification", required=False),
        Key("pinned", null(block(*_PINNED)), "what these sends ask the kernel to keep in place; see "
            "[Pinned memory](#pinned-memory)", required=False))),
        "sends by io_uring's zero-copy operations (SEND_ZC, SENDMSG_ZC): they have no send id, so "
            "no key above but `peers` counts them; an operation that the socket accepts in parts "
            "counts as several sends; null without such sends"),
    Key("skb_copies", null(COUNT), "packets whose data the kernel copied"),
    Key("skb_copy_bytes", null(COUNT), "bytes of these; data copied twice count twice"),
    Key("causes", null(list_of(block(
        *_CAUSE, Key("count", integer(1), "sends; one with two causes counts in both rows, so that the sum "
            "can exceed `copied`"),
        Key("unflagged", COUNT, "of these, not flagged"),
        Key("skbs", COUNT, "packets copied"),
        Key("skbs_in_send", COUNT, "of these, copied inside a send by that socket, so in the "
            "sender's time; the others were copied by softirqs, or in the time of another thread"),
        Key("bytes", COUNT, "copied"), _STACK))),
        "why data were copied: a row for each cause and device"),
    Key("errqueue_copied", null(COUNT), "sends that were reported to the application as copied: the load "
        "generator's count or, for an observed program, what it read from the error queue; it "
        "differs from `copied` where copies have no flag, notifications were not read, or "
        "coalesced notifications share a flag"),
    _SEGMENTS, _WAITS,
    Key("plain_beside", null(COUNT), "sends without MSG_ZEROCOPY by a thread whose last zero-copy send was on the same "
        "socket, while zero-copy sends of the socket had not completed; null where completions are not seen",
        required=False),
    Key("completion_ns", null(HISTOGRAM), "from the beginning of a send to its completion, for "
        "each send that was followed"),
    Key("completions_untimed", null(COUNT), "completions without a time"),
    Key("pinned", null(block(
        Key("scope", only("all sockets"), "which sockets: all that were measured"),
        *_PINNED,
        Key("pages_now", COUNT, "as the kernel charges it to a user's RLIMIT_MEMLOCK"),
        Key("pages_max", COUNT, "most pages at once"))), "see [Pinned memory](#pinned-memory)"),
    Key("limits", block(
        Key("memlock", null(block(
            Key("pages", COUNT, "the most pages that a refused send would have pinned"),
            Key("pages_locked", COUNT, "pages that its user had pinned then"),
            Key("pages_limit", COUNT, "RLIMIT_MEMLOCK of its process, in pages"))),
            "null: RLIMIT_MEMLOCK refused no send"),
        Key("optmem", null(block(
            Key("charged", COUNT, "the most option memory of a socket that refused a send, in bytes"),
            Key("limit", COUNT, "net.core.optmem_max, which applied to it"))), "null: optmem refused no send")),
        "the limits that refused sends", required=False),
    Key("notifications", block(
        Key("ranges", null(COUNT), "ranges of neighbouring sends that the kernel completed "
            "together, each one notification"),
        Key("sends_per_range", null(number()), "mean number of sends per range"),
        Key("read", null(COUNT), "notifications that the application read: they coalesce in the "
            "error queue while it does not read"),
        Key("reported", null(COUNT), "sends that these report"),
        Key("reported_copied", null(COUNT), "of these, reported as copied"),
        Key("unread", null(integer()), "completed, and not read when the window closed: "
            "`completions - reported`"),
        Key("sockets", null(COUNT), "sockets with completed sends", required=False),
        Key("sockets_unread", null(COUNT), "of these, sockets with at least 50 completed sends whose error queue the "
            "application never read", required=False),
        Key("sends_per_notification", null(number(1)), "mean, of the notifications that were read")),
        "how the application learned of completions"),
    Key("error_queue", null(block(
        Key("sends", COUNT, "zero-copy sends accepted in the window"),
        Key("reads", COUNT, "reads that found a notification"),
        Key("empty_reads", COUNT, "reads that found none"),
        Key("read_ns", HISTOGRAM, "time in the kernel without the syscall around it; includes the "
            "program that counts what was read"),
        Key("empty_read_ns", HISTOGRAM, "time of reads that found no notification"),
        Key("ns_per_send", null(number()), "time of both kinds of reads, per send"),
        Key("reads_per_send", null(number()), "reads of both kinds, per send"))),
        "what reading the error queue cost; tracepoints alone cannot measure it"),
    Key("wake_up_ns", null(HISTOGRAM), "with `--stages`: time of waking threads that wait for a "
        "notification"),
))

RECEIVER = null(block(
    Key("copies", COUNT, "copies from skbs to user space"),
    Key("bytes", COUNT, "bytes of these copies"),
    Key("copy_ns", null(HISTOGRAM), "with `--stages`, the time of each copy"),
))

TCP = null(block(
    *(Key(c.key, null(COUNT), f"{c.meaning} ({c.name})") for c in protocol.COUNTERS),
    Key("sending", null(block(
        Key("sockets", COUNT, "sockets that sent and were open when the window closed"),
        Key("retransmits", COUNT, "retransmitted segments; this key and the next six are sums over "
            "all sockets in the window"),
        Key("retransmitted_bytes", COUNT, "retransmitted payload"),
        Key("segments", COUNT, "segments sent"),
        Key("data_segments", COUNT, "of these, with data"),
        Key("busy_us", COUNT, "time with data under way"),
        Key("peer_window_limited_us", COUNT, "of this, held back by the peer's window"),
        Key("send_buffer_limited_us", COUNT, "of this, held back by the send buffer"),
        Key("cwnd_min", COUNT, "least congestion window as the window closed, in segments"),
        Key("cwnd_mean", COUNT, "mean congestion window"),
        Key("cwnd_max", COUNT, "greatest congestion window"),
        Key("rtt_min_us", COUNT, "least round-trip time of the connections"),
        Key("rtt_mean_us", COUNT, "mean round-trip time as the window closed"),
        Key("rtt_max_us", COUNT, "greatest round-trip time as the window closed"),
        Key("mss_min", COUNT, "smallest segment size in bytes"),
        Key("mss_max", COUNT, "greatest segment size in bytes"),
        Key("congestion", null(NAME), "name of the congestion control"))),
        "TCP_INFO of the sending sockets; null where all were closed within the window"),
    Key("skbs", null(integer(1)), "with `--packets` or of a timeline: packets with the load's data that were "
        "handed to the first device, before it cuts them into segments; includes retransmissions"),
    Key("skb_frags", null(COUNT), "page fragments in them; the kernel allows at most MAX_SKB_FRAGS "
        "per packet (17 by default)"),
    Key("skbs_per_send", null(positive()), "mean number of these packets per send"),
    Key("frags_per_skb", null(number()), "mean number of fragments per packet"),
))

COUNTERS = null(list_of(block(
    Key("event", TEXT, "name of the event"),
    Key("pmu", null(TEXT), "PMU that counted, on a hybrid CPU"),
    Key("scope", one_of("sender", "receiver", "command", "system"), "whose events were counted"),
    Key("value", null(number(None)), "scaled by `enabled_ns / running_ns`"),
    Key("unit", TEXT, "unit of `value`"),
    Key("enabled_ns", COUNT, "time that the event was enabled"),
    Key("running_ns", COUNT, "time that it was counted"),
    Key("status", one_of("counted", "not supported", "not counted"),
        "`not supported`: this machine has no such event"),
    Key("reason", TEXT, "why it was not counted", required=False),
    **{"if": {"properties": {"status": {"const": "counted"}}},
       "then": {"properties": {"value": number(None).schema}},
       "else": {"required": ["reason"], "properties": {"value": {"type": "null"}}}})))

LOST = null(block(
    Key("calls", COUNT, "sends that may be missing: a hook's program was skipped"),
    Key("completions", COUNT, "completions that may be missing"),
    Key("flags", COUNT, "completions whose own flag was not read: a neighbouring completion's flag "
        "is counted, so `copied` can be wrong by so many, and no cause is counted for them"),
    Key("groups", COUNT, "sends whose group or peer found no room; they count in all totals"),
    Key("stacks", null(COUNT), "copied packets, and other events of a send, for which there was no room"),
))

OVERHEAD = null(block(
    Key("bpf_ns", COUNT, "time of the measuring programs"),
    Key("bpf_runs", COUNT, "runs of these programs"),
    Key("cpu_share", null(number()), "share of the CPU time of both sides"),
))

PROFILE = null(block(
    Key("event", one_of("cycles", "cpu-clock"), "what the kernel samples by; `cpu-clock` does not see "
        "code that runs with interrupts off"),
    Key("hz", integer(1), "samples a second of a CPU's time"),
    Key("samples", COUNT, "of the threads of measured processes"),
    Key("lost", COUNT, "dropped events: samples without room for their stack"),
    Key("stacks", list_of(block(
        Key("syscall", null(TEXT), "of the send that the thread was in; null: it was in none"),
        Key("zerocopy", null(TRUTH), "whether that send requested zero-copy"),
        Key("context", one_of(*(context.name for context in CONTEXTS)),
            "`send`, and apart `softirq`, are inside a send; `kernel` is other kernel code, `program` "
            "user space"),
        Key("stage", null(one_of(*(stage.name for stage in STAGES if stage.on_cpu))),
            "of a send, by the innermost function that begins a stage; null outside of sends"),
        Key("functions", list_of(TEXT), "of the kernel, outermost first; empty of `kernel` and `program`"),
        Key("samples", integer(1), "with this stack"))), "the most frequent first"),
    Key("waits", list_of(block(
        Key("syscall", TEXT, "of the send"),
        Key("zerocopy", TRUTH, "whether that send requested zero-copy"),
        Key("stage", one_of(*(stage.name for stage in STAGES if not stage.on_cpu)),
            "`blocked` mostly for buffer space; `preempted`: waiting for a CPU"),
        Key("functions", list_of(TEXT), "of the kernel, from which the thread left, outermost first"),
        Key("ns", COUNT, "off the CPU"))), "times off the CPU in sends, the longest first", required=False)))

_WHOLE, _AMOUNT = null(COUNT), null(number())
MEMORY = null(block(
    Key("scope", one_of("system", "sender and receiver"), "`system`: all programs and devices; "
        "`sender and receiver`: an estimate by LLC misses"),
    Key("source", null(TEXT), "which counters measured reads and writes; null: none"),
    Key("is_estimate", null(TRUTH), "true: they count something close to it"),
    Key("read_bytes", _WHOLE, "bytes read from memory"),
    Key("write_bytes", _WHOLE, "bytes written to memory"),
    Key("bytes", _WHOLE, "both; AMD's fabric and Arm's mesh count only this"),
    Key("read_bytes_per_s", _AMOUNT, "over `app.elapsed_s`"),
    Key("write_bytes_per_s", _AMOUNT, "over `app.elapsed_s`"),
    Key("bytes_per_byte", _AMOUNT, "`bytes` over `app.bytes`: memory bytes moved for each byte sent"),
    Key("io_read_misses", _WHOLE, "cache lines that devices read and the last-level cache did not have"),
    Key("io_write_misses", _WHOLE, "cache lines that devices wrote whole and the last-level cache "
        "did not have"),
    Key("io_own_misses", _WHOLE, "cache lines that devices wrote in part and the last-level cache "
        "did not have"),
    Key("io_miss_read_bytes", _WHOLE, "bytes read from memory because of `io_read_misses` and "
        "`io_own_misses`"),
    Key("io_in_bytes", _WHOLE, "bytes that PCIe devices moved to the machine"),
    Key("io_out_bytes", _WHOLE, "bytes that they moved from it"),
    Key("events", list_of(block(
        Key("event", TEXT, "as given to perf"),
        Key("quantity", one_of(*memory.QUANTITIES), "what it counts"),
        Key("value", _AMOUNT, "as perf wrote it"),
        Key("unit", TEXT, "as perf wrote it"),
        Key("bytes", _WHOLE, "`value` in bytes"),
        Key("running", null(number(0, 1.01)), "share of the time that it was counted"),
        Key("status", one_of("counted", "not supported", "not counted"), "as in `counters`"))),
        "a row for each event"),
))

SEND = shared("send", block(
    Key("number", integer(1), "its place among the sends"),
    Key("syscall", TEXT, "that sent"),
    Key("zerocopy", TRUTH, "whether it requested zero-copy"),
    Key("bytes", COUNT, "that it was to send"),
    Key("returned", integer(), "bytes that it took; below 0: the error"),
    Key("call_ns", COUNT, "from the beginning of the send to its return"),
    Key("completion_ns", null(COUNT), "from the beginning of the send to its completion"),
    Key("copied", null(TRUTH), "whether the kernel flagged it as copied; null: it did not complete, or flagged "
        "and unflagged sends completed together with it"),
    Key("causes", list_of(TEXT), "of its copies"),
    Key("notified_ns", null(COUNT), "from the beginning of the send until its notification was in the error queue, "
        "maybe coalesced with others"),
    Key("read_ns", null(COUNT), "from the beginning of the send until the application read the notification"),
    Key("received_ns", null(COUNT), "when the receiver copied its first bytes"),
    Key("events", list_of(block(
        Key("lane", one_of(*LANES), "of the picture"),
        Key("what", TEXT, "in words; a send by its syscall"),
        Key("at_ns", integer(), "after its beginning"),
        Key("took_ns", null(COUNT), "null: no time"),
        Key("cpu", COUNT, "where it happened"),
        Key("tid", COUNT, "of the thread that the CPU was in"),
        Key("bytes", integer(), "that it moved, or was to move"))), "in order")))
TIMELINE = block(
    Key("slower_than_ns", COUNT, "0: the first sends"),
    Key("sends", COUNT, "number taken, of those that returned in the window"),
    Key("events", COUNT, "of these and others"),
    Key("sockets", COUNT, "that they were sent by"),
    Key("lost", COUNT, "dropped events: they found no room"),
    Key("gaps", COUNT, "places where events were lost"),
    Key("left_out", COUNT, "dropped events after the last that there was room for"),
    Key("median", null(SEND), "the send of median `call_ns`, see [Send](#send)"),
    Key("slowest", null(SEND), "the one that took longest: to its completion, if it is a zero-copy send"))

WARNINGS = list_of(block(
    Key("code", TEXT, "for programs; `sends_unseen`: the mechanism does not see sends by some "
        "syscalls, which are in no figure"),
    Key("text", TEXT, "for people")))
UNMEASURED = list_of(block(Key("key", TEXT, "the key that is null"), Key("reason", NAME, "why")))

RECORD = block(
    Key("schema", only(SCHEMA), "version of this format"),
    Key("tool", TOOL, "the program that measured"),
    Key("started", STARTED, "start of the window, UTC"),
    Key("run", RUN, "identity of the run"),
    Key("host", HOST, "the machine that sent"),
    Key("privilege", PRIVILEGE, "privileges of the measuring process"),
    Key("plan", PLAN, "what was hooked, and how"),
    Key("load", LOAD, "what was sent, from which memory, on which sockets, by which processes; "
        "null where a program was observed"),
    Key("observed", OBSERVED, "the program that was observed; null where a load was run"),
    Key("serving", SERVING, "many connections (`--workload procinfo`), else null; the server is "
        "the `sender` of the record, the client its `receiver`"),
    Key("tcp", TCP, "TCP counters in the window, see [TCP](#tcp); null where a program was observed"),
    Key("app", APP, "the load generator's own counts; null where a program was observed"),
    Key("noise", NOISE, "what else the machine did in the window"),
    Key("calls", CALLS, "the sends: a row for each syscall and kind of send"),
    Key("io_uring", IO_URING, "io_uring's requests to send, to sockets of any protocol: a row for each operation that "
        "occurred; null where no hook sees them end", required=False),
    Key("by", BY, "with `--by`, else null: sends by group, see [Groups](#groups)"),
    Key("zerocopy", ZEROCOPY, "see [Zero-copy](#zero-copy); null for a load without zero-copy"),
    Key("receiver", RECEIVER, "what the other end's kernel copied"),
    Key("counters", COUNTERS, "events: a row for each event and side; null where processes were "
        "observed that ran already"),
    Key("memory", MEMORY, "with `--memory`, else null: what the machine's memory and its devices "
        "moved while the window was open; [memory.md](memory.md) lists the counters, and how "
        "good they are", required=False),
    Key("profile", PROFILE, "with `--profile`, else null: samples of the measured processes' CPU time, "
        "by kernel functions"),
    Key("timeline", TIMELINE, "of `analyze timeline` alone: single sends", required=False),
    Key("lost", LOST, "dropped events: what could not be followed"),
    Key("overhead", OVERHEAD, "with `--cost`, else null: what measuring cost"),
    Key("findings", FINDINGS, "what is wrong with zero-copy sends, worst first: [findings.md](findings.md)",
        required=False),
    Key("complete", TRUTH, "false where the run was interrupted before its time was up, or failed "
        "(`warnings` have the reason); an observation without `--duration` has no such time",
        required=False),
    Key("warnings", WARNINGS, "caveats"),
    Key("unmeasured", UNMEASURED, "why a key is null"),
    Key("comparisons", null(list_of(COMPARISON)), "those of all runs of the command, in the record of its "
        "last run; null in other records and those of `analyze derive`", required=False),
)

FAILURE = block(
    Key("schema", only(FAILURE_SCHEMA), "version of this format"),
    Key("tool", TOOL, "as in a run record"),
    Key("started", STARTED, "start of the window, or of the run if it has none, UTC"),
    Key("run", RUN, "as in a run record"),
    Key("host", HOST, "as in a run record"),
    Key("load", Kind("block", {"type": "object", "required": [
        "workload", "variant", "server_model", "message_bytes", "fields", "threads", "connections",
        "link"]}), "as in a run record, without the processes' ids and CPUs"),
    Key("complete", only(False), "a failed run is never complete"),
    Key("outcome", one_of("failed", "skipped"), "`failed` while it ran, or `skipped`: this system "
        "cannot run it"),
    Key("error", NAME, "why, in one line"),
)
