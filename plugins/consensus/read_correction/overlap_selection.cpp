// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/overlap_selection.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <tuple>
#include <utility>

namespace sluice::read_correction {
namespace {

constexpr std::int32_t stretch = 500;
constexpr std::size_t none = ~std::size_t{0};

// Do a and b share more than half of b's bases of the template?
bool covers(const PileOverlap& a, const PileOverlap& b) {
  const std::int32_t shared = std::min(a.template_end, b.template_end) - std::max(a.template_begin, b.template_begin);
  return shared > (b.template_end - b.template_begin) / 2;
}

}  // namespace

std::int64_t overhang(const PileOverlap& overlap, std::int64_t template_length, std::int64_t read_length) {
  std::int64_t before = overlap.read_begin, behind = read_length - overlap.read_end;
  if (overlap.is_reverse) std::swap(before, behind);
  return std::min<std::int64_t>(overlap.template_begin, before) + std::min<std::int64_t>(template_length - overlap.template_end, behind);
}

void select_overlaps(std::int32_t template_length, std::int32_t max_depth, std::vector<PileOverlap>& overlaps) {
  std::sort(overlaps.begin(), overlaps.end(), [](const PileOverlap& a, const PileOverlap& b) {
    return std::tie(a.template_begin, a.template_end, a.read, a.read_begin, a.read_end, a.is_reverse, a.matches) <
           std::tie(b.template_begin, b.template_end, b.read, b.read_begin, b.read_end, b.is_reverse, b.matches);
  });
  std::vector<std::size_t> order(overlaps.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const PileOverlap &first = overlaps[a], &second = overlaps[b];
    if (first.matches != second.matches) return first.matches > second.matches;
    return first.template_end - first.template_begin > second.template_end - second.template_begin;
  });
  std::vector<std::int64_t> reads;
  for (const PileOverlap& overlap : overlaps) reads.push_back(overlap.read);
  std::sort(reads.begin(), reads.end());
  std::vector<std::size_t> newest(reads.size(), none), older(overlaps.size(), none);  // kept overlaps of a read, from the last one kept
  std::vector<std::int32_t> depth(static_cast<std::size_t>(template_length / stretch) + 1, 0);
  std::vector<char> is_kept(overlaps.size(), 0);
  for (const std::size_t i : order) {
    const PileOverlap& overlap = overlaps[i];
    std::size_t& last_of_read = newest[static_cast<std::size_t>(std::lower_bound(reads.begin(), reads.end(), overlap.read) - reads.begin())];
    std::size_t other = last_of_read;
    while (other != none && !covers(overlaps[other], overlap)) other = older[other];
    if (other != none) continue;
    const auto begin = depth.begin() + overlap.template_begin / stretch;
    const auto end = depth.begin() + std::max(overlap.template_end - 1, overlap.template_begin) / stretch + 1;
    if (*std::min_element(begin, end) >= max_depth) continue;
    std::for_each(begin, end, [](std::int32_t& value) { ++value; });
    is_kept[i] = 1;
    older[i] = last_of_read;
    last_of_read = i;
  }
  std::size_t kept = 0;
  for (std::size_t i = 0; i < overlaps.size(); ++i)
    if (is_kept[i] != 0) overlaps[kept++] = overlaps[i];
  overlaps.resize(kept);
}

}  // namespace sluice::read_correction
