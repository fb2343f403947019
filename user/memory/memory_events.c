// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/*
 * Where the names come from, in Linux's sources: arch/x86/events/intel/uncore_snbep.c
 * and uncore_snb.c (uncore_imc, uncore_iio_free_running), drivers/perf/arm-cmn.c and
 * arm_dsu_pmu.c; those of perf's own from tools/perf/pmu-events/arch/x86: icelakex and
 * sapphirerapids (io_miss_pcirdcur), skylakex (io_miss_rdcur), broadwellx (llc_misses),
 * amdzen4 (umc_cas_cmd), amdzen1 to amdzen3 (dram_channel_data_controller).
 * docs/memory.md says which of them were tested against what.
 */
#include "user/memory/memory_events.h"

/* clang-format off */
const struct memory_source memory_sources[] = {
	{KIND_MEMORY, "memory controllers (uncore_imc)", false,
	 {{MEMORY_READ, "uncore_imc", "cas_count_read", 0},
	  {MEMORY_WRITE, "uncore_imc", "cas_count_write", 0}}},
	{KIND_MEMORY, "memory controllers (uncore_imc_free_running)", false,
	 {{MEMORY_READ, "uncore_imc_free_running", "data_read", 0},
	  {MEMORY_WRITE, "uncore_imc_free_running", "data_write", 0}}},
	{KIND_MEMORY, "memory controllers (uncore_imc)", false,
	 {{MEMORY_READ, "uncore_imc", "data_reads", 0},
	  {MEMORY_WRITE, "uncore_imc", "data_writes", 0}}},
	{KIND_MEMORY, "memory controllers (unc_m_cas_count)", false,
	 {{MEMORY_READ, NULL, "unc_m_cas_count.rd", MEMORY_LINE},
	  {MEMORY_WRITE, NULL, "unc_m_cas_count.wr", MEMORY_LINE}}},
	{KIND_MEMORY, "memory controllers (amd_umc)", false,
	 {{MEMORY_READ, NULL, "umc_cas_cmd.rd", MEMORY_LINE},
	  {MEMORY_WRITE, NULL, "umc_cas_cmd.wr", MEMORY_LINE}}},
	{KIND_MEMORY, "data fabric (amd_df)", false,
	 {{MEMORY_BOTH, NULL, "dram_channel_data_controller_0", MEMORY_LINE},
	  {MEMORY_BOTH, NULL, "dram_channel_data_controller_1", MEMORY_LINE},
	  {MEMORY_BOTH, NULL, "dram_channel_data_controller_2", MEMORY_LINE},
	  {MEMORY_BOTH, NULL, "dram_channel_data_controller_3", MEMORY_LINE},
	  {MEMORY_BOTH, NULL, "dram_channel_data_controller_4", MEMORY_LINE},
	  {MEMORY_BOTH, NULL, "dram_channel_data_controller_5", MEMORY_LINE},
	  {MEMORY_BOTH, NULL, "dram_channel_data_controller_6", MEMORY_LINE},
	  {MEMORY_BOTH, NULL, "dram_channel_data_controller_7", MEMORY_LINE}}},
	{KIND_MEMORY, "mesh's home nodes (arm_cmn)", false,
	 {{MEMORY_BOTH, "arm_cmn", "hnf_mc_reqs", MEMORY_LINE}}},
	/* What the cluster asks for a cache behind it may have. */
	{KIND_MEMORY, "L3 refills and write-backs (arm_dsu)", true,
	 {{MEMORY_READ, "arm_dsu", "l3d_cache_refill", MEMORY_LINE},
	  {MEMORY_WRITE, "arm_dsu", "l3d_cache_wb", MEMORY_LINE}}},

	{KIND_IO_MISSES, "caching agents (uncore_cha)", false,
	 {{IO_READ_MISSES, NULL, "unc_cha_tor_inserts.io_miss_pcirdcur", MEMORY_LINE},
	  {IO_WRITE_MISSES, NULL, "unc_cha_tor_inserts.io_miss_itom", MEMORY_LINE},
	  {IO_OWN_MISSES, NULL, "unc_cha_tor_inserts.io_miss_itomcachenear", MEMORY_LINE},
	  {IO_OWN_MISSES, NULL, "unc_cha_tor_inserts.io_miss_rfo", MEMORY_LINE}}},
	{KIND_IO_MISSES, "caching agents (uncore_cha)", false,
	 {{IO_READ_MISSES, NULL, "unc_cha_tor_inserts.io_miss_rdcur", MEMORY_LINE},
	  {IO_WRITE_MISSES, NULL, "unc_cha_tor_inserts.io_miss_itom", MEMORY_LINE},
	  {IO_OWN_MISSES, NULL, "unc_cha_tor_inserts.io_miss_rfo", MEMORY_LINE}}},
	{KIND_IO_MISSES, "cache boxes (uncore_cbox)", false,
	 {{IO_READ_MISSES, NULL, "llc_misses.pcie_read", MEMORY_LINE},
	  {IO_WRITE_MISSES, NULL, "llc_misses.pcie_write", MEMORY_LINE}}},

	{KIND_IO_BYTES, "PCIe roots (uncore_iio_free_running)", false,
	 {{IO_IN, "uncore_iio_free_running", "bw_in_port0", 0},
	  {IO_IN, "uncore_iio_free_running", "bw_in_port1", 0},
	  {IO_IN, "uncore_iio_free_running", "bw_in_port2", 0},
	  {IO_IN, "uncore_iio_free_running", "bw_in_port3", 0},
	  {IO_OUT, "uncore_iio_free_running", "bw_out_port0", 0},
	  {IO_OUT, "uncore_iio_free_running", "bw_out_port1", 0},
	  {IO_OUT, "uncore_iio_free_running", "bw_out_port2", 0},
	  {IO_OUT, "uncore_iio_free_running", "bw_out_port3", 0}}},
};
/* clang-format on */

const size_t memory_source_count = sizeof(memory_sources) / sizeof(memory_sources[0]);

const char *memory_quantity_name(enum memory_quantity q)
{
	static const char *const names[MEMORY_QUANTITIES] = {
		"read",		 "write", "read_and_write", "io_read_misses", "io_write_misses",
		"io_own_misses", "io_in", "io_out"};

	return names[q];
}

enum memory_kind memory_quantity_kind(enum memory_quantity q)
{
	if (q <= MEMORY_BOTH)
		return KIND_MEMORY;
	return q <= IO_OWN_MISSES ? KIND_IO_MISSES : KIND_IO_BYTES;
}
