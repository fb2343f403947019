# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""carry.py NAME NAME: makes two tap devices and carries frames between them, until killed.

The devices can be moved to other network namespaces. The program's descriptors still read and write their frames.
"""

import errno
import fcntl
import os
import struct
import sys
import threading

# linux/if_tun.h
TUNSETIFF = 0x400454CA
TUNSETOFFLOAD = 0x400454D0
IFF_TAP, IFF_NO_PI, IFF_VNET_HDR = 0x0002, 0x1000, 0x4000
TUN_F_CSUM, TUN_F_TSO4 = 0x01, 0x02

# The longest TCP segment with its headers, and the header that describes its segmentation.
LONGEST = 1 << 17


def tap(name):
    """Creates a tap device. Leaves checksums and segmentation to the other end, as virtual machines do: otherwise the
    kernel would copy TCP's data before the tap, to compute checksums."""
    fd = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(fd, TUNSETIFF, struct.pack("16sH22x", name.encode(),
                                           IFF_TAP | IFF_NO_PI | IFF_VNET_HDR))
    fcntl.ioctl(fd, TUNSETOFFLOAD, TUN_F_CSUM | TUN_F_TSO4)
    return fd


def carry(source, target):
    while True:
        frame = os.read(source, LONGEST)
        try:
            os.write(target, frame)
        except OSError as error:
            # EIO: the other device is not up yet, like a cable that is not plugged in.
            if error.errno != errno.EIO:
                raise


def main():
    left, right = map(tap, sys.argv[1:])
    threading.Thread(target=carry, args=(left, right)).start()
    carry(right, left)


main()
