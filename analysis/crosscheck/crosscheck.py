# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Count the same sends with bcc, an independent toolchain, and compare the counts.

Run as `analyze crosscheck [load options]`. Starts a bcc program, then the analyzer with these
options, and compares what both counted in the load's processes. Sends, bytes and errors must be
equal. If both measured the same span, the medians of the times may differ by a factor of two,
because each side also times the other's program; otherwise a span that contains another must not
have the lower median. Exit status: 0 counts are equal and medians are plausible, 1 something differs
or failed, 2 wrong usage, 3 this system cannot run the check.

The bcc program shares no code with the analyzer: it uses kprobes on tcp_sendmsg where the kernel
allows them, otherwise raw tracepoints, which need no kernel types.
"""

import collections
import contextlib
import ctypes
import json
import math
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

sys.path.append(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from faults import SYSTEM, USAGE, Fault, printed  # noqa: E402

INITIAL_PID_NAMESPACE = 0xEFFFFFFC
DEFAULT_LOAD = ["--variant", "twocopy,onecopy,zerocopy", "--messages", "10000", "--size", "64K"]
# A median in a narrower bucket is too short to compare, because each program's times include the other program's.
BUCKET_MIN_NS = 250
# The middle of the times. If half of the calls are quick and half are slow, the median of one side may be
# a quick call, and that of the other side a slow one.
MIDDLE = (0.4, 0.6)
NEAR = 2  # the factor by which medians may differ: the other program takes about half the time of a short call
# Each span contains the spans after it.
SPANS = ["syscall", "tcp_sendmsg", "tcp_sendmsg_locked..return"]

COMMON = r"""
#include <linux/errno.h>
#include <linux/ptrace.h>

struct side { u32 tgid; u32 zerocopy; };
struct tally { u64 sends, failed, bytes, timed; };
struct timeslot { u32 tgid; u32 zerocopy; u32 bucket; u32 pad; };
struct open_call { u64 start; u32 zerocopy, tcp; };
BPF_HASH(sums, struct side, struct tally, 65536);
BPF_HASH(times, struct timeslot, u64, 65536);
BPF_HASH(under_way, u64, struct open_call, 10240);

/* Sixteenths of powers of two, without code of the analyzer. */
static inline u32 bucket_of(u64 ns)
{
	u32 power = bpf_log2l(ns | 1) - 1;
	return power < 4 ? ns : power * 16 + ((ns >> (power - 4)) & 15);
}

static inline void count(u32 tgid, u32 zerocopy, long ret, u64 ns)
{
	struct side key = { tgid, zerocopy };
	struct tally zero = {}, *s = sums.lookup_or_try_init(&key, &zero);

	if (!s)
		return;
	__sync_fetch_and_add(&s->sends, 1);
	if (ret < 0)
		__sync_fetch_and_add(&s->failed, 1);
	else
		__sync_fetch_and_add(&s->bytes, ret);
	if (ns) {
		struct timeslot slot = { tgid, zerocopy, bucket_of(ns), 0 };
		u64 none = 0, *n = times.lookup_or_try_init(&slot, &none);

		__sync_fetch_and_add(&s->timed, 1);
		if (n)
			__sync_fetch_and_add(n, 1);
	}
}
"""

# This program uses the types of the running kernel, so it needs the kernel's headers (or IKHEADERS).
KPROBES = r"""
#include <linux/socket.h>

int enter(struct pt_regs *ctx, void *sk, struct msghdr *msg)
{
	u64 thread = bpf_get_current_pid_tgid();
	struct open_call call = {};

	call.zerocopy = !!(msg->msg_flags & 0x4000000);
	call.start = bpf_ktime_get_ns();
	under_way.update(&thread, &call);
	return 0;
}

