// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/oriented_reads.hpp"

namespace sluice::read_correction {

void OrientedReads::fetch_bases(std::int64_t read, std::int64_t begin, std::int64_t end, Strand strand, PackedBases& bases) {
  if (const std::uint64_t* packed = reads_->packed_bases(read); packed != nullptr)
    return bases.assign(packed, static_cast<std::size_t>(begin), static_cast<std::size_t>(end), strand);
  letters_.resize(static_cast<std::size_t>(end - begin));
  reads_->fetch_bases(read, begin, end, letters_.data(), scratch_);
  to_strand(strand, letters_.data(), letters_.size());
  bases.assign(letters_);
}

}  // namespace sluice::read_correction
