# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests --link veth: the run's own devices, in namespaces without a name; nothing of them remains."""

import json
import os
import pathlib
import shutil
import signal
import subprocess

import pytest

from conftest import LOADGEN, Child, check, eventually, needs_bpf, only, processes, records, run
from test_errors import busy, descend


def lack():
    """Returns why --link veth cannot work here, or None."""
    if not shutil.which("ip"):
        return "ip is not installed"
    tried = run("unshare", "-n", "ip", "link", "add", "name", "sp0", "type", "veth", "peer", "name",
                "sp1")
    return tried.stderr.strip() or None


LACK = lack()
needs_link = pytest.mark.skipif(bool(LACK), reason=f"no veth here: {LACK}")

pytestmark = pytest.mark.usefixtures("untouched")


def network():
    """Returns the devices and the named namespaces of this machine."""
    return (sorted(os.listdir("/sys/class/net")),
            sorted(os.listdir("/run/netns")) if os.path.isdir("/run/netns") else [])


@pytest.fixture(autouse=True)
def same_network():
    before = network()
    yield
    assert network() == before


@needs_link
@pytest.mark.parametrize("variant", ["twocopy", "onecopy", "zerocopy"])
def test_every_byte_arrives(variant):
    result = run(LOADGEN, "--link", "veth", "--variant", variant, "--threads", 2, "--messages",
                 200, "--verify", "--json", "-")
    assert result.returncode == 0, result.stderr
    app = json.loads(result.stdout)
    assert app["verify"] == {"bytes_checked": 400 * 16384, "bad_bytes": 0, "first": None}
    # The counters have only our connections: other activity of this machine is in other namespaces.
    assert app["tcp"]["passive_opens"] <= 2
    assert app["tcp"]["sending"]["mss_max"] <= 1460


@needs_link
def test_the_ends_are_in_two_namespaces_and_end_together():
    with Child([LOADGEN, "--link", "veth", "--duration", "60"],
               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as job:
        assert eventually(lambda: descend(job.pid, 1) and busy(descend(job.pid, 1)[0]))
        receiver = descend(job.pid, 1)[0]
        spaces = {os.readlink(f"/proc/{pid}/ns/net") for pid in (job.pid, receiver, "self")}
        assert len(spaces) == 3
        devices = pathlib.Path(f"/proc/{receiver}/net/dev").read_text()
        assert "veth1:" in devices and "veth0:" not in devices
        job.send_signal(signal.SIGKILL)
    assert eventually(lambda: receiver not in processes())


@needs_link
def test_connections_over_it():
    result = run(LOADGEN, "--link", "veth", "--workload", "procinfo", "--server-model", "epoll",
                 "--connections", 10, "--messages", 3, "--warmup", 0, "--json", "-")
    assert result.returncode == 0, result.stderr
    app = json.loads(result.stdout)
    assert app["serving"]["answered"] == app["tcp"]["passive_opens"] == app["tcp"]["active_opens"] == 30


@needs_link
@needs_bpf
def test_record_names_the_link():
    record = check(only(records("--link", "veth", "--variant", "zerocopy", "--messages", 200)))
    assert (record["load"]["link"], record["load"]["device"]) == ("veth", "veth0")
    assert record["zerocopy"]["copied"] == record["zerocopy"]["completions"] == 200
    assert only(record["zerocopy"]["peers"])["device"] == "veth0"


@pytest.mark.skipif(not LACK, reason="there are such devices here")
def test_without_such_devices():
    result = run(LOADGEN, "--link", "veth")
    assert result.returncode == 3
    assert len(result.stderr.splitlines()) == 1 and "--link veth" in result.stderr


def test_without_root(tmp_path):
    if os.geteuid():
        pytest.skip("not root: nothing to give up")
    result = run("setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups",
                 "--bounding-set", "-all", LOADGEN, "--link", "veth")
    if "Permission denied" in result.stderr:
        pytest.skip("nobody cannot run the binary where it lies")
    assert result.returncode == 3
    assert len(result.stderr.splitlines()) == 1
    assert "--link veth" in result.stderr and "run as root" in result.stderr


@pytest.mark.parametrize("args", [("--link", "ethernet"),
                                  ("--link", "veth", "--address", "127.0.0.1"),
                                  ("--link", "veth", "--peer", "a:5")])
def test_wrong_usage(args):
    result = run(LOADGEN, *args)
    assert result.returncode == 2
    assert len(result.stderr.splitlines()) == 1 and "--link" in result.stderr
