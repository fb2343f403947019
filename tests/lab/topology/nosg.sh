# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Two NICs without scatter-gather and checksum offload: virtio-net has only features that the other end of its wire has,
# and a hub of QEMU has none. TCP still accepts MSG_ZEROCOPY sends, and later copies the segments for the device.

# shellcheck source=topology/lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

nics virtio_net
pair eth0 eth1 10.4.0.1 10.4.0.2
ethtool -k eth0 | grep -q "^scatter-gather: off" ||
	{ echo "eth0 has scatter-gather here" >&2; exit 1; }
