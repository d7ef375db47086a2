// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Minimizers by their key: the table of a minimizer index (minimizer_index.hpp says how it is laid out), built on all threads in bounded memory.

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <sluice/call.hpp>
#include <sluice/minimizer_index.hpp>
#include <sluice/page_array.hpp>
#include <span>
#include <utility>
#include <vector>

namespace sluice::minimizer_table {

// Calls the body once for each of 0 .. count - 1, on several threads or on one.
using ForEach = std::function<void(std::size_t count, const std::function<void(std::size_t)>& body)>;

struct PlacedMinimizer {
  std::uint64_t hash;
  std::uint64_t position;  // contig << 32 | place << 1 | strand
};

// Minimizers in parts that are made one by one, each as often as is asked for. Over all parts the positions of a hash come in ascending order.
struct MinimizerParts {
  std::size_t count = 0;
  double expected = 0;  // minimizers, about
  std::function<void(std::size_t part, std::vector<PlacedMinimizer>& out)> make;
};

struct MinimizerTable {
  std::uint64_t home_lines = 1;
  PageArray<std::uint64_t> slots, positions;
  std::vector<std::uint32_t> occurrence_count;
  std::vector<std::uint64_t> occurrence_minimizers;

  std::uint64_t bytes() const { return (slots.size() + positions.size()) * sizeof(std::uint64_t); }
};

// Memory for the minimizers in the making, beside the table; references that need more are sketched several times, for a range of keys each.
inline constexpr std::size_t build_bytes = std::size_t{2} << 30;

namespace detail {
inline constexpr double minimizers_per_partition = 32768;  // likewise, with their sorted copy
inline constexpr double used_slots_per_line = 2.6;         // of 4: one search in twenty goes to a second line

struct Keyed {
  std::uint64_t key, position;
};

// Memory that is filled at once, and not zeroed before.
template <class T>
class FixedArray {
 public:
  FixedArray() = default;
  explicit FixedArray(std::size_t size) : values_(std::make_unique_for_overwrite<T[]>(size)), size_(size) {}
  T* data() const { return values_.get(); }
  std::size_t size() const { return size_; }
  T& operator[](std::size_t i) const { return values_[i]; }
  std::span<const T> span() const { return {values_.get(), size_}; }

