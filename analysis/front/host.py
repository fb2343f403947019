# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Describes the machine of the runs, as far as no privilege is needed. The engine reads the rest."""

import array
import fcntl
import functools
import os
import socket
import struct

# These settings change what sends cost. They are read at the end of each run.
_SYSTEM = "/sys/devices/system"
_SETTINGS = {
    **{name: f"/proc/sys/net/ipv4/{name}" for name in (
        "tcp_congestion_control", "tcp_wmem", "tcp_rmem", "tcp_notsent_lowat")},
    **{name: f"/proc/sys/net/core/{name}" for name in (
        "wmem_max", "rmem_max", "optmem_max", "somaxconn", "default_qdisc")},
    "transparent_hugepage": "/sys/kernel/mm/transparent_hugepage/enabled",
    "clocksource": f"{_SYSTEM}/clocksource/clocksource0/current_clocksource",
    "smt": f"{_SYSTEM}/cpu/smt/control",
    "boost": f"{_SYSTEM}/cpu/cpufreq/boost",
    "no_turbo": f"{_SYSTEM}/cpu/intel_pstate/no_turbo",
    **{name: f"{_SYSTEM}/cpu/vulnerabilities/{name}" for name in ("meltdown", "retbleed", "spectre_v2")},
}
_MAKERS = "QEMU", "KVM", "VMware", "Xen", "Amazon EC2", "Google Compute Engine"
# These kernel options slow sending down by a large factor.
_DEBUG = {"CONFIG_PROVE_LOCKING=y", "CONFIG_KASAN=y", "CONFIG_DEBUG_PAGEALLOC_ENABLE_DEFAULT=y",
          "CONFIG_SLUB_DEBUG_ON=y", "CONFIG_KCSAN=y"}
_GET_FLAGS, _ETHTOOL = 0x8913, 0x8946  # SIOCGIFFLAGS, SIOCETHTOOL
_LOOPBACK = 0x8  # IFF_LOOPBACK
_DRIVER, _CHECKSUM, _SCATTER_GATHER, _SEGMENTATION = 0x3, 0x16, 0x18, 0x1e  # ETHTOOL_G...


def _lines(path):
    """Returns the lines of a file; None if it cannot be read."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        return None


def first_line(path):
    """Returns the first line of a file; None if there is none."""
    return next(iter(_lines(path) or ()), None)


def _ethtool(sock, name, command, size):
    """Returns size bytes of a driver's reply; None without one."""
    data = array.array("B", struct.pack("I", command) + bytes(size))
    try:
        fcntl.ioctl(sock, _ETHTOOL, struct.pack("16sP", name, data.buffer_info()[0]) + bytes(16))
    except OSError:
        return None
    return data.tobytes()[4:]


def _device(sock, name):
    def offloads(command):
        return any((_ethtool(sock, name, command, 4) or b"")[:4])

    driver = (_ethtool(sock, name, _DRIVER, 192) or b"")[:32].split(b"\0")[0].decode("ascii", "replace")
    try:
        flags = struct.unpack_from("H", fcntl.ioctl(sock, _GET_FLAGS, struct.pack("16s16x", name)), 16)[0]
    except OSError:
        flags = 0
    return {"name": os.fsdecode(name), "driver": driver or None, "loopback": bool(flags & _LOOPBACK),
            "scatter_gather": offloads(_SCATTER_GATHER), "checksum": offloads(_CHECKSUM),
            "segmentation": offloads(_SEGMENTATION)}


def devices():
    """Returns the network devices of this namespace, with their offloads. Raises OSError."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        return [_device(sock, os.fsencode(name)) for _, name in socket.if_nameindex()]


def _number(device, what):
    """Returns a number of a device; None if sysfs has none, or -1, which is the speed of a device that is down."""
    text = first_line(f"/sys/class/net/{device}/{what}") or ""
    return int(text) if text.isdigit() else None


def _hardware():
    """Returns only the devices with hardware, because containers may create and remove hundreds of virtual devices."""
    try:
        found = devices()
    except OSError:
        return []
    return [{"name": one["name"], "driver": one["driver"], "mtu_bytes": _number(one["name"], "mtu"),
             "speed_mbit": _number(one["name"], "speed"), "scatter_gather": one["scatter_gather"],
             "checksum": one["checksum"], "segmentation": one["segmentation"]}
            for one in found if os.path.exists(f"/sys/class/net/{one['name']}/device")]


@functools.lru_cache(maxsize=None)
def _processor():
    """Returns the CPU's model, and whether the machine is virtual. On x86, cpuinfo has the model and the flag
    "hypervisor"; on arm64, cpuinfo has neither. On every architecture, an emulator's firmware names its maker.
    """
    info = dict(reversed([line.partition(":")[::2] for line in _lines("/proc/cpuinfo") or ()]))
    info = {key.strip(): value.strip() for key, value in info.items()}
    vendor = first_line("/sys/class/dmi/id/sys_vendor") or ""
    compatible = (first_line("/proc/device-tree/compatible") or "").split("\0")[0]
    return info.get("model name") or None, ("hypervisor" in info.get("flags", "").split() or
                                            any(maker in vendor for maker in _MAKERS) or
                                            compatible == "linux,dummy-virt")


@functools.lru_cache(maxsize=None)
def _is_debug():
    """Returns whether this is a debug kernel: by its configuration file, or lockdep, which most debug kernels have."""
    config = _lines(f"/boot/config-{os.uname().release}") or ()
    return not _DEBUG.isdisjoint(config) or os.path.exists("/proc/lockdep")


def describe():
    """Returns the members of a raw line's object host that the engine does not send."""
    model, virtual = _processor()
    settings = {name: first_line(path) for name, path in _SETTINGS.items()}
    return {"cpu": model, "virtualized": virtual, "debug_kernel": _is_debug(),
            "governor": first_line(f"{_SYSTEM}/cpu/cpu0/cpufreq/scaling_governor"),
            "settings": {name: text for name, text in settings.items() if text is not None},
            "devices": _hardware()}


def completed(raw):
    """Adds describe() to the host of a raw line, and returns the line."""
    raw["host"].update(describe())
    return raw
