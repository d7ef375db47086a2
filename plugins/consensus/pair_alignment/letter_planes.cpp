// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "pair_alignment/letter_planes.hpp"

#include <algorithm>

namespace sluice::pair_alignment {

void LetterPlanes::set(std::string_view query, std::string_view target) {
  query_length_ = static_cast<std::int64_t>(query.size());
  target_length_ = static_cast<std::int64_t>(target.size());
  // Codes of A, C, G, T, then of whatever else there is in order of appearance: with the four bases alone two bits are enough.
  std::array<std::uint8_t, 256> code{};
  std::array<bool, 256> is_known{};
  int codes = 0;
  const auto know = [&](char letter) {
    const auto c = static_cast<unsigned char>(letter);
    if (!is_known[c]) is_known[c] = true, code[c] = static_cast<std::uint8_t>(codes++);
  };
  for (const char base : {'A', 'C', 'G', 'T'}) know(base);
  for (const char letter : query) know(letter);
  for (const char letter : target) know(letter);
  planes_ = 2;
  while ((1 << planes_) < codes) ++planes_;

  const std::size_t words = query.size() / 64 + 2 + max_lanes;
  const std::size_t masks = target.size() + 2 * max_lanes;
  for (int p = 0; p < planes_; ++p) {
    const auto plane = static_cast<std::size_t>(p);
    std::vector<std::uint64_t>& bits = query_bits_[0][plane];
    std::vector<std::uint64_t>& backward_bits = query_bits_[1][plane];
    bits.assign(words, 0);
    backward_bits.assign(words, 0);
    for (std::size_t i = 0; i < query.size(); ++i) {
      const std::uint64_t bit = code[static_cast<unsigned char>(query[i])] >> p & 1U;
      const std::size_t back = query.size() - 1 - i;
      bits[i / 64] |= bit << i % 64;
      backward_bits[back / 64] |= bit << back % 64;
    }
    // Padded by max_lanes on both sides. The forward form is stored from the last letter to the first: column_masks counts downwards.
    std::vector<std::uint64_t>& descending = target_masks_[0][plane];
    std::vector<std::uint64_t>& ascending = target_masks_[1][plane];
    descending.assign(masks, 0);
    ascending.assign(masks, 0);
    for (std::size_t i = 0; i < target.size(); ++i) {
      const std::uint64_t mask = std::uint64_t{0} - (code[static_cast<unsigned char>(target[i])] >> p & 1U);
      ascending[max_lanes + i] = mask;
      descending[max_lanes + target.size() - 1 - i] = mask;
    }
  }
}

void LetterPlanes::describe(Span query, Span target, Direction direction, BandProblem& problem) {
  problem.rows = query.size();
  problem.columns = target.size();
  problem.planes = planes_;
  const auto d = static_cast<std::size_t>(direction);
  const std::int64_t first_bit = direction == Direction::forward ? query.begin : query_length_ - query.end;
  const auto first_word = static_cast<std::size_t>(first_bit / 64);
  const int shift = static_cast<int>(first_bit % 64);
  const std::size_t words = static_cast<std::size_t>(query.size() + 63) / 64;
  for (int p = 0; p < planes_; ++p) {
    const auto plane = static_cast<std::size_t>(p);
    const std::uint64_t* bits = query_bits_[d][plane].data() + first_word;
    std::vector<std::uint64_t>& part = part_[plane];
    part.resize(words + max_lanes);
    for (std::size_t w = 0; w < words; ++w) part[w] = shift == 0 ? bits[w] : bits[w] >> shift | bits[w + 1] << (64 - shift);
    std::fill(part.begin() + static_cast<std::ptrdiff_t>(words), part.end(), 0);
    problem.row_bits[plane] = part.data();
    // Column j is letter begin + j - 1 forwards, end - j backwards.
    problem.column_masks[plane] =
        target_masks_[d][plane].data() + max_lanes + (direction == Direction::forward ? target_length_ - target.begin : target.end);
  }
}

}  // namespace sluice::pair_alignment
