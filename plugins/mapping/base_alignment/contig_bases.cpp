// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "base_alignment/contig_bases.hpp"

#include <algorithm>
#include <sluice/sequence/bases.hpp>

namespace sluice::base_alignment {
void copy_contig_bases(const MinimizerIndexView& index, std::size_t contig, std::int64_t begin, std::int64_t end, std::string& text) {
  text.resize(static_cast<std::size_t>(std::max<std::int64_t>(end - begin, 0)));
  const std::int64_t first = index.contig_base_begin[contig] + begin;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const std::uint64_t at = static_cast<std::uint64_t>(first) + i;
    text[i] = "ACGT"[index.packed_bases[at / 32] >> 2 * (at % 32) & 3U];
  }
  const std::int64_t last = first + static_cast<std::int64_t>(text.size());
  const auto from = std::upper_bound(index.ambiguous_end.begin(), index.ambiguous_end.end(), first);
  for (auto run = static_cast<std::size_t>(from - index.ambiguous_end.begin());
       run < index.ambiguous_begin.size() && index.ambiguous_begin[run] < last; ++run) {
    const std::int64_t a = std::max(index.ambiguous_begin[run], first), b = std::min(index.ambiguous_end[run], last);
    std::fill(text.begin() + (a - first), text.begin() + (b - first), 'N');
  }
}

// An n in a read is not the N of a contig: the two do not match.
void orient(std::string_view bases, Orientation orientation, std::string& text) {
  text.resize(bases.size());
  if (orientation == Orientation::forward)
    std::transform(bases.begin(), bases.end(), text.begin(), [](char base) { return "ACGTn"[nucleotide_code(base)]; });
  else
    std::transform(bases.rbegin(), bases.rend(), text.begin(), [](char base) { return "TGCAn"[nucleotide_code(base)]; });
}

}  // namespace sluice::base_alignment
