// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Some hundred windows along a reference, and its sequences as rows of a table: what figures of a run can be shown by, however long it is.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <sluice/result_figures.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice {

class SequenceWindows {
 public:
  // The longest sequences have windows and rows of their own, the others one row together. The names must live as long as this.
  SequenceWindows(std::vector<std::string_view> names, std::vector<std::int64_t> lengths) : names_(std::move(names)), lengths_(std::move(lengths)) {
    std::vector<std::size_t> longest(lengths_.size());
    std::iota(longest.begin(), longest.end(), std::size_t{0});
    std::stable_sort(longest.begin(), longest.end(), [this](std::size_t a, std::size_t b) { return lengths_[a] > lengths_[b]; });
    longest.resize(std::min(longest.size(), most_rows));
    std::sort(longest.begin(), longest.end());
    std::int64_t total = 0;
    for (const std::size_t i : longest) total += lengths_[i];
    const std::int64_t size = std::max<std::int64_t>(1, (total + wanted_windows - 1) / wanted_windows);
    places_.resize(lengths_.size());
    for (const std::size_t i : longest) {
      places_[i] = {windows_.size(), size, 0, lengths_[i]};
      for (std::int64_t begin = 0; begin < lengths_[i]; begin += size)
        windows_.push_back({static_cast<std::uint32_t>(windows_.size()), names_[i], begin, std::min(lengths_[i], begin + size)});
    }
    std::size_t others = 0;
    for (std::size_t i = 0; i < lengths_.size(); ++i)
      if (places_[i].size == 0) ++others, other_length_ += lengths_[i];
    if (others > 0) others_name_ = std::to_string(others) + " shorter sequences";
  }

  // Of bases [begin, end) of one of the sequences alone, which has all windows.
  SequenceWindows(std::vector<std::string_view> names, std::vector<std::int64_t> lengths, std::size_t sequence, std::int64_t begin, std::int64_t end)
      : names_(std::move(names)), lengths_(std::move(lengths)), places_(lengths_.size()) {
    end = std::min(end, lengths_[sequence]);
    const std::int64_t size = std::max<std::int64_t>(1, (end - begin + wanted_windows - 1) / wanted_windows);
    places_[sequence] = {0, size, begin, end};
    for (std::int64_t at = begin; at < end; at += size)
      windows_.push_back({static_cast<std::uint32_t>(windows_.size()), names_[sequence], at, std::min(end, at + size)});
  }

  std::size_t sequences() const { return lengths_.size(); }
  const std::vector<FigureWindow>& windows() const { return windows_; }

  void add_row(ResultFigures& figures, const Figure& figure, std::size_t sequence, std::uint64_t amount) const {
    if (places_[sequence].size == 0) return add_others(figures, figure, amount);
    figures.add_row(figure, static_cast<std::uint32_t>(sequence), names_[sequence], amount, static_cast<std::uint64_t>(lengths_[sequence]));
  }
  // All rows, so that those without anything are there too.
  void describe_rows(ResultFigures& figures, const Figure& figure) const {
    for (std::size_t i = 0; i < lengths_.size(); ++i)
      if (places_[i].size > 0) add_row(figures, figure, i, 0);
    if (!others_name_.empty()) add_others(figures, figure, 0);
  }

  // Bases [begin, end) of a sequence, by window: body(number, bases). Sequences without windows have none.
  template <class Body>
  void each(std::size_t sequence, std::int64_t begin, std::int64_t end, Body&& body) const {
    const Place& place = places_[sequence];
    if (place.size == 0) return;
    begin = std::max(begin, place.begin), end = std::min(end, place.end);
    while (begin < end) {
      const std::int64_t index = (begin - place.begin) / place.size, stop = std::min(end, place.begin + (index + 1) * place.size);
      body(place.first + static_cast<std::size_t>(index), stop - begin);
      begin = stop;
    }
  }

 private:
  static constexpr std::size_t most_rows = 200;
  static constexpr std::int64_t wanted_windows = 200;

  struct Place {
    std::size_t first = 0;            // window
    std::int64_t size = 0;            // of a window; 0: it has none
    std::int64_t begin = 0, end = 0;  // what the windows cover
  };
  void add_others(ResultFigures& figures, const Figure& figure, std::uint64_t amount) const {
    figures.add_row(figure, ~std::uint32_t{0}, others_name_, amount, static_cast<std::uint64_t>(other_length_));
  }

  std::vector<std::string_view> names_;
  std::vector<std::int64_t> lengths_;
  std::vector<Place> places_;  // of each sequence
  std::vector<FigureWindow> windows_;
  std::int64_t other_length_ = 0;
  std::string others_name_;
};

}  // namespace sluice
