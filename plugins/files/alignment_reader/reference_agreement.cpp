// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "alignment_reader/reference_agreement.hpp"

#include <cstddef>
#include <sluice/sequence/bases.hpp>

namespace sluice::alignment_reader {
namespace {

// The bit that BAM's 4-bit code has for a base; 0 for anything else.
unsigned bit_of(char base) { return nucleotide_code(base) == ambiguous_code ? 0 : 1U << nucleotide_code(base); }
bool is_one_base(unsigned code) { return code == 1 || code == 2 || code == 4 || code == 8; }

}  // namespace

void add_record(const bam1_t& record, std::string_view contig, Agreement& agreement) {
  const std::uint8_t* packed = bam_get_seq(&record);
  const std::uint32_t* cigar = bam_get_cigar(&record);
  std::int64_t place = record.core.pos, in_read = 0, bases = 0, equal = 0;
  for (std::uint32_t i = 0; i < record.core.n_cigar; ++i) {
    const auto length = static_cast<std::int64_t>(bam_cigar_oplen(cigar[i]));
    const int type = bam_cigar_type(bam_cigar_op(cigar[i]));
    if (type == 3)
      for (std::int64_t k = 0; k < length; ++k) {
        if (place + k < 0 || place + k >= static_cast<std::int64_t>(contig.size()) || in_read + k >= record.core.l_qseq) break;
        const unsigned there = bit_of(contig[static_cast<std::size_t>(place + k)]), here = bam_seqi(packed, in_read + k);
        if (there == 0 || !is_one_base(here)) continue;
        ++bases;
        equal += there == here ? 1 : 0;
      }
    if ((type & 1) != 0) in_read += length;
    if ((type & 2) != 0) place += length;
  }
  if (bases < least_bases) return;
  ++agreement.records;
  agreement.bases += bases;
  agreement.equal += equal;
  agreement.agreeing += static_cast<double>(equal) >= least_agreement * static_cast<double>(bases) ? 1 : 0;
}

}  // namespace sluice::alignment_reader
