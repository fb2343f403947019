# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Reads and writes the folder of a sweep: the sweep's plan, and a file of the runs' records, one on each line."""

import contextlib
import errno
import fcntl
import json
import math
import os
import re
import stat
import time

from analysis.faults import USAGE, Fault
from analysis.front.output import append, json_line, why
from analysis.front.plan import SEED_MAX
from analysis.text.record import at, safe_text

PLAN = "plan.json"
# Each row has a path in a record, the value's type, and whether it is required. Unmeasured values are absent or null.
_SOUND = (
    ("schema", str, True), ("tool", dict, True), ("host", dict, True), ("load", dict, True),
    ("run", dict, True), ("run/cell", str, True), ("run/repeat", int, True), ("error", str, False),
    ("outcome", str, False), ("plan", dict, False), ("app", dict, False), ("calls", list, False),
    ("lost", dict, False), ("memory", dict, False), ("noise", dict, False), ("tcp", dict, False),
    ("unmeasured", list, False), ("serving", dict, False), ("zerocopy", dict, False))
_TYPES = {str: "string", dict: "object", int: "int", list: "array"}
# These keys of two plans must be equal, order_seed only if --order-seed was given. Errors name them by these words.
_SAME = (("schema", "schema"), ("version", "version of this program"), ("grid", "--grid"),
         ("shards", "N of --shard I/N"), ("order_seed", "--order-seed"))


def _finite(text):
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is not finite")
    return number


def sound_record(line):
    """Returns the record of a line. Raises ValueError with the defect of a line that no sweep can have written."""
    try:
        record = (json.loads(line, parse_float=_finite, parse_constant=_finite) if line.endswith(b"\n")
                  else None)
    except (ValueError, RecursionError) as error:
        raise ValueError("a number is not finite" if "finite" in str(error) else "no record") from None
    if not isinstance(record, dict):
        raise ValueError("no record")
    for path, kind, required in _SOUND:
        value = at(record, path)
        if value is None and not required:
            continue
        if not isinstance(value, kind) or isinstance(value, bool):
            raise ValueError(f"/{path} is not of type {_TYPES[kind]}")
    return record


def _text(value):
    return "none" if value is None else safe_text(value if isinstance(value, str) else json.dumps(value))


def difference(older, newer, order_given):
    """Returns how two plans differ, in words; None if the newer plan has the same runs, or more repeats of them."""
    for key, name in _SAME:
        if (order_given or key != "order_seed") and older.get(key) != newer.get(key):
            return f"its {name} is {_text(older.get(key))[:63]}, not {_text(newer.get(key))[:63]}"
    if not isinstance(older.get("repeat"), int) or older["repeat"] > newer["repeat"]:
        return (f"its --repeat is {_text(older.get('repeat'))[:63]}, not {newer['repeat']}: more is taken, "
                "less is not")
    seed = older.get("order_seed")
    if not isinstance(seed, (int, float)) or isinstance(seed, bool) or not 0 <= seed <= SEED_MAX:
        return f"its order_seed is {_text(seed)[:63]}, not a number from 0 to {SEED_MAX}"
    if older.get("cells") != newer.get("cells"):
        return "its loads are others"
    if older.get("measuring") != newer.get("measuring"):
        return "its options of measuring are others"
    return None


def _open_regular(name, flags, folder=None):
    """Returns a descriptor of a regular file. Raises OSError for others, such as a symbolic link or FIFO."""
    try:
        fd = os.open(name, flags | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, 0o666, dir_fd=folder)
    except OSError as error:
        if error.errno == errno.ENXIO:  # it is a FIFO without a reader, or a socket
            raise OSError(errno.EINVAL, "") from None
        raise
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OSError(errno.EINVAL, "")
    return fd


