# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Two namespaces of one machine. Data never leave the machine, so the kernel copies them.

# shellcheck source=topology/lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

modprobe veth
ip link add veth0 type veth peer name veth1
pair veth0 veth1 10.8.0.1 10.8.0.2