int leave(struct pt_regs *ctx)
{
	u64 now = bpf_ktime_get_ns(), thread = bpf_get_current_pid_tgid();
	struct open_call *call = under_way.lookup(&thread);

	if (!call)
		return 0;
	count(thread >> 32, call->zerocopy, (int)PT_REGS_RC(ctx), now - call->start);
	under_way.delete(&thread);
	return 0;
}
"""

# MSG_ZEROCOPY is in the fourth argument of sendto and the third of sendmsg. A send that fails before the copy loop
# does not pass tcp_sendmsg_locked. Such a send is counted only if it has MSG_ZEROCOPY and fails with ENOBUFS.
RAW = r"""
RAW_TRACEPOINT_PROBE(sys_enter)
{
	u64 number = ctx->args[1], thread = bpf_get_current_pid_tgid();
	struct pt_regs regs = {};
	struct open_call call = {};

	if (number != NR_SENDTO && number != NR_SENDMSG && number != NR_WRITE && number != NR_WRITEV)
		return 0;
	bpf_probe_read_kernel(&regs, sizeof(regs), (void *)ctx->args[0]);
	if (number == NR_SENDTO)
		call.zerocopy = !!(ARGUMENT_4 & 0x4000000);
	else if (number == NR_SENDMSG)
		call.zerocopy = !!(ARGUMENT_3 & 0x4000000);
	under_way.update(&thread, &call);
	return 0;
}

RAW_TRACEPOINT_PROBE(tcp_sendmsg_locked)
{
	u64 thread = bpf_get_current_pid_tgid();
	struct open_call *call = under_way.lookup(&thread);

	if (call && !call->tcp) {
		call->tcp = 1;
		call->start = bpf_ktime_get_ns();
	}
	return 0;
}

RAW_TRACEPOINT_PROBE(sock_send_length)
{
	u64 now = bpf_ktime_get_ns(), thread = bpf_get_current_pid_tgid();
	struct open_call *call = under_way.lookup(&thread);
	int ret = ctx->args[1];

	if (call && (call->tcp || (call->zerocopy && ret == -ENOBUFS)))
		count(thread >> 32, call->zerocopy, ret, call->tcp ? now - call->start : 0);
	under_way.delete(&thread);
	return 0;
}
"""

NUMBERS = {
    "x86_64": {"NR_WRITE": 1, "NR_WRITEV": 20, "NR_SENDTO": 44, "NR_SENDMSG": 46,
               "ARGUMENT_3": "regs.dx", "ARGUMENT_4": "regs.r10"},
    "aarch64": {"NR_WRITE": 64, "NR_WRITEV": 66, "NR_SENDTO": 206, "NR_SENDMSG": 211,
                "ARGUMENT_3": "regs.regs[2]", "ARGUMENT_4": "regs.regs[3]"},
}

NO_HEADERS = ("no kernel headers for bcc: install linux-headers-$(uname -r), or on another kernel "
              "Debian's linux-headers-amd64")

Sum = collections.namedtuple("Sum", "sends failed bytes timed")


def merge_headers(folder):
    """Merges Debian's two packages of kernel headers into one folder, as bcc requires. Raises Fault.

    Any version of the headers will do for raw tracepoints, which use no kernel type.
    """
    for common in sorted(pathlib.Path("/usr/src").glob("linux-headers-*-common"), reverse=True):
        for own in sorted(common.parent.glob(common.name.removesuffix("-common") + "-*")):
            if own != common:
                subprocess.run(["cp", "-as", f"{common}/.", f"{own}/.", folder], check=False,
                               stderr=subprocess.DEVNULL)
                return folder
    raise Fault(NO_HEADERS, SYSTEM)


def own_headers():
    build = pathlib.Path("/lib/modules", os.uname().release, "build")
    return build.exists() or pathlib.Path("/sys/kernel/kheaders.tar.xz").exists()


def build_program(bpf_class):
    if own_headers() and os.path.exists("/sys/bus/event_source/devices/kprobe/type"):
        program = bpf_class(text=COMMON + KPROBES, cflags=["-w"])
        program.attach_kprobe(event="tcp_sendmsg", fn_name="enter")
        program.attach_kretprobe(event="tcp_sendmsg", fn_name="leave", maxactive=512)
        return program, "tcp_sendmsg"
    if platform.machine() not in NUMBERS:
        raise Fault(f"no syscall numbers for {platform.machine()}", SYSTEM)
    flags = ["-w", *(f"-D{name}={value}" for name, value in NUMBERS[platform.machine()].items())]
    with tempfile.TemporaryDirectory(prefix="sendpath-headers-") as folder:
        if not own_headers():
            os.environ["BCC_KERNEL_SOURCE"] = merge_headers(folder)
        return bpf_class(text=COMMON + RAW, cflags=flags), "tcp_sendmsg_locked..return"


@contextlib.contextmanager
def output_to_file():
    """Redirects standard output and standard error to a file: bcc's library and compiler write to both."""
    with tempfile.TemporaryFile("w+", errors="replace") as file:
        kept = {fd: os.dup(fd) for fd in (1, 2)}
        for fd in kept:
            os.dup2(file.fileno(), fd)
        try:
            yield file
        finally:
            ctypes.CDLL(None).fflush(None)
            for fd, own in kept.items():
                os.dup2(own, fd)
                os.close(own)


