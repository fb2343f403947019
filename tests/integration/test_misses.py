# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""Tests that the record counts the kprobes that the kernel skips because they interrupt another BPF program."""

import os

import pytest

from conftest import MECHANISMS, hook, needs_bpf, only, records

pytestmark = needs_bpf


@pytest.mark.skipif("kprobe" not in MECHANISMS, reason="this kernel refuses kprobes")
@pytest.mark.skipif(os.environ.get("SENDPATH_COPIED") != "some",
                    reason="needs the lab's topology nosg")
def test_copies_that_went_by_unseen_are_counted(untouched):
    """Copies happen in ACKs, which interrupt sends: in an emulator, about 10 of 6,000 kprobe runs are skipped."""
    record = only(records("--variant", "zerocopy", "--threads", 2, "--messages", 3000, "--mechanism",
                          "kprobe", "--address", os.environ["SENDPATH_PEER"], "--netns",
                          os.environ["SENDPATH_PEER_NETNS"], timeout=500))
    assert hook(record, "skb segment")["missed"] > 0
    warning = only([w for w in record["warnings"]
                    if w["code"] == "hook_misses" and "skb segment" in w["text"]])
    assert "skipped where it interrupts another program" in warning["text"]
    assert record["zerocopy"]["completions"] == record["app"]["zerocopy"]["completions"]
