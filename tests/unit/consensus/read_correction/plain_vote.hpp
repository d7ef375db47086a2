// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// One round of votes as it is defined: a matrix cell by cell, a path step by step, a vote letter by letter.

#include <algorithm>
#include <array>
#include <cstdint>
#include <sluice/sequence/bases.hpp>
#include <string>
#include <vector>

namespace plain_vote {

using Ballot = std::array<std::int64_t, 5>;

enum class Step : std::uint8_t { diagonal, consensus_only, sequence_only };

inline std::vector<Step> path(const std::string& consensus, const std::string& sequence) {
  const auto is_equal = [](char a, char b) { return sluice::nucleotide_code(a) == sluice::nucleotide_code(b); };
  std::vector<std::vector<int>> d(consensus.size() + 1, std::vector<int>(sequence.size() + 1));
  for (std::size_t i = 0; i <= consensus.size(); ++i)
    for (std::size_t j = 0; j <= sequence.size(); ++j) {
      d[i][j] = static_cast<int>(i + j);
      if (i > 0 && j > 0)
        d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (is_equal(consensus[i - 1], sequence[j - 1]) ? 0 : 1)});
    }
  std::vector<Step> steps;
  for (std::size_t i = consensus.size(), j = sequence.size(); i > 0 || j > 0;) {
    const Step step = j > 0 && d[i][j] == d[i][j - 1] + 1   ? Step::sequence_only
                      : i > 0 && d[i][j] == d[i - 1][j] + 1 ? Step::consensus_only
                                                            : Step::diagonal;
    if (step != Step::sequence_only) --i;
    if (step != Step::consensus_only) --j;
    steps.push_back(step);
  }
  std::reverse(steps.begin(), steps.end());
  return steps;
}

inline std::string outcome(const std::vector<std::string>& sequences, const std::string& qualities, const std::string& consensus) {
  if (consensus.empty()) return consensus;
  std::vector<Ballot> bases(consensus.size()), insertions(consensus.size() + 1);
  std::size_t begin = 0;
  for (const std::string& sequence : sequences) {
    const auto votes_of = [&](std::size_t letter) { return qualities.empty() ? 1 : std::max(qualities[begin + letter] - '!', 1); };
    std::size_t base = 0, letter = 0;
    const auto votes_of_gap = [&] {
      return qualities.empty() ? 1 : std::min(letter > 0 ? votes_of(letter - 1) : 10, letter < sequence.size() ? votes_of(letter) : 10);
    };
    const auto vote = [&](Ballot& ballot) {
      if (const std::size_t code = sluice::nucleotide_code(sequence[letter]); code < 4) ballot[code] += votes_of(letter);
    };
    bool has_inserted = false;
    const auto no_insertion = [&] {
      if (!has_inserted) insertions[base][4] += votes_of_gap();
      has_inserted = false;
    };
    if (sequence.empty()) continue;
    for (const Step step : path(consensus, sequence)) {
      if (step == Step::sequence_only) {
        if (!has_inserted) vote(insertions[base]);
        has_inserted = true;
        ++letter;
        continue;
      }
      no_insertion();
      if (step == Step::consensus_only)
        bases[base][4] += votes_of_gap();
      else
        vote(bases[base]), ++letter;
      ++base;
    }
    no_insertion();
    begin += sequence.size();
  }
  std::string elected;
  for (std::size_t base = 0; base <= consensus.size(); ++base) {
    const Ballot& inserted = insertions[base];
    const auto first = static_cast<std::size_t>(std::max_element(inserted.begin(), inserted.begin() + 4) - inserted.begin());
    if (inserted[first] > inserted[4]) elected.push_back("ACGT"[first]);
    if (base == consensus.size()) break;
    const Ballot& votes = bases[base];
    const auto most = static_cast<std::size_t>(std::max_element(votes.begin(), votes.end()) - votes.begin());
    const std::size_t held = sluice::nucleotide_code(consensus[base]);
    if (votes[most] == 0 || (held < 4 && votes[held] == votes[most]))
      elected.push_back(consensus[base]);
    else if (most < 4)
      elected.push_back("ACGT"[most]);
  }
  return elected.empty() ? consensus : elected;
}

}  // namespace plain_vote