 private:
  std::unique_ptr<T[]> values_;
  std::size_t size_ = 0;
};

// The minimizers of a part, by partition.
struct PartMinimizers {
  FixedArray<Keyed> keyed;
  std::vector<std::uint32_t> partition_begin;
};

// What a partition gives: its distinct keys with their values, and the positions of those that have several. Values count positions from the
// partition's first.
struct Partition {
  FixedArray<Keyed> entries;
  FixedArray<std::uint64_t> positions;
  std::map<std::uint32_t, std::uint64_t> occurrences;
  std::uint64_t slots_begin = 0, positions_begin = 0;
};

// Stable, by key. The keys agree in their highest `known_bits` bits.
inline void sort_by_key(std::vector<Keyed>& keyed, std::vector<Keyed>& sorted, std::vector<std::uint32_t>& begins, int known_bits) {
  const std::size_t count = keyed.size();
  const int bits = std::min(64 - known_bits, static_cast<int>(std::bit_width(count)));
  if (bits == 0) return sorted.swap(keyed);
  const auto bucket = [&](const Keyed& k) { return static_cast<std::size_t>(k.key << known_bits >> (64 - bits)); };
  begins.assign((std::size_t{1} << bits) + 1, 0);
  for (const Keyed& k : keyed) ++begins[bucket(k) + 1];
  std::partial_sum(begins.begin(), begins.end(), begins.begin());
  sorted.resize(count);
  for (const Keyed& k : keyed) sorted[begins[bucket(k)]++] = k;
  // begins[b] is now the end of bucket b.
  const auto by_key = [](const Keyed& a, const Keyed& b) { return a.key < b.key; };
  constexpr std::size_t largest_insertion = 24;
  std::size_t begin = 0;
  for (std::size_t b = 0; b + 1 < begins.size(); ++b) {
    const std::size_t end = begins[b];
    if (end - begin > largest_insertion) {
      std::stable_sort(sorted.begin() + static_cast<std::ptrdiff_t>(begin), sorted.begin() + static_cast<std::ptrdiff_t>(end), by_key);
    } else {
      for (std::size_t i = begin + 1; i < end; ++i) {
        const Keyed lifted = sorted[i];
        std::size_t at = i;
        for (; at > begin && lifted.key < sorted[at - 1].key; --at) sorted[at] = sorted[at - 1];
        sorted[at] = lifted;
      }
    }
    begin = end;
  }
}

// Of a minimizer of more positions than `most` those on the contigs with the smallest hashes stay, in their order: of all minimizers of a place the
// same contigs, as far as they have them.
inline void keep_positions(std::vector<Keyed>& sorted, std::size_t most) {
  const auto before = [](const Keyed& a, const Keyed& b) {
    const std::uint64_t of_a = minimizer_key(a.position >> 32), of_b = minimizer_key(b.position >> 32);
    return of_a != of_b ? of_a < of_b : a.position < b.position;
  };
  auto kept = sorted.begin();
  for (auto begin = sorted.begin(), end = begin; begin != sorted.end(); begin = end) {
    for (end = begin + 1; end != sorted.end() && end->key == begin->key;) ++end;
    auto last = end;
    if (static_cast<std::size_t>(end - begin) > most) {
      last = begin + static_cast<std::ptrdiff_t>(most);
      std::nth_element(begin, last, end, before);
      std::sort(begin, last, [](const Keyed& a, const Keyed& b) { return a.position < b.position; });
    }
    kept = std::move(begin, last, kept);
  }
  sorted.erase(kept, sorted.end());
}

inline void make_entries(const std::vector<Keyed>& sorted, Partition& out) {
  std::size_t distinct = 0, repeated = 0, singles = 0;
  for (std::size_t begin = 0, end = 0; begin < sorted.size(); begin = end) {
    for (end = begin + 1; end < sorted.size() && sorted[end].key == sorted[begin].key;) ++end;
    ++distinct;
    if (end - begin == 1)
      ++singles;
    else
      repeated += end - begin;
  }
  out.entries = FixedArray<Keyed>(distinct);
  out.positions = FixedArray<std::uint64_t>(repeated);
  if (singles > 0) out.occurrences[1] = singles;
  std::size_t entry = 0, position = 0;
  for (std::size_t begin = 0, end = 0; begin < sorted.size(); begin = end) {
    for (end = begin + 1; end < sorted.size() && sorted[end].key == sorted[begin].key;) ++end;
    if (end - begin == 1) {
      out.entries[entry++] = sorted[begin];
      continue;
    }
    const auto count = static_cast<std::uint32_t>(std::min<std::size_t>(end - begin, max_minimizer_occurrences));
    ++out.occurrences[count];
    out.entries[entry++] = {sorted[begin].key, many_positions | position << 27 | count};
    for (std::size_t i = begin; i < end; ++i) out.positions[position++] = sorted[i].position;
  }
}

// Where the slots of a partition end that may begin at `begin`: every entry lies in its home line or behind.
inline std::uint64_t slots_end(const Partition& partition, std::uint64_t begin, std::uint64_t home_lines) {
  std::uint64_t next = begin;
  for (const Keyed& entry : partition.entries.span()) next = std::max(next, home_slot(entry.key, home_lines)) + 1;
  return next;
}

inline void put_entries(const Partition& partition, std::uint64_t home_lines, std::uint64_t* slots) {
  std::uint64_t next = partition.slots_begin;
  for (const Keyed& entry : partition.entries.span()) {
    for (const std::uint64_t home = home_slot(entry.key, home_lines); next < home; ++next) slots[2 * next] = slots[2 * next + 1] = empty_slot;
    slots[2 * next] = entry.key;
    slots[2 * next + 1] = (entry.position & many_positions) != 0 ? entry.position + (partition.positions_begin << 27) : entry.position;
    ++next;
  }
}

// The minimizers by ranges of their keys, so many partitions at a time that they fit the memory.
class KeyPartitions {
 public:
  // `bytes_each`: memory that a minimizer takes while its group is made.
  KeyPartitions(const MinimizerParts& parts, const ForEach& for_each, std::size_t bytes_each, std::size_t memory)
      : parts_(parts), for_each_(for_each) {
    const double partitions = std::max(1.0, parts.expected / minimizers_per_partition);
    bits_ = std::min(20, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(partitions)) - 1));
    partitions_ = std::size_t{1} << bits_;
    const double bytes = parts.expected * static_cast<double>(bytes_each);
    groups_ = std::min(partitions_, static_cast<std::size_t>(std::ceil(bytes / static_cast<double>(memory))));
    groups_ = std::max<std::size_t>(groups_, 1);
  }
  std::size_t partitions() const { return partitions_; }
  std::size_t groups() const { return groups_; }
  std::size_t begin_of(std::size_t group) const { return partitions_ * group / groups_; }

