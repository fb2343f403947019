# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Finds containers and pods in the paths of control groups.

A process that may create control groups can choose any name. A name is therefore used only if all of it has
a known form. If containers are nested, the innermost container of the path counts.
"""

import re
from typing import NamedTuple, Optional

# The prefix of a container's control group, and the runtime that gives it.
RUNTIMES = {"docker": "docker", "libpod": "podman", "cri-containerd": "containerd", "nerdctl": "containerd",
            "crio": "cri-o"}

_ID = r"(?P<id>[0-9a-f]{64})"
_UID = r"(?P<pod>[0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})"
# The cgroup driver systemd creates names such as docker-ID.scope, and the driver cgroupfs names such as crio-ID.
_NAMED = re.compile(rf"(?P<runtime>{'|'.join(RUNTIMES)})-{_ID}(?:\.scope)?")
# containerd's driver cgroupfs creates such a name if it is given a name in systemd's form.
_COLONS = re.compile(rf"(?P<outer>[^:]+):(?P<runtime>{'|'.join(RUNTIMES)}):{_ID}")
_BARE = re.compile(_ID)
_POD_SLICE = re.compile(rf"(?:[a-z0-9_-]+-)?kubepods(?:-besteffort|-burstable)?-pod{_UID}\.slice")
_POD = re.compile(rf"pod{_UID}")
_PODMAN_POD = re.compile(r"machine-libpod_pod_(?P<pod>[0-9a-f]{64})\.slice")


class Place(NamedTuple):
    """A container and its pod. None: the path has no container, pod or runtime of a known form."""
    runtime: Optional[str] = None
    container: Optional[str] = None
    pod: Optional[str] = None  # the UID of a Kubernetes pod, or the id of podman's


def _split(name):
    """Returns the parts of a name with colons; without colons, only the name."""
    found = _COLONS.fullmatch(name)
    return (found["outer"], f"{found['runtime']}-{found['id']}") if found else (name,)


def _pod_of(names):
    """Returns the UID of the innermost pod of a path, and the number of names down to it; (None, 0): there is none."""
    for depth in range(len(names), 0, -1):
        name = names[depth - 1]
        found = _POD_SLICE.fullmatch(name) or _PODMAN_POD.fullmatch(name)
        if not found and any(outer == "kubepods" for outer in names[:depth - 1]):
            found = _POD.fullmatch(name)
        if found:
            return found["pod"].replace("_", "-"), depth
    return None, 0


def of_path(path):
    """Returns the Place of a path such as /system.slice/docker-ID.scope."""
    names = [name for outer in path.split("/") for name in _split(outer) if name]
    pod, depth = _pod_of(names)
    for i in range(len(names) - 1, depth - 1, -1):
        found = _NAMED.fullmatch(names[i])
        if found:
            return Place(RUNTIMES[found["runtime"]], found["id"], pod)
        if _BARE.fullmatch(names[i]) and i:
            if names[i - 1] == "docker":
                return Place("docker", names[i], pod)
            if i == depth:
                return Place(None, names[i], pod)
    return Place(pod=pod)
