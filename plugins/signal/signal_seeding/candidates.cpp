// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "signal_seeding/candidates.hpp"

#include <algorithm>
#include <numeric>

namespace sluice::signal_seeding {

bool chains_are_valid(const ChainsOfRead& chains, std::span<const std::int64_t> strand_begin) {
  if (chains.score.size() != chains.anchor_count.size() || chains.anchor_x.size() != chains.anchor_y.size()) return false;
  std::size_t at = 0;
  for (const std::int32_t count : chains.anchor_count) {
    if (count < 1 || static_cast<std::size_t>(count) > chains.anchor_x.size() - at) return false;
    for (std::size_t end = at + static_cast<std::size_t>(count); at < end; ++at)
      if ((chains.anchor_x[at] >> 32U) + 1 >= strand_begin.size()) return false;
  }
  return at == chains.anchor_x.size();
}

void find_candidates(const ChainsOfRead& chains, std::int32_t read_columns, std::span<const std::int64_t> strand_begin,
                     const CandidateParameters& parameters, std::vector<Candidate>& candidates) {
  std::vector<std::size_t> order(chains.score.size()), first(chains.score.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::size_t anchors = 0;
  for (std::size_t i = 0; i < first.size(); ++i) {
    first[i] = anchors;
    anchors += static_cast<std::size_t>(chains.anchor_count[i]);
  }
  // Of equal chains the one that comes first on the reference, then in the list.
  const std::size_t best = std::min(order.size(), static_cast<std::size_t>(parameters.most_chains));
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(best), order.end(), [&](std::size_t a, std::size_t b) {
    if (chains.score[a] != chains.score[b]) return chains.score[a] > chains.score[b];
    const std::uint64_t a_x = chains.anchor_x[first[a]], b_x = chains.anchor_x[first[b]];
    return a_x != b_x ? a_x < b_x : a < b;
  });
  order.resize(best);

  const std::size_t before = candidates.size();
  for (const std::size_t i : order) {
    const std::size_t last = first[i] + static_cast<std::size_t>(chains.anchor_count[i]) - 1;
    const auto strand = static_cast<std::size_t>(chains.anchor_x[last] >> 32U);
    candidates.push_back(candidate_around({chains.anchor_x[first[i]], chains.anchor_y[first[i]], chains.anchor_x[last], chains.anchor_y[last]},
                                          read_columns, strand_begin[strand], strand_begin[strand + 1], parameters));
  }
  const auto from = candidates.begin() + static_cast<std::ptrdiff_t>(before);
  std::sort(from, candidates.end(),
            [](const Candidate& a, const Candidate& b) { return a.begin < b.begin || (a.begin == b.begin && a.end < b.end); });
  auto kept = from;
  for (auto next = from; next != candidates.end(); ++next) {
    if (kept != from && are_one(*(kept - 1), *next))
      (kept - 1)->end = std::max((kept - 1)->end, next->end);
    else
      *kept++ = *next;
  }
  candidates.erase(kept, candidates.end());
}

}  // namespace sluice::signal_seeding
