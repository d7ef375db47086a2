// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Sites as rows of type `site`.

#include <algorithm>
#include <cstddef>
#include <sluice/stage.hpp>
#include <string_view>
#include <vector>

#include "methylation_frequency/frequency.hpp"

namespace sluice::methylation_frequency {

// Emits site_of(0), site_of(1), ... in batches small enough to travel as one message, and large enough that a human genome is some hundred of them.
template <class SiteOf>
void emit_sites(std::size_t count, const SiteOf& site_of, Output& out) {
  constexpr std::size_t sites_per_batch = std::size_t{1} << 16;
  for (std::size_t first = 0; first < count; first += sites_per_batch) {
    const std::size_t rows = std::min(sites_per_batch, count - first);
    out.set_rows(static_cast<std::int64_t>(rows));
    std::vector<std::string_view> contig(rows);
    std::vector<std::string_view> sequence(rows);
    const auto start = out.column<std::int64_t>("start");
    const auto end = out.column<std::int64_t>("end");
    const auto motifs = out.column<std::int32_t>("motifs");
    const auto called_sites = out.column<std::int64_t>("called_sites");
    const auto called_sites_methylated = out.column<std::int64_t>("called_sites_methylated");
    const auto called_forward = out.column<std::int64_t>("called_forward");
    const auto methylated_forward = out.column<std::int64_t>("methylated_forward");
    for (std::size_t i = 0; i < rows; ++i) {
      const Site site = site_of(first + i);
      contig[i] = site.contig;
      start[i] = site.start;
      end[i] = site.end;
      motifs[i] = site.motifs;
      called_sites[i] = static_cast<std::int64_t>(site.called_sites);
      called_sites_methylated[i] = static_cast<std::int64_t>(site.called_sites_methylated);
      called_forward[i] = static_cast<std::int64_t>(site.called_forward);
      methylated_forward[i] = static_cast<std::int64_t>(site.methylated_forward);
      sequence[i] = site.sequence;
    }
    out.text_rows("contig", contig);
    out.text_rows("sequence", sequence);
    out.emit();
  }
}

}  // namespace sluice::methylation_frequency
