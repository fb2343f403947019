# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests that containers and pods are recognized by the paths of control groups, in the forms of all runtimes."""

import pathlib
import sys

import pytest
from hypothesis import given, strategies as st

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from analysis.derive.containers import Place, of_path  # noqa: E402

ID = "0123456789abcdef" * 4
NODE = "fedcba9876543210" * 4
UID = "0a1b2c3d-4e5f-6789-abcd-ef0123456789"
SLICE = UID.replace("-", "_")
STATIC = "0a1b2c3d4e5f6789abcdef0123456789"  # the id of a static pod is a hash
BURSTABLE = f"/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod{SLICE}.slice"


@pytest.mark.parametrize("path, place", [
    # the driver systemd
    (f"/system.slice/docker-{ID}.scope", Place("docker", ID)),
    (f"/system.slice/docker-{ID}.scope/init.scope", Place("docker", ID)),
    (f"/system.slice/nerdctl-{ID}.scope", Place("containerd", ID)),
    (f"/machine.slice/libpod-{ID}.scope/container", Place("podman", ID)),
    (f"/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{ID}.scope", Place("podman", ID)),
    (f"/machine.slice/machine-libpod_pod_{NODE}.slice/libpod-{ID}.scope", Place("podman", ID, NODE)),
    (f"{BURSTABLE}/cri-containerd-{ID}.scope", Place("containerd", ID, UID)),
    (f"{BURSTABLE}/crio-{ID}.scope", Place("cri-o", ID, UID)),
    (f"{BURSTABLE}/docker-{ID}.scope", Place("docker", ID, UID)),
    (f"/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-pod{STATIC}.slice/crio-{ID}.scope",
     Place("cri-o", ID, STATIC)),
    (f"/kubepods.slice/kubepods-pod{SLICE}.slice/cri-containerd-{ID}.scope", Place("containerd", ID, UID)),
    # the driver cgroupfs
    (f"/docker/{ID}", Place("docker", ID)),
    (f"/docker/{ID}/init", Place("docker", ID)),
    (f"/libpod_parent/libpod-{ID}", Place("podman", ID)),
    (f"/kubepods/besteffort/pod{UID}/{ID}", Place(None, ID, UID)),
    (f"/kubepods/pod{UID}/crio-{ID}", Place("cri-o", ID, UID)),
    # the driver cgroupfs, configured with a name for systemd
    (f"/system.slice/containerd.service/kubepods-burstable-pod{SLICE}.slice:cri-containerd:{ID}",
     Place("containerd", ID, UID)),
    # a container that is a node (kind)
    (f"/docker/{NODE}/kubelet/kubepods/burstable/pod{UID}/{ID}", Place(None, ID, UID)),
    (f"/system.slice/docker-{NODE}.scope/kubelet.slice/kubelet-kubepods.slice/"
     f"kubelet-kubepods-pod{SLICE}.slice/cri-containerd-{ID}.scope", Place("containerd", ID, UID)),
    (f"/docker/{NODE}/kubelet/kubepods/pod{UID}", Place(pod=UID)),
    # a container inside a container
    (f"{BURSTABLE}/cri-containerd-{NODE}.scope/docker/{ID}", Place("docker", ID, UID))])
def test_known_forms(path, place):
    assert of_path(path) == place


@pytest.mark.parametrize("path", [
    "", "/", "/system.slice/nginx.service", f"/machine.slice/libpod-conmon-{ID}.scope",
    f"{'/x' * 300}", f"/{ID}", f"/mine/{ID}", f"/system.slice/docker-{ID[1:]}.scope",
    f"/system.slice/docker-{ID.upper()}.scope", f"/system.slice/docker-{ID}.scope.d",
    f"/system.slice/docker-{ID}\n.scope", f"/pod{UID}/{ID}", f"/mine/kubepods-pod{SLICE}",
    f"/x:docker:{ID[1:]}", f":docker:{ID}"])
def test_other_names(path):
    assert of_path(path) == Place()


@given(st.text(alphabet=f"/.:-_\n{ID[:16]}docker", max_size=200))
def test_any_name_is_read(path):
    place = of_path(path)
    assert place.container is None or len(place.container) == 64
