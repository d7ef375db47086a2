// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "fm_index/index_file.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <vector>

namespace sluice::fm_index {
namespace {

struct Format {
  struct Header {
    char magic[8];
    std::uint32_t version, header_bytes, k, sample_interval;
    std::uint64_t text_length, first_suffix_row, file_bytes, source_bytes;
    std::int64_t source_modified_ns;
    std::uint64_t source_path_bytes;
    index_file::Section sections[column_count];
    std::uint64_t checksum;
  };
  static constexpr std::string_view magic = index_magic, name = "an FM-index of sluice";
  static constexpr std::uint32_t version = 2;  // 1 had checksums of its own
};
static_assert(sizeof(Format::Header) == 8 + 4 * 4 + 6 * 8 + column_count * 24 + 8);

index_file::ForEach one_by_one(const ParallelFor& parallel_for) {
  return [&parallel_for](std::size_t count, const std::function<void(std::size_t)>& body) {
    parallel_for(count, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) body(i);
    });
  };
}

constexpr std::array<std::size_t, column_count> element_bytes = {8, 1, 8, 8, 8, 4, 8, 8, 4, 8, 4, 4};
// The others say how much there is of these, or are small.
bool is_large(std::size_t column) { return column >= static_cast<std::size_t>(Column::packed_text); }

bool ascends(std::span<const std::int64_t> values) { return std::is_sorted(values.begin(), values.end()); }

bool small_columns_fit(const FmIndexView& v) {
  if (v.contig_name_begin.front() != 0 || !ascends(v.contig_name_begin)) return false;
  if (v.contig_name_begin.back() != static_cast<std::int64_t>(v.contig_name_bytes.size())) return false;
  if (v.contig_begin.front() != 0 || !ascends(v.contig_begin)) return false;
  std::int64_t last = -1;
  for (std::size_t i = 0; i < v.ambiguous_begin.size(); ++i) {
    if (v.ambiguous_begin[i] <= last || v.ambiguous_end[i] <= v.ambiguous_begin[i] || v.ambiguous_end[i] > v.contig_begin.back()) return false;
    last = v.ambiguous_begin[i];
  }
  if (v.symbol_row[0] != 1) return false;
  return std::is_sorted(v.symbol_row.begin(), v.symbol_row.end());
}

// Whether all rows, places and ranks exist and counts are those of the bits, so that no search can leave the columns whatever wrote them.
bool large_columns_fit(const FmIndexView& v, const ParallelFor& parallel_for) {
  std::atomic<bool> fits = true;
  const auto check = [&](std::size_t count, const auto& is_fine) {
    parallel_for(count, std::size_t{1} << 18, [&](std::size_t begin, std::size_t end) {
      bool fine = true;
      for (std::size_t i = begin; i < end; ++i) fine &= is_fine(i);
      if (!fine) fits = false;
    });
  };
  const std::uint64_t rows = v.tables.text_length + 1;
  check(v.suffixes.size(), [&](std::size_t i) { return v.suffixes[i] < rows; });
  check(v.kmer_rows.size() - 1, [&](std::size_t i) { return v.kmer_rows[i] < v.kmer_rows[i + 1]; });
  constexpr std::size_t rank_words = FmIndexTables::kmers_per_rank / 64;
  check(v.kmer_ranks.size() - 1, [&](std::size_t i) {
    std::uint64_t set = v.kmer_ranks[i];
    for (std::size_t word = 0; word < rank_words; ++word) set += detail::set_bits(v.kmer_present[i * rank_words + word]);
    return set == v.kmer_ranks[i + 1];
  });
  constexpr std::size_t words = FmIndexTables::words_per_block;
  const auto counts = [&](std::size_t i) {
    const std::uint64_t* block = v.blocks.data() + i * words;
    return std::array<std::uint64_t, 4>{block[0] & 0xFFFFFFFFU, block[0] >> 32, block[1] & 0xFFFFFFFFU, block[1] >> 32};
  };
  check(v.blocks.size() / words - 1, [&](std::size_t i) {
    const std::uint64_t* block = v.blocks.data() + i * words;
    std::array<std::uint64_t, 4> next = counts(i);
    for (std::size_t word = 0; word < 3; ++word) {
      const std::uint64_t low = block[2 + word], high = block[5 + word];
      next[0] += detail::set_bits(~low & ~high), next[1] += detail::set_bits(low & ~high);
      next[2] += detail::set_bits(~low & high), next[3] += detail::set_bits(low & high);
    }
    return next == counts(i + 1);
  });
  if (v.kmer_ranks[0] != 0 || v.kmer_rows.front() < 1 || counts(0) != std::array<std::uint64_t, 4>{} || !fits) return false;
  // The sums of all symbols have to be what symbol_row says.
  for (std::uint32_t symbol = 0; symbol < 4; ++symbol)
    if (v.tables.occurrences_before(symbol, rows) != v.symbol_row[symbol + 1] - v.symbol_row[symbol]) return false;
  return true;
}

}  // namespace

void write_index(const FmIndex& index, const IndexSource& source, const ParallelFor& parallel_for,
                 const std::function<void(std::string_view)>& write) {
  Format::Header header{};
  header.k = index.k;
  header.sample_interval = index.sample_interval;
  header.text_length = index.text_length;
  header.first_suffix_row = index.first_suffix_row;
  std::vector<std::string_view> columns;
  for (const Buffer& column : index.columns) columns.emplace_back(static_cast<const char*>(column.data()), column.bytes());
  index_file::write_index_file<Format>(header, columns, source, one_by_one(parallel_for), write);
}

LoadedIndex map_index(const std::string& path, Verify verify, const ParallelFor& parallel_for) {
  const index_file::IndexFile<Format> file(path, verify, one_by_one(parallel_for));
  const Format::Header& header = file.header();
  LoadedIndex loaded;
  loaded.index.text_length = header.text_length;
  loaded.index.first_suffix_row = header.first_suffix_row;
  loaded.index.k = header.k;
  loaded.index.sample_interval = header.sample_interval;
  for (std::size_t i = 0; i < column_count; ++i) {
    const std::span<const char> bytes = file.section(i, element_bytes[i], !is_large(i));
    loaded.index.columns[i] = Buffer::adopt(file.memory(), bytes.data(), bytes.size());
  }
  FmIndexView view;
  const bool counts_fit = header.k >= 5 && header.k <= 16 && header.sample_interval >= 1 && header.text_length >= 1 &&
                          header.text_length <= max_fm_text && !loaded.index[Column::kmer_rank].as<std::uint32_t>().empty() &&
                          !loaded.index[Column::kmer_row].as<std::uint32_t>().empty() &&
                          !loaded.index[Column::contig_begin].as<std::int64_t>().empty();
  if (!counts_fit || !loaded.index.connect(view) || !small_columns_fit(view) || (file.is_checked_whole() && !large_columns_fit(view, parallel_for)))
    file.refuse("is damaged: its parts do not fit together");
  file.refuse_if_stale();
  loaded.source = file.source();
  return loaded;
}

}  // namespace sluice::fm_index
