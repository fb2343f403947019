# shellcheck shell=bash
# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# A veth pair, a router and a NIC. Kernels up to 6.12 copy packets that arrive in a namespace, also those that are then
# routed on, because they do not know the destination yet.

# shellcheck source=topology/lib.sh
. "${BASH_SOURCE[0]%/*}/lib.sh"

modprobe veth
nics e1000e
ip link add veth0 type veth peer name router0
namespace middle
configure router0 10.6.0.254 middle
configure eth0 10.6.1.254 middle
ip netns exec middle sysctl -qw net.ipv4.ip_forward=1
namespace peer
configure eth1 10.6.1.2 peer
ip -n peer route add default via 10.6.1.254
configure veth0 10.6.0.1
ip route add 10.6.1.0/24 via 10.6.0.254
wait_for 30 "an answer of 10.6.1.2" tcp_answers 10.6.1.2
