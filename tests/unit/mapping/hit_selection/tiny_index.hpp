// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A minimizer index of named contigs without a single minimizer, for stages that only ask for names and lengths.

#include <sluice/minimizer_index.hpp>
#include <sluice/testing.hpp>
#include <string>
#include <utility>
#include <vector>

namespace tiny_index {

inline sluice::testing::TestBatch of(const std::vector<std::pair<std::string, std::int32_t>>& contigs, int k = 15,
                                     const std::vector<std::int64_t>& part_begin = {}) {
  std::vector<std::int32_t> length;
  std::vector<std::int64_t> name_begin = {0}, base_begin = {0};
  std::vector<std::uint8_t> names;
  for (const auto& [name, bases] : contigs) {
    length.push_back(bases);
    names.insert(names.end(), name.begin(), name.end());
    name_begin.push_back(static_cast<std::int64_t>(names.size()));
    base_begin.push_back(base_begin.back() + (bases + 31) / 32 * 32);
  }
  const std::vector<std::uint64_t> slots(2 * sluice::slots_per_line * 2, sluice::empty_slot);
  return sluice::testing::BatchBuilder("minimizer_index", 1)
      .list<std::int32_t>("contig_length", {length})
      .list<std::int64_t>("contig_name_begin", {name_begin})
      .list<std::uint8_t>("contig_name", {names})
      .list<std::int64_t>("contig_base_begin", {base_begin})
      .list<std::uint64_t>("packed_bases", {{}})
      .list<std::int64_t>("ambiguous_begin", {{}})
      .list<std::int64_t>("ambiguous_end", {{}})
      .list<std::uint64_t>("slot", {slots})
      .list<std::uint64_t>("position", {{}})
      .list<std::uint32_t>("occurrence_count", {{}})
      .list<std::uint64_t>("occurrence_minimizers", {{}})
      .list<std::int64_t>("part_begin", {part_begin})
      .attribute("k", std::to_string(k))
      .attribute("w", "10")
      .attribute("homopolymer_compressed", "0")
      .attribute("home_lines", "1")
      .build();
}

}  // namespace tiny_index