def why_not(words, problem):
    """Returns one line for people, made of the many lines that bcc's compiler printed."""
    if "kernel headers" in words or "file not found" in words:
        return NO_HEADERS
    errors = [line for line in words.splitlines() if "error:" in line]
    return f"bcc cannot count here: {errors[0] if errors else problem}"


def load_program():
    """Returns the loaded bcc program, and the span of its times. Raises Fault."""
    try:
        from bcc import BPF  # pylint: disable=import-outside-toplevel
    except ImportError:
        raise Fault("python3-bcc is missing (Debian: apt install python3-bpfcc)", SYSTEM) from None
    with output_to_file() as written:
        try:
            return build_program(BPF)
        except Fault:
            raise
        except Exception as problem:  # bcc raises a plain Exception for every failure
            ctypes.CDLL(None).fflush(None)
            written.seek(0)
            raise Fault(why_not(written.read(), problem), SYSTEM) from problem


def run_analyzer(analyze, options):
    """Makes the runs. Returns their records. Runs have no warm-up, because the bcc program would count it as well."""
    command = [analyze, *options, "--warmup", "0", "--json", "-"]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False)
    if done.returncode:
        sys.exit(done.returncode)
    try:
        return [json.loads(line) for line in done.stdout.splitlines()]
    except ValueError:
        raise Fault("give options of a load: these make no run records to compare", USAGE) from None


def rows_of(table, tgid, zerocopy):
    """Returns the rows of one of bcc's tables for the sends of a process, with or without zero-copy."""
    return [(key, value) for key, value in table.items() if (key.tgid, key.zerocopy) == (tgid, zerocopy)]


def bcc_sum(program, tgid, zerocopy):
    found = rows_of(program["sums"], tgid, zerocopy)
    return Sum(*(sum(getattr(value, field) for _, value in found) for field in Sum._fields))


def bounds(bucket):
    """Returns (low, high) of one of bcc's buckets, in ns."""
    power, part = divmod(bucket, 16)
    if power < 4:
        return bucket, bucket + 1
    return (16 + part) << (power - 4), (17 + part) << (power - 4)


def quantile(counts, share):
    """Returns the bounds of the bucket of a quantile; None without counts. counts: sorted (bucket, count)."""
    rank = max(1, math.ceil(share * sum(n for _, n in counts)))
    for bucket, n in counts:
        rank -= n
        if rank <= 0:
            return bounds(bucket)
    return None


def own_sum(record, zerocopy):
    rows = [c for c in record["calls"] if c["zerocopy"] == bool(zerocopy)]
    return Sum(sum(c["sends"] for c in rows), sum(sum(c["errors"].values()) for c in rows),
               sum(c["bytes"] for c in rows),
               sum(c["wall_ns"]["count"] for c in rows if c["wall_ns"]))


def near(ours, counts, own_span, span):
    """Returns whether our median is plausible, given bcc's times of `span`.

    Medians of the same span must differ by less than the factor NEAR. Otherwise the wider span must take longer.
    """
    low = quantile(counts, MIDDLE[0])[0] / NEAR
    high = quantile(counts, MIDDLE[1])[1] * NEAR
    if own_span == span:
        return low <= ours < high
    return ours >= low if SPANS.index(own_span) < SPANS.index(span) else ours < high


