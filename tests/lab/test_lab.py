# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests of the lab: each run of a guest costs about ten seconds, so each test
that boots one asserts all that the boot can show; where it can it runs beside others."""

import os
import re
import shutil
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
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
    """Run the lab to its end; skip the test if it says it cannot be done here."""
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


# Without a boot.

def test_tables_name_what_exists():
    for row in rows("topologies.tsv"):
        assert (HERE / "topology" / row["script"]).is_file()
    arches = {row["name"] for row in rows("arches.tsv")}
    for row in rows("kernels.tsv"):
        assert row["arch"] in arches
        re.compile(row["package"])
        assert re.fullmatch(r"[a-z0-9,-]+", row["suites"])


@pytest.mark.skipif(not os.access("/dev/kvm", os.W_OK) or os.uname().machine != "x86_64",
                    reason="no /dev/kvm of x86-64 to write to")
@pytest.mark.parametrize("probe,accelerator,cpu", [
    (0, "kvm", "max,pmu=off"), (1, "tcg,thread=", "max")])
def test_kvm_is_used_where_it_boots_the_kernel(probe, accelerator, cpu, tmp_path):
    emulator = tmp_path / "qemu-system-x86_64"
    emulator.write_text(f'#!/bin/sh\n[ "$1" != --version ] || exec echo version 7.2.0\n'
                        f'case "$*" in *-initrd*) echo "$@" >{tmp_path}/run ;; *) exit {probe} ;;'
                        ' esac\n')
    emulator.chmod(0o755)
    run = lab("--", "true", env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"})
    assert run.returncode == NO_GUEST, run.stderr
    said = (tmp_path / "run").read_text()
    assert re.findall(r"-accel (\S+?)(?:single|multi)? ", said) == [accelerator]
    assert re.findall(r"-cpu (\S+)", said)[-1] == cpu


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
    scripts = [HERE / name for name in ("lab", "fetch-kernel", "fetch-root", "fetch-package", "fetch-debian", "mkinitramfs", "guest",
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
    # But for the lock.
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


def test_btf_of_another_architecture(tmp_path):
    btf = extract_btf("6.12-arm64", tmp_path)
    types = subprocess.run(["bpftool", "btf", "dump", "file", btf, "format", "raw"],
                           capture_output=True, text=True, check=True).stdout
    for name in ("user_pt_regs", "sock", "ubuf_info_msgzc"):
        assert f"STRUCT '{name}'" in types


# With a boot each.

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


def in_nicpair(kernel, folder):
    script = IN_NICPAIR.replace("$SHARE", str(folder))
    return folder, lab("--kernel", kernel, "--topology", "nicpair", "--share", folder, "--",
                       "bash", "-c", script, env={**os.environ, "SENDPATH_TEST": "it's passed on"})


def in_veth(kernel, folder):
    btf = extract_btf(kernel, folder)
    # That the kernel loads sch_netem shows that it finds modules by itself.
    return lab("--kernel", kernel, "--topology", "veth", "--share", folder, "--", "bash", "-c",
               'uname -r; ip -n peer -br addr show dev veth1; echo "$SENDPATH_LAB"; '
               'tc qdisc add dev veth0 root netem limit 1000; '
               f'cmp {btf} /sys/kernel/btf/vmlinux; echo "$SENDPATH_BIN"; uname -m')


def boots(items, folders):
    """Of each test that is run in kernels."""
    found = {}
    for item in items:
        params = getattr(item, "callspec", None) and item.callspec.params
        if item.originalname == "test_command_in_nicpair":
            found["nicpair", params["kernel"]] = partial(in_nicpair, params["kernel"],
                                                         folders.mktemp("nicpair"))
        elif item.originalname == "test_every_kernel":
            found["veth", params["row"]["name"]] = partial(in_veth, params["row"]["name"],
                                                           folders.mktemp("veth"))
    return found


@pytest.mark.parametrize("kernel", ["6.12", "6.12-arm64"])
def test_command_in_nicpair(kernel, guests):
    folder, run = guests.result(("nicpair", kernel))
    assert run.stdout.splitlines() == [
        str(TREE), "to stderr", "by name", "ping", "hello", "scatter-gather: on", "1",
        "tracefs", "debugfs", "bpf", "it's passed on",
        "10.9.0.2 peer none", "root"]
    assert "\r" not in run.stdout
    # That something is being fetched is said.
    assert [line for line in run.stderr.splitlines() if not line.startswith("fetch-")] == []
    assert run.returncode == 7
    assert (folder / "release").read_text().startswith("6.12.")
    assert not (TREE / "only-in-guest").exists()


@pytest.mark.parametrize("row", rows("kernels.tsv"), ids=lambda row: row["name"])
def test_every_kernel(row, guests):
    kernel = row["name"]
    run = guests.result(("veth", kernel))
    assert run.returncode == 0, run.stderr
    release, address, name, programs, machine = run.stdout.splitlines()
    assert "newest" in kernel or release.startswith(kernel.removesuffix("-arm64") + ".")
    assert "10.8.0.2/24" in address
    assert name == kernel
    assert machine == {"amd64": "x86_64", "arm64": "aarch64"}[row["arch"]]
    if machine != os.uname().machine:
        assert programs == f"{TREE}/build-{row['arch']}"


# A real report of the kernel's own, of a task that waits too long for a frozen
# file system; nothing else is wrong and the command succeeds.
HANG = """
set -e
sysctl -qw kernel.hung_task_timeout_secs=1 kernel.hung_task_check_interval_secs=1
truncate -s 8M /dev/shm/image
mkfs.ext4 -q /dev/shm/image
modprobe loop
mkdir /run/frozen
mount /dev/shm/image /run/frozen
fsfreeze -f /run/frozen
touch /run/frozen/file &
until dmesg | grep -q 'blocked for more than'; do sleep 0.2; done
fsfreeze -u /run/frozen
wait
echo succeeded
"""


@pytest.mark.usefixtures("alone")
def test_splat_fails_a_command_that_succeeds():
    run = lab("--timeout", 400, "--", "bash", "-c", HANG)
    assert run.stdout == "succeeded\n", run.stderr
    assert run.returncode == SPLAT
    assert "kernel 6.12 reported a bug: INFO: task touch:" in run.stderr
    # The tail of the log is there, call trace and all.
    assert "Call Trace:" in run.stderr


@pytest.mark.usefixtures("alone")
def test_crash_ends_the_run():
    begin = time.monotonic()
    # What follows it is more than the pipe and the program behind that hold.
    run = lab("--timeout", 500, "--", "bash", "-c", "echo before; yes | head -c 500K; "
              "echo c >/proc/sysrq-trigger; sleep 1000")
    assert run.stdout.startswith("before\n")
    assert ("before\n" + 256_000 * "y\n").startswith(run.stdout)
    assert run.returncode == SPLAT
    assert "sysrq triggered crash" in run.stderr
    assert time.monotonic() - begin < 400


@pytest.mark.usefixtures("alone")
def test_timeout_says_what_was_awaited():
    for seconds in (20, 60, 180):  # to come up: how long that takes today is not known
        run = lab("--timeout", seconds, "--", "sleep", 1234)
        if "awaiting the command" in run.stderr:
            break
    assert run.returncode == TIMEOUT, run.stderr
    assert f"kernel 6.12: timeout of {seconds} s, awaiting the command: sleep 1234" in run.stderr
    run = lab("--timeout", 1, "--", "true")
    assert run.returncode == TIMEOUT
    assert "awaiting the guest to come up" in run.stderr


def killed(number, folder):
    """What it started, once it was sent a signal that is for the script alone, as kill(1) sends it:
    its own session. A shell that put these tests into the background has SIGINT ignored."""
    with subprocess.Popen([LAB, "--", "bash", "-c", "echo up; sleep 1234"],
                          env={**os.environ, "TMPDIR": str(folder)}, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True,
                          preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)) as run:
        assert run.stdout.readline() == b"up\n"
        started = children(run.pid)
        run.send_signal(number)
        run.wait(timeout=60)
    return started


@pytest.mark.usefixtures("alone")
def test_nothing_is_left_behind(tmp_path):
    lab("--timeout", 1, "--", "true")  # skips if there is no lab here
    with ThreadPoolExecutor() as pool:
        for started in pool.map(partial(killed, folder=tmp_path),
                                (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)):
            assert any(name.startswith("qemu") for name in started.values())
            wait_until(lambda: not any(map(alive, started)))
    assert not list(tmp_path.iterdir())
