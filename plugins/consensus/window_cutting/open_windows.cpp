// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "window_cutting/open_windows.hpp"

#include <algorithm>
#include <sluice/resume.hpp>
#include <utility>

namespace sluice::window_cutting {

void OpenWindows::restart() {
  while (!windows_.empty()) pop_front();
  first_ = 0;
}

void OpenWindows::add(std::int64_t window, const WindowLayer& layer) {
  while (static_cast<std::int64_t>(windows_.size()) <= window - first_) {
    if (spare_.empty()) {
      windows_.emplace_back();
    } else {
      windows_.push_back(std::move(spare_.back()));
      spare_.pop_back();
    }
  }
  windows_[static_cast<std::size_t>(window - first_)].push_back(layer);
}

const WindowLayers& OpenWindows::front() {
  WindowLayers& layers = windows_.front();
  std::sort(layers.begin(), layers.end(), [](const WindowLayer& a, const WindowLayer& b) { return a.overlap < b.overlap; });
  return layers;
}

void OpenWindows::pop_front() {
  constexpr std::size_t kept = 64;
  if (spare_.size() < kept) {
    windows_.front().clear();
    spare_.push_back(std::move(windows_.front()));
  }
  windows_.pop_front();
  ++first_;
}

void OpenWindows::skip_to(std::int64_t window) { first_ = std::max(first_, window); }

void OpenWindows::save(StateWriter& to) const {
  to.value(first_);
  to.value(std::uint64_t{windows_.size()});
  for (const WindowLayers& layers : windows_) save_layers(to, layers);
}

void OpenWindows::restore(StateReader& from) {
  first_ = from.value<std::int64_t>();
  if (first_ < 0) throw damaged_state();
  for (auto windows = from.value<std::uint64_t>(); windows > 0; --windows) restore_layers(from, windows_.emplace_back());
}

void save_layers(StateWriter& to, const WindowLayers& layers) {
  save_rows(to, layers, &WindowLayer::overlap, &WindowLayer::query, &WindowLayer::query_begin, &WindowLayer::query_end, &WindowLayer::begin,
            &WindowLayer::end, &WindowLayer::is_reverse);
}

void restore_layers(StateReader& from, WindowLayers& layers) {
  restore_rows(from, layers, &WindowLayer::overlap, &WindowLayer::query, &WindowLayer::query_begin, &WindowLayer::query_end, &WindowLayer::begin,
               &WindowLayer::end, &WindowLayer::is_reverse);
}

}  // namespace sluice::window_cutting
