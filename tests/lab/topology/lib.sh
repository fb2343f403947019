# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# What the topologies share.

# wait_for SECONDS WHAT COMMAND...: until COMMAND succeeds.
wait_for() {
	local seconds=$1 what=$2
	shift 2
	local end=$((SECONDS + seconds))
	until "$@" >/dev/null 2>&1; do
		if ((SECONDS >= end)); then
			echo "waited $seconds s in vain for $what" >&2
			return 1
		fi
		sleep 0.05
	done
}

# tcp_answers ADDRESS: someone there refuses a connection to a port nobody
# listens on, so packets go both ways.
tcp_answers() {
	timeout 2 bash -c "exec 3<>/dev/tcp/$1/9" 2>&1 | grep -q refused
}

# pair NEAR FAR NEAR-ADDRESS FAR-ADDRESS: put FAR into namespace peer, give both
# their addresses and wait until they reach each other.
pair() {
	local near=$1 far=$2 near_address=$3 far_address=$4
	ip netns add peer
	ip link set "$far" netns peer
	ip -n peer link set lo up
	ip -n peer addr add "$far_address/24" dev "$far"
	ip -n peer link set "$far" up
	ip addr add "$near_address/24" dev "$near"
	ip link set "$near" up
	wait_for 30 "an answer of $far_address" tcp_answers "$far_address"
}
