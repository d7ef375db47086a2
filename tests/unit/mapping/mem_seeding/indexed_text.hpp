// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Indexes of small texts.

#include <string>
#include <vector>

#include "fm_index/index_builder.hpp"

namespace sluice::mem_seeding::testing {

inline void one_after_the_other(std::size_t count, std::size_t, const std::function<void(std::size_t, std::size_t)>& body) {
  if (count > 0) body(0, count);
}

struct IndexedText {
  fm_index::FmIndex index;
  FmIndexView view;
  std::string text;  // what the index holds, ambiguous bases replaced

  explicit IndexedText(const std::vector<std::string>& contigs, fm_index::Strands strands = fm_index::Strands::forward, std::uint32_t k = 0,
                       std::uint32_t sample_interval = 1) {
    fm_index::ReferenceTextBuilder builder(strands);
    for (std::size_t i = 0; i < contigs.size(); ++i) {
      builder.begin_contig("contig" + std::to_string(i));
      builder.append(contigs[i]);
      builder.end_contig();
    }
    index = fm_index::build_index(builder.finish(), {.k = k, .sample_interval = sample_interval, .memory = {}}, one_after_the_other);
    if (!index.connect(view)) throw std::logic_error("the index does not fit together");
    for (std::uint64_t place = 0; place < view.tables.text_length; ++place) text += "ACGT"[view.tables.base(place)];
  }
  IndexedText(const IndexedText&) = delete;
};

}  // namespace sluice::mem_seeding::testing
