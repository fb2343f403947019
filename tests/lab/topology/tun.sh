# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Two tap devices, and a program that carries frames between them, as a VPN or a virtual machine does. The kernel copies
# the data before a program can read them.

# shellcheck source=topology/lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

modprobe tun
/usr/bin/python3 "${BASH_SOURCE[0]%/*}/carry.py" tap0 tap1 &
wait_for 30 "two tap devices" test -e /sys/class/net/tap0 -a -e /sys/class/net/tap1
pair tap0 tap1 10.5.0.1 10.5.0.2
