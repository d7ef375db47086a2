// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "pair_alignment/letter_planes.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace sluice::pair_alignment {
namespace {

constexpr std::uint8_t unknown = 255;

constexpr std::array<std::uint8_t, 256> codes_of_bases() {
  std::array<std::uint8_t, 256> code{};
  code.fill(unknown);
  code['A'] = 0, code['C'] = 1, code['G'] = 2, code['T'] = 3;
  return code;
}

// All of them or'ed: `unknown` if there is one.
std::uint8_t encode(std::string_view text, const std::array<std::uint8_t, 256>& code, std::vector<std::uint8_t>& codes) {
  codes.resize(text.size());
  std::uint8_t all = 0;
  for (std::size_t i = 0; i < text.size(); ++i) all |= codes[i] = code[static_cast<unsigned char>(text[i])];
  return all;
}

// Bit `plane` of up to 64 codes, the first one lowest.
std::uint64_t plane_of(const std::uint8_t* codes, std::size_t count, int plane) {
  std::uint64_t word = 0;
  std::size_t i = 0;
  if constexpr (std::endian::native == std::endian::little) {
    for (; i + 8 <= count; i += 8) {
      // The product has the bit of byte k at bit 56 + k, and nothing is carried into these: no two bits meet.
      std::uint64_t eight = 0;
      std::memcpy(&eight, codes + i, 8);
      word |= ((eight >> plane & 0x0101010101010101U) * 0x0102040810204080U >> 56U) << i;
    }
  }
  for (; i < count; ++i) word |= static_cast<std::uint64_t>(codes[i] >> plane & 1U) << i;
  return word;
}

}  // namespace

void LetterPlanes::set(std::string_view query, std::string_view target) {
  is_made_ = {};
  planes_ = 2;
  // With the four bases alone two bits are enough.
  std::array<std::uint8_t, 256> code = codes_of_bases();
  const std::uint8_t all = encode(query, code, query_) | encode(target, code, target_);
  if (all != unknown) return;
  // Codes of A, C, G, T, then of whatever else there is in order of appearance.
  std::array<bool, 256> is_known{};
  for (const char base : {'A', 'C', 'G', 'T'}) is_known[static_cast<unsigned char>(base)] = true;
  int codes = 4;
  for (const std::string_view text : {query, target})
    for (const char letter : text) {
      const auto c = static_cast<unsigned char>(letter);
      if (!is_known[c]) is_known[c] = true, code[c] = static_cast<std::uint8_t>(codes++);
    }
  while ((1 << planes_) < codes) ++planes_;
  encode(query, code, query_);
  encode(target, code, target_);
}

void LetterPlanes::make(Direction direction) {
  const bool is_forward = direction == Direction::forward;
  const std::size_t rows = query_.size(), columns = target_.size();
  // Of each parity, padded by max_lanes on both sides.
  const std::size_t half = (columns + 1) / 2, masks = half + 2 * max_lanes;
  if (!is_forward) backward_query_.assign(query_.rbegin(), query_.rend());
  const std::uint8_t* const query = is_forward ? query_.data() : backward_query_.data();
  const std::uint8_t* const target = target_.data();
  for (int p = 0; p < planes_; ++p) {
    Plane& plane = directions_[static_cast<std::size_t>(direction)][static_cast<std::size_t>(p)];
    plane.query_bits.assign(rows / 64 + 2 + max_lanes, 0);
    for (std::size_t begin = 0; begin < rows; begin += 64)
      plane.query_bits[begin / 64] = plane_of(query + begin, std::min<std::size_t>(64, rows - begin), p);
    const auto mask = [target, p](std::size_t i) { return std::uint64_t{0} - (target[i] >> p & 1U); };
    for (std::vector<std::uint64_t>& list : plane.target_masks) list.resize(masks);
    std::uint64_t* even = plane.target_masks[0].data() + max_lanes + (is_forward ? half - 1 : 0);
    std::uint64_t* odd = plane.target_masks[1].data() + max_lanes + (is_forward ? half - 1 : 0);
    const std::ptrdiff_t next = is_forward ? -1 : 1;
    std::size_t i = 0;
    for (; i + 2 <= columns; i += 2, even += next, odd += next) *even = mask(i), *odd = mask(i + 1);
    if (i < columns) *even = mask(i);
  }
}

void LetterPlanes::describe(Span query, Span target, Direction direction, BandProblem& problem) {
  const auto d = static_cast<std::size_t>(direction);
  if (!is_made_[d]) make(direction), is_made_[d] = true;
  problem.rows = query.size();
  problem.columns = target.size();
  problem.planes = planes_;
  const auto query_length = static_cast<std::int64_t>(query_.size());
  const std::int64_t half = (static_cast<std::int64_t>(target_.size()) + 1) / 2;
  const std::int64_t first_bit = direction == Direction::forward ? query.begin : query_length - query.end;
  const auto first_word = static_cast<std::size_t>(first_bit / 64);
  const int shift = static_cast<int>(first_bit % 64);
  const std::size_t words = static_cast<std::size_t>(query.size() + 63) / 64;
  for (int p = 0; p < planes_; ++p) {
    const auto index = static_cast<std::size_t>(p);
    const Plane& plane = directions_[d][index];
    const std::uint64_t* bits = plane.query_bits.data() + first_word;
    std::vector<std::uint64_t>& part = part_[index];
    part.resize(words + max_lanes);
    for (std::size_t w = 0; w < words; ++w) part[w] = shift == 0 ? bits[w] : bits[w] >> shift | bits[w + 1] << (64 - shift);
    std::fill(part.begin() + static_cast<std::ptrdiff_t>(words), part.end(), 0);
    problem.row_bits[index] = part.data();
    for (std::int64_t odd = 0; odd < 2; ++odd) {
      // The letter of column `odd`, of which that of column odd + 2 k is 2 k letters ahead: begin + j - 1 forwards, end - j backwards.
      const std::int64_t letter = direction == Direction::forward ? target.begin + odd - 1 : target.end - odd;
      const std::int64_t parity = letter & 1, m = (letter - parity) / 2;
      problem.column_masks[index][static_cast<std::size_t>(odd)] =
          plane.target_masks[static_cast<std::size_t>(parity)].data() + max_lanes + (direction == Direction::forward ? half - 1 - m : m);
    }
  }
}

}  // namespace sluice::pair_alignment
