# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Two NICs without scatter-gather and checksum offload: virtio-net offers only what the other end of its wire
# offers, and a hub of QEMU offers nothing. TCP still accepts MSG_ZEROCOPY sends, and copies the segments for the
# device later.

# shellcheck source=topology/lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

nics virtio_net
pair eth0 eth1 10.4.0.1 10.4.0.2
ethtool -k eth0 | grep -q "^scatter-gather: off" ||
	{ echo "eth0 has scatter-gather here" >&2; exit 1; }
