#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Benchmarks: how fast is the load generator, what does measuring cost, how long does it take to start and to
answer from records?

Programs are compared in interleaved pairs (or more), alternating which is first, one pair of each configuration
per round: disturbances of the machine affect all sides. Prints the median of the ratios within pairs and an exact
interval. Judges nothing: the status is 0 if all ran or was skipped with its reason, 1 if a program failed, 2 for
wrong usage, 130 after an interrupt, with the results so far.
"""

import argparse
import json
import os
import pathlib
import platform
import re
import sys

import against_iperf3
import against_plain
import answers
import attach
import cost
import defaults
import harness
import instructions
import limit
import loads
import others
import programs
import startup
import undisturbed

SECTIONS = (against_iperf3.Section, against_plain.Section,
            against_plain.OneBuffer, defaults.Section, harness.Section, attach.Section,
            cost.Section, limit.Section, others.Section, instructions.Section, startup.Section,
            answers.Section)
QUIET_LOAD = 0.5
SCHEMA = "sendpath.bench/1"


def positive(kind):
    def parse(text):
        value = kind(text)
        if not 0 < value < 1e6:
            raise ValueError
        return value
    parse.__name__ = f"positive {kind.__name__}"
    return parse


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=[s.name for s in SECTIONS],
                        help="this section (repeatable; default: all)")
    parser.add_argument("--pairs", type=positive(int), metavar="N",
                        help="pairs a cell, or rounds of several short ones (default 9; 6 and "
                        "more give a 95 %% interval)")
    parser.add_argument("--seconds", type=positive(float), metavar="T",
                        help="measured time of a run (default 1; for iperf3 rounded up)")
    parser.add_argument("--unpinned", action="store_true",
                        help="against iperf3, pin neither (default: both, ends apart)")
    parser.add_argument("--quick", action="store_true",
                        help="2 pairs, short: only to see that the benchmark works")
    parser.add_argument("--json", metavar="FILE", help="write the data too (- for stdout, "
                        "the tables then go to stderr)")
    options = parser.parse_args()
    options.pairs = options.pairs or (2 if options.quick else 9)
    options.seconds = options.seconds or (0.1 if options.quick else 1)
    options.undisturbed = undisturbed.Undisturbed()
    return options


def read(path):
    try:
        return pathlib.Path(path).read_text(encoding="ascii").strip()
    except OSError:
        return None


def describe_host():
    cpus = read("/proc/cpuinfo") or ""
    model = re.search(r"^model name\s*: (.*)$", cpus, re.M)  # x86 has a name, other machines print only numbers
    return {"cpu": model[1] if model else platform.machine(),
            "virtual": os.path.exists("/sys/hypervisor") or " hypervisor" in cpus,
            "kernel": platform.release(), "arch": platform.machine(), "nproc": os.cpu_count(),
            "load_average": os.getloadavg()[0],
            "congestion_control": read("/proc/sys/net/ipv4/tcp_congestion_control"),
            "used_congestion_control": loads.CONGESTION}


def print_head(host, options, out):
    print(f"Linux {host['kernel']} {host['arch']}, {host['nproc']} CPUs ({host['cpu']}"
          f"{', virtual' if host['virtual'] else ''}), TCP congestion control "
          f"{host['used_congestion_control']} (the machine's own: "
          f"{host['congestion_control'] or 'unknown'}), load average {host['load_average']:.2f}; "
          f"{options.pairs} rounds of interleaved pairs", file=out)
    if host["load_average"] > QUIET_LOAD:
        print(f"warning: something else runs here (load average above {QUIET_LOAD}): read the "
              "intervals", file=out)
    out.flush()


def run_section(section, count):
    """Returns the section's status and the reason for it."""
    try:
        reason = section.missing()
        if reason:
            return "skipped", reason
        for number in range(count):
            if sys.stderr.isatty():
                print(f"\r{section.name}: round {number + 1} of {count}", end="\x1b[K",
                      file=sys.stderr, flush=True)
            section.round(number)
    except programs.Failed as problem:
        return "failed", str(problem)
    except KeyboardInterrupt:
        return "interrupted", "interrupted: this is what there is so far"
    finally:
        if sys.stderr.isatty():
            print("\r", end="\x1b[K", file=sys.stderr, flush=True)
    return "done", None


def plain(data):
    """Returns summaries as objects, not arrays."""
    if hasattr(data, "_asdict"):
        return data._asdict()
    if isinstance(data, dict):
        return {key: plain(value) for key, value in data.items()}
    return [plain(value) for value in data] if isinstance(data, list) else data


def run_sections(options, out):
    results = []
    for kind in SECTIONS:
        if options.only and kind.name not in options.only:
            continue
        section = kind(options)
        status, reason = run_section(section, options.pairs)
        print(file=out)
        if status != "skipped":
            print(section.text(), file=out)
        if reason:
            print(f"{section.name} {status}: {reason}" if status != "interrupted" else reason,
                  file=out)
        out.flush()
        results.append({"name": section.name, "status": status, "reason": reason,
                        **plain(section.data())})
        if status == "interrupted":
            break
    return results


def write_json(path, result):
    text = json.dumps(result) + "\n"
    if path == "-":
        sys.stdout.write(text)
    else:
        pathlib.Path(path).write_text(text, encoding="ascii")


def main():
    options = parse_options()
    out = sys.stderr if options.json == "-" else sys.stdout
    host = describe_host()
    programs.handle_interrupts()
    print_head(host, options, out)
    results = run_sections(options, out)
    if options.undisturbed.again:
        print(f"\n{options.undisturbed.text()}", file=out)
    if options.json:
        write_json(options.json, {"schema": SCHEMA, "host": host, "pairs": options.pairs,
                                  "quick": options.quick, "sections": results,
                                  "pairs_again": options.undisturbed.again,
                                  "pairs_disturbed": options.undisturbed.disturbed})
    statuses = {result["status"] for result in results}
    return 130 if "interrupted" in statuses else int("failed" in statuses)


if __name__ == "__main__":
    sys.exit(main())
