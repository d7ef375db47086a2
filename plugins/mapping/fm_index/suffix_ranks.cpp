// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "fm_index/suffix_ranks.hpp"

#include <atomic>
#include <sluice/fm_index.hpp>

namespace sluice::fm_index {
namespace {

constexpr std::size_t rows_grain = std::size_t{1} << 20;
constexpr std::size_t groups_grain = 1024;
constexpr std::size_t prefetch_rows = 16;
// If one suffix of so many is asked for, all get a rank: a mark costs three waits for memory where a table costs one.
constexpr std::uint64_t few = 8;

}  // namespace

template <class Body>
void SuffixRanks::for_each_row_of(std::span<const Group> groups, Body&& body) const {
  parallel_for_(groups.size(), groups_grain, [&](std::size_t begin, std::size_t end) {
    for (const Group& group : groups.subspan(begin, end - begin))
      for (std::uint64_t row = group.begin; row < group.end; ++row) body(row, group);
  });
}

void SuffixRanks::find(std::span<const Group> groups, std::uint64_t depth) {
  if (rank_.empty()) {
    std::uint64_t open = 0;
    for (const Group& group : groups) open += group.end - group.begin;
    has_all_ = open > rows_.size() / few;
  }
  if (has_all_)
    find_all(groups);
  else
    find_some(groups, depth);
}

void SuffixRanks::forget(std::span<const Group> groups) {
  if (has_all_) for_each_row_of(groups, [&](std::uint64_t row, const Group&) { rank_[rows_[row]] = static_cast<std::uint32_t>(row); });
}

void SuffixRanks::find_all(std::span<const Group> groups) {
  if (rank_.empty()) {
    rank_.resize(rows_.size());
    parallel_for_(rows_.size(), rows_grain, [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin; row < end; ++row) rank_[rows_[row]] = static_cast<std::uint32_t>(row);
    });
  }
  for_each_row_of(groups, [&](std::uint64_t row, const Group& group) { rank_[rows_[row]] = group.begin; });
}

void SuffixRanks::find_some(std::span<const Group> groups, std::uint64_t depth) {
  mark(groups, depth);
  count_marks();
  rank_.resize(marks_before_.back());
  parallel_for_(rows_.size(), rows_grain, [&](std::size_t begin, std::size_t end) {
    for (std::size_t row = begin; row < end; ++row) {
      if (row + prefetch_rows < rows_.size()) __builtin_prefetch(&marked_[rows_[row + prefetch_rows] / 64]);
      if (is_marked(rows_[row])) rank_[number_of(rows_[row])] = static_cast<std::uint32_t>(row);
    }
  });
  for_each_row_of(groups, [&](std::uint64_t row, const Group& group) {
    if (is_marked(rows_[row])) rank_[number_of(rows_[row])] = group.begin;
  });
}

void SuffixRanks::mark(std::span<const Group> groups, std::uint64_t depth) {
  marked_.assign((rows_.size() / (64 * words_per_count) + 1) * words_per_count, 0);
  for_each_row_of(groups, [&](std::uint64_t row, const Group&) {
    const std::uint64_t place = rows_[row] + depth;
    std::atomic_ref<std::uint64_t>(marked_[place / 64]).fetch_or(std::uint64_t{1} << (place % 64), std::memory_order_relaxed);
  });
}

void SuffixRanks::count_marks() {
  marks_before_.resize(marked_.size() / words_per_count + 1);
  std::uint32_t marks = 0;
  for (std::size_t i = 0; i + 1 < marks_before_.size(); ++i) {
    marks_before_[i] = marks;
    for (std::size_t word = i * words_per_count; word < (i + 1) * words_per_count; ++word) marks += detail::set_bits(marked_[word]);
  }
  marks_before_.back() = marks;
}

std::uint32_t SuffixRanks::number_of(std::uint64_t place) const {
  const std::uint64_t last = place / 64;
  std::uint32_t number = marks_before_[last / words_per_count];
  for (std::uint64_t word = last / words_per_count * words_per_count; word < last; ++word) number += detail::set_bits(marked_[word]);
  return number + detail::set_bits(marked_[last] & ((std::uint64_t{1} << (place % 64)) - 1));
}

}  // namespace sluice::fm_index