class Folder:
    """An open folder. path: as the user named it. All methods raise Fault if they fail."""

    def __init__(self, path, complain):
        self.path, self.complain = path, complain
        self.fd = self.runs = None
        self.name = ""

    @contextlib.contextmanager
    def _trying_to(self, what):
        try:
            yield
        except OSError as error:
            more = ""
            if error.errno in (errno.ENOSPC, errno.EDQUOT):
                more = "; free some space, then the same command goes on from here"
            raise Fault(f"--out {self.path}: cannot {what}: {why(error)}{more}") from None

    def open(self, plan, order_given, shard, shards):
        """Opens the folder, or makes it, and writes the plan if the folder has none. Returns the seed of the folder's
        plan.
        """
        with self._trying_to("make the folder"), contextlib.suppress(FileExistsError):
            os.mkdir(self.path)
        with self._trying_to("open the folder"):
            bare = self.path.rstrip("/") or "/"
            if os.path.islink(bare):
                raise OSError(errno.ELOOP, "")
            self.fd = os.open(bare, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW)
        older = self._settle_plan(plan, order_given, shard)
        self._open_runs(shard, shards)
        if older["repeat"] < plan["repeat"]:
            self._replace(PLAN, {**older, "repeat": plan["repeat"], "command": plan.get("command")})
        return int(older["order_seed"])

    def _settle_plan(self, plan, order_given, shard):
        """Returns the folder's plan. If the folder has none, writes the given plan."""
        try:
            with self._trying_to(f"read or write {PLAN}"):
                older = self._read_plan()
                if older is None and self._write_plan(plan):
                    return plan
                older = older or self._read_plan()
        except (ValueError, RecursionError):
            raise Fault(f"--out {self.path}: its {PLAN} is no plan: name another folder, or put that "
                          "file aside") from None
        differs = difference(older, plan, order_given)
        if differs:
            command = older.get("command")
            command = command if isinstance(command, str) else ""
            if older.get("shards") == plan["shards"]:  # another shard may have made the plan
                command = re.sub(r"(?<=--shard[ =])\d+(?=/)", str(shard), command)
            raise Fault(f"--out {self.path} holds another plan: {differs}; name another folder, or "
                          f"repeat the command that made it: {command}", USAGE)
        return older

    def _read_plan(self):
        """Returns the plan in the folder; None if there is none."""
        try:
            fd = _open_regular(PLAN, os.O_RDONLY, self.fd)
        except FileNotFoundError:
            return None
        with open(fd, "rb") as file:
            plan = json.loads(file.read())
        if not isinstance(plan, dict):
            raise ValueError("no object")
        return plan

    def _write_plan(self, plan):
        """Writes the plan, unless another shard has written it: then returns False. Shards may begin at the same time
        on several machines; the first that links its file into place succeeds.
        """
        name = f".plan-{os.getpid()}-{int(time.time()):x}"
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666, dir_fd=self.fd)
        try:
            append(fd, json_line(plan), durable=True)
            os.link(name, PLAN, src_dir_fd=self.fd, dst_dir_fd=self.fd)
        except FileExistsError:
            return False
        finally:
            os.close(fd)
            os.unlink(name, dir_fd=self.fd)
        os.fsync(self.fd)
        return True

    def _open_runs(self, shard, shards):
        name = f"runs-{shard}-of-{shards}.jsonl" if shards > 1 else "runs.jsonl"
        self.name = f"{self.path}/{name}"
        with self._trying_to(f"open {name}"):
            self.runs = _open_regular(name, os.O_RDWR | os.O_CREAT | os.O_APPEND, self.fd)
        with self._trying_to(f"lock {name}"):
            try:
                fcntl.flock(self.runs, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Fault(f"--out {self.path}: another sweep writes to it now: wait for its end, or "
                            "name another folder") from None
        with self._trying_to("write the folder"):
            os.fsync(self.fd)

    def records(self):
        """Yields the records of the file, oldest first. Moves a half-written last line, which a killed sweep may have
        left, to another file. Leaves any other invalid line as it is.
        """
        begin = 0
        with open(self.runs, "rb", closefd=False) as file:
            file.seek(0)
            for number, line in enumerate(file, 1):
                try:
                    yield sound_record(line)
                except ValueError as error:
                    if not line.endswith(b"\n"):
                        self._put_aside(begin, line)
                    else:
                        self.complain(f"{self.name}, line {number}: {error}: left as it is, its run is "
                                      "made again")
                begin += len(line)

    def _put_aside(self, begin, line):
        """Moves the file's last line to another file in the folder. begin: the line's offset in bytes."""
        name = f"{self.name}.half"
        try:
            fd = _open_regular(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            try:
                append(fd, line, durable=True)
            finally:
                os.close(fd)
            os.ftruncate(self.runs, begin)
            os.fsync(self.runs)
        except OSError as error:
            raise Fault(f"--out {self.path}: cannot put the half-written end of {self.name} aside as "
                          f"{name}: {why(error)}") from None
        self.complain(f"{self.name} ended in half a record: put aside as {name}, its run is made again")

    def write_comparisons(self, found):
        """Replaces the file of the comparisons in the folder."""
        name = os.path.basename(self.name).replace("runs", "comparisons").removesuffix("l")
        self._replace(name, {"schema": "sendpath.comparisons/1", "comparisons": found})

    def _replace(self, name, value):
        """Writes a file of JSON. An older file of this name stays until the new one is complete."""
        from analysis.files import replace  # imported late, because only this method needs it
        with self._trying_to(f"write {name}"):
            replace(f"{self.path}/{name}", lambda file: file.write(json_line(value)))

    def add(self, record):
        """Appends a record. Returns when it is on the disk."""
        with self._trying_to(f"write {self.name}"):
            append(self.runs, json_line(record), durable=True)
