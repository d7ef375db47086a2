// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/bit_vectors.hpp"

#include <algorithm>

namespace sluice::read_correction {
namespace {

constexpr std::size_t rows_per_block = 64;

constexpr std::uint8_t slot_of(char letter) { return static_cast<std::uint8_t>(letter) & 7U; }
constexpr bool is_set(std::uint64_t word, std::size_t bit) { return ((word >> bit) & 1U) != 0; }

}  // namespace

void BitVectors::set_pattern(std::string_view pattern) {
  rows_ = static_cast<std::int32_t>(pattern.size());
  blocks_ = (pattern.size() + rows_per_block - 1) / rows_per_block;
  equal_.assign(blocks_, {});
  for (std::size_t i = 0; i < pattern.size(); ++i) equal_[i / rows_per_block][slot_of(pattern[i])] |= std::uint64_t{1} << (i % rows_per_block);
}

// finished(column, change) after each column: change is what the last row's score gained over the column before.
template <class Finished>
void BitVectors::fill(std::string_view text, Finished&& finished) {
  columns_.resize(text.size() * blocks_);
  state_.assign(blocks_, {~std::uint64_t{0}, 0});
  text_.resize(text.size());
  std::transform(text.begin(), text.end(), text_.begin(), slot_of);
  const std::size_t last_bit = (static_cast<std::size_t>(rows_) + rows_per_block - 1) % rows_per_block;
  Column* column = columns_.data();
  for (std::size_t j = 0; j < text.size(); ++j) {
    const std::size_t code = text_[j];
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

std::int32_t BitVectors::align(std::string_view text) {
  std::int32_t distance = rows_;
  fill(text, [&](std::size_t, std::int32_t change) { distance += change; });
  return rows_ == 0 ? static_cast<std::int32_t>(text.size()) : distance;
}

BestPrefix BitVectors::best_prefix(std::string_view text) {
  if (rows_ == 0) return {};
  BestPrefix best{rows_, 0};
  std::int32_t distance = rows_;
  fill(text, [&](std::size_t j, std::int32_t change) {
    distance += change;
    if (distance < best.distance) best = {distance, static_cast<std::int32_t>(j) + 1};
  });
  return best;
}

void BitVectors::path(std::vector<PathRun>& runs) const {
  runs.clear();
  auto i = static_cast<std::size_t>(rows_);
  std::size_t j = text_.size();
  while (i > 0 && j > 0) {
    const std::size_t block = (i - 1) / rows_per_block, bit = (i - 1) % rows_per_block;
    const Column& column = columns_[(j - 1) * blocks_ + block];
    if (is_set(column.more_than_left, bit)) {
      append_steps(runs, PathStep::text_only, 1);
      --j;
    } else if (is_set(column.more_than_above, bit)) {
      append_steps(runs, PathStep::pattern_only, 1);
      --i;
    } else {
      append_steps(runs, is_set(equal_[block][text_[j - 1]], bit) ? PathStep::match : PathStep::mismatch, 1);
      --i;
      --j;
    }
  }
  append_steps(runs, PathStep::text_only, static_cast<std::int32_t>(j));
  append_steps(runs, PathStep::pattern_only, static_cast<std::int32_t>(i));
  std::reverse(runs.begin(), runs.end());
}

}  // namespace sluice::read_correction
