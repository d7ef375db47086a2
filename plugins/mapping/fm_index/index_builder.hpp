// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// From a text to the columns of an FM-index.

#include <array>
#include <cstdint>
#include <sluice/column.hpp>
#include <sluice/fm_index.hpp>

#include "fm_index/reference_text.hpp"
#include "fm_index/suffix_sort.hpp"

namespace sluice::fm_index {

// In the order in which index files hold them.
enum class Column : std::uint8_t {
  contig_name_begin,
  contig_name,
  contig_begin,
  ambiguous_begin,
  ambiguous_end,
  symbol_row,
  packed_text,
  block,
  suffix,
  kmer_present,
  kmer_rank,
  kmer_row
};
inline constexpr std::size_t column_count = 12;

// What sluice/fm_index.hpp describes, and the memory behind it.
struct FmIndex {
  std::array<Buffer, column_count> columns;
  std::uint64_t text_length = 0;
  std::uint64_t first_suffix_row = 0;
  std::uint32_t k = 0;
  std::uint32_t sample_interval = 1;

  Buffer& operator[](Column column) { return columns[static_cast<std::size_t>(column)]; }
  const Buffer& operator[](Column column) const { return columns[static_cast<std::size_t>(column)]; }
  // False: sizes do not fit together.
  bool connect(FmIndexView& view) const;
};

struct BuildOptions {
  std::uint32_t k = 0;                // 0: default_k
  std::uint32_t sample_interval = 0;  // 0: default_sample_interval
  MemorySource memory;
};

// The smallest k for which a k-mer of random bases is absent in seven cases of eight, so that one look at the bits ends most searches; at most 15
// (128 MiB of bits), and 14 for texts of more than 2^29 bases, where kmer_row would take more memory than the suffixes.
std::uint32_t default_k(std::uint64_t text_length);
// 1, every suffix, up to 2^28 bases (1 GiB); 4 above.
std::uint32_t default_sample_interval(std::uint64_t text_length);

// Memory at the peak, text and index included, but for 12 bytes for each base in repeats of more than 500 bases.
std::uint64_t build_bytes(std::uint64_t text_length);

FmIndex build_index(ReferenceText text, const BuildOptions& options, const ParallelFor& parallel_for);

}  // namespace sluice::fm_index
