// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A view of a minimizer index: where the minimizers of reference sequences lie, and the sequences' names, lengths and bases. The arrays belong to a
// resource batch (row type "minimizer_index", one row, everything in list columns) and outlive the view. The functions that take bare arrays work in
// device code too.
//
// Columns, all lists of the single row:
//   contig_length         i32  bases of each contig; contigs in file order
//   contig_name_begin     i64  contigs + 1 places in contig_name
//   contig_name           u8   the names, one after the other
//   contig_base_begin     i64  contigs + 1 places of the contigs' first bases among the packed bases; multiples of 32
//   packed_bases          u64  32 bases a word, the first in the lowest two bits, A0 C1 G2 T3; an ambiguous base is 0. Empty: the index has no bases
//   ambiguous_begin       i64  first place of each run of ambiguous bases, in the coordinates of contig_base_begin, ascending
//   ambiguous_end         i64  place behind each run's last base
//   slot                  u64  the table: pairs of key and value, see find_minimizer
//   position              u64  positions of minimizers that occur more than once, ascending within each minimizer
//   occurrence_count      u32  the different numbers of occurrences, ascending (saturated at max_minimizer_occurrences)
//   occurrence_minimizers u64  how many distinct minimizers have that number
//   part_begin            i64  contigs where the parts of the index begin, and the end of the last; without it there is one part
//   frequent_hash         u64  of an index in several parts: the minimizers that occur more than frequent_above times; their order says nothing
//   frequent_count        u32  how often each does
// Attributes: path; k; w; homopolymer_compressed (0, 1); home_lines (of the table).
//
// An index in several parts has contigs, bases and the numbers of occurrences, which are those of all parts, but an empty table: whoever looks
// minimizers up makes the table of one part after the other (sluice/minimizer_table).
//
// A position is contig << 32 | place of the k-mer's last base << 1 | strand (1: the reverse complement is the canonical k-mer).

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <sluice/batch.hpp>
#include <sluice/failure.hpp>
#include <sluice/host_device.hpp>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

