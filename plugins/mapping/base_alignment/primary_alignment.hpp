// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The best alignment of each read in the columns that alignment_reader gives, so that what follows needs no BAM file.

#include <cstdint>
#include <sluice/minimizer_index.hpp>
#include <sluice/stage.hpp>

namespace sluice::base_alignment {

class PrimaryAlignment {
 public:
  struct Parameters {
    std::int64_t min_mapq = 20;
  };
  enum class Reason { unmapped, low_mapping_quality };

  static void describe(Describe<PrimaryAlignment>& d);
  PrimaryAlignment(const Setup& setup, const Parameters& parameters);
  void process(const Call& call, const Batch& in, Output& out);

 private:
  MinimizerIndexView index_;
  std::int64_t min_mapq_;
};

}  // namespace sluice::base_alignment
