// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
#include <cstdint>
#include <span>

namespace sluice::minimizer_seeding {

// A k-mer that read and reference share; see seeding.hpp for the bits.
struct Anchor {
  std::uint64_t x = 0, y = 0;
  bool operator==(const Anchor&) const = default;
};

// Sorts by x. The order among equal x is that of minimap2 2.24's sort, which chaining can see: an in-place radix sort from the highest byte down
// ("American flag sort", McIlroy, Bostic and McIlroy 1993), not stable, with a stable insertion sort for parts of at most 64 anchors.
void sort_anchors(std::span<Anchor> anchors);

}  // namespace sluice::minimizer_seeding
