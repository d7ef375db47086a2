// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "fm_index/index_builder.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>
#include <vector>

namespace sluice::fm_index {
namespace {

constexpr std::size_t rows_grain = std::size_t{1} << 18;
constexpr std::size_t prefetch_rows = 32;

template <Element T, class Values>
Buffer copy_of(const Values& values, const MemorySource& memory) {
  Buffer buffer = Buffer::allocate(memory, values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(buffer.data(), values.data(), buffer.bytes());
  return buffer;
}

Buffer zeros(std::size_t bytes, const MemorySource& memory) {
  Buffer buffer = Buffer::allocate(memory, bytes);
  std::memset(buffer.data(), 0, bytes);
  return buffer;
}

class IndexBuilder {
 public:
  IndexBuilder(ReferenceText text, const BuildOptions& options, const ParallelFor& parallel_for)
      : memory_(options.memory), parallel_for_(parallel_for) {
    index_.text_length = length_ = text.length;
    index_.k = options.k != 0 ? options.k : default_k(length_);
    index_.sample_interval = options.sample_interval != 0 ? options.sample_interval : default_sample_interval(length_);
    index_[Column::contig_name_begin] = copy_of<std::int64_t>(text.contig_name_begin, memory_);
    index_[Column::contig_name] = copy_of<std::uint8_t>(text.contig_names, memory_);
    index_[Column::contig_begin] = copy_of<std::int64_t>(text.contig_begin, memory_);
    index_[Column::ambiguous_begin] = copy_of<std::int64_t>(text.ambiguous_begin, memory_);
    index_[Column::ambiguous_end] = copy_of<std::int64_t>(text.ambiguous_end, memory_);
    index_[Column::packed_text] = copy_of<std::uint64_t>(text.packed, memory_);
    packed_ = index_[Column::packed_text].as<std::uint64_t>().data();
    text = {};  // else it would live as long as the caller's expression: a quarter of a byte a base
  }

  FmIndex build() {
    const std::size_t rows = length_ + 1;
    Buffer all = Buffer::allocate(memory_, rows * sizeof(std::uint32_t));
    rows_ = all.as<std::uint32_t>();
    sort_suffixes(packed_, length_, rows_, parallel_for_);
    make_blocks();
    make_kmers();
    if (index_.sample_interval > 1) {
      Buffer sampled = Buffer::allocate(memory_, (length_ / index_.sample_interval + 1) * sizeof(std::uint32_t));
      const std::span<std::uint32_t> out = sampled.as<std::uint32_t>();
      for (std::size_t i = 0; i < out.size(); ++i) out[i] = rows_[i * index_.sample_interval];
      all = std::move(sampled);
    }
    index_[Column::suffix] = std::move(all);
    return std::move(index_);
  }

 private:
  void make_blocks() {
    constexpr std::size_t per_block = FmIndexTables::rows_per_block;
    const std::size_t rows = rows_.size();
    const std::size_t count = rows / per_block + 1;
    index_[Column::block] = zeros(count * FmIndexTables::words_per_block * sizeof(std::uint64_t), memory_);
    std::uint64_t* blocks = index_[Column::block].as<std::uint64_t>().data();
    std::atomic<std::uint64_t> first_suffix_row = 0;
    parallel_for_(count, rows_grain / per_block, [&](std::size_t begin, std::size_t end) {
      for (std::size_t row = begin * per_block; row < std::min(end * per_block, rows); ++row) {
        if (row + prefetch_rows < rows) __builtin_prefetch(packed_ + rows_[row + prefetch_rows] / 32 + 1);
        if (rows_[row] == 0) {
          first_suffix_row = row;
          continue;
        }
        const std::uint32_t place = rows_[row] - 1;
        const std::uint64_t symbol = packed_[place / 32 + 1] >> (62 - 2 * (place % 32)) & 3;
        std::uint64_t* block = blocks + row / per_block * FmIndexTables::words_per_block;
        const std::size_t inside = row % per_block;
        block[2 + inside / 64] |= (symbol & 1) << (inside % 64);
        block[5 + inside / 64] |= (symbol >> 1) << (inside % 64);
      }
    });
    index_.first_suffix_row = first_suffix_row;
    // The row without a base before it counts as an A, as its bits say.
    std::array<std::uint64_t, 4> before{};
    for (std::size_t i = 0; i < count; ++i) {
      std::uint64_t* block = blocks + i * FmIndexTables::words_per_block;
      block[0] = before[0] | before[1] << 32;
      block[1] = before[2] | before[3] << 32;
      const std::size_t here = std::min(per_block, rows - i * per_block);
      std::uint64_t c = 0, g = 0, t = 0;
      for (std::size_t word = 0; word < 3; ++word) {
        const std::uint64_t low = block[2 + word], high = block[5 + word];
        c += detail::set_bits(low & ~high), g += detail::set_bits(~low & high), t += detail::set_bits(low & high);
      }
      before[0] += here - c - g - t, before[1] += c, before[2] += g, before[3] += t;
    }
    index_[Column::symbol_row] = Buffer::allocate(memory_, 5 * sizeof(std::uint32_t));
    const std::span<std::uint32_t> first = index_[Column::symbol_row].as<std::uint32_t>();
    --before[0];  // see above
    first[0] = 1;
    for (std::size_t symbol = 0; symbol < 4; ++symbol) first[symbol + 1] = static_cast<std::uint32_t>(first[symbol] + before[symbol]);
  }

  std::uint64_t kmer_of(std::size_t row) const {
    return FmIndexTables::packed_bases_at(packed_, static_cast<std::int64_t>(rows_[row])) >> (64 - 2 * index_.k);
  }

  // Rows are in the order of their k-mers, so that a k-mer's rows begin where it differs from the row before.
  void make_kmers() {
    const std::uint64_t kmers = std::uint64_t{1} << (2 * index_.k);
    index_[Column::kmer_present] = zeros(kmers / 8, memory_);
    std::uint64_t* present = index_[Column::kmer_present].as<std::uint64_t>().data();
    const std::size_t parts = (rows_.size() + rows_grain - 1) / rows_grain;
    std::vector<std::size_t> found(parts + 1);
    parallel_for_(parts, 1, [&](std::size_t first_part, std::size_t last_part) {
      for (std::size_t part = first_part; part < last_part; ++part)
        for_each_first_row(part, [&](std::size_t, std::uint64_t kmer) {
          std::atomic_ref<std::uint64_t>(present[kmer / 64]).fetch_or(std::uint64_t{1} << (kmer % 64), std::memory_order_relaxed);
          ++found[part + 1];
        });
    });
    std::partial_sum(found.begin(), found.end(), found.begin());
    index_[Column::kmer_row] = Buffer::allocate(memory_, (found.back() + 1) * sizeof(std::uint32_t));
    const std::span<std::uint32_t> first_row = index_[Column::kmer_row].as<std::uint32_t>();
    first_row.back() = static_cast<std::uint32_t>(rows_.size());
    parallel_for_(parts, 1, [&](std::size_t first_part, std::size_t last_part) {
      for (std::size_t part = first_part; part < last_part; ++part) {
        std::size_t at = found[part];
        for_each_first_row(part, [&](std::size_t row, std::uint64_t) { first_row[at++] = static_cast<std::uint32_t>(row); });
      }
    });
    index_[Column::kmer_rank] = Buffer::allocate(memory_, (kmers / FmIndexTables::kmers_per_rank + 1) * sizeof(std::uint32_t));
    const std::span<std::uint32_t> ranks = index_[Column::kmer_rank].as<std::uint32_t>();
    ranks[0] = 0;
    for (std::size_t i = 1; i < ranks.size(); ++i) {
      ranks[i] = ranks[i - 1];
      for (std::uint64_t word = 0; word < FmIndexTables::kmers_per_rank / 64; ++word) ranks[i] += detail::set_bits(*present++);
    }
  }
  template <class Body>
  void for_each_first_row(std::size_t part, Body&& body) const {
    const std::size_t begin = std::max<std::size_t>(1, part * rows_grain), end = std::min(rows_.size(), (part + 1) * rows_grain);
    if (begin >= end) return;
    std::uint64_t last = begin == 1 ? ~std::uint64_t{0} : kmer_of(begin - 1);
    for (std::size_t row = begin; row < end; ++row) {
      if (row + prefetch_rows < rows_.size()) __builtin_prefetch(packed_ + rows_[row + prefetch_rows] / 32 + 1);
      const std::uint64_t kmer = kmer_of(row);
      if (kmer != last) body(row, kmer);
      last = kmer;
    }
  }

  FmIndex index_;
  MemorySource memory_;
  const ParallelFor& parallel_for_;
  std::uint64_t length_ = 0;
  const std::uint64_t* packed_ = nullptr;
  std::span<std::uint32_t> rows_;
};

}  // namespace

bool FmIndex::connect(FmIndexView& view) const {
  view.tables.text_length = text_length;
  view.tables.first_suffix_row = first_suffix_row;
  view.tables.k = k;
  view.tables.sample_interval = sample_interval;
  view.contig_name_begin = (*this)[Column::contig_name_begin].as<std::int64_t>();
  view.contig_name_bytes = (*this)[Column::contig_name].as<std::uint8_t>();
  view.contig_begin = (*this)[Column::contig_begin].as<std::int64_t>();
  view.ambiguous_begin = (*this)[Column::ambiguous_begin].as<std::int64_t>();
  view.ambiguous_end = (*this)[Column::ambiguous_end].as<std::int64_t>();
  view.symbol_row = (*this)[Column::symbol_row].as<std::uint32_t>();
  view.packed_text = (*this)[Column::packed_text].as<std::uint64_t>();
  view.blocks = (*this)[Column::block].as<std::uint64_t>();
  view.suffixes = (*this)[Column::suffix].as<std::uint32_t>();
  view.kmer_present = (*this)[Column::kmer_present].as<std::uint64_t>();
  view.kmer_ranks = (*this)[Column::kmer_rank].as<std::uint32_t>();
  view.kmer_rows = (*this)[Column::kmer_row].as<std::uint32_t>();
  return connect_fm_index(view);
}

std::uint32_t default_k(std::uint64_t text_length) {
  const std::uint32_t most = text_length > std::uint64_t{1} << 29 ? 14 : 15;
  std::uint32_t k = 5;
  while (k < most && std::uint64_t{1} << (2 * k) < 8 * text_length) ++k;
  return k;
}

std::uint32_t default_sample_interval(std::uint64_t text_length) { return text_length <= std::uint64_t{1} << 28 ? 1 : 4; }

std::uint64_t build_bytes(std::uint64_t text_length) {
  // Either while prefixes are doubled (a bit for each suffix, a count for 512 of them), or when blocks and words are there and rows are being
  // sampled.
  const std::uint64_t text = text_length / 4, rows = 4 * text_length;
  const std::uint64_t kmers = std::uint64_t{1} << (2 * default_k(text_length));
  const std::uint64_t sorting = text + rows + text_length / 8 + text_length / 128;
  const std::uint64_t sampled = default_sample_interval(text_length) > 1 ? rows / default_sample_interval(text_length) : 0;
  const std::uint64_t finishing = text + rows + text_length / 3 + kmers / 8 + 4 * std::min(kmers, text_length) + sampled;
  return std::max(sorting, finishing);
}

FmIndex build_index(ReferenceText text, const BuildOptions& options, const ParallelFor& parallel_for) {
  return IndexBuilder(std::move(text), options, parallel_for).build();
}

}  // namespace sluice::fm_index
