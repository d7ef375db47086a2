// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/oriented_reads.hpp"

#include <sluice/sequence/letter_blocks.hpp>

namespace sluice::read_correction {

void OrientedReads::fetch_bases(std::int64_t read, std::int64_t begin, std::int64_t end, Strand strand, char* out) {
  const auto letters = static_cast<std::size_t>(end - begin);
  reads_->fetch_bases(read, begin, end, out, scratch_);
  if (strand == Strand::reverse) {
    reverse_letters(out, letters);
    to_complements(out, letters);
  }
  to_four_bases_or_n(out, letters);
}

}  // namespace sluice::read_correction
