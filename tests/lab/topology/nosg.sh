# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Two network cards without scatter-gather and checksum offload: virtio-net has only
# what the other end of its wire has, and a hub of QEMU has nothing. TCP takes
# MSG_ZEROCOPY sends all the same, and the segments are copied for the device later.

# shellcheck source=topology/lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

cards virtio_net
pair eth0 eth1 10.4.0.1 10.4.0.2
ethtool -k eth0 | grep -q "^scatter-gather: off" ||
	{ echo "eth0 has scatter-gather here" >&2; exit 1; }
