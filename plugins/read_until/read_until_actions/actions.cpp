// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_until_actions/actions.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>

namespace sluice::read_until_actions {

ReadAction action_on(const Judged& read, std::int32_t minimum_chunks, std::int32_t maximum_chunks, const Actions& actions) {
  const auto of = [&](Outcome outcome) { return actions[static_cast<std::size_t>(outcome)]; };
  if (!read.is_whole && read.chunks < minimum_chunks) return ReadAction::proceed;
  if (read.judgement == Judgement::accept) return of(read.is_on_target ? Outcome::on_target : Outcome::off_target);
  if (read.judgement == Judgement::reject) return of(Outcome::off_target);
  if (read.is_whole) return of(Outcome::undecided);
  return maximum_chunks > 0 && read.chunks >= maximum_chunks ? of(Outcome::above_maximum) : ReadAction::proceed;
}

WantedTargets::WantedTargets(std::span<const TargetRegion> targets, std::string_view names, std::string& unknown) {
  std::unordered_map<std::string_view, bool> is_found;
  for (std::size_t begin = 0; !names.empty() && begin <= names.size();) {
    const std::size_t end = std::min(names.find(',', begin), names.size());
    is_found.emplace(names.substr(begin, end - begin), false);
    begin = end + 1;
  }
  std::unordered_map<std::string_view, std::size_t> contigs;
  for (const TargetRegion& target : targets) {
    contig_.push_back(contigs.emplace(target.contig, contigs.size()).first->second);
    places_.resize(contigs.size());
    bool is_wanted = is_found.empty();
    for (const std::string_view name : {target.label, target.contig})
      if (const auto found = is_found.find(name); found != is_found.end()) is_wanted = found->second = true;
    if (is_wanted) places_[contig_.back()].push_back({target.start, target.end, target.end, target.strand});
  }
  for (std::vector<Place>& places : places_) {
    std::stable_sort(places.begin(), places.end(), [](const Place& a, const Place& b) { return a.start < b.start; });
    for (std::size_t i = 1; i < places.size(); ++i) places[i].furthest_end = std::max(places[i].end, places[i - 1].furthest_end);
  }
  for (const auto& [name, found] : is_found)
    if (!found && (unknown.empty() || name < unknown)) unknown = name.empty() ? "(nothing)" : std::string(name);
}

bool WantedTargets::has(std::size_t target, std::int64_t start, std::int64_t end, bool is_reverse) const {
  const std::vector<Place>& places = places_[contig_[target]];
  auto at = std::lower_bound(places.begin(), places.end(), end, [](const Place& place, std::int64_t position) { return place.start < position; });
  while (at != places.begin() && (--at)->furthest_end > start)
    if (at->end > start && (at->strand == 0 || (at->strand == 2) == is_reverse)) return true;
  return false;
}

}  // namespace sluice::read_until_actions
