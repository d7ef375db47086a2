// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Where the basecaller says that the bases of a read lie in its signal (the moves, tag mv of dorado), beside where the alignment puts its k-mers.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace sluice::abea {

// The first sample of each base's block in the order of time. moves: the stride in samples, then 1 for each stride of samples in which a base begins.
// Empty: they are none.
std::vector<std::int32_t> base_starts(std::span<const std::int8_t> moves);

// Which base's block has the level of a k-mer: the one so many bases behind the k-mer's first. The network is a base late: in DNA the block of base i
// has the level of the k-mer whose dominant base is i - 1. Found by correlating levels with k-mer models: R10.4.1 (9-mers) 7, RNA004 (9-mers) 2, of
// which its 5-mers are the ones from the second base on (1). Others are scaled from these, and are right within two bases.
std::int32_t base_of_kmer(std::uint32_t k, bool is_rna);

// The moves of one read against its k-mers and events. Events are in the order of the k-mers: those of direct RNA in reverse order of time.
class MovedKmers {
 public:
  MovedKmers(std::span<const std::int8_t> moves, std::span<const std::int32_t> event_start, std::size_t kmers, std::uint32_t k);
  // Have they as many bases as the read?
  bool fit() const { return fit_; }
  // For each event the k-mer whose block its middle lies in, -1: it comes before the first one's. Ascending.
  std::vector<std::int32_t> expected_kmers() const;

  struct Agreement {
    std::int64_t kmers = 0, near = 0;  // with events; of these, those that begin near the block
    double share() const { return kmers > 0 ? static_cast<double>(near) / static_cast<double>(kmers) : 1; }
  };
  // within: samples between the begin of a k-mer's events and that of its block.
  Agreement agreement(std::span<const std::int32_t> first_event, std::span<const std::int32_t> last_event, std::int32_t within) const;

 private:
  // First sample of a k-mer's block; < 0: it has none.
  std::int32_t block_start(std::size_t kmer) const;
  std::vector<std::int32_t> starts_;
  std::span<const std::int32_t> event_start_;
  std::size_t kmers_;
  std::int64_t offset_;
  bool is_rna_, fit_;
};

}  // namespace sluice::abea
