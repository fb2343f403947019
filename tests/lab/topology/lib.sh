# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Shared by the topologies.

# wait_for SECONDS WHAT COMMAND...: waits until COMMAND succeeds.
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

# tcp_answers ADDRESS: returns whether a port without a listener refuses a connection, which shows that packets pass
# both ways.
tcp_answers() {
	timeout 2 bash -c "exec 3<>/dev/tcp/$1/9" 2>&1 | grep -q refused
}

# namespace NAME: creates a namespace whose loopback device is up, as on a separate machine.
namespace() {
	ip netns add "$1"
	ip -n "$1" link set lo up
}

# configure DEVICE ADDRESS [NAMESPACE]: gives DEVICE its address with /24, and sets it up: in NAMESPACE, or in this one.
configure() {
	local device=$1 address=$2 where=(${3:+-n "$3"})
	[[ -z ${3-} ]] || ip link set "$device" netns "$3"
	ip "${where[@]}" addr add "$address/24" dev "$device"
	ip "${where[@]}" link set "$device" up
}

# pair NEAR FAR NEAR-ADDRESS FAR-ADDRESS: puts FAR into namespace peer, gives both their addresses and waits until
# they reach each other.
pair() {
	local near=$1 far=$2 near_address=$3 far_address=$4
	namespace peer
	configure "$far" "$far_address" peer
	configure "$near" "$near_address"
	wait_for 30 "an answer of $far_address" tcp_answers "$far_address"
}

# bridge PORT...: connects the ports by a bridge, in namespace middle.
bridge() {
	local port
	namespace middle
	modprobe bridge
	ip -n middle link add bridge0 type bridge stp_state 0 forward_delay 0
	for port; do
		ip link set "$port" netns middle
		ip -n middle link set "$port" master bridge0 up
	done
	ip -n middle link set bridge0 up
}

# nics MODULE: loads MODULE, the driver of the two NICs, and waits for eth0 and eth1.
nics() {
	modprobe "$1"
	wait_for 20 "two NICs" test -e /sys/class/net/eth0 -a -e /sys/class/net/eth1
}
