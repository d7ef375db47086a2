// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// How often minimizers occur, where no table of all of them is made: an index that is made in parts has the same limits of occurrences as a whole
// one.

#include <cstdint>
#include <map>
#include <sluice/minimizer_table/table_builder.hpp>
#include <vector>

namespace sluice::minimizer_table {

struct MinimizerCounts {
  std::vector<std::uint32_t> occurrence_count;  // as in MinimizerTable
  std::vector<std::uint64_t> occurrence_minimizers;
  std::vector<std::uint64_t> frequent_hash;  // minimizers that occur more often than was asked for
  std::vector<std::uint32_t> frequent_count;
};

// Of all minimizers of the parts; does not depend on the number of threads or on the memory.
inline MinimizerCounts count_minimizers(const MinimizerParts& parts, std::uint32_t frequent_above, const ForEach& for_each,
                                        std::size_t memory = build_bytes) {
  struct Partition {
    std::map<std::uint32_t, std::uint64_t> occurrences;
    std::vector<std::uint64_t> frequent_hash;
    std::vector<std::uint32_t> frequent_count;
  };
  MinimizerCounts counts;
  std::map<std::uint32_t, std::uint64_t> occurrences;
  detail::KeyPartitions keys(parts, for_each, sizeof(detail::Keyed), memory);
  for (std::size_t group = 0; group < keys.groups(); ++group) {
    std::vector<Partition> partitions(keys.begin_of(group + 1) - keys.begin_of(group));
    keys.make_group(group, [&](std::size_t p, const std::vector<detail::Keyed>& sorted) {
      Partition& partition = partitions[p];
      for (std::size_t begin = 0, end = 0; begin < sorted.size(); begin = end) {
        for (end = begin + 1; end < sorted.size() && sorted[end].key == sorted[begin].key;) ++end;
        const auto count = static_cast<std::uint32_t>(std::min<std::size_t>(end - begin, max_minimizer_occurrences));
        ++partition.occurrences[count];
        if (count <= frequent_above) continue;
        partition.frequent_hash.push_back(minimizer_hash_of_key(sorted[begin].key));
        partition.frequent_count.push_back(count);
      }
    });
    for (const Partition& partition : partitions) {
      for (const auto& [count, minimizers] : partition.occurrences) occurrences[count] += minimizers;
      counts.frequent_hash.insert(counts.frequent_hash.end(), partition.frequent_hash.begin(), partition.frequent_hash.end());
      counts.frequent_count.insert(counts.frequent_count.end(), partition.frequent_count.begin(), partition.frequent_count.end());
    }
  }
  for (const auto& [count, minimizers] : occurrences) {
    counts.occurrence_count.push_back(count);
    counts.occurrence_minimizers.push_back(minimizers);
  }
  return counts;
}

}  // namespace sluice::minimizer_table
