# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Two NICs that accept a packet of more than 16 frags only after their driver has put it into one.

# shellcheck source=topology/lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

nics vmxnet3
pair eth0 eth1 10.9.0.1 10.9.0.2
