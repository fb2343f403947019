# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Two NICs whose driver accepts at most 16 frags: it first copies larger packets into one piece.

# shellcheck source=topology/lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

nics vmxnet3
pair eth0 eth1 10.9.0.1 10.9.0.2
