// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Sites and groups of a reference segment.

#include <algorithm>
#include <array>
#include <string>

#include "methylation_hmm/methylation.hpp"

namespace sluice::methylation_hmm {
namespace {

constexpr char kNoBase = 0;

// For each letter, either case, its first possible base.
constexpr std::array<char, 256> first_possible_bases() {
  std::array<char, 256> bases{};
  const auto set = [&bases](std::string_view codes, char base) {
    for (const char code : codes) {
      bases[static_cast<unsigned char>(code)] = base;
      bases[static_cast<unsigned char>(code - 'A' + 'a')] = base;
    }
  };
  set("AMRWVHDN", 'A');
  set("CSYB", 'C');
  set("GK", 'G');
  set("T", 'T');
  return bases;
}
constexpr std::array<char, 256> kFirstPossibleBase = first_possible_bases();

}  // namespace

bool tells_modified_bases(const KmerModelView& model, const Motif& motif) {
  constexpr std::size_t code_of_m = base_code(Alphabet::methylation, 'M');
  const std::size_t code_of_base = base_code(Alphabet::methylation, motif.base);
  std::string kmer(model.k, 'A');
  for (std::size_t rank = 0; rank < model.level_mean.size(); ++rank) {
    std::size_t unmodified = rank, rest = rank, weight = 1;
    for (std::size_t place = model.k; place-- > 0; rest /= 5, weight *= 5) {
      const std::size_t code = rest % 5;
      kmer[place] = "ACGMT"[code];
      if (code == code_of_m) unmodified = unmodified + weight * code_of_base - weight * code_of_m;
    }
    if (unmodified == rank) continue;
    if (model.level_mean[rank] == model.level_mean[unmodified] && model.level_stdv[rank] == model.level_stdv[unmodified]) continue;
    bool is_possible = true;
    for (std::size_t place = 0; place < model.k; ++place) is_possible = is_possible && (kmer[place] != 'M' || can_be_modified(kmer, place, motif));
    if (is_possible) return true;
  }
  return false;
}

ReferenceStatus normalise_reference(std::span<char> segment) {
  for (char& letter : segment) {
    const char base = kFirstPossibleBase[static_cast<unsigned char>(letter)];
    if (base == kNoBase) return ReferenceStatus::unknown_letter;
    letter = base;
  }
  return ReferenceStatus::ok;
}

void find_site_groups(std::string_view segment, const MotifSites& sites, std::vector<SiteGroup>& groups) {
  groups.clear();
  const std::int64_t reach = group_reach(sites);
  SiteGroup group;
  const auto close_group = [&](const SiteGroup& done) {
    if (done.site_count == 0) return;
    // calling_start must lie beyond the reach itself, hence 20 bases rather than 10.
    if (calling_start(done) <= reach) return;
    if (done.last_site - done.first_site > kMaximumGroupSpan) return;
    groups.push_back(done);
  };
  const auto length = static_cast<std::size_t>(sites.length);
  for (std::size_t at = find_motif(segment, sites); at != std::string_view::npos; at = find_motif(segment, sites, at + length)) {
    const auto site = static_cast<std::int64_t>(at);
    if (group.site_count > 0 && site - group.last_site <= reach) {
      group.last_site = site;
      // A segment of more than 2^32 bases may hold a group of more than 2^31 sites; it is too long to be called anyway.
      group.site_count = std::min(group.site_count, 0x7FFFFFFE) + 1;
    } else {
      close_group(group);
      group = {.first_site = site, .last_site = site, .site_count = 1, .reach = static_cast<std::int32_t>(reach)};
    }
  }
  close_group(group);
}

std::string_view calling_sequence(std::string_view segment, const SiteGroup& group) {
  const std::int64_t length = calling_end(group) - calling_start(group) + 1;
  if (calling_start(group) < 0 || length <= 0 || calling_start(group) >= static_cast<std::int64_t>(segment.size())) return {};
  return segment.substr(static_cast<std::size_t>(calling_start(group)), static_cast<std::size_t>(length));
}

}  // namespace sluice::methylation_hmm
