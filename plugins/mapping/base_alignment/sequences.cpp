// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "base_alignment/sequences.hpp"

#include <algorithm>
#include <cstring>
#include <sluice/sequence/bases.hpp>

namespace sluice::base_alignment {

namespace {

// 3 - code for bases, eight at a time; what is ambiguous stays.
void complement_backwards(const std::uint8_t* codes, std::size_t count, std::uint8_t* to) {
  static_assert(ambiguous_code == 4);
  constexpr std::uint64_t ones = 0x0101010101010101;
  std::size_t i = 0;
  for (; i + 8 <= count; i += 8) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, codes + i, sizeof eight);
    eight = __builtin_bswap64(eight ^ (3 * ones - 3 * (eight >> 2 & ones)));
    std::memcpy(to + (count - i - 8), &eight, sizeof eight);
  }
  for (; i < count; ++i) to[count - 1 - i] = codes[i] < ambiguous_code ? static_cast<std::uint8_t>(3 - codes[i]) : codes[i];
}

// Eight codes of two bits, a byte each.
constexpr std::uint64_t unpacked(std::uint64_t eight) {
  eight = (eight | eight << 24) & 0x000000FF000000FF;
  eight = (eight | eight << 12) & 0x000F000F000F000F;
  return (eight | eight << 6) & 0x0303030303030303;
}

}  // namespace

void ReadStrands::set(std::string_view bases) {
  forward_.resize(bases.size());
  reverse_.resize(bases.size());
  std::transform(bases.begin(), bases.end(), forward_.begin(), [](char base) { return nucleotide_codes[static_cast<unsigned char>(base)]; });
  complement_backwards(forward_.data(), bases.size(), reverse_.data());
}

void copy_contig(const MinimizerIndexView& index, std::size_t contig, std::int32_t begin, std::int32_t end, std::vector<std::uint8_t>& codes) {
  codes.resize(static_cast<std::size_t>(std::max(end - begin, 0)));
  const std::int64_t first = index.contig_base_begin[contig] + begin;
  for (std::size_t i = 0; i < codes.size();) {
    const std::uint64_t at = static_cast<std::uint64_t>(first) + i;
    std::uint64_t word = index.packed_bases[at / 32] >> 2 * (at % 32);
    const std::size_t stop = std::min(codes.size(), i + 32 - static_cast<std::size_t>(at % 32));
    for (; i + 8 <= stop; i += 8, word >>= 16) {
      const std::uint64_t eight = unpacked(word & 0xFFFFU);
      std::memcpy(codes.data() + i, &eight, sizeof eight);
    }
    for (; i < stop; ++i, word >>= 2) codes[i] = word & 3U;
  }
  const std::int64_t last = first + static_cast<std::int64_t>(codes.size());
  const auto from = std::upper_bound(index.ambiguous_end.begin(), index.ambiguous_end.end(), first);
  for (auto run = static_cast<std::size_t>(from - index.ambiguous_end.begin());
       run < index.ambiguous_begin.size() && index.ambiguous_begin[run] < last; ++run) {
    const std::int64_t a = std::max(index.ambiguous_begin[run], first), b = std::min(index.ambiguous_end[run], last);
    std::fill(codes.begin() + (a - first), codes.begin() + (b - first), ambiguous_code);
  }
}

std::int32_t run_start(const MinimizerIndexView& index, std::size_t contig, std::int32_t place) {
  const auto code = [&](std::int32_t at) { return index.base(contig, static_cast<std::uint32_t>(at)); };
  const std::uint32_t own = code(place);
  std::int32_t begin = place;
  while (begin > 0 && code(begin - 1) == own) --begin;
  if (begin == place || index.ambiguous_end.empty()) return begin;
  // An ambiguous base is packed as 0: the run begins behind the last one.
  const std::int64_t first = index.contig_base_begin[contig];
  const auto run = std::upper_bound(index.ambiguous_begin.begin(), index.ambiguous_begin.end(), first + place);
  if (run == index.ambiguous_begin.begin()) return begin;
  const std::int64_t behind = index.ambiguous_end[static_cast<std::size_t>(run - index.ambiguous_begin.begin()) - 1] - first;
  return behind > place ? begin : std::max(begin, static_cast<std::int32_t>(std::max<std::int64_t>(behind, 0)));
}

std::int32_t run_start(Codes codes, std::int32_t place) {
  std::int32_t begin = place;
  while (begin > 0 && codes[static_cast<std::size_t>(begin) - 1] == codes[static_cast<std::size_t>(place)]) --begin;
  return begin;
}

}  // namespace sluice::base_alignment
