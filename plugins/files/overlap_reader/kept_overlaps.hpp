// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Overlaps that were kept, and the rows that they become.

#include <cstdint>
#include <sluice/stage.hpp>
#include <span>
#include <vector>

#include "overlap_reader/overlap_order.hpp"
#include "overlap_reader/overlap_selection.hpp"

namespace sluice::overlap_reader {

enum class Wanted : std::uint8_t { no, yes };

class KeptOverlaps {
 public:
  KeptOverlaps(OverlapOrder order, std::size_t memory_bytes, std::int64_t targets, Wanted matches, Wanted cigars)
      : ordered_(order, memory_bytes),
        target_overlaps_(static_cast<std::size_t>(targets)),
        wants_matches_(matches == Wanted::yes),
        wants_cigars_(cigars == Wanted::yes) {}
  void add(const CandidateOverlap& overlap);
  // One of another part, which is counted among those of its target.
  void pass(const CandidateOverlap& overlap) { ++target_overlaps_[static_cast<std::size_t>(overlap.record.target)]; }
  // Between the last add() and the first give().
  void sort(const Call& call);
  // The next rows, query bases up to about `work`; there are none after the last. Then what they become.
  std::size_t next(double work);
  // So many of them have been given by another instance. Before next().
  void skip(std::uint64_t rows);
  void write(Output& out) const;
  std::uint64_t count() const { return count_; }
  // Of overlaps without CIGARs, before sort(). False: an overlap of no target, or of none of so many queries.
  void save(StateWriter& to) const { ordered_.save(to); }
  bool restore(StateReader& from, std::int64_t queries);
  std::uint64_t given() const { return given_; }
  double share_given() const { return count_ == 0 ? 1 : static_cast<double>(given_) / static_cast<double>(count_); }

 private:
  OrderedOverlaps ordered_;
  std::vector<std::int64_t> target_overlaps_;
  bool wants_matches_, wants_cigars_;
  std::vector<OverlapRecord> rows_;
  double bases_ = 0;  // of the rows
  std::uint64_t count_ = 0, given_ = 0;
};

}  // namespace sluice::overlap_reader
