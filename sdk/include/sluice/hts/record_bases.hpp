// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
#include <htslib/sam.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace sluice::hts {

// The record's SEQ as it was sequenced: reverse-complemented if the record is on the reverse strand. Letters are "=ACMGRSVTWYHKDBN".
inline void sequenced_bases(const bam1_t& record, std::string& out) {
  const auto length = static_cast<std::size_t>(record.core.l_qseq);
  out.resize(length);
  const std::uint8_t* packed = bam_get_seq(&record);
  if (!bam_is_rev(&record)) {
    for (std::size_t i = 0; i < length; ++i) out[i] = seq_nt16_str[bam_seqi(packed, i)];
    return;
  }
  // A 4-bit code has one bit for each of A, C, G, T; its complement has them in reverse order.
  for (std::size_t i = 0; i < length; ++i) {
    const unsigned code = bam_seqi(packed, length - 1 - i);
    out[i] = seq_nt16_str[((code & 1U) << 3) | ((code & 2U) << 1) | ((code & 4U) >> 1) | ((code & 8U) >> 3)];
  }
}

}  // namespace sluice::hts
