// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The windows of one target that may still get layers.

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::window_cutting {

struct WindowLayer {
  std::int64_t overlap = 0;            // ordinal of the overlap in its file: layers are used in this order
  std::int32_t begin = 0, end = 0;     // first and last base on the window
  std::size_t offset = 0, length = 0;  // in the window's text
  bool has_qualities = false;
};

// Bases and qualities lie in one text each, in the order in which layers came; where a layer has no qualities, `qualities` holds anything.
struct OpenWindow {
  std::string bases, qualities;
  std::vector<WindowLayer> layers;
};

class OpenWindows {
 public:
  // Forgets everything and begins with the first window of another target.
  void restart();
  // window: ordinal on the target, not below first().
  void add(std::int64_t window, std::int64_t overlap, std::int32_t begin, std::int32_t end, std::string_view bases, std::string_view qualities);
  // The first window that is still open; those before it are closed.
  std::int64_t first() const { return first_; }
  bool empty() const { return windows_.empty(); }
  // The window first(), its layers in the order of their overlaps.
  OpenWindow& front();
  void pop_front();
  // Closes windows without layers up to `window`.
  void skip_to(std::int64_t window);

 private:
  std::deque<OpenWindow> windows_;  // from first_ on
  std::vector<OpenWindow> spare_;   // memory of closed ones
  std::int64_t first_ = 0;
};

}  // namespace sluice::window_cutting
