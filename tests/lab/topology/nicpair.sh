# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Two NICs with scatter-gather and segmentation offload on one wire.

# shellcheck source=topology/lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

nics e1000e
pair eth0 eth1 10.9.0.1 10.9.0.2
