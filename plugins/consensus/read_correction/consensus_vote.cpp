// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/consensus_vote.hpp"

#include <algorithm>
#include <sluice/sequence/bases.hpp>
#include <sluice/sequence/letter_blocks.hpp>

namespace sluice::read_correction {
namespace {

constexpr std::size_t none = 5;
// Of a gap at the very end of a sequence, where there is a neighbour on one side only: about the mean of a nanopore read.
constexpr std::uint8_t votes_without_neighbour = 10;

void code_letters(std::string_view letters, std::string& codes) {
  codes.assign(letters);
  to_nucleotide_codes(codes.data(), codes.size());
}

// Loops of a fixed number of steps, which compilers turn into vectors.
constexpr std::size_t at_once = 16;

constexpr std::uint8_t vote_of(char quality) {
  return static_cast<std::uint8_t>(std::max<std::int8_t>(static_cast<std::int8_t>(quality), '"') - '!');
}

void votes_of(const char* __restrict qualities, std::uint8_t* __restrict votes) {
  for (std::size_t i = 0; i < at_once; ++i) votes[i] = vote_of(qualities[i]);
}

void lower_of_neighbours(const std::uint8_t* __restrict votes, std::uint8_t* __restrict lower) {
  for (std::size_t i = 0; i < at_once; ++i) lower[i] = std::min(votes[i], votes[i + 1]);
}

}  // namespace

void ConsensusVote::refine(std::string_view sequences, std::span<const std::int32_t> lengths, std::string_view qualities, std::int32_t rounds,
                           std::string& consensus) {
  if (rounds > 0 && !consensus.empty()) code(sequences, lengths, qualities);
  for (std::int32_t round = 0; round < rounds && !consensus.empty(); ++round) {
    code_letters(consensus, pattern_);
    aligner_.set_pattern(pattern_);
    bases_.assign(consensus.size(), {});
    insertions_.assign(consensus.size() + 1, {});
    agreement_.reset(consensus.size());
    std::size_t begin = 0, voters = 0;
    for (const std::int32_t length : lengths) {
      const auto letters = static_cast<std::size_t>(length);
      if (letters > 0) count({std::string_view(codes_).substr(begin, letters), votes_.data() + begin, votes_of_gap_.data() + begin + voters});
      begin += letters;
      ++voters;
    }
    count_agreement();
    if (!elect(consensus)) return;
  }
}

void ConsensusVote::code(std::string_view sequences, std::span<const std::int32_t> lengths, std::string_view qualities) {
  code_letters(sequences, codes_);
  // What is computed too much lies behind the last vote, or is overwritten.
  constexpr std::size_t padding = Agreement::padding + at_once;
  votes_.assign(sequences.size() + padding, 1);
  votes_of_gap_.assign(sequences.size() + lengths.size() + padding, 1);
  if (qualities.empty()) return;
  std::size_t letter = 0;
  for (; letter + at_once <= qualities.size(); letter += at_once) votes_of(qualities.data() + letter, votes_.data() + letter);
  for (; letter < qualities.size(); ++letter) votes_[letter] = vote_of(qualities[letter]);
  const std::uint8_t* votes = votes_.data();
  std::uint8_t* of_gap = votes_of_gap_.data();
  for (const std::int32_t length : lengths) {
    const auto letters = static_cast<std::size_t>(length);
    if (letters > 0) {
      of_gap[0] = std::min(votes[0], votes_without_neighbour);
      for (std::size_t i = 1; i < letters; i += at_once) lower_of_neighbours(votes + i - 1, of_gap + i);
      of_gap[letters] = std::min(votes[letters - 1], votes_without_neighbour);
    }
    votes += letters;
    of_gap += letters + 1;
  }
}

void ConsensusVote::count(const Voter& voter) {
  aligner_.align(voter.codes);
  aligner_.path(runs_);
  std::size_t base = 0, letter = 0;
  bool has_inserted = false;
  const auto vote = [&](Ballot& ballot) { ballot[static_cast<std::uint8_t>(voter.codes[letter])] += voter.votes[letter]; };
  const auto vote_for_no_insertion = [&] {
    if (!has_inserted) insertions_[base][none] += voter.votes_of_gap[letter];
    has_inserted = false;
  };
  for (const PathRun run : runs_) {
    const auto length = static_cast<std::size_t>(run.length);
    switch (run.step) {
      case PathStep::match:
        agreement_.agree(base, letter, length, voter.votes, voter.votes_of_gap);
        if (has_inserted) agreement_.insert_before(base);
        has_inserted = false;
        base += length;
        letter += length;
        break;
      case PathStep::mismatch:
        for (std::size_t i = 0; i < length; ++i, ++base, ++letter) {
          agreement_.disagree(base);
          vote_for_no_insertion();
          vote(bases_[base]);
        }
        break;
      case PathStep::pattern_only:
        for (std::size_t i = 0; i < length; ++i, ++base) {
          agreement_.disagree(base);
          vote_for_no_insertion();
          bases_[base][none] += voter.votes_of_gap[letter];
        }
        break;
      case PathStep::text_only:
        vote(insertions_[base]);
        has_inserted = true;
        letter += length;
        break;
    }
  }
  vote_for_no_insertion();
  if (agreement_.end_voter()) count_agreement();
}

void ConsensusVote::count_agreement() {
  const auto for_bases = agreement_.for_bases(), for_no_insertion = agreement_.for_no_insertion();
  for (std::size_t base = 0; base < for_bases.size(); ++base) {
    bases_[base][static_cast<std::uint8_t>(pattern_[base])] += for_bases[base];
    insertions_[base][none] += for_no_insertion[base];
  }
  agreement_.clear();
}

// False: nothing changed.
bool ConsensusVote::elect(std::string& consensus) {
  constexpr std::string_view letters = "ACGT";
  elected_.clear();
  for (std::size_t base = 0; base <= consensus.size(); ++base) {
    const Ballot& inserted = insertions_[base];
    const auto first = static_cast<std::size_t>(std::max_element(inserted.begin(), inserted.begin() + ambiguous_code) - inserted.begin());
    if (inserted[first] > inserted[none]) elected_.push_back(letters[first]);
    if (base == consensus.size()) break;
    Ballot& votes = bases_[base];
    votes[ambiguous_code] = -1;  // votes for no base
    const auto most = static_cast<std::size_t>(std::max_element(votes.begin(), votes.end()) - votes.begin());
    const auto held = static_cast<std::uint8_t>(pattern_[base]);
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
