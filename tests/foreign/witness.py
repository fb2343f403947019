# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Programs that ./analyze observes while a second instrument watches the same run.

strace counts what each syscall on a TCP socket returned. bpftrace does not slow the program down: it counts the
kernel's tracepoint at the end of a send, which shows the process and the socket, but no syscall. Neither samples,
so the counts must be equal.
"""

import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
from collections import Counter, namedtuple

import pytest

# Loads the conftest of tests/integration; make check-foreign keeps pytest from loading tests/conftest.py.
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
# pylint: disable=wrong-import-position,unused-import
from conftest import (ANALYZE, Child, NOTHING_LOST, PATIENCE_S, PROGRAMS, Receiver, check, eventually,
                      losses, needs_bpf, only, run)
from test_observe import gate_is_open
from test_peers import Nginx, accepts, free_port, need

BUILT = PROGRAMS.parents[1] / "foreign"
TRACEFS = pathlib.Path("/sys/kernel/tracing")
TRACED = "write,writev,pwritev2,sendto,sendmsg,sendmmsg,sendfile,splice"
# strace writes one file per thread, so a line is a call; -yy shows the socket's type.
CALL = re.compile(r"(\w+)\(\d+<TCP(?:v6)?:.*= (-?\d+)(?: (E\w+))?")
# Counts the sends of the command that bpftrace starts, and of its descendants.
PROBES = """
tracepoint:sched:sched_process_fork /pid == cpid || @ours[pid]/ { @ours[args->child_pid] = 1; }
tracepoint:sock:sock_send_length /args->protocol == 6 && (pid == cpid || @ours[pid])/ {
	@sends[pid, args->sk] = count();
	@bytes[pid, args->sk] = sum(args->ret > 0 ? args->ret : 0);
	@failed[pid, args->sk] = sum(args->ret < 0 ? 1 : 0);
}
END { clear(@ours); }
"""


class Sends(namedtuple("Sends", "calls bytes failed", defaults=(0, 0, {}))):
    """failed: the number of failed sends, or a count per name of an error."""

    def __str__(self):
        failed = self.failed if isinstance(self.failed, dict) else {"failed": self.failed}
        return f"{self.calls:,} sends, {self.bytes:,} bytes" + "".join(
            f", {count:,} {name}" for name, count in sorted(failed.items()) if count)


def version(*command):
    """Returns the first number with a dot in the program's version text."""
    done = run(*command)
    return re.search(r"\d+(\.\d+)+", done.stdout + done.stderr)[0]


def agree(program, what, theirs, ours):
    """Asserts that both counts are equal; appends the comparison to the file that SENDPATH_FOREIGN names."""
    if "SENDPATH_FOREIGN" in os.environ:
        with open(os.environ["SENDPATH_FOREIGN"], "a", encoding="ascii") as table:
            words = [f"{n:,}" if isinstance(n, int) else str(n) for n in (theirs, ours)]
            table.write(f"| {program} | {what} | {words[0]} | "
                        f"{'equal' if ours == theirs else words[1]} |\n")
    assert ours == theirs, (program, what)


class Witness:
    """around: the words that precede the program's command line. read() may be called after the program has ended."""

    def __init__(self, folder):
        self.folder, self.record = folder, None
        self.observe = [ANALYZE, "--json", folder / "record", "--by", "process", "--"]

    def read(self):
        """Returns the record, after checking that nothing was lost."""
        self.record = check(json.loads((self.folder / "record").read_text()))
        assert losses(self.record) == NOTHING_LOST and self.record["complete"]
        assert self.record["observed"]["in_flight"] == 0
        return self.record

    def run(self, *command):
        """Runs a program that ends by itself; returns what it printed."""
        result = run(*self.around, *command)
        assert result.returncode == 0, result.stderr
        assert self.read()["observed"]["exit_status"] == 0
        return result

    @contextlib.contextmanager
    def serving(self, ready, stop, *command):
        """Runs a server. The with block begins when ready() is true; at its end, stop() ends the server."""
        with open(self.folder / "server", "w", encoding="utf-8") as output:
            process = subprocess.Popen([str(word) for word in (*self.around, *command)],
                                       stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                       start_new_session=True)
        try:
            assert eventually(lambda: ready() or process.poll() is not None)
            assert process.poll() is None, (self.folder / "server").read_text()
            yield
            stop()
            status = process.wait(PATIENCE_S)
            assert status == 0, (status, (self.folder / "server").read_text())
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        self.read()


