// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Which overlaps are kept: the rules of racon 1.5.

#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "overlap_reader/overlap_order.hpp"

namespace sluice::overlap_reader {

enum class Keep : std::uint8_t {
  longest,  // one of each run of overlaps of the same query
  all,
};

enum class Drop : std::uint8_t { itself, too_different, not_the_longest };

struct CandidateOverlap {
  OverlapRecord record;
  std::int64_t length = 0;  // overlap_length
  double error = 0;         // overlap_error
  bool is_itself = false;   // query and target are the same sequence
  std::vector<std::uint32_t> cigar;
};

// Takes overlaps one after the other. With Keep::longest each overlap of a run is compared with those behind it: of two the shorter one goes, of
// equal ones the later. One that joins a sequence with itself, or whose error is above max_error, goes when its turn comes, so that it may have
// beaten a shorter one before it. At most one of a run is left, which needs no more memory than one candidate.
class OverlapSelection {
 public:
  // drop: told of every overlap that is not kept, and why.
  OverlapSelection(Keep keep, double max_error, std::function<void(const CandidateOverlap&)> take,
                   std::function<void(const CandidateOverlap&, Drop)> drop)
      : keep_(keep), max_error_(max_error), take_(std::move(take)), drop_(std::move(drop)) {}
  // May take the contents of `candidate`. take() is called for what is kept.
  void add(CandidateOverlap& candidate);
  void finish();
  // What may still be beaten by the query's next overlap.
  const std::optional<CandidateOverlap>& waiting() const { return longest_; }
  void set_waiting(CandidateOverlap candidate) { longest_ = std::move(candidate); }

 private:
  bool is_acceptable(const CandidateOverlap& candidate);
  Keep keep_;
  double max_error_;
  std::function<void(const CandidateOverlap&)> take_;
  std::function<void(const CandidateOverlap&, Drop)> drop_;
  std::optional<CandidateOverlap> longest_;
};

}  // namespace sluice::overlap_reader
