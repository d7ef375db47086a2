// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
#include <sluice/sequence_store.hpp>
#include <sluice/stage.hpp>
#include <vector>

#include "window_cutting/open_windows.hpp"

namespace sluice::window_cutting {

// Regroup: layers of reads to the windows of their targets. Copies where letters lie, not the letters.
class WindowCutting {
 public:
  struct Parameters {
    std::int64_t window_length = 500;
  };
  static void describe(Describe<WindowCutting>& d);
  WindowCutting(const Setup& setup, const Parameters& p);
  void process(const Call& call, const Batch& in, Output& out);
  void finish(const Call& call, Output& out);
  void save(const Call& call, StateWriter& to) const;

 private:
  // A window that waits to be given; its layers are in the vectors below.
  struct Row {
    std::int64_t target, window, begin, end, overlaps;
    std::size_t end_layer;
  };
  void restore(StateReader& from);
  void close_windows(std::int64_t end, Output& out);
  void end_target(Output& out);
  void give(std::int64_t window, const WindowLayers& layers, Output& out);
  void emit(Output& out);

  SequenceStoreView targets_;
  std::int64_t window_length_;
  std::int64_t target_ = -1, target_overlaps_ = 0;
  OpenWindows windows_;
  std::vector<Row> rows_;
  WindowLayers layers_;
  std::int64_t letters_ = 0;
};

}  // namespace sluice::window_cutting
