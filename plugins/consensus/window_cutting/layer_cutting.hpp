// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
#include <sluice/sequence_store.hpp>
#include <sluice/stage.hpp>
#include <vector>

#include "window_cutting/layers.hpp"

namespace sluice::window_cutting {

// Map: an aligned read, cut at the borders of its target's windows.
class LayerCutting {
 public:
  enum class Reason : std::uint32_t { bad_alignment };
  struct Parameters {
    std::int64_t window_length = 500;
    double min_quality = 10.0;
  };
  static void describe(Describe<LayerCutting>& d);
  LayerCutting(const Setup& setup, const Parameters& p);
  Estimate estimate(const Batch& in) const;
  void process(const Call& call, const Batch& in, Output& out);

 private:
  struct Counts {
    std::uint64_t too_short = 0, too_bad = 0;
  };
  bool cut(const Batch& in, std::int64_t row, std::vector<Layer>& layers) const;
  void drop_useless(std::string_view qualities, std::vector<Layer>& layers, Counts& counts) const;

  SequenceStoreView targets_;
  std::int64_t window_length_;
  double min_quality_;
};

}  // namespace sluice::window_cutting
