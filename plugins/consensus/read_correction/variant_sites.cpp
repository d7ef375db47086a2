// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/variant_sites.hpp"

#include <algorithm>
#include <array>

namespace sluice::read_correction {
namespace {

constexpr int rounds = 4;
// Votes of the read's own letter, of a read that agrees with it elsewhere, and of one that neither agrees nor disagrees.
constexpr std::int32_t own_votes = 3, votes_of_agreeing = 2, votes_of_unknown = 1;
// Sixteenths of the logarithm of how much more probable it is that a read has the allele if it is of the same haplotype or copy (0.9) than if it is
// of any (the allele's share of the reads, k sixteenths): to agree where all agree says nothing, to disagree there little.
constexpr std::array<std::int32_t, 17> agrees_by_share = {43, 43, 32, 25, 20, 17, 14, 12, 9, 8, 6, 4, 3, 2, 0, -1, -2};
constexpr std::array<std::int32_t, 17> disagrees_by_share = {-37, -36, -35, -34, -32, -31, -29, -28, -26, -24, -21, -18, -15, -10, -4, 0, 0};
// A read of which this is summed up at other sites is of the same molecule, or less this, of another one (5 to 1). The outcome counts where so many
// reads with the other letter, and most of them, are of another one, and so many with the chosen letter, and most, of the same: letters that errors
// have made a site say nothing of each other.
constexpr std::int32_t told_apart = 26;
constexpr std::int32_t least_other = 3, least_same = 2;

struct Rated {
  std::int32_t known = 0, as_expected = 0;
  void add(std::int32_t evidence, bool expected) {
    known += evidence != 0 ? 1 : 0;
    as_expected += expected ? 1 : 0;
  }
  bool are_at_least(std::int32_t least) const { return as_expected >= least && 2 * as_expected > known; }
};

}  // namespace

void ReadVariants::add(std::uint64_t place, std::string_view letters, char consensus, std::span<const std::int64_t> layers) {
  std::array<std::int32_t, 256> count{};
  for (const char letter : letters) ++count[static_cast<unsigned char>(letter)];
  char other = 'A';
  std::int32_t most = -1;
  for (const char letter : {'A', 'C', 'G', 'T'})
    if (letter != consensus && count[static_cast<unsigned char>(letter)] > most) other = letter, most = count[static_cast<unsigned char>(letter)];
  const auto allele_of = [&](char letter) { return static_cast<std::int8_t>(letter == consensus ? 0 : letter == other ? 1 : -1); };
  for (std::size_t i = 0; i < layers.size(); ++i)
    if (const std::int8_t allele = allele_of(letters[i + 1]); allele >= 0) entries.push_back({layers[i], static_cast<std::uint8_t>(allele)});
  sites.push_back({place, {consensus, other}, allele_of(letters[0]), entries.size()});
}

void ReadVariants::clear() {
  sites.clear();
  entries.clear();
}

// What it says of a read that it has this allele.
std::int32_t ReadVariants::evidence(std::size_t site, std::uint8_t allele) const {
  if (chosen_[site] < 0) return 0;
  const auto share = static_cast<std::size_t>(share_[site][static_cast<std::size_t>(chosen_[site])]);
  return allele == chosen_[site] ? agrees_by_share[share] : disagrees_by_share[share];
}

void ReadVariants::count_shares() {
  share_.clear();
  std::size_t entry = 0;
  for (const Site& site : sites) {
    std::array<std::uint64_t, 2> count{};
    for (; entry < site.end_entry; ++entry) ++count[entries[entry].allele];
    const std::uint64_t all = std::max<std::uint64_t>(count[0] + count[1], 1);
    share_.push_back({static_cast<std::uint8_t>((16 * count[0] + all / 2) / all), static_cast<std::uint8_t>((16 * count[1] + all / 2) / all)});
  }
}

void ReadVariants::score_reads() {
  score_.assign(reads_.size(), 0);
  std::size_t entry = 0;
  for (std::size_t s = 0; s < sites.size(); ++s)
    for (; entry < sites[s].end_entry; ++entry) score_[static_cast<std::size_t>(read_of_entry_[entry])] += evidence(s, entries[entry].allele);
}

// Each read votes by what it has at the other sites. False: nothing changed.
bool ReadVariants::choose_alleles() {
  bool changed = false;
  std::size_t entry = 0;
  for (std::size_t s = 0; s < sites.size(); ++s) {
    const Site& site = sites[s];
    std::array<std::int32_t, 2> votes{};
    if (site.own >= 0) votes[static_cast<std::size_t>(site.own)] += own_votes;
    for (; entry < site.end_entry; ++entry) {
      const std::uint8_t allele = entries[entry].allele;
      const std::int32_t elsewhere = score_[static_cast<std::size_t>(read_of_entry_[entry])] - evidence(s, allele);
      votes[allele] += elsewhere > 0 ? votes_of_agreeing : elsewhere == 0 ? votes_of_unknown : 0;
    }
    const std::int8_t chosen = votes[0] == votes[1] ? std::max<std::int8_t>(site.own, 0) : static_cast<std::int8_t>(votes[1] > votes[0] ? 1 : 0);
    changed = changed || chosen != chosen_[s];
    chosen_[s] = chosen;
  }
  return changed;
}

void ReadVariants::decide(std::span<char> bases) {
  if (sites.empty()) return;
  reads_.clear();
  for (const Entry& entry : entries) reads_.push_back(entry.read);
  std::sort(reads_.begin(), reads_.end());
  reads_.erase(std::unique(reads_.begin(), reads_.end()), reads_.end());
  read_of_entry_.clear();
  for (const Entry& entry : entries)
    read_of_entry_.push_back(static_cast<std::int32_t>(std::lower_bound(reads_.begin(), reads_.end(), entry.read) - reads_.begin()));
  count_shares();
  chosen_.clear();
  for (const Site& site : sites) chosen_.push_back(site.own);
  score_reads();
  for (int round = 0; round < rounds && choose_alleles(); ++round) score_reads();
  std::size_t entry = 0;
  for (std::size_t s = 0; s < sites.size(); ++s) {
    // By the other sites: reads with the other letter that are of another molecule, reads with this one that are of the same.
    Rated with_other, with_chosen;
    for (; entry < sites[s].end_entry; ++entry) {
      const std::uint8_t allele = entries[entry].allele;
      const std::int32_t elsewhere = score_[static_cast<std::size_t>(read_of_entry_[entry])] - evidence(s, allele);
      if (allele == chosen_[s])
        with_chosen.add(elsewhere, elsewhere >= told_apart);
      else
        with_other.add(elsewhere, elsewhere <= -told_apart);
    }
    if (chosen_[s] == 1 && with_other.are_at_least(least_other) && with_chosen.are_at_least(least_same)) bases[sites[s].place] = sites[s].base[1];
  }
}

}  // namespace sluice::read_correction