class Strace(Witness):
    def __init__(self, folder):
        need("strace")
        super().__init__(folder)
        self.around = [*self.observe, "strace", "-ff", "-yy", "-s", "0", "-e", "signal=none",
                       "-e", f"trace={TRACED}", "-o", folder / "trace"]

    def counts(self):
        """Returns {(syscall, zero-copy): Sends}."""
        calls, size, failed = Counter(), Counter(), {}
        for file in self.folder.glob("trace.*"):
            for line in file.open(encoding="utf-8", errors="replace"):
                # a sendfile at the end of its file sends nothing
                if (call := CALL.match(line)) and call.groups() != ("sendfile", "0", None):
                    key = call[1], "MSG_ZEROCOPY" in line
                    calls[key] += 1
                    size[key] += max(0, int(call[2]))
                    if call[3]:
                        failed.setdefault(key, Counter())[call[3]] += 1
        return {key: Sends(calls[key], size[key], failed.get(key, {})) for key in calls}

    def agrees(self, program):
        """Compares each syscall. One sendfile may be several sends, and it does not report if the last of them fails,
        so only its bytes are compared."""
        theirs = self.counts()
        ours = {(c["syscall"], c["zerocopy"]): c for c in self.record["calls"]}
        for key in sorted({*ours, *theirs}):
            call, seen = ours.get(key), theirs.get(key, Sends())
            name = "strace, " + key[0] + (" with MSG_ZEROCOPY" if key[1] else "")
            if call and call["syscalls"] is None:
                assert call["sends"] >= seen.calls
                assert all(call["errors"][name] >= n for name, n in seen.failed.items())
                agree(program, name + ", bytes", seen.bytes, call["bytes"])
            else:
                agree(program, name, seen, Sends(*map(call.get, ("syscalls", "bytes", "errors")))
                      if call else Sends())
        return theirs


class Bpftrace(Witness):
    def __init__(self, folder):
        need("bpftrace")
        super().__init__(folder)
        # Debian's bpftrace finds tracepoints there.
        if not (TRACEFS / "events").exists():
            assert run("mount", "-t", "tracefs", "tracefs", TRACEFS).returncode == 0
        if not (TRACEFS / "events/sock/sock_send_length").exists():
            pytest.skip("this kernel has no tracepoint sock_send_length (Linux 6.3)")
        self.around = ["sh", "-c", 'probes=$1 into=$2; shift 2; '
                       'exec bpftrace -f json -o "$into" -e "$probes" -c "$*"', "sh", PROBES,
                       folder / "kernel", *self.observe]

    def sockets(self):
        """Returns {(process, socket): Sends}."""
        maps = {"@sends": {}}
        for line in (self.folder / "kernel").open(encoding="utf-8"):
            message = json.loads(line)
            assert message["type"] != "lost_events", message
            if message["type"] == "map":
                maps.update(message["data"])
        return {tuple(key.split(",")): Sends(count, maps["@bytes"][key], maps["@failed"][key])
                for key, count in maps["@sends"].items()}

    def agrees(self, program):
        """Compares the counts of each process. The processes' counts must add up to those of all calls."""
        groups = {g["pid"]: g for g in self.record["by"]["groups"]}
        calls = self.record["calls"]
        for key in ("sends", "bytes"):
            assert sum(g[key] for g in groups.values()) == sum(c[key] for c in calls)
        assert sum(g["failed"] for g in groups.values()) == sum(
            n for c in calls for n in c["errors"].values())
        theirs = {}
        for (pid, _), sends in self.sockets().items():
            theirs[int(pid)] = Sends(*map(sum, zip(theirs.get(int(pid), (0, 0, 0)), sends)))
        for pid in sorted({*groups, *theirs}):
            assert pid in groups, (pid, theirs)
            ours = Sends(*map(groups[pid].get, ("sends", "bytes", "failed")))
            agree(program, "bpftrace, " + groups[pid]["comm"], theirs.get(pid, Sends()), ours)
