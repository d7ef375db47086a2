// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A view of an FM-index: the suffixes of a text of reference bases in alphabetical order, by which every occurrence of a word is found in time
// that does not depend on the text's length (Ferragina & Manzini 2000). The arrays belong to a resource batch (row type "fm_index", one row,
// everything in list columns) and outlive the view. FmIndexTables has nothing but pointers and works in device code too.
//
// The text is all contigs one after the other, without separators; with both_strands = 1 its reverse complement follows, as in bwa's index. An
// ambiguous base is replaced by a pseudo-random one, the same as bwa's. Bases are A0 C1 G2 T3. There are text_length + 1 rows: row 0 is the empty
// suffix, row r the r-th suffix in alphabetical order; a suffix comes before those that continue it.
//
// Columns, all lists of the single row:
//   contig_name_begin  i64  contigs + 1 places in contig_name
//   contig_name        u8   the names, one after the other
//   contig_begin       i64  contigs + 1 places of the contigs' first bases in the text; the last is the number of bases, `bases`
//   ambiguous_begin    i64  first place of each run of bases that were ambiguous, ascending
//   ambiguous_end      i64  place behind each run's last base
//   packed_text        u64  one word of zeros, then 32 bases a word, the first in the highest two bits, then two words of zeros
//   block              u64  8 words = 64 bytes for each 192 rows: occurrences of A, C, G, T in the rows before as four u32 (two words, low half
//   first),
//                           then the low and the high bits of the base that precedes each row's suffix, 3 words each, the first row in the lowest bit
//   suffix             u32  where the suffixes of the rows 0, sample_interval, 2 sample_interval ... begin
//   kmer_present       u64  4^k bits, one for each k-mer in alphabetical order (first base in the highest bits; the first k-mer in the lowest bit):
//   it occurs.
//                           A suffix shorter than k counts as if A's followed
//   kmer_rank          u32  per 512 of these bits, and at their end: how many are set before
//   kmer_row           u32  first row of each k-mer that is present, in order; then the number of rows
//   symbol_row         u32  first row whose suffix begins with A, C, G, T; then the number of rows
// Attributes: path; text_length; both_strands (0, 1); k; sample_interval; first_suffix_row (the row of the suffix that is the whole text).

#include <charconv>
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

// Rows [begin, end): the suffixes that begin with some word, so end - begin is the number of its occurrences.
struct FmRows {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  SLUICE_HOST_DEVICE constexpr std::uint64_t count() const { return end - begin; }
};

namespace detail {
// Inlined always, so that it becomes one instruction in kernels that are compiled for a machine that has it.
#ifdef __CUDACC__
#define SLUICE_FM_INLINE __host__ __device__ __forceinline__
#else
#define SLUICE_FM_INLINE inline __attribute__((always_inline))
#endif
SLUICE_FM_INLINE std::uint32_t set_bits(std::uint64_t word) {
#ifdef __CUDA_ARCH__
  return static_cast<std::uint32_t>(__popcll(word));
#else
  return static_cast<std::uint32_t>(__builtin_popcountll(word));
#endif
}
}  // namespace detail

struct FmIndexTables {
  static constexpr std::uint64_t rows_per_block = 192;
  static constexpr std::uint64_t words_per_block = 8;
  static constexpr std::uint64_t kmers_per_rank = 512;

  const std::uint64_t* packed_text = nullptr;
  const std::uint64_t* blocks = nullptr;
  const std::uint32_t* suffixes = nullptr;
  const std::uint64_t* kmer_present = nullptr;
  const std::uint32_t* kmer_ranks = nullptr;
  const std::uint32_t* kmer_rows = nullptr;
  std::uint64_t text_length = 0;
  std::uint64_t bases = 0;  // of one strand
  std::uint64_t first_suffix_row = 0;
  std::uint32_t symbol_row[5] = {};
  std::uint32_t k = 0;
  std::uint32_t sample_interval = 1;

  // 32 bases from `place` on, the first in the highest bits. -32 <= place <= text_length; what lies outside of the text reads as A.
  SLUICE_FM_INLINE std::uint64_t bases_at(std::int64_t place) const { return packed_bases_at(packed_text, place); }
  SLUICE_FM_INLINE std::uint32_t base(std::uint64_t place) const {
    return static_cast<std::uint32_t>(packed_text[place / 32 + 1] >> (62 - 2 * (place % 32)) & 3U);
  }
  // The same for any sequence packed this way: a word of zeros in front, two behind.
  static SLUICE_FM_INLINE std::uint64_t packed_bases_at(const std::uint64_t* packed, std::int64_t place) {
    const auto from = static_cast<std::uint64_t>(place + 32);
    const std::uint64_t shift = 2 * (from % 32);
    const std::uint64_t* word = packed + from / 32;
    return shift == 0 ? word[0] : word[0] << shift | word[1] >> (64 - shift);
  }

