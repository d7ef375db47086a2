// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/oriented_reads.hpp"

namespace sluice::read_correction {

void OrientedReads::fetch_bases(std::int64_t read, std::int64_t begin, std::int64_t end, Strand strand, char* out) {
  reads_->fetch_bases(read, begin, end, out, scratch_);
  to_strand(strand, out, static_cast<std::size_t>(end - begin));
}

}  // namespace sluice::read_correction
