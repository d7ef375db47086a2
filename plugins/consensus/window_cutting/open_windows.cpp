// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "window_cutting/open_windows.hpp"

#include <algorithm>
#include <utility>

namespace sluice::window_cutting {

void OpenWindows::restart() {
  while (!windows_.empty()) pop_front();
  first_ = 0;
}

void OpenWindows::add(std::int64_t window, std::int64_t overlap, std::int32_t begin, std::int32_t end, std::string_view bases,
                      std::string_view qualities) {
  while (static_cast<std::int64_t>(windows_.size()) <= window - first_) {
    if (spare_.empty()) {
      windows_.emplace_back();
    } else {
      windows_.push_back(std::move(spare_.back()));
      spare_.pop_back();
    }
  }
  OpenWindow& to = windows_[static_cast<std::size_t>(window - first_)];
  to.layers.push_back(
      {.overlap = overlap, .begin = begin, .end = end, .offset = to.bases.size(), .length = bases.size(), .has_qualities = !qualities.empty()});
  to.bases.append(bases);
  to.qualities.append(qualities);
  to.qualities.resize(to.bases.size(), '!');
}

OpenWindow& OpenWindows::front() {
  OpenWindow& window = windows_.front();
  std::sort(window.layers.begin(), window.layers.end(), [](const WindowLayer& a, const WindowLayer& b) { return a.overlap < b.overlap; });
  return window;
}

void OpenWindows::pop_front() {
  constexpr std::size_t kept = 64;
  if (spare_.size() < kept) {
    OpenWindow& window = windows_.front();
    window.bases.clear();
    window.qualities.clear();
    window.layers.clear();
    spare_.push_back(std::move(window));
  }
  windows_.pop_front();
  ++first_;
}

void OpenWindows::skip_to(std::int64_t window) { first_ = std::max(first_, window); }

}  // namespace sluice::window_cutting