namespace sluice {

// An invertible hash of a k-mer of 2 bits a base: Thomas Wang's 64-bit mix with every sum cut to the k-mer's bits, as minimap2 2.24 orders
// minimizers. mask = 4^k - 1, or all ones for a hash of 64 bits.
SLUICE_HOST_DEVICE constexpr std::uint64_t minimizer_hash(std::uint64_t kmer, std::uint64_t mask) {
  std::uint64_t v = (~kmer + (kmer << 21)) & mask;
  v ^= v >> 24;
  v = (v + (v << 3) + (v << 8)) & mask;
  v ^= v >> 14;
  v = (v + (v << 2) + (v << 4)) & mask;
  v ^= v >> 28;
  return (v + (v << 31)) & mask;
}

// Longest list that a slot can say; longer ones are cut to it, which nobody sees because a minimizer that frequent is never a seed.
inline constexpr std::uint32_t max_minimizer_occurrences = (1U << 27) - 1;
// Slots of one home line: 64 bytes, so that most look-ups touch one cache line.
inline constexpr std::uint64_t slots_per_line = 4;
inline constexpr std::uint64_t empty_slot = ~std::uint64_t{0};

// Key of a hash in the table: a product with an odd number, so that distinct hashes have distinct keys. No hash of up to 56 bits gives empty_slot.
SLUICE_HOST_DEVICE constexpr std::uint64_t minimizer_key(std::uint64_t hash) { return hash * 0x9E3779B97F4A7C15ULL; }

// The hash that gives a key.
constexpr std::uint64_t minimizer_hash_of_key(std::uint64_t key) { return key * 0xF1DE83E19937733DULL; }
static_assert(minimizer_hash_of_key(minimizer_key(0x123456789ABCDEULL)) == 0x123456789ABCDEULL);

// Of an index in several parts the minimizers are named that occur more often than this: minimap2's least limit.
inline constexpr std::uint32_t frequent_above = 10;

// First slot of the line where the search for a key begins. home_lines < 2^32.
SLUICE_HOST_DEVICE constexpr std::uint64_t home_slot(std::uint64_t key, std::uint64_t home_lines) {
  return ((key >> 32) * home_lines >> 32) * slots_per_line;
}

// A slot's value: a single position (top bit 0), or 1 << 63 | first place in `position` << 27 | number of positions.
inline constexpr std::uint64_t many_positions = std::uint64_t{1} << 63;

struct MinimizerOccurrences {
  const std::uint64_t* positions = nullptr;
  std::uint32_t count = 0;  // 0: the reference does not have this minimizer
};

// Looks a minimizer's hash (its x >> 8) up. Keys ascend along the table, each at its home line or as near behind it as there was room; the table
// has whole lines and ends with an empty slot, whose key is greater than any other.
SLUICE_HOST_DEVICE constexpr MinimizerOccurrences find_minimizer(const std::uint64_t* slots, const std::uint64_t* positions, std::uint64_t home_lines,
                                                                 std::uint64_t hash) {
  const std::uint64_t key = minimizer_key(hash);
  const std::uint64_t* slot = slots + 2 * home_slot(key, home_lines);
  while (slot[0] < key) slot += 2;
  if (slot[0] != key) return {};
  const std::uint64_t value = slot[1];
  if ((value & many_positions) == 0) return {slot + 1, 1};
  return {positions + ((value & ~many_positions) >> 27), static_cast<std::uint32_t>(value & max_minimizer_occurrences)};
}

struct MinimizerIndexView {
  std::uint32_t k = 0;
  std::uint32_t w = 0;
  bool homopolymer_compressed = false;
  std::span<const std::int32_t> contig_length;
  std::span<const std::int64_t> contig_name_begin;
  std::span<const std::uint8_t> contig_name_bytes;
  std::span<const std::int64_t> contig_base_begin;
  std::span<const std::uint64_t> packed_bases;
  std::span<const std::int64_t> ambiguous_begin;
  std::span<const std::int64_t> ambiguous_end;
  std::span<const std::uint64_t> slots;
  std::span<const std::uint64_t> positions;
  std::span<const std::uint32_t> occurrence_count;
  std::span<const std::uint64_t> occurrence_minimizers;
  std::span<const std::int64_t> part_begin;
  std::span<const std::uint64_t> frequent_hash;
  std::span<const std::uint32_t> frequent_count;
  std::uint64_t home_lines = 0;

  std::size_t parts() const { return part_begin.size() < 2 ? 1 : part_begin.size() - 1; }
  std::size_t contigs() const { return contig_length.size(); }
  std::string_view contig_name(std::size_t contig) const {
    const auto begin = static_cast<std::size_t>(contig_name_begin[contig]);
    return {reinterpret_cast<const char*>(contig_name_bytes.data()) + begin, static_cast<std::size_t>(contig_name_begin[contig + 1]) - begin};
  }
  MinimizerOccurrences find(std::uint64_t hash) const { return find_minimizer(slots.data(), positions.data(), home_lines, hash); }
  // Code of a base, 0 to 3; ambiguous ones give 0. Only for an index with bases.
  std::uint32_t base(std::size_t contig, std::uint32_t place) const {
    const std::uint64_t at = static_cast<std::uint64_t>(contig_base_begin[contig]) + place;
    return static_cast<std::uint32_t>(packed_bases[at / 32] >> 2 * (at % 32) & 3U);
  }
};

// The number of occurrences that all but a share `fraction` of the distinct minimizers stay below or at, plus one; at least `at_least`, and at most
// `at_most` where that is above `at_least` (minimap2's -f and -U). INT32_MAX when fraction <= 0.
inline std::int32_t occurrence_threshold(const MinimizerIndexView& index, float fraction, std::int32_t at_least, std::int32_t at_most) {
  std::int32_t threshold = std::numeric_limits<std::int32_t>::max();
  std::uint64_t distinct = 0;
  for (const std::uint64_t minimizers : index.occurrence_minimizers) distinct += minimizers;
  if (fraction > 0 && distinct > 0) {
    auto rank = static_cast<std::uint64_t>((1.0 - static_cast<double>(fraction)) * static_cast<double>(distinct));
    std::size_t i = 0;
    while (i + 1 < index.occurrence_count.size() && rank >= index.occurrence_minimizers[i]) rank -= index.occurrence_minimizers[i++];
    threshold = static_cast<std::int32_t>(index.occurrence_count[i]) + 1;
  }
  if (threshold < at_least) threshold = at_least;
  if (at_most > at_least && threshold > at_most) threshold = at_most;
  return threshold;
}

namespace detail {
inline std::uint64_t index_attribute(const Batch& index, std::string_view name, std::uint64_t at_least, std::uint64_t at_most) {
  const std::string_view text = index.attribute(name);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < at_least || number > at_most)
    throw Failure::input("the minimizer index has no usable attribute " + std::string(name) + ": '" + std::string(text) + "'",
                         "use a minimizer_index resource");
  return number;
}
}  // namespace detail

