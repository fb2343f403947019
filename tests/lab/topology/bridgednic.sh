# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# A veth pair, a bridge and a NIC, as most containers are connected. A bridge forwards packets unchanged, so the
# sender's pages reach the NIC.

# shellcheck source=topology/lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

modprobe veth
nics e1000e
ip link add veth0 type veth peer name port0
bridge port0 eth0
pair veth0 eth1 10.7.0.1 10.7.0.2
