// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "minimizer_index/index_builder.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <sluice/call.hpp>
#include <utility>

namespace sluice::minimizer_index {
namespace {

constexpr std::size_t staged_bases = 1 << 16;
constexpr std::int64_t bases_per_part = 1 << 18;    // their minimizers fit a core's second cache
constexpr double minimizers_per_partition = 32768;  // likewise, with their sorted copy
constexpr double used_slots_per_line = 2.6;         // of 4: one search in twenty goes to a second line

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
void sort_by_key(std::vector<Keyed>& keyed, std::vector<Keyed>& sorted, std::vector<std::uint32_t>& begins, int known_bits) {
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

void make_entries(const std::vector<Keyed>& sorted, Partition& out) {
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
std::uint64_t slots_end(const Partition& partition, std::uint64_t begin, std::uint64_t home_lines) {
  std::uint64_t next = begin;
  for (const Keyed& entry : partition.entries.span()) next = std::max(next, home_slot(entry.key, home_lines)) + 1;
  return next;
}

void put_entries(const Partition& partition, std::uint64_t home_lines, std::uint64_t* slots) {
  std::uint64_t next = partition.slots_begin;
  for (const Keyed& entry : partition.entries.span()) {
    for (const std::uint64_t home = home_slot(entry.key, home_lines); next < home; ++next) slots[2 * next] = slots[2 * next + 1] = empty_slot;
    slots[2 * next] = entry.key;
    slots[2 * next + 1] = (entry.position & many_positions) != 0 ? entry.position + (partition.positions_begin << 27) : entry.position;
    ++next;
  }
}

class TableBuilder {
 public:
  TableBuilder(const MinimizerParts& parts, const ForEach& for_each, std::size_t memory) : parts_(parts), for_each_(for_each) {
    const double partitions = std::max(1.0, parts.expected / minimizers_per_partition);
    partition_bits_ = std::min(20, static_cast<int>(std::bit_width(static_cast<std::uint64_t>(partitions)) - 1));
    partitions_ = std::size_t{1} << partition_bits_;
    // Twice: as parts and as entries.
    const double bytes = parts.expected * 2 * sizeof(Keyed);
    groups_ = std::min(partitions_, static_cast<std::size_t>(std::ceil(bytes / static_cast<double>(memory))) + (bytes == 0 ? 1 : 0));
    groups_ = std::max<std::size_t>(groups_, 1);
  }

  MinimizerTable build() {
    for (std::size_t group = 0; group < groups_; ++group) add_group(partitions_ * group / groups_, partitions_ * (group + 1) / groups_);
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
  void add_group(std::size_t begin, std::size_t end) {
    std::vector<PartMinimizers> made(parts_.count);
    for_each_(parts_.count, [&](std::size_t part) { made[part] = make_part(part, begin, end); });
    std::vector<Partition> partitions(end - begin);
    for_each_(end - begin, [&](std::size_t p) { partitions[p] = make_partition(made, p); });
    made.clear();
    made.shrink_to_fit();

    std::uint64_t distinct = 0;
    for (const Partition& partition : partitions) distinct += partition.entries.size();
    if (begin == 0) {
      // Keys are spread evenly, so that the first group tells of the others.
      const double all = static_cast<double>(distinct) * static_cast<double>(partitions_) / static_cast<double>(end);
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

  std::size_t partition_of(std::uint64_t key) const { return partition_bits_ == 0 ? 0 : static_cast<std::size_t>(key >> (64 - partition_bits_)); }

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

  Partition make_partition(const std::vector<PartMinimizers>& made, std::size_t p) {
    const auto scratch = sort_scratch_.take();
    std::vector<Keyed>& keyed = scratch->keyed;
    keyed.clear();
    for (const PartMinimizers& part : made)
      keyed.insert(keyed.end(), part.keyed.data() + part.partition_begin[p], part.keyed.data() + part.partition_begin[p + 1]);
    sort_by_key(keyed, scratch->sorted, scratch->begins, partition_bits_);
    Partition partition;
    make_entries(scratch->sorted, partition);
    return partition;
  }

  struct SortScratch {
    std::vector<Keyed> keyed, sorted;
    std::vector<std::uint32_t> begins;
  };
  const MinimizerParts& parts_;
  const ForEach& for_each_;
  int partition_bits_ = 0;
  std::size_t partitions_ = 1, groups_ = 1;
  std::uint64_t next_slot_ = 0;
  std::map<std::uint32_t, std::uint64_t> occurrences_;
  MinimizerTable table_;
  Workspaces<std::vector<PlacedMinimizer>> part_scratch_;
  Workspaces<SortScratch> sort_scratch_;
};

struct PartSketch {
  SketchScratch scratch;
  std::vector<Minimizer> minimizers;
};

}  // namespace

void ReferenceBases::begin_contig(std::string_view contig_name) {
  name.insert(name.end(), contig_name.begin(), contig_name.end());
  name_begin.push_back(static_cast<std::int64_t>(name.size()));
  packed_ = 0;
  staged_.clear();
}

void ReferenceBases::add_bases(std::string_view bases, const SketchKernels& kernels) {
  while (!bases.empty()) {
    const std::size_t taken = std::min(bases.size(), staged_bases - staged_.size());
    staged_.insert(staged_.end(), bases.begin(), bases.begin() + static_cast<std::ptrdiff_t>(taken));
    bases.remove_prefix(taken);
    if (staged_.size() == staged_bases) pack_staged(kernels);
  }
}

void ReferenceBases::pack_staged(const SketchKernels& kernels) {
  if (staged_.empty()) return;
  const std::size_t at = words.size();
  words.extend(at + (staged_.size() + 31) / 32);
  if (!kernels.pack(staged_.data(), staged_.size(), words.data() + at)) {
    for (std::size_t i = 0; i < staged_.size(); ++i) {
      if (nucleotide_code(staged_[i]) < 4) continue;
      const std::int64_t place = packed_ + static_cast<std::int64_t>(i);
      if (ambiguous_.size() > first_ambiguous_.back() && ambiguous_.back().end == place)
        ++ambiguous_.back().end;
      else
        ambiguous_.push_back({place, place + 1});
    }
  }
  packed_ += static_cast<std::int64_t>(staged_.size());
  staged_.clear();
}

void ReferenceBases::end_contig(const SketchKernels& kernels) {
  pack_staged(kernels);
  length.push_back(static_cast<std::int32_t>(packed_));
  for (std::size_t i = first_ambiguous_.back(); i < ambiguous_.size(); ++i) {
    ambiguous_begin.push_back(base_begin.back() + ambiguous_[i].begin);
    ambiguous_end.push_back(base_begin.back() + ambiguous_[i].end);
  }
  first_ambiguous_.push_back(ambiguous_.size());
  base_begin.push_back(static_cast<std::int64_t>(words.size()) * 32);
}

void ReferenceBases::add_contig_without_bases(std::string_view contig_name, std::int32_t contig_length) {
  begin_contig(contig_name);
  length.push_back(contig_length);
  first_ambiguous_.push_back(ambiguous_.size());
  base_begin.push_back(base_begin.back());
}

void ReferenceBases::finish() {
  if (words.size() == 0) return;
  const std::size_t end = words.size();
  words.resize(end + 4);
  std::fill(words.data() + end, words.data() + end + 4, 0);
}

MinimizerTable build_table(const MinimizerParts& parts, const ForEach& for_each, std::size_t memory) {
  return TableBuilder(parts, for_each, memory).build();
}

MinimizerParts sketch_parts(const ReferenceBases& reference, const SketchParameters& parameters, const SketchKernels& kernels) {
  // A piece of a contig; a part is consecutive pieces of about bases_per_part.
  struct Piece {
    std::size_t contig;
    std::int64_t begin, end;
  };
  auto pieces = std::make_shared<std::vector<Piece>>();
  auto part_begin = std::make_shared<std::vector<std::size_t>>(1, 0);
  const bool cut = sketches_in_parts(parameters, kernels);
  std::int64_t bases = 0, in_part = 0;
  for (std::size_t i = 0; i < reference.contigs(); ++i) {
    const std::int64_t length = reference.length[i];
    bases += length;
    for (std::int64_t begin = 0; begin < length;) {
      const std::int64_t end = cut ? std::min(length, begin + bases_per_part) : length;
      pieces->push_back({i, begin, end});
      in_part += end - begin;
      if (in_part >= bases_per_part) part_begin->push_back(pieces->size()), in_part = 0;
      begin = end;
    }
  }
  if (part_begin->back() != pieces->size()) part_begin->push_back(pieces->size());
  MinimizerParts parts;
  parts.count = part_begin->size() - 1;
  parts.expected = 2.0 * static_cast<double>(bases) / (parameters.w + 1);
  const auto workspaces = std::make_shared<Workspaces<PartSketch>>();
  parts.make = [&reference, parameters, kernels, pieces, part_begin, workspaces](std::size_t part, std::vector<PlacedMinimizer>& out) {
    const auto workspace = workspaces->take();
    std::vector<Minimizer>& minimizers = workspace->minimizers;
    for (std::size_t i = (*part_begin)[part]; i < (*part_begin)[part + 1]; ++i) {
      const Piece& piece = (*pieces)[i];
      minimizers.clear();
      sketch(reference.contig(piece.contig), parameters, piece.begin, piece.end, kernels, workspace->scratch, minimizers);
      for (const Minimizer& minimizer : minimizers) out.push_back({minimizer.x >> 8, static_cast<std::uint64_t>(piece.contig) << 32 | minimizer.y});
    }
  };
  return parts;
}

MinimizerIndex make_index(const SketchParameters& parameters, ReferenceBases reference, MinimizerTable table) {
  struct Owner {
    ReferenceBases reference;
    MinimizerTable table;
  };
  const auto owner = std::make_shared<Owner>(Owner{std::move(reference), std::move(table)});
  MinimizerIndexView view;
  view.k = parameters.k;
  view.w = parameters.w;
  view.homopolymer_compressed = parameters.homopolymers == HomopolymerCompression::on;
  view.contig_length = owner->reference.length;
  view.contig_name_begin = owner->reference.name_begin;
  view.contig_name_bytes = owner->reference.name;
  view.contig_base_begin = owner->reference.base_begin;
  view.packed_bases = owner->reference.words.span();
  view.ambiguous_begin = owner->reference.ambiguous_begin;
  view.ambiguous_end = owner->reference.ambiguous_end;
  view.slots = owner->table.slots.span();
  view.positions = owner->table.positions.span();
  view.occurrence_count = owner->table.occurrence_count;
  view.occurrence_minimizers = owner->table.occurrence_minimizers;
  view.home_lines = owner->table.home_lines;
  return {view, owner};
}

}  // namespace sluice::minimizer_index
