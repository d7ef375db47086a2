// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Aligns two short stretches of bases with two-piece affine gaps, by WFA2-lib. Not thread-safe: one object per thread, which keeps its memory.

#include <memory>
#include <string_view>

#include "base_alignment/path.hpp"

namespace sluice::base_alignment {

class PairAligner {
 public:
  explicit PairAligner(const Scoring& scoring);
  ~PairAligner();
  PairAligner(const PairAligner&) = delete;

  // The best alignment of all of the query with all of the target. False: they are so different that it was given up.
  bool align(std::string_view query, std::string_view target, Path& path);
  // The best alignment of all of the query with a beginning of the target. False as above.
  bool align_to_beginning(std::string_view query, std::string_view target, Path& path);

  const Scoring& scoring() const { return scoring_; }

 private:
  struct Library;
  bool run(std::string_view query, std::string_view target, int free_target_end, Path& path);
  Scoring scoring_;
  std::unique_ptr<Library> library_;
};

}  // namespace sluice::base_alignment