def compare_medians(record, program, zerocopy, span):
    """Compares the medians of a run. Returns a text, a short text for the last line, and whether ours is plausible."""
    walls = [c["wall_ns"] for c in record["calls"] if c["zerocopy"] == bool(zerocopy) and c["wall_ns"]]
    counts = sorted((key.bucket, value.value) for key, value in
                    rows_of(program["times"], record["load"]["sender_pid"], zerocopy))
    if len(walls) != 1 or not counts:
        return "not timed", "not timed", True
    low, high = quantile(counts, 0.5)
    ours, own_span = walls[0]["p50"], walls[0]["span"]
    text = f"median {ours / 1e3:,.2f} us, bcc {low / 1e3:,.2f} to {high / 1e3:,.2f} us"
    if own_span == span and high - low < BUCKET_MIN_NS:
        return (f"{text}: too short to compare, each side times the other's program too",
                "too short to compare", True)
    spans, rule = ((f"both of {span}", f"within a factor of {NEAR} of bcc's") if own_span == span else
                   (f"of {own_span} and {span}", f"in the order of their spans, with a factor of {NEAR} to spare"))
    good = near(ours, counts, own_span, span)
    rule = rule if good else f"NOT {rule}"
    return f"{text}, {spans}: {rule}", rule, good


def compare(record, program, span):
    """Compares one run and prints its lines. Returns whether the counts are equal, and (short text, is plausible) of
    each median."""
    equal, verdicts = True, []
    for zerocopy in (0, 1):
        ours = own_sum(record, zerocopy)
        theirs = bcc_sum(program, record["load"]["sender_pid"], zerocopy)
        if not ours.sends and not theirs.sends:
            continue
        name = record["run"]["cell"]
        for field in ("sends", "failed", "bytes"):
            a, b = getattr(ours, field), getattr(theirs, field)
            equal &= a == b
            print(f"{name:32} {field:7} sendpath {a:>15,}  bcc {b:>15,}  "
                  f"{'equal' if a == b else 'DIFFERENT'}")
        text, short, good = compare_medians(record, program, zerocopy, span)
        verdicts.append((short, good))
        print(f"{name:32} time    {text}")
    return equal, verdicts


def conclude(compared):
    """Prints the last line. Returns the exit status. compared: the results of compare()."""
    if not compared:
        print("crosscheck: nothing was compared")
        return 1
    equal = all(counts for counts, _ in compared)
    medians = [median for _, verdicts in compared for median in verdicts]
    counts = collections.Counter(short for short, _ in medians)
    print(f"crosscheck: counts {'equal' if equal else 'DIFFERENT'}; medians:",
          ", ".join(f"{n} {short}" for short, n in counts.items()) or "none")
    return 0 if equal and all(good for _, good in medians) else 1


def complain(why):
    print(f"crosscheck: {why}", file=sys.stderr)


def main():
    analyze, options = sys.argv[1], sys.argv[2:] or DEFAULT_LOAD
    if any(word.partition("=")[0] in ("--help", "--usage", "-h", "-?") for word in options):
        print(__doc__)
        return 0
    if os.stat("/proc/self/ns/pid").st_ino != INITIAL_PID_NAMESPACE:
        raise Fault("bcc counts by process ids of the initial PID namespace: run it outside of this container",
                    SYSTEM)
    # Let the analyzer check the options before bcc starts, which takes seconds. --help keeps it from making runs.
    read = subprocess.run([analyze, *options, "--help"], stdout=subprocess.DEVNULL, check=False)
    if read.returncode:
        return read.returncode
    program, span = load_program()
    records = run_analyzer(analyze, options)
    return conclude([compare(record, program, span) for record in records])


if __name__ == "__main__":
    try:
        sys.exit(printed(main, complain))
    except Fault as fault:
        complain(fault)
        sys.exit(fault.status)
    except KeyboardInterrupt:
        sys.exit(130)