  // take(p, sorted): partition begin_of(group) + p with its minimizers by key, those of one key by position; on several threads.
  template <class Take>  // take may change `sorted`
  void make_group(std::size_t group, Take&& take) {
    const std::size_t begin = begin_of(group), end = begin_of(group + 1);
    std::vector<PartMinimizers> made(parts_.count);
    for_each_(parts_.count, [&](std::size_t part) { made[part] = make_part(part, begin, end); });
    for_each_(end - begin, [&](std::size_t p) {
      const auto scratch = sort_scratch_.take();
      std::vector<Keyed>& keyed = scratch->keyed;
      keyed.clear();
      for (const PartMinimizers& part : made)
        keyed.insert(keyed.end(), part.keyed.data() + part.partition_begin[p], part.keyed.data() + part.partition_begin[p + 1]);
      sort_by_key(keyed, scratch->sorted, scratch->begins, bits_);
      take(p, scratch->sorted);
    });
  }

 private:
  std::size_t partition_of(std::uint64_t key) const { return bits_ == 0 ? 0 : static_cast<std::size_t>(key >> (64 - bits_)); }

  PartMinimizers make_part(std::size_t part, std::size_t begin, std::size_t end) {
    const auto scratch = part_scratch_.take();
    std::vector<PlacedMinimizer>& minimizers = *scratch;
    minimizers.clear();
    parts_.make(part, minimizers);
    PartMinimizers made;
    made.partition_begin.assign(end - begin + 1, 0);
    for (PlacedMinimizer& minimizer : minimizers) {
      minimizer.hash = minimizer_key(minimizer.hash);
      const std::size_t p = partition_of(minimizer.hash);
      if (p >= begin && p < end) ++made.partition_begin[p - begin + 1];
    }
    std::partial_sum(made.partition_begin.begin(), made.partition_begin.end(), made.partition_begin.begin());
    made.keyed = FixedArray<Keyed>(made.partition_begin.back());
    std::vector<std::uint32_t> next(made.partition_begin.begin(), made.partition_begin.end() - 1);
    for (const PlacedMinimizer& minimizer : minimizers) {
      const std::size_t p = partition_of(minimizer.hash);
      if (p >= begin && p < end) made.keyed[next[p - begin]++] = {minimizer.hash, minimizer.position};
    }
    return made;
  }

  struct SortScratch {
    std::vector<Keyed> keyed, sorted;
    std::vector<std::uint32_t> begins;
  };
  const MinimizerParts& parts_;
  const ForEach& for_each_;
  int bits_ = 0;
  std::size_t partitions_ = 1, groups_ = 1;
  Workspaces<std::vector<PlacedMinimizer>> part_scratch_;
  Workspaces<SortScratch> sort_scratch_;
};

