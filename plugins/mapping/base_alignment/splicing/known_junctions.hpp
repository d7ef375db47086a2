// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Introns that are known before reads are aligned, from a BED file. Method: minimap2 2.31, S.8 of the specification.

#include <algorithm>
#include <cstdint>
#include <sluice/minimizer_index.hpp>
#include <sluice/overlap/minimap2_release.hpp>
#include <string>
#include <vector>

namespace sluice::base_alignment {

class KnownJunctions {
 public:
  // Bases [begin, end) of a contig; strand: 1, -1, or 0 for unknown.
  struct Junction {
    std::int32_t begin = 0, end = 0;
    std::int32_t score = -1;  // -1: none
    std::int8_t strand = 0;
  };

  // BED with 12 columns: the introns between the blocks of a line; with fewer: the line itself. Lines of contigs that the index does not have are
  // passed over. 2.24 takes equal introns as often as they come. Throws Failure (input).
  KnownJunctions(const std::string& path, const MinimizerIndexView& index, overlap::Minimap2Release release);

  // Those that lie in [begin, end) as a whole, by their beginnings.
  template <class Take>
  void for_each_inside(std::int32_t contig, std::int32_t begin, std::int32_t end, Take&& take) const {
    const std::vector<Junction>& all = of_contig_[static_cast<std::size_t>(contig)];
    for (auto junction = std::lower_bound(all.begin(), all.end(), begin, [](const Junction&j, std::int32_t at) { return j.begin < at; });
         junction != all.end() && junction->begin < end; ++junction)
      if (junction->end <= end) take(*junction);
  }
  const std::vector<Junction>& of_contig(std::size_t contig) const { return of_contig_[contig]; }
  std::size_t size() const;

 private:
  std::vector<std::vector<Junction>> of_contig_;
};

}  // namespace sluice::base_alignment
