# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Finds containers and pods in the paths of control groups.

A process that may create control groups can choose any name, so a name is used only if all of it has a
known form. The innermost container of a path counts.
"""

import re
from typing import NamedTuple, Optional

# The prefix that a runtime gives the control groups of its containers.
RUNTIMES = {"docker": "docker", "libpod": "podman", "cri-containerd": "containerd", "nerdctl": "containerd",
            "crio": "cri-o"}

_ID = r"(?P<id>[0-9a-f]{64})"
_UID = r"(?P<pod>[0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12}|[0-9a-f]{32})"
# The driver systemd makes docker-ID.scope, cgroupfs crio-ID.
_NAMED = re.compile(rf"(?P<runtime>{'|'.join(RUNTIMES)})-{_ID}(?:\.scope)?")
# containerd's driver cgroupfs creates this from a name in systemd's form.
_COLONS = re.compile(rf"(?P<outer>[^:]+):(?P<runtime>{'|'.join(RUNTIMES)}):{_ID}")
_BARE = re.compile(_ID)
_POD_SLICE = re.compile(rf"(?:[a-z0-9_-]+-)?kubepods(?:-besteffort|-burstable)?-pod{_UID}\.slice")
_POD = re.compile(rf"pod{_UID}")
_PODMAN_POD = re.compile(r"machine-libpod_pod_(?P<pod>[0-9a-f]{64})\.slice")


class Place(NamedTuple):
    """A container and pod. None: no container or pod of a known form, or no runtime in the path."""
    runtime: Optional[str] = None
    container: Optional[str] = None
    pod: Optional[str] = None  # its UID; of podman, its id


def _split(name):
    """Returns the parts of a name with colons, or the name."""
    found = _COLONS.fullmatch(name)
    return (found["outer"], f"{found['runtime']}-{found['id']}") if found else (name,)


def _pod_of(names):
    """Returns the UID of the innermost pod of a path, and the number of names down to it; None and 0 without one."""
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
