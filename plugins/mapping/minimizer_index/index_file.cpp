// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "minimizer_index/index_file.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <sluice/index_file/index_file.hpp>
#include <string>
#include <type_traits>
#include <vector>

namespace sluice::minimizer_index {
namespace {

constexpr std::size_t column_count = 11;
constexpr std::size_t slots_checked_at_once = std::size_t{1} << 18;

struct Format {
  struct Header {
    char magic[8];
    std::uint32_t version, header_bytes;
    std::uint32_t k, w, homopolymer_compressed, source_path_bytes;
    std::uint64_t home_lines, file_bytes, source_bytes;
    std::int64_t source_modified_ns;
    index_file::Section sections[column_count];
    std::uint64_t checksum;
  };
  static constexpr std::string_view magic = index_magic, name = "an index of sluice";
  static constexpr std::uint32_t version = 2;  // 1 had checksums of its own
};
static_assert(sizeof(Format::Header) == 8 + 6 * 4 + 4 * 8 + column_count * 24 + 8);

template <class View, class Body>
void for_each_column(View& view, Body&& body) {
  body(view.contig_length);
  body(view.contig_name_begin);
  body(view.contig_name_bytes);
  body(view.contig_base_begin);
  body(view.packed_bases);
  body(view.ambiguous_begin);
  body(view.ambiguous_end);
  body(view.slots);
  body(view.positions);
  body(view.occurrence_count);
  body(view.occurrence_minimizers);
}
// Columns that say how much there is of others: checked even in the largest files.
constexpr std::array<bool, column_count> small_column = {true, true, true, true, false, true, true, false, false, true, true};

bool ascends(std::span<const std::int64_t> values) { return std::is_sorted(values.begin(), values.end()); }

// Whether places and contigs that the index names exist, so that nobody who uses it reads outside of it.
bool contigs_fit(const MinimizerIndexView& v) {
  const std::size_t contigs = v.contig_length.size();
  if (contigs == 0 || v.contig_name_begin.size() != contigs + 1 || v.contig_base_begin.size() != contigs + 1) return false;
  if (v.contig_name_begin.front() != 0 || !ascends(v.contig_name_begin) ||
      v.contig_name_begin.back() != static_cast<std::int64_t>(v.contig_name_bytes.size()))
    return false;
  if (v.contig_base_begin.front() != 0 || !ascends(v.contig_base_begin)) return false;
  if (v.ambiguous_begin.size() != v.ambiguous_end.size() || v.occurrence_count.size() != v.occurrence_minimizers.size()) return false;
  const bool has_bases = !v.packed_bases.empty();
  for (std::size_t i = 0; i < contigs; ++i) {
    if (v.contig_length[i] < 0) return false;
    if (has_bases && (v.contig_base_begin[i] % 32 != 0 || v.contig_base_begin[i + 1] - v.contig_base_begin[i] < v.contig_length[i])) return false;
  }
  const std::int64_t end = v.contig_base_begin.back();
  if (has_bases && static_cast<std::uint64_t>(end) / 32 + 4 != v.packed_bases.size()) return false;
  std::int64_t last = -1;
  for (std::size_t i = 0; i < v.ambiguous_begin.size(); ++i) {
    if (v.ambiguous_begin[i] <= last || v.ambiguous_end[i] <= v.ambiguous_begin[i] || v.ambiguous_end[i] > end) return false;
    last = v.ambiguous_begin[i];
  }
  for (const std::uint32_t count : v.occurrence_count)
    if (count == 0 || count > max_minimizer_occurrences) return false;
  std::uint64_t minimizers_left = v.slots.size() / 2;
  for (const std::uint64_t minimizers : v.occurrence_minimizers) {
    if (minimizers > minimizers_left) return false;
    minimizers_left -= minimizers;
  }
  return std::is_sorted(v.occurrence_count.begin(), v.occurrence_count.end());
}

bool table_fits(const MinimizerIndexView& v, const ForEach& for_each) {
  const std::size_t slots = v.slots.size() / 2;
  const auto position_fits = [&](std::uint64_t position) {
    const std::uint64_t contig = position >> 32;
    return contig < v.contigs() && (position & 0xFFFFFFFFU) >> 1 < static_cast<std::uint64_t>(v.contig_length[contig]);
  };
  std::atomic<bool> fits{true};
  for_each((slots + slots_checked_at_once - 1) / slots_checked_at_once, [&](std::size_t block) {
    bool fine = true;
    for (std::size_t i = block * slots_checked_at_once; i < std::min(slots, (block + 1) * slots_checked_at_once); ++i) {
      if (v.slots[2 * i] == empty_slot) continue;
      const std::uint64_t value = v.slots[2 * i + 1];
      if ((value & many_positions) == 0) {
        fine = fine && position_fits(value);
      } else {
        const std::uint64_t begin = (value & ~many_positions) >> 27, count = value & max_minimizer_occurrences;
        fine = fine && count > 0 && begin + count <= v.positions.size();
      }
    }
    if (!fine) fits = false;
  });
  for_each((v.positions.size() + slots_checked_at_once - 1) / slots_checked_at_once, [&](std::size_t block) {
    bool fine = true;
    for (std::size_t i = block * slots_checked_at_once; i < std::min(v.positions.size(), (block + 1) * slots_checked_at_once); ++i)
      fine = fine && position_fits(v.positions[i]);
    if (!fine) fits = false;
  });
  return fits;
}

}  // namespace

void write_index(const MinimizerIndexView& index, const IndexSource& source, const ForEach& for_each, const WriteBytes& write) {
  Format::Header header{};
  header.k = index.k;
  header.w = index.w;
  header.homopolymer_compressed = index.homopolymer_compressed ? 1 : 0;
  header.home_lines = index.home_lines;
  std::vector<std::string_view> columns;
  for_each_column(index, [&](const auto& column) { columns.emplace_back(reinterpret_cast<const char*>(column.data()), column.size_bytes()); });
  index_file::write_index_file<Format>(header, columns, source, for_each, write);
}

LoadedIndex map_index(const std::string& path, Verify verify, const ForEach& for_each) {
  const index_file::IndexFile<Format> file(path, verify, for_each);
  LoadedIndex loaded;
  MinimizerIndexView& view = loaded.index.view;
  view.k = file.header().k;
  view.w = file.header().w;
  view.homopolymer_compressed = file.header().homopolymer_compressed == 1;
  view.home_lines = file.header().home_lines;
  if (view.k < 1 || view.k > 28 || view.w < 1 || view.w > 255 || file.header().homopolymer_compressed > 1)
    file.refuse("is damaged: its parameters are impossible");
  std::size_t number = 0;
  for_each_column(view, [&](auto& column) {
    using Span = std::remove_reference_t<decltype(column)>;
    constexpr std::size_t size = sizeof(typename Span::element_type);
    const std::span<const char> bytes = file.section(number, size, small_column[number]);
    column = Span(reinterpret_cast<typename Span::pointer>(bytes.data()), bytes.size() / size);
    ++number;
  });
  const std::size_t words = view.slots.size();
  const bool table_ends = words % (2 * slots_per_line) == 0 && view.home_lines >= 1 && view.home_lines <= 0xFFFFFFFFU &&
                          words / 2 > view.home_lines * slots_per_line && view.slots[words - 2] == empty_slot;
  if (!table_ends || !contigs_fit(view) || (file.is_checked_whole() && !table_fits(view, for_each)))
    file.refuse("is damaged: its parts do not fit together");
  file.refuse_if_stale();
  loaded.source = file.source();
  loaded.index.owner = file.memory();
  return loaded;
}

}  // namespace sluice::minimizer_index
