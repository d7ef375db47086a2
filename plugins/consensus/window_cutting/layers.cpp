// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "window_cutting/layers.hpp"

#include <algorithm>

namespace sluice::window_cutting {
namespace {

// Codes of the SAM specification.
constexpr std::uint32_t match = 0, insertion = 1, deletion = 2, equal = 7, different = 8;

}  // namespace

bool cut_layers(std::span<const std::uint32_t> cigar, std::int64_t query_length, std::int64_t target_begin, std::int64_t target_end,
                std::int64_t window_length, std::vector<Layer>& layers) {
  layers.clear();
  std::int64_t query = 0, target = target_begin;
  // One past the last base of the current window that the overlap reaches.
  const auto border_after = [&](std::int64_t position) { return std::min((position / window_length + 1) * window_length, target_end); };
  std::int64_t border = border_after(target_begin);
  bool has_match = false;
  Layer layer;
  for (const std::uint32_t packed : cigar) {
    const std::uint32_t operation = packed & 15U;
    std::int64_t left = packed >> 4U;
    const bool is_match = operation == match || operation == equal || operation == different;
    if (operation == insertion) {
      query += left;
      continue;
    }
    if (!is_match && operation != deletion) return false;
    if (left > target_end - target) return false;
    while (left > 0) {
      const std::int64_t step = std::min(left, border - target);
      if (is_match) {
        if (!has_match) layer.target_begin = target, layer.query_begin = query;
        has_match = true;
        query += step;
        layer.target_end = target + step, layer.query_end = query;
      }
      target += step;
      left -= step;
      if (target < border) break;
      if (has_match) layers.push_back(layer);
      has_match = false;
      border = border_after(target);
    }
  }
  return query == query_length && target == target_end;
}

double mean_quality(std::string_view qualities) {
  if (qualities.empty()) return 0;
  std::int64_t sum = 0;
  for (const char c : qualities) sum += c - 33;
  return static_cast<double>(sum) / static_cast<double>(qualities.size());
}

}  // namespace sluice::window_cutting
