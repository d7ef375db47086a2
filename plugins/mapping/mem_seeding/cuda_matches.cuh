// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// From the maximal matches of a tile to the matches that are asked for, by one thread block: what counting and writing them have in common.

#include <cub/block/block_scan.cuh>
#include <cuda/functional>

#include "mem_seeding/cuda.hpp"

namespace sluice::mem_seeding::cuda {

inline constexpr int block_threads = 256;

__device__ inline bool stands_for_many(const MaximalMatch& match) { return match.end == 0; }

// Stays within memory where the capacity was not enough; the results are thrown away then.
__device__ inline std::uint32_t end_of(const MaximalMatch& match, const Workspace& workspace) {
  if (!stands_for_many(match)) return match.end;
  return match.place < workspace.capacity.many_words ? workspace.many_words[match.place].greatest_end : 0;
}

// The maximal matches of a word lie one after the other; the thread of the first one has the word.
class TileMatches {
 public:
  struct Sums {
    std::uint64_t places;
    std::uint32_t matches;
  };
  struct AddUp {
    __device__ Sums operator()(const Sums& a, const Sums& b) const { return {a.places + b.places, a.matches + b.matches}; }
  };
  using Scan = cub::BlockScan<Sums, block_threads>;
  using Greatest = cub::BlockScan<std::uint32_t, block_threads>;
  union Storage {
    typename Scan::TempStorage sums;
    typename Greatest::TempStorage greatest;
  };

  // A word's matches: `count` maximal ones, or one that stands for a word of many rows. Where its matches and places come in the tile.
  struct Word {
    const MaximalMatch* maximal;
    std::uint32_t count;
    std::uint32_t covered;
    std::uint64_t first_match, first_place;
  };

  __device__ TileMatches(const WordSearch& search, const Workspace& workspace, const Tile& tile, Storage& storage)
      : search_(search),
        workspace_(workspace),
        storage_(storage),
        maximal_(workspace.maximal_matches + tile.first_maximal),
        count_(tile.maximal),
        covered_(tile.covered) {}

  // Calls visit(word) for each word, from the thread that has it. By all threads of the block.
  template <class Visit>
  __device__ void visit_words(Visit&& visit) {
    for (std::uint32_t first = 0; first < count_; first += block_threads) {
      const std::uint32_t at = first + threadIdx.x;
      MaximalMatch match{};
      std::uint32_t end = 0;
      bool begins_word = false;
      if (at < count_) {
        match = maximal_[at];
        end = end_of(match, workspace_);
        begins_word = at == 0 || search_.owner(maximal_[at - 1].start) != search_.owner(match.start);
      }
      Word word{maximal_ + at, 0, 0, 0, 0};
      std::uint32_t greatest = 0;
      __syncthreads();
      Greatest(storage_.greatest).ExclusiveScan(end, word.covered, 0U, ::cuda::maximum<>{}, greatest);
      __syncthreads();
      word.covered = max(word.covered, covered_);
      covered_ = max(covered_, greatest);
      Sums sums{0, 0};
      if (begins_word) {
        if (stands_for_many(match)) {
          word.count = 1;
          if (match.place < workspace_.capacity.many_words) {
            sums.matches = workspace_.many_words[match.place].matches;
            sums.places = workspace_.many_words[match.place].places;
          }
        } else {
          while (at + word.count < count_ && search_.owner(maximal_[at + word.count].start) == search_.owner(match.start)) ++word.count;
          search_.visit_few(word.maximal, word.count, word.covered,
                            [&](std::uint32_t, std::uint32_t, std::uint32_t count, std::uint32_t with_this_end) {
                              ++sums.matches;
                              sums.places += search_.listed(count, with_this_end);
                            });
        }
      }
      Sums before{0, 0}, all{0, 0};
      Scan(storage_.sums).ExclusiveScan(sums, before, Sums{0, 0}, AddUp{}, all);
      word.first_match = matches_ + before.matches;
      word.first_place = places_ + before.places;
      matches_ += all.matches;
      places_ += all.places;
      if (begins_word) visit(static_cast<const Word&>(word));
    }
  }

  // Of the words visited so far; in all threads.
  __device__ std::uint64_t matches() const { return matches_; }
  __device__ std::uint64_t places() const { return places_; }

 private:
  const WordSearch& search_;
  const Workspace& workspace_;
  Storage& storage_;
  const MaximalMatch* const maximal_;
  const std::uint32_t count_;
  std::uint32_t covered_;
  std::uint64_t matches_ = 0, places_ = 0;
};

}  // namespace sluice::mem_seeding::cuda
