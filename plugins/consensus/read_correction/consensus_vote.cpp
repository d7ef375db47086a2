// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/consensus_vote.hpp"

#include <algorithm>
#include <sluice/sequence/bases.hpp>

#include "read_correction/template_kmers.hpp"

namespace sluice::read_correction {
namespace {

constexpr std::size_t none = 4;
// Of a gap at the very end of a sequence, where there is a neighbour on one side only: about the mean of a nanopore read.
constexpr std::int64_t votes_without_neighbour = 10;

std::int64_t votes_of(std::string_view qualities, std::size_t letter) {
  return qualities.empty() ? 1 : std::max<std::int64_t>(qualities[letter] - '!', 1);
}

}  // namespace

void ConsensusVote::refine(std::string_view sequences, std::span<const std::int32_t> lengths, std::string_view qualities, std::int32_t rounds,
                           std::string& consensus) {
  for (std::int32_t round = 0; round < rounds && !consensus.empty(); ++round) {
    aligner_.set_pattern(consensus);
    bases_.assign(consensus.size(), {});
    insertions_.assign(consensus.size() + 1, {});
    std::size_t begin = 0;
    for (const std::int32_t length : lengths) {
      const auto letters = static_cast<std::size_t>(length);
      if (letters > 0) count(sequences.substr(begin, letters), qualities.empty() ? qualities : qualities.substr(begin, letters));
      begin += letters;
    }
    if (!elect(consensus)) return;
  }
}

void ConsensusVote::count(std::string_view sequence, std::string_view qualities) {
  aligner_.align(sequence);
  aligner_.path(steps_);
  std::size_t base = 0, letter = 0;
  bool has_inserted = false;
  const auto votes_of_gap = [&] {
    if (qualities.empty()) return std::int64_t{1};
    return std::min(letter > 0 ? votes_of(qualities, letter - 1) : votes_without_neighbour,
                    letter < sequence.size() ? votes_of(qualities, letter) : votes_without_neighbour);
  };
  const auto vote = [&](Ballot& ballot) {
    if (const std::size_t code = nucleotide_code(sequence[letter]); code != ambiguous_code) ballot[code] += votes_of(qualities, letter);
  };
  for (const PathStep step : steps_) {
    if (step == PathStep::text_only) {
      if (!has_inserted) vote(insertions_[base]);
      has_inserted = true;
      ++letter;
      continue;
    }
    if (!has_inserted) insertions_[base][none] += votes_of_gap();
    has_inserted = false;
    if (step == PathStep::pattern_only)
      bases_[base][none] += votes_of_gap();
    else
      vote(bases_[base]), ++letter;
    ++base;
  }
  if (!has_inserted) insertions_[base][none] += votes_of_gap();
}

// False: nothing changed.
bool ConsensusVote::elect(std::string& consensus) {
  constexpr std::string_view letters = "ACGT";
  elected_.clear();
  for (std::size_t base = 0; base <= consensus.size(); ++base) {
    const Ballot& inserted = insertions_[base];
    const auto first = static_cast<std::size_t>(std::max_element(inserted.begin(), inserted.begin() + none) - inserted.begin());
    if (inserted[first] > inserted[none]) elected_.push_back(letters[first]);
    if (base == consensus.size()) break;
    const Ballot& votes = bases_[base];
    const auto most = static_cast<std::size_t>(std::max_element(votes.begin(), votes.end()) - votes.begin());
    const std::size_t held = nucleotide_code(consensus[base]);
    if (votes[most] == 0 || (held != ambiguous_code && votes[held] == votes[most]))
      elected_.push_back(consensus[base]);
    else if (most != none)
      elected_.push_back(letters[most]);
  }
  if (elected_.empty() || elected_ == consensus) return false;
  consensus.swap(elected_);
  return true;
}

}  // namespace sluice::read_correction
