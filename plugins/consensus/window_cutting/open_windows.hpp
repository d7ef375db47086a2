// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The windows of one target that may still get layers.

#include <cstdint>
#include <deque>
#include <sluice/saved_state.hpp>
#include <vector>

namespace sluice::window_cutting {

// Where a part of a read lies; its letters are fetched when its window is complete.
struct WindowLayer {
  std::int64_t overlap = 0;                     // ordinal of the overlap in its file: layers are used in this order
  std::int64_t query = 0;                       // row of the read in its store
  std::int32_t query_begin = 0, query_end = 0;  // on the read's forward strand
  std::int32_t begin = 0, end = 0;              // first and last base on the window
  std::uint8_t is_reverse = 0;
};
using WindowLayers = std::vector<WindowLayer>;
void save_layers(StateWriter& to, const WindowLayers& layers);
void restore_layers(StateReader& from, WindowLayers& layers);

class OpenWindows {
 public:
  // Forgets everything and begins with the first window of another target.
  void restart();
  // window: ordinal on the target, not below first().
  void add(std::int64_t window, const WindowLayer& layer);
  // The first window that is still open; those before it are closed.
  std::int64_t first() const { return first_; }
  bool empty() const { return windows_.empty(); }
  // Of the window first(), in the order of their overlaps.
  const WindowLayers& front();
  void pop_front();
  // Closes windows without layers up to `window`.
  void skip_to(std::int64_t window);
  void save(StateWriter& to) const;
  void restore(StateReader& from);

 private:
  std::deque<WindowLayers> windows_;  // from first_ on
  std::vector<WindowLayers> spare_;   // memory of closed ones
  std::int64_t first_ = 0;
};

}  // namespace sluice::window_cutting
