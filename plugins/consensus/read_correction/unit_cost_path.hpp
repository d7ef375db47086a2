// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Alignment at unit costs, with the path: by wavefronts where the sequences are alike, else by bit vectors, which take the same time for all. Both
// have the same path (path_runs.hpp).

#include <cstdint>
#include <string_view>
#include <vector>

#include "read_correction/bit_vectors.hpp"
#include "read_correction/path_runs.hpp"
#include "read_correction/wavefronts.hpp"

namespace sluice::read_correction {

class UnitCostAligner {
 public:
  // Letters are A, C, G, T and N, or codes below 8: those that are not the same differ in their lowest three bits. The pattern need not stay alive.
  // Memory is kept from one call to the next.
  void set_pattern(std::string_view pattern);

  // The differences of the whole pattern and the whole text.
  std::int32_t align(std::string_view text);
  // The same of a text that is followed as Wavefronts::align_padded() wants it.
  std::int32_t align_padded(std::string_view text);
  // Of the last align(), from the first letters to the last.
  void path(std::vector<PathRun>& runs) const;
  // As Wavefronts::walk_back() has it.
  template <class Steps>
  void walk_back(Steps&& steps);
  // The prefix of the text with the fewest differences from the whole pattern.
  BestPrefix best_prefix(std::string_view text);

  std::size_t bytes() const { return wavefronts_.bytes() + bit_vectors_.bytes(); }

 private:
  BitVectors& bit_vectors();
  std::int32_t worthwhile_distance(std::string_view text) const;

  Wavefronts wavefronts_;
  BitVectors bit_vectors_;
  std::string pattern_;
  bool is_bit_vectors_pattern_ = false;
  bool is_path_of_wavefronts_ = false;
  std::vector<PathRun> runs_;
};

template <class Steps>
void UnitCostAligner::walk_back(Steps&& steps) {
  if (is_path_of_wavefronts_) return wavefronts_.walk_back(steps);
  bit_vectors_.path(runs_);
  std::int32_t row = 0, column = 0;
  for (const PathRun& run : runs_) {
    if (run.step != PathStep::text_only) row += run.length;
    if (run.step != PathStep::pattern_only) column += run.length;
  }
  for (auto run = runs_.rbegin(); run != runs_.rend(); ++run) {
    if (run->step == PathStep::match) {
      row -= run->length;
      column -= run->length;
      steps.equal(row, column, run->length);
      continue;
    }
    for (std::int32_t i = 0; i < run->length; ++i) {
      row -= run->step == PathStep::text_only ? 0 : 1;
      column -= run->step == PathStep::pattern_only ? 0 : 1;
      steps.difference(row, column, run->step);
    }
  }
}

}  // namespace sluice::read_correction
