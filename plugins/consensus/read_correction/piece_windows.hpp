// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
#include <sluice/sequence_store.hpp>
#include <sluice/stage.hpp>
#include <vector>

namespace sluice::read_correction {

// Regroup: the pieces of each pile to one row each. Copies where letters lie, not the letters: those are a hundred times more.
class PieceWindows {
 public:
  using Parameters = NoParameters;
  static void describe(Describe<PieceWindows>& d);
  PieceWindows(const Setup& setup, const Parameters& p);
  void process(const Call& call, const Batch& in, Output& out);
  void finish(const Call& call, Output& out);
  void save(const Call& call, StateWriter& to) const;

 private:
  struct Window {
    std::int64_t target, ordinal, begin, end, overlaps;
    std::size_t end_layer;  // in the vectors below
  };
  void restore(StateReader& from);
  void emit(Output& out);

  SequenceStoreView reads_;
  std::vector<Window> windows_;
  std::vector<std::int64_t> query_;
  std::vector<std::int32_t> query_begin_, query_end_;
  std::vector<std::uint8_t> is_reverse_;
  std::int64_t letters_ = 0;
};

}  // namespace sluice::read_correction
