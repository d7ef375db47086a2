// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What the stage keeps between its calls on CUDA devices: the index on each, and how much memory searches took so far.

#include <algorithm>
#include <mutex>
#include <sluice/cuda.hpp>
#include <sluice/fm_index.hpp>
#include <span>
#include <vector>

#include "mem_seeding/cuda.hpp"

namespace sluice::mem_seeding {

// The arrays of an FM-index that the search reads.
class DeviceIndex {
 public:
  DeviceIndex(const sluice::cuda::DeviceCall& device, const FmIndexView& index) : tables(index.tables) {
    const auto copy = [&]<class T>(std::span<const T> values, const T*& to) {
      sluice::cuda::Memory memory = device.allocate_array<T>(values.size());
      sluice::cuda::check(cudaMemcpyAsync(memory.get(), values.data(), values.size_bytes(), cudaMemcpyHostToDevice, device.stream()), "the FM-index");
      to = memory.as<T>();
      memory_.push_back(std::move(memory));
    };
    copy(index.packed_text, tables.packed_text);
    copy(index.blocks, tables.blocks);
    copy(index.suffixes, tables.suffixes);
    copy(index.kmer_present, tables.kmer_present);
    copy(index.kmer_ranks, tables.kmer_ranks);
    copy(index.kmer_rows, tables.kmer_rows);
    device.synchronize();  // other lanes of this device use the index, too
  }
  FmIndexTables tables;

 private:
  std::vector<sluice::cuda::Memory> memory_;
};

// The most that any batch needed for each of its words, and a tenth more; before the first one, what random bases need in a text as long as the
// k-mers' default is made for.
class SearchMemory {
 public:
  cuda::Capacity capacity(std::uint64_t words) const {
    const std::lock_guard lock(mutex_);
    return {share(words, maximal_matches_), share(words, many_words_), share(words, many_matches_)};
  }
  void learn(std::uint64_t words, const cuda::Totals& totals) {
    const std::lock_guard lock(mutex_);
    const auto raise = [&](double& ratio, std::uint64_t needed) {
      if (needed > share(words, ratio)) ratio = 1.1 * static_cast<double>(needed) / static_cast<double>(words);
    };
    raise(maximal_matches_, totals.maximal_matches);
    raise(many_words_, totals.many_words);
    raise(many_matches_, totals.many_matches);
  }

 private:
  // Small batches vary more.
  static std::uint64_t share(std::uint64_t words, double ratio) { return static_cast<std::uint64_t>(ratio * static_cast<double>(words)) + 4096; }
  mutable std::mutex mutex_;  // guards all below
  double maximal_matches_ = 0.5, many_words_ = 0.01, many_matches_ = 0.03;
};

}  // namespace sluice::mem_seeding
