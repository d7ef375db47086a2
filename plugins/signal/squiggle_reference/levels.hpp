// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The current that a sequence is expected to give as it passes the pore, k-mer by k-mer, on either strand, in the integers of
// sluice/squiggle_reference.hpp.

#include <cstddef>
#include <cstdint>
#include <sluice/kmer_model.hpp>
#include <sluice/squiggle_reference.hpp>
#include <span>
#include <string_view>
#include <vector>

namespace sluice::squiggle_reference {

// Whose reads are targets.
enum class Strands : std::uint8_t { both, forward, reverse };

// How many times each k-mer occurs, by its rank in the model, on all strands together.
class KmerCounts {
 public:
  // k: 1 to 12.
  explicit KmerCounts(std::uint32_t k);
  // Adds all k-mers of a sequence, of its reverse complement, or of both. A k-mer with a letter other than A, C, G, T counts as none.
  void add(std::string_view bases, Strands strands = Strands::both);
  // Those of as long k-mers.
  void add(const KmerCounts& others);
  std::span<const std::uint64_t> counts() const { return counts_; }

 private:
  std::uint32_t k_;
  std::vector<std::uint64_t> counts_;
};

// Shift and scale that bring levels to mean 0 and standard deviation 1; pA. scale 0: all levels are alike.
struct LevelScaling {
  float shift = 0;
  float scale = 0;
};
// Mean and standard deviation of the levels, each weighted by its count; all zero: each k-mer counts once. Sums are f64 in the order of the ranks.
LevelScaling level_scaling(std::span<const float> level_mean, std::span<const std::uint64_t> counts);

// The levels of all k-mers in the squiggle's integers, by rank. scaling.scale must not be 0.
std::vector<std::int16_t> quantized_levels(std::span<const float> level_mean, LevelScaling scaling);

// K-mers of a sequence of `bases` bases.
constexpr std::size_t kmers_of(std::size_t bases, std::uint32_t k) { return bases < k ? 0 : bases - k + 1; }

// Writes the levels of the k-mers that begin at [begin, end) of `bases`, and those of the reverse complement that lie on the same bases, to their
// places in `forward` and `reverse` (kmers_of(bases) each, in the order in which they pass the pore; empty: not wanted). `levels`: quantized_levels.
// squiggle_unknown_level where a k-mer has a letter other than A, C, G, T. Calls with disjoint ranges may run beside each other.
void write_levels(std::string_view bases, std::uint32_t k, std::span<const std::int16_t> levels, FirstEnd first_end, std::size_t begin,
                  std::size_t end, std::span<std::int16_t> forward, std::span<std::int16_t> reverse);

}  // namespace sluice::squiggle_reference
