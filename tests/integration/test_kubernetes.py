# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""What is shipped for Kubernetes: no cluster runs it here. What its pods run is run by processes, one
a node, that share folders as the pods would: most with a script in the program's place, the last with
the programs. Its schemas are for tests/analysis."""

import json
import os
import re
import subprocess

import pytest
import yaml

from conftest import ANALYZE, LOADGEN, ROOT

DEPLOY = ROOT / "deploy/kubernetes"
MANIFESTS = sorted(DEPLOY.glob("*.yaml"))
NODES = ("n1", "n2", "n3", "n4")

# Says when it is at work; the first time on n3 it is killed, as for want of memory.
SENDPATH = """#!/bin/bash
set -eu
[[ ! -e $ROOT/busy ]] || echo "two at a time" >>$ROOT/wrong
touch "$ROOT/busy"
echo "$NODE_NAME $*" >>"$ROOT/calls"
rm "$ROOT/busy"
if [[ $NODE_NAME == n3 && ! -e $ROOT/killed ]]; then touch "$ROOT/killed"; kill -9 $PPID; exit 1; fi
while (($# > 1)); do [[ $1 != --out ]] || echo "$NODE_NAME" >>"$2/runs.jsonl"; shift; done
"""


def documents(file):
    return list(yaml.safe_load_all(file.read_text()))


def job(name):
    """The container of a job, and the job."""
    found, = (document for file in MANIFESTS for document in documents(file)
              if (document["kind"], document["metadata"]["name"]) == ("Job", name))
    return found["spec"]["template"]["spec"]["containers"][0], found["spec"]


@pytest.mark.parametrize("file", MANIFESTS, ids=lambda file: file.name)
def test_options_are_those_of_the_programs(file):
    manual = "".join(page.read_text() for page in (ROOT / "docs/man").iterdir()).replace("\\-", "-")
    used = set(re.findall(r"--[a-z]+", "\n".join(line for line in file.read_text().splitlines()
                                                 if not line.lstrip().startswith("#"))))
    assert used and not [option for option in used if f"{option}=" not in manual]


def pods():
    """The specification of each pod."""
    return [document["spec"]["template"]["spec"] for file in MANIFESTS for document in documents(file)
            if "template" in document["spec"]]


def test_pods_are_given_no_more_than_they_need():
    version = re.match(r"sendpath \((.+)\)", (ROOT / "deploy/debian/changelog").read_text())[1]
    assert len(pods()) == 3
    for pod in pods():
        assert pod["automountServiceAccountToken"] is False
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        for container in pod["containers"]:
            allowed = container["securityContext"]
            assert allowed["readOnlyRootFilesystem"] and not allowed["allowPrivilegeEscalation"]
            assert allowed["capabilities"]["drop"] == ["ALL"]
            assert "memory" in container["resources"]["limits"]
            assert container["image"] == f"sendpath:{version}"


def lay_secret(folder, pod, content):
    """As a node lays it: by symbolic links, which it turns to another folder when it changes."""
    volume, = (volume["secret"] for volume in pod["volumes"] if "secret" in volume)
    files = folder / "..2026_11_24_00_00_00.1"
    files.mkdir(parents=True)
    (files / "key").write_bytes(content)
    (files / "key").chmod(volume.get("defaultMode", 0o644))
    (folder / "..data").symlink_to(files.name)
    (folder / "key").symlink_to("..data/key")


class Pods:
    """Each a process with the container's own command, its folders below one of the test."""

    def __init__(self, folder, program=None):
        self.folder, self.spec, self.prefix = folder, job("sendpath-audit")[0], ()
        for name in ("plan", "records", "bin"):
            (folder / name).mkdir()
        if program:
            (folder / "bin/sendpath").symlink_to(program)
        else:
            (folder / "bin/sendpath").write_text(SENDPATH)
            (folder / "bin/sendpath").chmod(0o755)
        ring = subprocess.run([ROOT / "deploy/pairs", "--ring", *NODES], capture_output=True, text=True,
                              check=True).stdout
        (folder / "plan/pairs").write_text(ring)

    def start(self, index, node, **environment):
        *shell, script = self.spec["command"]
        for name in ("plan", "records", "key"):
            script = re.sub(rf"(?<![\w.$]){'/' + name}\b(?=/)", f"{self.folder}/{name}", script)
        given = {one["name"]: one["value"] for one in self.spec["env"] if "value" in one}
        return subprocess.Popen([*self.prefix, *shell, script], stderr=subprocess.PIPE, text=True, env={
            **given, "PATH": f"{self.folder}/bin:{os.environ['PATH']}", "ROOT": str(self.folder),
            "NODE_NAME": node, "HOST_IP": "192.0.2.1", "JOB_COMPLETION_INDEX": str(index),
            "POLL_S": "0.05", **environment})


def test_one_host_measures_at_a_time_and_a_killed_pod_goes_on(tmp_path):
    pods = Pods(tmp_path)
    # Which node a pod gets is the scheduler's choice.
    nodes = {2: "n1", 0: "n3", 3: "n2", 1: "n4"}
    running = {index: pods.start(index, node) for index, node in nodes.items()}
    assert running[0].wait(30) == -9
    running[0] = pods.start(0, "n3")
    for pod in running.values():
        assert pod.wait(60) == 0, pod.stderr.read()
    assert not (tmp_path / "wrong").exists()
    calls = (tmp_path / "calls").read_text().splitlines()
    assert [call.split()[0] for call in calls] == ["n3", "n3", "n4", "n1", "n2"]
    for sender, receiver in zip(NODES, (*NODES[1:], NODES[0])):
        runs = tmp_path / f"records/{sender}-to-{receiver}/runs.jsonl"
        assert runs.read_text() == f"{sender}\n"
        assert any(f"--peer {receiver}:9436 --key {tmp_path}/key/key --out {runs.parent} --variant" in call
                   for call in calls)


def test_advice_is_a_file_of_each_pair(tmp_path):
    pods = Pods(tmp_path)
    (tmp_path / "plan/pairs").write_text("192.0.2.1 192.0.2.2\n")
    pod = pods.start(0, "n1", COMMAND="advise", OPTIONS="--budget 60s")
    assert pod.wait(30) == 0, pod.stderr.read()
    assert f"n1 advise --peer 192.0.2.2:9436 --key {tmp_path}/key/key --json " \
        f"{tmp_path}/records/192.0.2.1-to-192.0.2.2/advice.json --budget 60s" in (tmp_path / "calls").read_text()


# The image cannot be written to, but for the volume of the records.
READ_ONLY = ("unshare", "-m", "sh", "-c",
             'mount --bind "$1" "$1" && mount -o remount,bind,ro / && shift && exec "$@"', "sh")


@pytest.fixture
def receiver(tmp_path):
    """The receiver's own command, at an address of loopback's: the real program, on its real key."""
    key = os.urandom(32)
    of_receiver, of_sender = (pod for pod in pods() if "volumes" in pod and any(
        "secret" in volume for volume in pod["volumes"]))
    lay_secret(tmp_path / "receiver/key", of_receiver, key)
    lay_secret(tmp_path / "key", of_sender, key)
    address = f"127.94.{os.getpid() % 250}.36"
    command = [word.replace("$(HOST_IP)", address).replace("/key/", f"{tmp_path}/receiver/key/")
               for word in of_receiver["containers"][0]["command"]]
    assert command[0] == "sendpath-loadgen"
    with subprocess.Popen([LOADGEN, *command[1:]], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline()
        assert line == f"listening on {address}:9436\n", line + process.communicate()[1]
        yield address
        process.terminate()


@pytest.mark.parametrize("command, options, file", [
    ("sweep", "--mechanism none --variant twocopy --messages 10 --repeat 1", "runs.jsonl"),
    ("advise", "--budget 2s", "advice.json")])
def test_the_real_programs_use_the_key_as_a_node_lays_it(command, options, file, receiver, tmp_path,
                                                         untouched):
    here = Pods(tmp_path, ANALYZE)
    (tmp_path / "plan/pairs").write_text(f"n1 {receiver}\n")
    records = tmp_path / "records"
    if not subprocess.run([*READ_ONLY, records, "true"], capture_output=True, check=False).returncode:
        here.prefix = (*READ_ONLY, records)
    pod = here.start(0, "n1", COMMAND=command, OPTIONS=options)
    assert pod.wait(60) == 0, pod.stderr.read()
    written = (records / f"n1-to-{receiver}" / file).read_text()
    assert written.count("\n") == 1 and json.loads(written)


def test_a_node_that_is_not_in_the_plan_says_so(tmp_path):
    pod = Pods(tmp_path).start(0, "other")
    assert pod.wait(30) == 1
    assert pod.stderr.read() == "other (192.0.2.1): no pair of the plan begins with it\n"


def test_pods_are_as_many_as_the_indexes():
    for name in ("sendpath-audit", "sendpath-sweep"):
        container, spec = job(name)
        assert spec["completionMode"] == "Indexed" and spec["completions"] == spec["parallelism"]
        shards = [one["value"] for one in container["env"] if one["name"] == "SHARDS"]
        assert shards in ([], [str(spec["completions"])])
