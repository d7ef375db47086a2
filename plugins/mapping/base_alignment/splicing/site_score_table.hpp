// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Scores of splice sites from a file, as a model of them gives (minisplice). Method: minimap2 2.31, S.9 of the specification.

#include <algorithm>
#include <cstdint>
#include <sluice/call.hpp>
#include <sluice/minimizer_index.hpp>
#include <string>
#include <vector>

namespace sluice::base_alignment {

class SiteScoreTable {
 public:
  enum class Strand : std::uint8_t { forward = 0, reverse = 1 };
  struct Site {
    std::int32_t place = 0;  // the base right of it is the first one of the intron, or of the exon
    std::int8_t score = 0;
    bool acceptor = false;
  };
  // Lines of name, place, strand, D or A, and score, separated by tabs. scale: of scores, between 0 and 1; any other leaves them. Scores are cut to
  // `most` on either side, 63 at most. Lines of contigs that the index does not have are passed over. Warns of a file without lines, or that ends
  // inside one. Throws Failure (input).
  SiteScoreTable(const Host& host, const std::string& path, const MinimizerIndexView& index, float scale, std::int32_t most);

  // Those with begin <= place < end, by their places.
  template <class Take>
  void for_each_between(std::int32_t contig, Strand strand, std::int32_t begin, std::int32_t end, Take&& take) const {
    const std::vector<Site>& all = of_strand_[2 * static_cast<std::size_t>(contig) + static_cast<std::size_t>(strand)];
    for (auto site = std::lower_bound(all.begin(), all.end(), begin, [](const Site&s, std::int32_t at) { return s.place < at; });
         site != all.end() && site->place < end; ++site)
      take(*site);
  }

 private:
  std::vector<std::vector<Site>> of_strand_;
};

}  // namespace sluice::base_alignment
