// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Which pore and kit sequenced the reads, by what the header of a signal file says.

#include <cstdint>
#include <string>
#include <string_view>

#include "signal_reader/slow5_format.hpp"

namespace sluice::signal_reader {

// Header fields in any letter case; "" where the header does not say.
struct ChemistryFacts {
  std::string_view flow_cell;        // product code: FLO-MIN114
  std::string_view kit;              // SQK-LSK114
  std::string_view experiment_type;  // genomic_dna, cdna, rna
  std::string_view configuration;    // of the basecaller, or its model: dna_r10.4.1_e8.2_400bps_5khz_sup.cfg
  double rate_hz = 0;                // 0: unknown
};

struct Chemistry {
  // dna_r9 (R9.4.1), dna_r9_5, dna_r10_0, dna_r10_3, dna_r10_4, dna_r10 (R10.4.1), rna_r9 (RNA001 and RNA002) or rna_004.
  std::string name;
  // Why it may be another one, as the end of a sentence that begins with the file: "does not say its sequencing kit"; "" if the header leaves no
  // doubt.
  std::string doubt;
};

// The flow cell has the pore, and the kit says whether it is RNA; each speaks alone where the other is missing, and the basecaller's configuration
// or model where both are. What contradicts, or is not enough, is a doubt. Pairs, kits and flow cells: dorado's table of kits and uncalled4's presets
// (February 2026); experiment_type as f5c 1.6 reads it.
Chemistry chemistry_of(const ChemistryFacts& facts);

// Of a read group of a file. `basecall_model`: of its reads, "" if it is not known; it counts in place of the configuration in the header.
Chemistry chemistry_of(const Slow5Header& header, std::uint32_t read_group, std::string_view basecall_model = {});

// Whether a read group has a kit or a flow cell. Files that were put together have groups that say nothing ('.').
bool tells_chemistry(const Slow5Header& header, std::uint32_t read_group);
// The first that does, which speaks for the file; 0 where none does.
std::uint32_t telling_read_group(const Slow5Header& header);

}  // namespace sluice::signal_reader
