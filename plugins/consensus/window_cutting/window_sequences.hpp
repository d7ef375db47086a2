// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
#include <memory>
#include <sluice/sequence_store.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <vector>

#include "window_cutting/stretches.hpp"

namespace sluice::window_cutting {

// Map: the letters of windows whose backbones and layers are places on targets and reads.
class WindowSequences {
 public:
  enum class Reason : std::uint32_t { bad_layers };
  struct Parameters {
    std::string backbone_without_qualities = "no_weight";
  };
  static void describe(Describe<WindowSequences>& d);
  WindowSequences(const Setup& setup, const Parameters& p);
  Estimate estimate(const Batch& in) const;
  void process(const Call& call, const Batch& in, Output& out);

 private:
  struct Workspace {
    std::unique_ptr<StretchFetcher> from_targets, from_reads;
    std::vector<Stretch> backbones, layers;
  };

  bool fits(const Batch& in, std::int64_t row) const;
  static void list_stretches(const Batch& in, std::int64_t row, std::int64_t at, Workspace& workspace);

  SequenceStoreView reads_, targets_;
  char quality_of_backbone_;
  Workspaces<Workspace> workspaces_;
};

}  // namespace sluice::window_cutting