class TableBuilder {
 public:
  // Each minimizer twice: as one of a part and as an entry.
  TableBuilder(const MinimizerParts& parts, const ForEach& for_each, std::size_t memory, std::size_t most_positions)
      : for_each_(for_each), most_positions_(most_positions), keys_(parts, for_each, 2 * sizeof(Keyed), memory) {}

  MinimizerTable build() {
    for (std::size_t group = 0; group < keys_.groups(); ++group) add_group(group);
    // A search that begins at the last line ends at an empty slot, too.
    const std::uint64_t filled = next_slot_;
    const std::uint64_t end = std::max(filled, table_.home_lines * slots_per_line) / slots_per_line * slots_per_line + slots_per_line;
    table_.slots.resize(2 * end);
    std::fill(table_.slots.data() + 2 * filled, table_.slots.data() + 2 * end, empty_slot);
    for (const auto& [count, minimizers] : occurrences_) {
      table_.occurrence_count.push_back(count);
      table_.occurrence_minimizers.push_back(minimizers);
    }
    return std::move(table_);
  }

 private:
  void add_group(std::size_t group) {
    const std::size_t begin = keys_.begin_of(group), end = keys_.begin_of(group + 1);
    std::vector<Partition> partitions(end - begin);
    keys_.make_group(group, [&](std::size_t p, std::vector<Keyed>& sorted) {
      if (most_positions_ > 0) keep_positions(sorted, most_positions_);
      make_entries(sorted, partitions[p]);
    });

    std::uint64_t distinct = 0;
    for (const Partition& partition : partitions) distinct += partition.entries.size();
    if (begin == 0) {
      // Keys are spread evenly, so that the first group tells of the others.
      const double all = static_cast<double>(distinct) * static_cast<double>(keys_.partitions()) / static_cast<double>(end);
      table_.home_lines = static_cast<std::uint64_t>(std::clamp(std::ceil(all / used_slots_per_line), 1.0, 4294967295.0));
    }
    std::uint64_t positions = table_.positions.size();
    for (Partition& partition : partitions) {
      partition.positions_begin = positions;
      positions += partition.positions.size();
    }
    // Each partition's slots begin where those before end, and how far a partition reaches depends on its begin only if it is pushed on.
    std::vector<std::uint64_t> ends(partitions.size());
    for_each_(partitions.size(), [&](std::size_t p) { ends[p] = slots_end(partitions[p], 0, table_.home_lines); });
    for (std::size_t p = 0; p < partitions.size(); ++p) {
      partitions[p].slots_begin = next_slot_;
      if (partitions[p].entries.size() > 0) next_slot_ = std::max(next_slot_ + partitions[p].entries.size(), ends[p]);
    }
    table_.slots.resize(2 * next_slot_);
    table_.positions.resize(positions);
    for_each_(partitions.size(), [&](std::size_t p) {
      put_entries(partitions[p], table_.home_lines, table_.slots.data());
      std::copy_n(partitions[p].positions.data(), partitions[p].positions.size(), table_.positions.data() + partitions[p].positions_begin);
    });
    for (const Partition& partition : partitions)
      for (const auto& [count, minimizers] : partition.occurrences) occurrences_[count] += minimizers;
  }

  const ForEach& for_each_;
  std::size_t most_positions_;
  KeyPartitions keys_;
  std::uint64_t next_slot_ = 0;
  std::map<std::uint32_t, std::uint64_t> occurrences_;
  MinimizerTable table_;
};

}  // namespace detail

// The table does not depend on the number of threads. most_positions: see keep_positions; 0: all stay.
inline MinimizerTable build_table(const MinimizerParts& parts, const ForEach& for_each, std::size_t memory = build_bytes,
                                  std::size_t most_positions = 0) {
  return detail::TableBuilder(parts, for_each, memory, most_positions).build();
}

}  // namespace sluice::minimizer_table
