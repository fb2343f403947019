# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
"""The counters of the memory system: uncore events, by their names in sysfs or in the lists of perf.

The names in sysfs are from Linux's sources: arch/x86/events/intel/uncore_snbep.c and uncore_snb.c (uncore_imc,
uncore_iio_free_running), drivers/perf/arm-cmn.c and arm_dsu_pmu.c. perf's own names are from
tools/perf/pmu-events/arch/x86: icelakex and sapphirerapids (io_miss_pcirdcur), skylakex (io_miss_rdcur),
broadwellx (llc_misses), amdzen4 (umc_cas_cmd), amdzen1 to amdzen3 (dram_channel_data_controller).
docs/memory.md lists which of them were tested, with recordings in tests/fixtures/memory.
"""

from typing import NamedTuple

LINE = 64  # the bytes that a memory controller moves at once

# Quantity -> the kind of source that counts it.
QUANTITIES = {
    "read": "memory",            # bytes read from memory
    "write": "memory",           # bytes written to memory
    "read_and_write": "memory",  # bytes read or written, in one count
    "io_read_misses": "io_misses",   # lines that devices read and the LLC lacked
    "io_write_misses": "io_misses",  # whole lines that devices wrote and the LLC lacked
    "io_own_misses": "io_misses",    # lines that the LLC read because devices wrote a part of them
    "io_in": "io_bytes",   # bytes that devices moved to this machine
    "io_out": "io_bytes",  # bytes that devices moved from this machine
}
KINDS = tuple(dict.fromkeys(QUANTITIES.values()))


class Event(NamedTuple):
    quantity: str
    pmu: str       # the PMU's name without its number; None: `name` is a name of perf's own
    name: str
    size: int = 0  # bytes of one count; 0: the driver or perf scales the count, and names the unit

    @property
    def perf_name(self):
        """The event's name for perf's -e."""
        return f"{self.pmu}/{self.name}/" if self.pmu else self.name


class Source(NamedTuple):
    """A source of counts. It exists if its first event exists. The first existing source of a kind is used."""
    name: str  # for people and for the record
    events: tuple
    estimate: bool = False

    @property
    def kind(self):
        return QUANTITIES[self.events[0].quantity]


SOURCES = (
    Source("memory controllers (uncore_imc)", (
        Event("read", "uncore_imc", "cas_count_read"),
        Event("write", "uncore_imc", "cas_count_write"))),
    Source("memory controllers (uncore_imc_free_running)", (
        Event("read", "uncore_imc_free_running", "data_read"),
        Event("write", "uncore_imc_free_running", "data_write"))),
    Source("memory controllers (uncore_imc)", (
        Event("read", "uncore_imc", "data_reads"),
        Event("write", "uncore_imc", "data_writes"))),
    Source("memory controllers (unc_m_cas_count)", (
        Event("read", None, "unc_m_cas_count.rd", LINE),
        Event("write", None, "unc_m_cas_count.wr", LINE))),
    Source("memory controllers (amd_umc)", (
        Event("read", None, "umc_cas_cmd.rd", LINE),
        Event("write", None, "umc_cas_cmd.wr", LINE))),
    Source("data fabric (amd_df)", tuple(
        Event("read_and_write", None, f"dram_channel_data_controller_{n}", LINE) for n in range(8))),
    Source("mesh's home nodes (arm_cmn)", (Event("read_and_write", "arm_cmn", "hnf_mc_reqs", LINE),)),
    # This is an estimate, because a cache behind the cluster may have the lines.
    Source("L3 refills and write-backs (arm_dsu)", (
        Event("read", "arm_dsu", "l3d_cache_refill", LINE),
        Event("write", "arm_dsu", "l3d_cache_wb", LINE)), estimate=True),

    Source("caching agents (uncore_cha)", (
        Event("io_read_misses", None, "unc_cha_tor_inserts.io_miss_pcirdcur", LINE),
        Event("io_write_misses", None, "unc_cha_tor_inserts.io_miss_itom", LINE),
        Event("io_own_misses", None, "unc_cha_tor_inserts.io_miss_itomcachenear", LINE),
        Event("io_own_misses", None, "unc_cha_tor_inserts.io_miss_rfo", LINE))),
    Source("caching agents (uncore_cha)", (
        Event("io_read_misses", None, "unc_cha_tor_inserts.io_miss_rdcur", LINE),
        Event("io_write_misses", None, "unc_cha_tor_inserts.io_miss_itom", LINE),
        Event("io_own_misses", None, "unc_cha_tor_inserts.io_miss_rfo", LINE))),
    Source("cache boxes (uncore_cbox)", (
        Event("io_read_misses", None, "llc_misses.pcie_read", LINE),
        Event("io_write_misses", None, "llc_misses.pcie_write", LINE))),

    Source("PCIe roots (uncore_iio_free_running)", tuple(
        Event(quantity, "uncore_iio_free_running", f"bw_{way}_port{n}")
        for quantity, way in (("io_in", "in"), ("io_out", "out")) for n in range(4))),
)
EVENTS = {event.perf_name: event for source in SOURCES for event in source.events}