// The view of a resource batch of row type "minimizer_index". Throws Failure when its columns or attributes do not fit together.
inline MinimizerIndexView minimizer_index_view(const Batch& index) {
  if (index.rows() != 1)
    throw Failure::input("the minimizer index has " + std::to_string(index.rows()) + " rows instead of 1", "use a minimizer_index resource");
  MinimizerIndexView view;
  view.k = static_cast<std::uint32_t>(detail::index_attribute(index, "k", 1, 28));
  view.w = static_cast<std::uint32_t>(detail::index_attribute(index, "w", 1, 255));
  view.homopolymer_compressed = detail::index_attribute(index, "homopolymer_compressed", 0, 1) == 1;
  view.home_lines = detail::index_attribute(index, "home_lines", 1, std::numeric_limits<std::uint32_t>::max());
  view.contig_length = index.list<std::int32_t>("contig_length")[0];
  view.contig_name_begin = index.list<std::int64_t>("contig_name_begin")[0];
  view.contig_name_bytes = index.list<std::uint8_t>("contig_name")[0];
  view.contig_base_begin = index.list<std::int64_t>("contig_base_begin")[0];
  view.packed_bases = index.list<std::uint64_t>("packed_bases")[0];
  view.ambiguous_begin = index.list<std::int64_t>("ambiguous_begin")[0];
  view.ambiguous_end = index.list<std::int64_t>("ambiguous_end")[0];
  view.slots = index.list<std::uint64_t>("slot")[0];
  view.positions = index.list<std::uint64_t>("position")[0];
  view.occurrence_count = index.list<std::uint32_t>("occurrence_count")[0];
  view.occurrence_minimizers = index.list<std::uint64_t>("occurrence_minimizers")[0];
  if (index.has("part_begin")) view.part_begin = index.list<std::int64_t>("part_begin")[0];
  if (index.has("frequent_hash")) view.frequent_hash = index.list<std::uint64_t>("frequent_hash")[0];
  if (index.has("frequent_count")) view.frequent_count = index.list<std::uint32_t>("frequent_count")[0];
  const std::size_t contigs = view.contig_length.size();
  const bool parts_fit =
      view.part_begin.size() < 2 || (view.part_begin.front() == 0 && view.part_begin.back() == static_cast<std::int64_t>(contigs) &&
                                     std::is_sorted(view.part_begin.begin(), view.part_begin.end()));
  const std::size_t slot_words = view.slots.size();
  const bool fits = view.contig_name_begin.size() == contigs + 1 && view.contig_base_begin.size() == contigs + 1 &&
                    view.ambiguous_begin.size() == view.ambiguous_end.size() && view.occurrence_count.size() == view.occurrence_minimizers.size() &&
                    slot_words % (2 * slots_per_line) == 0 && slot_words / 2 > view.home_lines * slots_per_line &&
                    view.slots[slot_words - 2] == empty_slot && parts_fit && view.frequent_hash.size() == view.frequent_count.size();
  if (!fits) throw Failure::input("the columns of the minimizer index do not fit together", "use a minimizer_index resource");
  return view;
}

}  // namespace sluice
