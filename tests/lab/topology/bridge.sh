# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Two veth pairs and a bridge between them. Data never leave the machine, so the kernel copies them.

# shellcheck source=topology/lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

modprobe veth
ip link add veth0 type veth peer name port0
ip link add veth1 type veth peer name port1
bridge port0 port1
pair veth0 veth1 10.7.0.1 10.7.0.2
