# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Counters of the protocol, in /proc/net/snmp (Tcp) and /proc/net/netstat (TcpExt).

analysis/tables/generate.py generates C from them; the run record's block tcp has them in this order.
"""

from typing import NamedTuple


class Counter(NamedTuple):
    key: str      # in the run record
    group: str    # the prefix of the counter's line in the file
    name: str     # the kernel's name for it
    meaning: str  # for people


# Retransmissions are first; then counters of connections that a listener refused.
COUNTERS = (
    Counter("retransmits", "Tcp", "RetransSegs", "retransmitted segments"),
    Counter("syn_retransmits", "TcpExt", "TCPSynRetrans", "retransmitted SYNs and SYN-ACKs"),
    Counter("timeouts", "TcpExt", "TCPTimeouts", "retransmission time-outs"),
    Counter("loss_probes", "TcpExt", "TCPLossProbes", "tail loss probes"),
    Counter("fast_retransmits", "TcpExt", "TCPFastRetrans", "fast retransmissions"),
    Counter("lost_retransmits", "TcpExt", "TCPLostRetransmit", "retransmissions that were lost"),
    Counter("spurious_timeouts", "TcpExt", "TCPSpuriousRTOs", "time-outs that proved unnecessary"),
    Counter("dsacks", "TcpExt", "TCPDSACKRecv", "DSACKs: the receiver already had what was retransmitted"),
    Counter("out_of_order", "TcpExt", "TCPOFOQueue", "segments that arrived out of order"),
    Counter("listen_overflows", "TcpExt", "ListenOverflows", "a listener's queue of connections was full"),
    Counter("listen_drops", "TcpExt", "ListenDrops", "connections that listeners refused"),
    Counter("syn_queue_drops", "TcpExt", "TCPReqQFullDrop",
            "SYNs for which the queue of half-open connections had no room"),
    Counter("syn_cookies", "TcpExt", "TCPReqQFullDoCookies", "SYNs answered by a cookie"),
    Counter("time_wait_overflows", "TcpExt", "TCPTimeWaitOverflow",
            "sockets for which TIME_WAIT had no room"),
    Counter("backlog_drops", "TcpExt", "TCPBacklogDrop", "packets for which a socket's backlog had no room"),
    Counter("receive_queue_drops", "TcpExt", "TCPRcvQDrop", "packets for which a receive queue had no room"),
    Counter("zero_windows", "TcpExt", "TCPToZeroWindowAdv", "zero receive windows"),
    Counter("memory_pressures", "TcpExt", "TCPMemoryPressures", "times TCP was short of memory"),
    Counter("aborts_on_data", "TcpExt", "TCPAbortOnData", "connections closed with data unread"),
    Counter("attempt_fails", "Tcp", "AttemptFails", "connections that failed before they were established"),
    Counter("established_resets", "Tcp", "EstabResets", "connections reset"),
    Counter("active_opens", "Tcp", "ActiveOpens", "connections opened by connect"),
    Counter("passive_opens", "Tcp", "PassiveOpens", "connections accepted by listeners"),
    Counter("out_segments", "Tcp", "OutSegs", "segments sent"),
)
