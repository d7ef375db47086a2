// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Places where the reads that overlap a read have two bases, each of them often: another haplotype, or another copy of a repeat. Which one is the
// read's own is decided by its own letter there and by those reads that agree with it at its other sites.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::read_correction {

// Of a window: bases of its consensus that are sites, and for each of them, one after the other, the letter of each of the window's sequences: A, C,
// G, T, or '-' for none of these.
struct VariantSites {
  std::vector<std::int32_t> places;
  std::string letters;
};

// So many sequences must have another letter than the consensus, of `sequences`: about the fewest that errors hardly ever come to (8 % errors, of
// which a third are substitutions: once in some thousand bases), and fewer than a haplotype has.
constexpr std::int32_t least_support(std::int32_t sequences) { return 3 + sequences / 20; }

// The sites of one read.
class ReadVariants {
 public:
  struct Entry {
    std::int64_t read;    // row of a read that overlaps it
    std::uint8_t allele;  // 0: the consensus has it, 1: the other one
  };
  struct Site {
    std::uint64_t place;      // in the read's bases
    char base[2];             // of the consensus, and the other one
    std::int8_t own;          // the allele that the read has there; -1: neither
    std::uint64_t end_entry;  // in entries
  };

  // letters: of the read itself, then of the reads `layers`. What has neither of the two letters that most have says nothing.
  void add(std::uint64_t place, std::string_view letters, char consensus, std::span<const std::int64_t> layers);
  // Puts the read's own bases to its sites.
  void decide(std::span<char> bases);
  void clear();

  std::vector<Site> sites;
  std::vector<Entry> entries;  // of all sites, one after the other

 private:
  std::int32_t evidence(std::size_t site, std::uint8_t allele) const;
  void count_shares();
  void score_reads();
  bool choose_alleles();

  std::vector<std::int64_t> reads_;                 // ascending
  std::vector<std::int32_t> read_of_entry_;         // in reads_
  std::vector<std::int32_t> score_;                 // of each read: the evidence of all sites that it is of the same haplotype or copy
  std::vector<std::array<std::uint8_t, 2>> share_;  // of each site and allele: sixteenths of the reads
  std::vector<std::int8_t> chosen_;                 // of each site: an allele, -1: not known
};

}  // namespace sluice::read_correction
