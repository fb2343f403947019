# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests of the lab. A boot takes ten seconds or more, so a fake emulator simulates most guests; two tests boot a real
kernel."""

import os
import re
import shutil
import signal
import subprocess
import time
from functools import partial
from pathlib import Path

import pytest

from support import rows

pytest_plugins = ["guests"]

HERE = Path(__file__).resolve().parent
TREE = HERE.parent.parent
LAB = HERE / "lab"

SPLAT, NO_GUEST, TIMEOUT, SKIP = 121, 122, 124, 77


def lab(*arguments, timeout=600, **kwargs):
    """Runs the lab to its end; skips the test if it reports that this cannot be done here."""
    run = subprocess.run([LAB, *map(str, arguments)], stdin=subprocess.DEVNULL,
                         capture_output=True, text=True, timeout=timeout, check=False, **kwargs)
    if run.returncode == SKIP and run.stderr.startswith(("lab:", "fetch-", "mkinitramfs:")):
        pytest.skip(run.stderr.strip().splitlines()[-1])
    return run


def children(pid):
    found = {}
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            name, rest = re.match(r"\d+ \((.*)\) (.*)", status.read_text(), re.S).groups()
        except (OSError, AttributeError):
            continue
        if int(rest.split()[1]) == pid:
            found[int(status.parent.name)] = name
    return found


def alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def wait_until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


# Without a boot

def test_tables_name_what_exists():
    for row in rows("topologies.tsv"):
        assert (HERE / "topology" / row["script"]).is_file()
    arches = {row["name"] for row in rows("arches.tsv")}
    for row in rows("kernels.tsv"):
        assert row["arch"] in arches
        re.compile(row["package"])
        assert re.fullmatch(r"[a-z0-9,-]+", row["suites"])


EMULATOR = """#!/bin/sh
[ "$1" != --version ] || exec echo version 7.2.0
case "$*" in *-initrd*) ;; *) exit $PROBE ;; esac
for word; do
	case $word in
	file,id=log,*) log=${word##*path=} ;;
	file,id=status,*) status=${word##*path=} ;;
	esac
done
log() { echo "[    1.000000] $*" >>$log; }
report() { echo "$*" >>$status; }
"""


@pytest.fixture(name="emulated")
def _emulated(tmp_path):
    """Returns a function from a script to an environment. In it, the lab starts the script as its emulator."""
    def emulated(script, probe=1):
        emulator = tmp_path / "qemu-system-x86_64"
        emulator.write_text(EMULATOR + script)
        emulator.chmod(0o755)
        return {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}", "PROBE": str(probe)}
    return emulated


@pytest.mark.skipif(not os.access("/dev/kvm", os.W_OK) or os.uname().machine != "x86_64",
                    reason="no /dev/kvm of x86-64 to write to")
@pytest.mark.parametrize("probe,accelerator,cpu", [
    (0, "kvm", "max,pmu=off"), (1, "tcg,thread=", "max,-erms,-fsrm")])
def test_kvm_is_used_where_it_boots_the_kernel(probe, accelerator, cpu, emulated):
    run = lab("--", "true", env=emulated('echo "$@"\n', probe))
    assert run.returncode == NO_GUEST, run.stderr
    assert re.findall(r"-accel (\S+?)(?:single|multi)? ", run.stdout) == [accelerator]
    assert re.findall(r"-cpu (\S+)", run.stdout)[-1] == cpu


@pytest.mark.parametrize("script,status,words", [
    ("report exit 7", 7, ""),
    ("log BUG: x; log Call Trace:; report exit 0", SPLAT,
     "lab: kernel 6.12 reported a bug: BUG: x\nlab: the kernel log ends:\n"
     "    [    1.000000] BUG: x\n    [    1.000000] Call Trace:\n"),
    ("echo cannot >&2", NO_GUEST, "the guest ended, awaiting the guest to boot\n    cannot\n"),
    ("report set-up; report topology", NO_GUEST, "the guest ended, awaiting topology loopback"),
    ("report failed", NO_GUEST, "the guest could not set up topology loopback"),
    ("report command; exec sleep 1234", TIMEOUT, "kernel 6.12: timeout of 3 s, awaiting the command: some word")])
def test_status_of_a_guest(script, status, words, emulated):
    run = lab("--timeout", 3, "--", "some", "word", env=emulated(script))
    assert run.returncode == status and words in run.stderr, run.stderr


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT])
def test_nothing_is_left_behind(number, emulated, tmp_path):
    """The signal goes only to the script, which has a session of its own, as kill(1) sends it. A shell that runs
    these tests in the background ignores SIGINT."""
    lab("--", "true", env=emulated("report exit 0"))  # skips if there is no lab here
    files = tmp_path / "files"
    files.mkdir()
    with subprocess.Popen([LAB, "--", "true"], env={**emulated("echo up; exec sleep 1234"), "TMPDIR": str(files)},
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                          start_new_session=True,
                          preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as run:
        assert run.stdout.readline() == b"up\n"
        wait_until(lambda: children(run.pid))
        (timer,) = children(run.pid)
        wait_until(lambda: children(timer))
        started = [timer, *children(timer)]
        run.send_signal(number)
        run.wait(timeout=60)
    wait_until(lambda: not any(map(alive, started)))
    assert not list(files.iterdir())


@pytest.mark.parametrize("arguments", [
    ("--kernel", "none", "--", "true"), ("--topology", "none", "--", "true"),
    ("--timeout", "soon", "--", "true"), ("--timeout",), ("--nonsense",), (),
    ("--share", "/no/such/folder", "--", "true"), ("--root", "/no/such/folder", "--", "true")])
def test_bad_usage(arguments):
    run = lab(*arguments)
    assert run.returncode == 2
    assert run.stderr and not run.stdout


def test_list_names_all():
    text = lab("--list").stdout
    for row in rows("kernels.tsv") + rows("topologies.tsv"):
        assert re.search(rf"^  {re.escape(row['name'])} +\S", text, re.M), row["name"]


def test_tables_have_no_loose_cells():
    for table in ("kernels.tsv", "topologies.tsv", "matrix.tsv"):
        lines = (HERE / table).read_text().splitlines()
        header = [line for line in lines if line.startswith("#")][-1].split("\t")
        for line in lines:
            assert line.startswith("#") or len(line.split("\t")) == len(header), line


def test_scripts_pass_shellcheck():
    if not shutil.which("shellcheck"):
        pytest.skip("shellcheck is missing")
    scripts = [HERE / name for name in ("lab", "fetch-kernel", "fetch-root", "fetch-package", "fetch-debian", "mkinitramfs", "guest", "load",
                                     "common.sh")]
    run = subprocess.run(["shellcheck", "-x", "-P", HERE, *scripts, TREE / ".ci/run", TREE / "deploy/slurm/audit",
                          *sorted((HERE / "topology").glob("*.sh"))],
                         stdout=subprocess.PIPE, text=True, check=False)
    assert run.returncode == 0, run.stdout


@pytest.mark.parametrize("tool", [("fetch-kernel", "6.12"), ("fetch-root", "arm64"),
                                  ("fetch-package", "prometheus")])
def test_what_cannot_be_fetched_is_a_skip(tool, tmp_path):
    nowhere = "http://127.0.0.1:9"
    run = subprocess.run([HERE / tool[0], tool[1]], capture_output=True, text=True, check=False,
                         env={**os.environ, "SENDPATH_CACHE": str(tmp_path),
                              "http_proxy": nowhere, "https_proxy": nowhere})
    assert run.returncode == SKIP, run.stderr
    assert "apt cannot read the package lists" in run.stderr
    assert not run.stdout
    # Only lock files may stay.
    assert not [file for file in tmp_path.glob("lab/*/*") if ".lock-" not in file.name]


def is_splat(line):
    patterns = [pattern for pattern in (HERE / "splats").read_text().splitlines()
                if not pattern.startswith("#")]
    args = [part for pattern in patterns for part in ("-e", f"^({pattern})")]
    return subprocess.run(["grep", "-qE", *args], input=line, text=True, check=False).returncode == 0


@pytest.mark.parametrize("line", [
    "BUG: kernel NULL pointer dereference, address: 0000000000000000",
    "BUG: KASAN: slab-use-after-free in tcp_sendmsg_locked+0x1a/0x20",
    "BUG: sleeping function called from invalid context at mm/slab.h:321",
    "WARNING: CPU: 1 PID: 812 at net/core/skbuff.c:1234 skb_release_head_state+0x8/0xa0",
    "WARNING: possible circular locking dependency detected",
    "WARNING: suspicious RCU usage",
    "------------[ cut here ]------------",
    "Oops: 0002 [#1] PREEMPT SMP NOPTI",
    "Kernel panic - not syncing: sysrq triggered crash",
    "INFO: task sendpath:812 blocked for more than 120 seconds.",
    "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:",
    "watchdog: BUG: soft lockup - CPU#0 stuck for 22s! [swapper/0:1]",
    "refcount_t: underflow; use-after-free.",
    "BPF: [105120] STRUCT xsk_dummy",
    "verifier bug: REG INVARIANTS VIOLATION (true_reg1): range bounds violation",
    "REG INVARIANTS VIOLATION (false_reg1): const tnum out of sync with range bounds",
    "failed to validate module [e1000e] BTF: -22",
    "general protection fault, probably for non-canonical address 0xdead000000000122",
    "unregister_netdevice: waiting for lo to become free. Usage count = 2"])
def test_splats_are_known(line):
    assert is_splat(line)


@pytest.mark.parametrize("line", [
    "NMI watchdog: Perf NMI watchdog permanently disabled",
    "Spectre V2 : WARNING: Unprivileged eBPF is enabled with eIBRS on, data leaks possible",
    "rcu: Hierarchical RCU implementation.",
    "rcu: \tRCU restricting CPUs from NR_CPUS=8192 to nr_cpu_ids=2.",
    "LSM: initializing lsm=lockdown,capability,yama,bpf",
    "bpf_prog_test: loading out-of-tree module",
    "clocksource: timekeeping watchdog on CPU1: Marking clocksource 'tsc' as unstable",
    "BUGS are not reported by a word alone"])
def test_other_lines_are_no_splats(line):
    assert not is_splat(line)


def extract_btf(kernel, folder):
    fetch = subprocess.run([HERE / "fetch-kernel", kernel], capture_output=True, text=True,
                           check=False)
    if fetch.returncode == SKIP:
        pytest.skip(fetch.stderr.strip().splitlines()[-1])
    assert fetch.returncode == 0, fetch.stderr
    btf = folder / "btf"
    subprocess.run([TREE / "vmlinux" / "extract-btf", Path(fetch.stdout.strip(), "vmlinuz"), btf],
                   check=True)
    return btf


@pytest.mark.parametrize("kernel", [row["name"] for row in rows("kernels.tsv")])
def test_btf_of_any_kernel(kernel, tmp_path):
    btf = extract_btf(kernel, tmp_path)
    types = subprocess.run(["bpftool", "btf", "dump", "file", btf, "format", "raw"],
                           capture_output=True, text=True, check=True).stdout
    for name in "user_pt_regs" if "arm64" in kernel else "pt_regs", "sock", "sk_buff":
        assert f"STRUCT '{name}'" in types


# With a boot

IN_NICPAIR = r"""
set -eu
pwd
echo to stderr >&2
echo by name >/dev/stderr
ping -c 1 -W 5 10.9.0.2 >/dev/null && echo ping
ip netns exec peer /usr/bin/python3 -c '
import socket
s = socket.create_server(("10.9.0.2", 7000))
print("listening", flush=True)
c, _ = s.accept()
print(c.recv(100).decode(), flush=True)' >/tmp/served &
until grep -q listening /tmp/served; do sleep 0.1; done
echo hello >/dev/tcp/10.9.0.2/7000
wait
tail -n +2 /tmp/served | head -n 1
ethtool -k eth0 | grep '^scatter-gather:'
cat /proc/sys/net/core/bpf_jit_enable
for dir in /sys/kernel/tracing /sys/kernel/debug /sys/fs/bpf; do findmnt -no FSTYPE $dir; done
for dir in /tmp /run /var/tmp /root . ; do touch $dir/written-in-guest && rm $dir/written-in-guest; done
touch "$PWD/only-in-guest"
uname -r >"$SHARE/release"
sleep 1000 &
echo "$SENDPATH_TEST"
echo "$SENDPATH_PEER $SENDPATH_PEER_NETNS $SENDPATH_COPIED"
sudo id -un
exit 7
"""


def in_nicpair(folder):
    script = IN_NICPAIR.replace("$SHARE", str(folder))
    return folder, lab("--topology", "nicpair", "--share", folder, "--", "bash", "-c", script,
                       env={**os.environ, "SENDPATH_TEST": "it's passed on"})


def crash():
    # The 500 KiB after "before" are more than the pipe and its reader hold.
    return lab("--timeout", 500, "--", "bash", "-c", "echo before; yes | head -c 500K; "
               "echo c >/proc/sysrq-trigger; sleep 1000")


def boots(items, folders):
    found = {"test_command_in_nicpair": partial(in_nicpair, folders.mktemp("nicpair")),
             "test_crash_ends_the_run": crash}
    return {name: found[name] for name in dict.fromkeys(item.originalname for item in items)}


def test_command_in_nicpair(guests):
    folder, run = guests.result("test_command_in_nicpair")
    assert run.stdout.splitlines() == [
        str(TREE), "to stderr", "by name", "ping", "hello", "scatter-gather: on", "1",
        "tracefs", "debugfs", "bpf", "it's passed on",
        "10.9.0.2 peer none", "root"]
    assert "\r" not in run.stdout
    # A message about a download is allowed.
    assert [line for line in run.stderr.splitlines() if not line.startswith("fetch-")] == []
    assert run.returncode == 7
    assert (folder / "release").read_text().startswith("6.12.")
    assert not (TREE / "only-in-guest").exists()


def test_crash_ends_the_run(guests):
    run = guests.result("test_crash_ends_the_run")
    assert run.stdout.startswith("before\n")
    assert ("before\n" + 256_000 * "y\n").startswith(run.stdout)
    assert run.returncode == SPLAT
    assert "sysrq triggered crash" in run.stderr
