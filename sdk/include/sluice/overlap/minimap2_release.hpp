// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Which release of minimap2 the lines of hits and alignments are equal to: the option `compat` of the stages that know a difference.

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

namespace sluice::overlap {

enum class Minimap2Release : std::uint8_t { v2_24, v2_31 };

// none and minimap2: the newest. Only chaining tells these two apart.
inline constexpr std::initializer_list<const char*> compat_choices = {"none", "minimap2", "minimap2=2.24", "minimap2=2.31"};
inline constexpr const char* compat_help = "minimap2=2.24: where releases differ, the lines of 2.24 instead of those of 2.31";
inline Minimap2Release release_of(std::string_view compat) { return compat == "minimap2=2.24" ? Minimap2Release::v2_24 : Minimap2Release::v2_31; }

// Moves the hits that are kept to the front, in their order, and says how many. 2.24 closes the gaps while it goes on, so that `keeps`, which looks
// at other hits, may find one that has moved there; 2.31 decides about all of them first.
template <class Hit, class Keeps>
std::size_t keep_in_order(Minimap2Release release, std::vector<Hit>& hits, Keeps&& keeps) {
  std::vector<std::uint8_t> decisions;
  if (release != Minimap2Release::v2_24)
    for (Hit& hit : hits) decisions.push_back(keeps(hit) ? 1 : 0);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < hits.size(); ++i) {
    if (decisions.empty() ? !keeps(hits[i]) : decisions[i] == 0) continue;
    if (kept != i) hits[kept] = std::move(hits[i]);
    ++kept;
  }
  return kept;
}

}  // namespace sluice::overlap
