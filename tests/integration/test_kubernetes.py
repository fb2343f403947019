# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Runs the image of make image by podman: with the README's command, and as the pod that the DaemonSet describes.
tests/analysis checks the manifest against its schemas."""

import json
import os
import re
import shutil
import urllib.request

import pytest
import yaml

from conftest import LOADGEN, ROOT, eventually, needs_bpf, only, run
from roots import archive, install_line

VERSION = only(re.findall(r"^VERSION\s*:= (\S+)$", (ROOT / "Makefile").read_text(), re.M))
IMAGE = f"sendpath:{VERSION}"
MANIFEST = yaml.safe_load((ROOT / "deploy/kubernetes/exporter.yaml").read_text())
POD = MANIFEST["spec"]["template"]
# The address of the pod's exporter. It differs from that of the README's command.
HOST = "127.94.0.36"

pytestmark = [pytest.mark.installed, needs_bpf, pytest.mark.usefixtures("untouched"),
              pytest.mark.skipif(os.geteuid() != 0, reason="needs root, as the container has the capabilities"),
              pytest.mark.skipif(not shutil.which("podman"), reason="podman is not installed")]


# Limits that need no privilege; runc supports cgroups of both versions.
CONTAINERS = """[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1024:1024"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
tmp_dir = "{0}/tmp"
"""
STORAGE = """[storage]
driver = "vfs"
graphroot = "{0}/root"
runroot = "{0}/run"
"""


@pytest.fixture(scope="module", name="podman")
def _podman(tmp_path_factory):
    """Returns a function that runs a shell command in which podman keeps all data in a folder of the tests."""
    folder = tmp_path_factory.mktemp("podman")
    (folder / "containers.conf").write_text(CONTAINERS.format(folder))
    (folder / "storage.conf").write_text(STORAGE.format(folder))
    environment = {**os.environ, "CONTAINERS_CONF": f"{folder}/containers.conf",
                   "CONTAINERS_STORAGE_CONF": f"{folder}/storage.conf"}
    name, path = archive(VERSION, "-image.tar")
    os.symlink(path, folder / f"{name}-image.tar")

    def shell(script):
        return run("sh", "-c", script, cwd=folder, env=environment)

    yield shell
    assert shell("podman rmi --all --force").returncode == 0


def scraped(address, folder):
    """Makes a hundred sends by a program that no other test runs. Returns how many of them the exporter counted."""
    program = folder / f"sends-{os.getpid()}"
    shutil.copy(LOADGEN, program)
    url = f"http://{address}:9435/metrics"

    def text():
        try:
            with urllib.request.urlopen(url, timeout=10) as answer:
                return answer.read().decode()
        except OSError:
            return None
    assert eventually(text)
    assert run(program, "--variant", "zerocopy", "--warmup", 0, "--messages", 100).returncode == 0
    return sum(int(count) for count in re.findall(
        rf'^sendpath_process_zerocopy_completions_total{{comm="{program.name}"}} (\d+)$', text(), re.M))


def test_the_image_is_the_program_alone(podman):
    assert podman("podman load -q -i *-image.tar").returncode == 0
    image, = json.loads(podman(f"podman image inspect {IMAGE}").stdout)
    assert image["Config"]["Entrypoint"] == ["/usr/bin/sendpath", "exporter"]
    assert len(image["RootFS"]["Layers"]) == 1
    assert podman(f"podman run --rm --network none --entrypoint /usr/bin/sendpath {IMAGE} --version").stdout.split()[1] == VERSION


def test_it_runs_by_the_line_of_the_readme(podman, tmp_path):
    line = install_line("podman load")
    started = podman(line.replace("podman run ", "podman run --name exporter --detach "))
    assert started.returncode == 0, started.stderr
    try:
        assert scraped("127.0.0.1", tmp_path) == 100
        assert podman("podman stop exporter").returncode == 0
        assert eventually(lambda: podman("podman ps --all --quiet").stdout == "")
    finally:
        podman("podman rm --force exporter")


def test_the_daemonset_names_it_and_its_pod_runs(podman, tmp_path):
    """Adapts the pod to podman 4.3, which has no DaemonSets, cannot take the host's address from a field, and reads the
    seccomp profile from the annotation of older Kubernetes."""
    spec = json.loads(json.dumps(POD["spec"]).replace("$(HOST_IP)", HOST))
    container, = spec["containers"]
    assert container["image"] == IMAGE and container.pop("env")[0]["name"] == "HOST_IP"
    seccomp = spec["securityContext"]["seccompProfile"]["type"].lower()
    pod = {"apiVersion": "v1", "kind": "Pod", "spec": spec, "metadata": {
        "name": "exporter", "annotations": {"seccomp.security.alpha.kubernetes.io/pod": seccomp}}}
    (tmp_path / "pod.yaml").write_text(yaml.safe_dump(pod))
    started = podman(f"podman kube play {tmp_path}/pod.yaml")
    try:
        assert started.returncode == 0, started.stderr
        assert scraped(HOST, tmp_path) == 100
        log = podman("podman logs exporter-exporter")
        assert log.stderr.splitlines()[-1].endswith(f"metrics at http://{HOST}:9435/metrics")
    finally:
        podman(f"podman kube down {tmp_path}/pod.yaml")


def test_the_pod_is_given_no_more_than_it_needs():
    assert POD["spec"]["automountServiceAccountToken"] is False
    container, = POD["spec"]["containers"]
    allowed = container["securityContext"]
    assert allowed["readOnlyRootFilesystem"] and not allowed["allowPrivilegeEscalation"]
    assert allowed["capabilities"]["drop"] == ["ALL"] and "memory" in container["resources"]["limits"]
