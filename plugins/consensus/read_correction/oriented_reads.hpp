// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Parts of reads as a template sees them: on its strand.

#include <cstdint>
#include <sluice/sequence_store.hpp>
#include <string>
#include <vector>

#include "read_correction/packed_bases.hpp"
#include "read_correction/strand_letters.hpp"

namespace sluice::read_correction {

// Reads of a store, by as many threads as there are objects of this class.
class OrientedReads {
 public:
  // The store outlives this.
  explicit OrientedReads(const SequenceStoreView& reads) : reads_(&reads) {}

  // Bases [begin, end) of a read's forward strand, turned to a strand: A, C, G, T (also for U) and others. Other letters than A, C, G and T have no
  // complement.
  void fetch_bases(std::int64_t read, std::int64_t begin, std::int64_t end, Strand strand, PackedBases& bases);

 private:
  const SequenceStoreView* reads_;
  std::string letters_;
  std::vector<char> scratch_;
};

}  // namespace sluice::read_correction
