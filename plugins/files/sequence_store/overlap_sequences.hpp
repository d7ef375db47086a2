// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
#include <sluice/sequence_store.hpp>
#include <sluice/stage.hpp>
#include <vector>

namespace sluice::sequence_store {

// Map: the stretches of read and target that each overlap joins.
class OverlapSequences {
 public:
  using Parameters = NoParameters;
  enum class Reason : std::uint32_t { past_the_end };
  static void describe(Describe<OverlapSequences>& d);
  OverlapSequences(const Setup& setup, const Parameters& p);
  Estimate estimate(const Batch& in) const;
  void process(const Call& call, const Batch& in, Output& out);

 private:
  // A column that is made, and where each row begins in it.
  struct Letters {
    std::span<const std::int64_t> places;
    std::span<char> text;
    Buffer offsets;  // what `places` is in
    bool has(std::size_t r) const { return !places.empty() && places[r + 1] > places[r]; }
    char* begin(std::size_t r) const { return text.data() + places[r]; }
    char* end(std::size_t r) const { return text.data() + places[r + 1]; }
  };

  SequenceStoreView reads_, targets_;
  bool wants_qualities_, wants_target_;
  Workspaces<std::vector<char>> scratch_;
};

}  // namespace sluice::sequence_store
