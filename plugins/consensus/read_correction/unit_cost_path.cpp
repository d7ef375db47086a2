// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/unit_cost_path.hpp"

#include <algorithm>
#include <sluice/sequence/bases.hpp>

namespace sluice::read_correction {
namespace {

constexpr std::size_t rows_per_block = 64;

constexpr bool is_set(std::uint64_t word, std::size_t bit) { return ((word >> bit) & 1U) != 0; }

}  // namespace

void UnitCostAligner::set_pattern(std::string_view pattern) {
  rows_ = static_cast<std::int32_t>(pattern.size());
  blocks_ = (pattern.size() + rows_per_block - 1) / rows_per_block;
  equal_.assign(blocks_, {});
  for (std::size_t i = 0; i < pattern.size(); ++i)
    equal_[i / rows_per_block][nucleotide_code(pattern[i])] |= std::uint64_t{1} << (i % rows_per_block);
}

// finished(column, change) after each column: change is what the last row's score gained over the column before.
template <class Finished>
void UnitCostAligner::fill(std::string_view text, Finished&& finished) {
  text_letters_ = text.size();
  columns_.resize(text.size() * blocks_);
  state_.assign(blocks_, {~std::uint64_t{0}, 0});
  const std::size_t last_bit = (static_cast<std::size_t>(rows_) + rows_per_block - 1) % rows_per_block;
  Column* column = columns_.data();
  for (std::size_t j = 0; j < text.size(); ++j) {
    const std::size_t code = nucleotide_code(text[j]);
    std::uint64_t plus_in = 1, minus_in = 0;  // row 0 grows by one with each column
    for (std::size_t b = 0; b < blocks_; ++b, ++column) {
      Block& block = state_[b];
      const std::uint64_t vertical = equal_[b][code] | block.minus;
      const std::uint64_t equal = equal_[b][code] | minus_in;
      const std::uint64_t diagonal = (((equal & block.plus) + block.plus) ^ block.plus) | equal;
      std::uint64_t plus = block.minus | ~(diagonal | block.plus);
      std::uint64_t minus = block.plus & diagonal;
      column->more_than_left = plus;
      if (b + 1 == blocks_) finished(j, (is_set(plus, last_bit) ? 1 : 0) - (is_set(minus, last_bit) ? 1 : 0));
      const std::uint64_t plus_out = plus >> 63U, minus_out = minus >> 63U;
      plus = (plus << 1U) | plus_in;
      minus = (minus << 1U) | minus_in;
      block.plus = minus | ~(vertical | plus);
      block.minus = plus & vertical;
      column->more_than_above = block.plus;
      plus_in = plus_out;
      minus_in = minus_out;
    }
  }
}

std::int32_t UnitCostAligner::align(std::string_view text) {
  std::int32_t distance = rows_;
  if (rows_ == 0) {
    text_letters_ = text.size();
    return static_cast<std::int32_t>(text.size());
  }
  fill(text, [&](std::size_t, std::int32_t change) { distance += change; });
  return distance;
}

UnitCostAligner::Prefix UnitCostAligner::best_prefix(std::string_view text) {
  if (rows_ == 0) return {};
  Prefix best{rows_, 0};
  std::int32_t distance = rows_;
  fill(text, [&](std::size_t j, std::int32_t change) {
    distance += change;
    if (distance < best.distance) best = {distance, static_cast<std::int32_t>(j) + 1};
  });
  return best;
}

void UnitCostAligner::path(std::vector<PathStep>& steps) const {
  steps.clear();
  auto i = static_cast<std::size_t>(rows_);
  std::size_t j = text_letters_;
  while (i > 0 && j > 0) {
    const Column& column = columns_[(j - 1) * blocks_ + (i - 1) / rows_per_block];
    const std::size_t bit = (i - 1) % rows_per_block;
    if (is_set(column.more_than_left, bit)) {
      steps.push_back(PathStep::text_only);
      --j;
    } else if (is_set(column.more_than_above, bit)) {
      steps.push_back(PathStep::pattern_only);
      --i;
    } else {
      steps.push_back(PathStep::diagonal);
      --i;
      --j;
    }
  }
  steps.insert(steps.end(), j, PathStep::text_only);
  steps.insert(steps.end(), i, PathStep::pattern_only);
  std::reverse(steps.begin(), steps.end());
}

}  // namespace sluice::read_correction
