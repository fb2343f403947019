# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs a load over loopback by each program; returns the received payload bits per second."""

import json
import os
import pathlib
import shutil
import socket
import sys

import programs

ROOT = pathlib.Path(__file__).resolve().parents[2]
ANALYZE = ROOT / "analyze"
LOADGEN = ROOT / "loadgen/loadgen"
PROGRAMS = ROOT / "build/tests/programs"
LISTENING = "0A"
# Every kernel has reno, every user may request it, and it does not pace. Some machines use bbr by default; its pacing
# would hide differences on loopback.
CONGESTION = "reno"


def cannot_load():
    return None if LOADGEN.exists() else "the programs are not built: run make"


def lacks_programs(*names):
    """Returns why the programs that the tests observe cannot run, or None."""
    if all((PROGRAMS / name).exists() for name in names):
        return None
    return "the tests' programs are not built: run make test-programs"


def cannot_measure():
    """Returns why the analyzer cannot run here, or None."""
    if not ANALYZE.exists() or cannot_load():
        return "the programs are not built: run make"
    if os.geteuid():
        return "measuring needs root: run with sudo"
    doctor = programs.run([ANALYZE, "doctor"])
    if doctor.status:
        return f"sends cannot be measured here: {ANALYZE.name} doctor shows why"
    return None


def lacks(program, package):
    if shutil.which(program):
        return None
    return f"{program} is missing (Debian: apt install {package})"


def result(program, *options):
    """Runs a load. Returns the JSON that the program prints about it, as an object."""
    done = programs.must([program, *options, "--socket", f"congestion={CONGESTION}",
                          "--json", "-"])
    return json.loads(done.output)


def loadgen(*options):
    return result(LOADGEN, *options)["throughput_bps"]


def analyze(*options):
    return result(ANALYZE, *options)["app"]["throughput_bps"]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def listens(port):
    wanted = f"0100007F:{port:04X}" if sys.byteorder == "little" else f"7F000001:{port:04X}"
    lines = pathlib.Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]
    return any(line.split()[1] == wanted and line.split()[3] == LISTENING for line in lines)


def iperf3(size, streams, seconds, warmup, pinned):
    """Runs iperf3 with these parameters; seconds and warmup must be whole numbers."""
    port = free_port()
    where = ["-p", port, *(["-A", "0,1"] if pinned else [])]
    with programs.Program(["iperf3", "-s", "-1", "-B", "127.0.0.1", "-p", port]) as server:
        server.wait_until(lambda: listens(port))
        done = programs.must(["iperf3", "-c", "127.0.0.1", *where, "-l", size,
                              "-P", streams, "-C", CONGESTION, "-t", seconds, "-O", warmup, "-J"])
        result = json.loads(done.output)
        if "error" in result:
            raise programs.Failed(f"iperf3: {result['error']}")
        server.wait()
    return result["end"]["sum_received"]["bits_per_second"]
