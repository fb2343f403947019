# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# This network has only lo, which is up already.

# shellcheck source=topology/lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

wait_for 10 "an answer of 127.0.0.1" tcp_answers 127.0.0.1
