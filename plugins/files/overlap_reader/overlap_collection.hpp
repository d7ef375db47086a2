// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
#include <cstdint>
#include <sluice/sequence_store.hpp>
#include <sluice/stage.hpp>
#include <sluice/stored_part.hpp>
#include <string>
#include <vector>

#include "overlap_reader/kept_overlaps.hpp"
#include "overlap_reader/query_account.hpp"

namespace sluice::overlap_reader {

// Regroup: hits of mapped reads become overlaps in the order of the targets, as if they had been written to a PAF file and read by overlap_reader.
class OverlapCollection {
 public:
  enum class Reason : std::uint32_t { unknown_sequence, itself, too_different, not_the_longest };

  struct Parameters {
    std::string keep = "longest";
    double max_error = 0.3;
    Size memory{std::int64_t{64} << 20};
  };
  static void describe(Describe<OverlapCollection>& d);
  OverlapCollection(const Setup& setup, const Parameters& p);
  void process(const Call& call, const Batch& in, Output& out);
  void finish(const Call& call, Output& out);
  void save(const Call& call, StateWriter& to) const;

 private:
  void restore(StateReader& from);

  SequenceStoreView reads_, targets_;
  SequenceNames read_names_;
  StoredPart part_;
  std::vector<std::int64_t> target_of_contig_;  // row of the store, -1: none
  KeptOverlaps kept_;
  OverlapSelection selection_;
  std::int64_t ordinal_ = 0;
  QueryAccount<Reason> account_;
  const Call* call_ = nullptr;  // the one under way
};

}  // namespace sluice::overlap_reader
