// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A small text at the end of billions of A's, without the memory and the time that an index of all of them would take: places are as large as they
// get.

#include <sys/mman.h>

#include <algorithm>
#include <new>
#include <vector>

#include "unit/mapping/mem_seeding/indexed_text.hpp"

namespace sluice::mem_seeding::testing {

// Only suffixes of the small text have rows, so that nothing is found among the A's; the small text should begin with bases that no read has.
class FarText {
 public:
  static constexpr std::uint64_t contig_bases = std::uint64_t{1} << 30;  // of the contigs of A's

  // `offset`: A's in front, a multiple of 32.
  FarText(const IndexedText& near, std::uint64_t offset) : view(near.view), suffixes_(near.view.suffixes.begin(), near.view.suffixes.end()) {
    const std::uint64_t length = offset + near.view.tables.text_length;
    words_ = (length + 31) / 32 + 3;
    void* memory = mmap(nullptr, words_ * sizeof(std::uint64_t), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    packed_ = static_cast<std::uint64_t*>(memory);
    std::copy(near.view.packed_text.begin() + 1, near.view.packed_text.end(), packed_ + offset / 32 + 1);
    for (std::uint32_t& suffix : suffixes_) suffix = static_cast<std::uint32_t>(suffix + offset);
    for (std::uint64_t begin = 0; begin < offset; begin += contig_bases) contig_begin_.push_back(static_cast<std::int64_t>(begin));
    added_contigs = contig_begin_.size();
    for (const std::int64_t begin : near.view.contig_begin) contig_begin_.push_back(begin + static_cast<std::int64_t>(offset));
    view.packed_text = {packed_, words_};
    view.suffixes = suffixes_;
    view.contig_begin = contig_begin_;
    view.tables.packed_text = packed_;
    view.tables.suffixes = suffixes_.data();
    view.tables.text_length = view.tables.bases = length;
  }
  FarText(const FarText&) = delete;
  ~FarText() { munmap(packed_, words_ * sizeof(std::uint64_t)); }

  FmIndexView view;
  std::size_t added_contigs = 0;

 private:
  std::uint64_t* packed_ = nullptr;
  std::size_t words_ = 0;
  std::vector<std::uint32_t> suffixes_;
  std::vector<std::int64_t> contig_begin_;
};

}  // namespace sluice::mem_seeding::testing