  // Rows before `row` whose suffix is preceded by `symbol`. row <= text_length + 1.
  SLUICE_FM_INLINE std::uint64_t occurrences_before(std::uint32_t symbol, std::uint64_t row) const {
    const std::uint64_t* block = blocks + row / rows_per_block * words_per_block;
    const auto inside = static_cast<std::uint32_t>(row % rows_per_block);
    auto count = static_cast<std::uint32_t>(block[symbol / 2] >> (32 * (symbol % 2)));
    const std::uint64_t low = (symbol & 1) != 0 ? 0 : ~std::uint64_t{0};
    const std::uint64_t high = (symbol & 2) != 0 ? 0 : ~std::uint64_t{0};
    for (std::uint32_t word = 0; word < 3; ++word) {
      const std::uint32_t first = 64 * word;
      const std::uint64_t mask = inside >= first + 64 ? ~std::uint64_t{0} : inside > first ? (std::uint64_t{1} << (inside - first)) - 1 : 0;
      count += detail::set_bits((block[2 + word] ^ low) & (block[5 + word] ^ high) & mask);
    }
    // The whole text has no base before it; its row holds an A in the bits.
    return count - (symbol == 0 && row > first_suffix_row ? 1 : 0);
  }
  SLUICE_FM_INLINE std::uint32_t preceding_symbol(std::uint64_t row) const {
    const std::uint64_t* block = blocks + row / rows_per_block * words_per_block;
    const std::uint64_t inside = row % rows_per_block;
    return static_cast<std::uint32_t>((block[2 + inside / 64] >> (inside % 64) & 1) | (block[5 + inside / 64] >> (inside % 64) & 1) << 1);
  }
  // Rows of symbol + word, given the rows of the word; empty if that does not occur.
  SLUICE_FM_INLINE FmRows extend_left(FmRows rows, std::uint32_t symbol) const {
    return {symbol_row[symbol] + occurrences_before(symbol, rows.begin), symbol_row[symbol] + occurrences_before(symbol, rows.end)};
  }
  // Where the suffix of a row begins: steps to the left until a row that is stored, sample_interval / 2 on average.
  SLUICE_FM_INLINE std::uint64_t place(std::uint64_t row) const {
    if (sample_interval == 1) return suffixes[row];
    std::uint64_t steps = 0;
    while (row % sample_interval != 0 && row != first_suffix_row && steps <= text_length) {
      const std::uint32_t symbol = preceding_symbol(row);
      row = symbol_row[symbol] + occurrences_before(symbol, row);
      ++steps;
    }
    return row == first_suffix_row ? steps : suffixes[row / sample_interval] + steps;
  }

  // K-mers before `kmer` that are present; kmer <= 4^k.
  SLUICE_FM_INLINE std::uint64_t kmers_before(std::uint64_t kmer) const {
    std::uint64_t rank = kmer_ranks[kmer / kmers_per_rank];
    const std::uint64_t last = kmer / 64;
    for (std::uint64_t word = kmer / kmers_per_rank * (kmers_per_rank / 64); word < last; ++word) rank += detail::set_bits(kmer_present[word]);
    if (kmer % 64 != 0) rank += detail::set_bits(kmer_present[last] & ((std::uint64_t{1} << (kmer % 64)) - 1));
    return rank;
  }
  // Whether a word of up to k bases occurs (true as well for the end of the text followed by A's).
  SLUICE_FM_INLINE bool word_present(std::uint64_t word, std::uint32_t length) const {
    const std::uint32_t missing = 2 * (k - length);
    std::uint64_t first = word << missing;
    if (missing < 6) return (kmer_present[first / 64] >> (first % 64) & ((std::uint64_t{1} << (std::uint64_t{1} << missing)) - 1)) != 0;
    const std::uint64_t end = (word + 1) << missing;
    for (; first < end; first += 64)
      if (kmer_present[first / 64] != 0) return true;
    return false;
  }
  // Rows of a word of 1 to k bases. If its last base is an A, the first few of them may be suffixes that are shorter than the word: see
  // without_short().
  SLUICE_FM_INLINE FmRows word_rows(std::uint64_t word, std::uint32_t length) const {
    const std::uint32_t missing = 2 * (k - length);
    const std::uint64_t first = kmers_before(word << missing);
    if (missing == 0) return {kmer_rows[first], kmer_rows[first + (kmer_present[word / 64] >> (word % 64) & 1)]};
    return {kmer_rows[first], kmer_rows[kmers_before((word + 1) << missing)]};
  }
  SLUICE_FM_INLINE FmRows without_short(FmRows rows, std::uint32_t length) const {
    while (rows.begin < rows.end && place(rows.begin) + length > text_length) ++rows.begin;
    return rows;
  }
};

struct FmIndexView {
  FmIndexTables tables;
  std::span<const std::int64_t> contig_name_begin;
  std::span<const std::uint8_t> contig_name_bytes;
  std::span<const std::int64_t> contig_begin;
  std::span<const std::int64_t> ambiguous_begin;
  std::span<const std::int64_t> ambiguous_end;
  std::span<const std::uint64_t> packed_text, blocks, kmer_present;
  std::span<const std::uint32_t> suffixes, kmer_ranks, kmer_rows, symbol_row;

