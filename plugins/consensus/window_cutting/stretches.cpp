// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "window_cutting/stretches.hpp"

#include <algorithm>
#include <array>
#include <sluice/sequence/bases.hpp>
#include <tuple>

namespace sluice::window_cutting {
namespace {

// Two stretches with fewer bases between them are read at once: a system call takes as long as copying these.
constexpr std::int64_t skipped_bases = 1024;

// complement_of() of each character: which of four cases a base is no branch predictor knows.
constexpr std::array<char, 256> complements = [] {
  std::array<char, 256> table{};
  for (std::size_t letter = 0; letter < table.size(); ++letter) table[letter] = complement_of(static_cast<char>(letter));
  return table;
}();

}  // namespace

void StretchFetcher::fetch(std::vector<Stretch>& stretches, const Letters& letters) {
  std::sort(stretches.begin(), stretches.end(), [](const Stretch& a, const Stretch& b) {
    return std::tie(a.sequence, a.strand, a.begin, a.at) < std::tie(b.sequence, b.strand, b.begin, b.at);
  });
  for (std::size_t first = 0, last = 0; first < stretches.size(); first = last) {
    const auto [sequence, begin, first_end, at, strand] = stretches[first];
    std::int64_t end = first_end;
    for (last = first + 1; last < stretches.size(); ++last) {
      const Stretch& next = stretches[last];
      if (next.sequence != sequence || next.strand != strand || next.begin > end + skipped_bases) break;
      end = std::max(end, next.end);
    }
    fetch_part(sequence, begin, end, strand);
    for (std::size_t i = first; i < last; ++i) {
      const Stretch& stretch = stretches[i];
      const std::int64_t from = strand == Strand::reverse ? end - stretch.end : stretch.begin - begin;
      std::copy_n(bases_.data() + from, stretch.end - stretch.begin, letters.bases.data() + stretch.at);
      std::copy_n(qualities_.data() + from, stretch.end - stretch.begin, letters.qualities.data() + stretch.at);
    }
  }
}

void StretchFetcher::fetch_part(std::int64_t sequence, std::int64_t begin, std::int64_t end, Strand strand) {
  const auto size = static_cast<std::size_t>(end - begin);
  if (bases_.size() < size) bases_.resize(size), qualities_.resize(size);
  char *const bases = bases_.data(), *const qualities = qualities_.data();
  store_->fetch_bases(sequence, begin, end, bases, scratch_);
  if (store_->has_qualities(sequence))
    store_->fetch_qualities(sequence, begin, end, qualities, scratch_);
  else
    std::fill(qualities, qualities + size, unknown_quality_);
  if (strand == Strand::forward) return;
  std::reverse(bases, bases + size);
  std::transform(bases, bases + size, bases, [](char base) { return complements[static_cast<unsigned char>(base)]; });
  std::reverse(qualities, qualities + size);
}

}  // namespace sluice::window_cutting
