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

enum class Arrival : std::uint8_t {
  any,       // all are gathered and sorted before the first is given
  in_order,  // they come by target and place, and are given as they come
};

class KeptOverlaps {
 public:
  KeptOverlaps(OverlapOrder order, std::size_t memory_bytes, std::int64_t targets, Wanted matches, Wanted cigars)
      : ordered_(order, memory_bytes),
        target_overlaps_(static_cast<std::size_t>(targets)),
        wants_matches_(matches == Wanted::yes),
        wants_cigars_(cigars == Wanted::yes) {}
  // What a file says of itself; overlaps of targets only. Before the first add().
  void expect(Arrival arrival) { arrival_ = arrival; }
  // Arrival::in_order: false if it lies before the last one.
  bool add(const CandidateOverlap& overlap);
  // One of another part, which is counted among those of its target.
  void pass(const CandidateOverlap& overlap) { ++target_overlaps_[static_cast<std::size_t>(overlap.record.target)]; }
  // Between the last add() and the first give().
  void sort(const Call& call);
  // The next rows, query bases up to about `work`; there are none after the last. Then what they become. Arrival::in_order: all that have been added
  // since; target_overlaps is then the number of those so far, which the target's last row has right.
  std::size_t next(double work);
  // Bases of the rows that wait (Arrival::in_order).
  double waiting_bases() const { return waiting_bases_; }
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
  bool add_waiting(const CandidateOverlap& overlap);
  OrderedOverlaps ordered_;
  std::vector<std::int64_t> target_overlaps_;
  bool wants_matches_, wants_cigars_;
  std::vector<OverlapRecord> rows_;
  double bases_ = 0;  // of the rows
  Arrival arrival_ = Arrival::any;
  // Arrival::in_order: rows to come, with the number of overlaps on their targets so far, and operations of their CIGARs.
  std::vector<OverlapRecord> waiting_;
  std::vector<std::int64_t> waiting_overlaps_, rows_overlaps_;
  std::vector<std::uint32_t> waiting_cigars_, rows_cigars_;
  double waiting_bases_ = 0;
  std::uint64_t to_skip_ = 0;
  std::int32_t last_target_ = 0, last_start_ = 0;
  std::uint64_t count_ = 0, given_ = 0;
};

}  // namespace sluice::overlap_reader