  std::size_t contigs() const { return contig_begin.size() - 1; }
  std::string_view contig_name(std::size_t contig) const {
    const auto begin = static_cast<std::size_t>(contig_name_begin[contig]);
    return {reinterpret_cast<const char*>(contig_name_bytes.data()) + begin, static_cast<std::size_t>(contig_name_begin[contig + 1]) - begin};
  }
  // The contig that a place of one strand lies in; the last of several that begin there.
  std::size_t contig_of(std::int64_t place) const {
    std::size_t low = 0, high = contigs();
    while (high - low > 1) {
      const std::size_t middle = (low + high) / 2;
      (contig_begin[middle] <= place ? low : high) = middle;
    }
    return low;
  }
  bool both_strands() const { return tables.text_length != tables.bases; }
};

namespace detail {
inline std::uint64_t fm_index_attribute(const Batch& index, std::string_view name, std::uint64_t at_least, std::uint64_t at_most) {
  const std::string_view text = index.attribute(name);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number < at_least || number > at_most)
    throw Failure::input("the FM-index has no usable attribute " + std::string(name) + ": '" + std::string(text) + "'", "use a fm_index resource");
  return number;
}
}  // namespace detail

// Most bases of a text: rows are 32-bit numbers.
inline constexpr std::uint64_t max_fm_text = std::numeric_limits<std::uint32_t>::max() - 1;

// Sets the pointers of view.tables to its spans. False: the sizes of the spans do not fit text_length, k and sample_interval.
inline bool connect_fm_index(FmIndexView& view) {
  FmIndexTables& t = view.tables;
  if (view.contig_begin.empty() || view.contig_name_begin.size() != view.contig_begin.size() || view.symbol_row.size() != 5) return false;
  t.bases = static_cast<std::uint64_t>(view.contig_begin.back());
  for (std::size_t i = 0; i < 5; ++i) t.symbol_row[i] = view.symbol_row[i];
  t.packed_text = view.packed_text.data(), t.blocks = view.blocks.data(), t.suffixes = view.suffixes.data();
  t.kmer_present = view.kmer_present.data(), t.kmer_ranks = view.kmer_ranks.data(), t.kmer_rows = view.kmer_rows.data();
  const std::uint64_t rows = t.text_length + 1;
  const std::uint64_t kmers = std::uint64_t{1} << (2 * t.k);
  return t.text_length >= 1 && t.text_length <= max_fm_text && (t.text_length == t.bases || t.text_length == 2 * t.bases) && t.k >= 5 && t.k <= 16 &&
         t.sample_interval >= 1 && t.first_suffix_row < rows && view.ambiguous_begin.size() == view.ambiguous_end.size() &&
         view.packed_text.size() == (t.text_length + 31) / 32 + 3 &&
         view.blocks.size() == (rows / FmIndexTables::rows_per_block + 1) * FmIndexTables::words_per_block &&
         view.suffixes.size() == (rows - 1) / t.sample_interval + 1 && view.kmer_present.size() == kmers / 64 &&
         view.kmer_ranks.size() == kmers / FmIndexTables::kmers_per_rank + 1 && view.kmer_rows.size() == std::uint64_t{view.kmer_ranks.back()} + 1 &&
         view.kmer_rows.back() == rows && view.symbol_row[4] == rows;
}

// The view of a resource batch of row type "fm_index". Throws Failure when its columns or attributes do not fit together.
inline FmIndexView fm_index_view(const Batch& index) {
  if (index.rows() != 1) throw Failure::input("the FM-index has " + std::to_string(index.rows()) + " rows instead of 1", "use a fm_index resource");
  FmIndexView view;
  view.tables.text_length = detail::fm_index_attribute(index, "text_length", 1, max_fm_text);
  view.tables.first_suffix_row = detail::fm_index_attribute(index, "first_suffix_row", 0, max_fm_text);
  view.tables.k = static_cast<std::uint32_t>(detail::fm_index_attribute(index, "k", 5, 16));
  view.tables.sample_interval = static_cast<std::uint32_t>(detail::fm_index_attribute(index, "sample_interval", 1, 1U << 16));
  view.contig_name_begin = index.list<std::int64_t>("contig_name_begin")[0];
  view.contig_name_bytes = index.list<std::uint8_t>("contig_name")[0];
  view.contig_begin = index.list<std::int64_t>("contig_begin")[0];
  view.ambiguous_begin = index.list<std::int64_t>("ambiguous_begin")[0];
  view.ambiguous_end = index.list<std::int64_t>("ambiguous_end")[0];
  view.packed_text = index.list<std::uint64_t>("packed_text")[0];
  view.blocks = index.list<std::uint64_t>("block")[0];
  view.suffixes = index.list<std::uint32_t>("suffix")[0];
  view.kmer_present = index.list<std::uint64_t>("kmer_present")[0];
  view.kmer_ranks = index.list<std::uint32_t>("kmer_rank")[0];
  view.kmer_rows = index.list<std::uint32_t>("kmer_row")[0];
  view.symbol_row = index.list<std::uint32_t>("symbol_row")[0];
  if (!connect_fm_index(view)) throw Failure::input("the columns of the FM-index do not fit together", "use a fm_index resource");
  return view;
}

}  // namespace sluice
