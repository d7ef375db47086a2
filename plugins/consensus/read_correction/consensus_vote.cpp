// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/consensus_vote.hpp"

#include <algorithm>
#include <sluice/sequence/bases.hpp>

#include "read_correction/strand_letters.hpp"

namespace sluice::read_correction {
namespace {

constexpr std::size_t none = 5;
// Of a gap at the very end of a sequence, where there is a neighbour on one side only: about the mean of a nanopore read.
constexpr std::uint8_t votes_without_neighbour = 10;

// Loops of a fixed number of steps, which compilers turn into vectors.
constexpr std::size_t at_once = 16;
constexpr std::size_t padding = Agreement::padding;

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
    pattern_.resize(consensus.size());
    to_codes(consensus.data(), consensus.size(), pattern_.data());
    aligner_.set_pattern(pattern_);
    ballots_.assign(2 * consensus.size() + 2, {});
    agreement_.reset(consensus.size());
    std::size_t begin = 0, voters = 0;
    for (const std::int32_t length : lengths) {
      const auto letters = static_cast<std::size_t>(length);
      if (letters > 0)
        count({std::string_view(codes_).substr(begin + voters * Wavefronts::padding, letters), votes_.data() + padding + begin,
               votes_of_gap_.data() + padding + begin + voters});
      begin += letters;
      ++voters;
    }
    count_agreement();
    if (!elect(consensus)) return;
  }
}

void ConsensusVote::code(std::string_view sequences, std::span<const std::int32_t> lengths, std::string_view qualities) {
  codes_.resize(sequences.size() + lengths.size() * Wavefronts::padding);
  char* to = codes_.data();
  const char* from = sequences.data();
  for (const std::int32_t length : lengths) {
    const auto letters = static_cast<std::size_t>(length);
    to_codes(from, letters, to);
    std::fill_n(to + letters, Wavefronts::padding, Wavefronts::text_end);
    from += letters;
    to += letters + Wavefronts::padding;
  }
  // What is computed too much lies behind the last vote, or is overwritten.
  votes_.resize(padding + sequences.size() + 2 * at_once);
  votes_of_gap_.resize(padding + sequences.size() + lengths.size() + 2 * at_once);
  if (qualities.empty()) {
    std::ranges::fill(votes_, std::uint8_t{1});
    std::ranges::fill(votes_of_gap_, std::uint8_t{1});
    return;
  }
  const std::uint8_t* votes = votes_.data() + padding;
  std::size_t letter = 0;
  for (; letter + at_once <= qualities.size(); letter += at_once) votes_of(qualities.data() + letter, votes_.data() + padding + letter);
  for (; letter < qualities.size(); ++letter) votes_[padding + letter] = vote_of(qualities[letter]);
  std::uint8_t* of_gap = votes_of_gap_.data() + padding;
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
  struct Steps {
    const Voter& voter;
    Ballot* ballots;
    Agreement& agreement;
    // The vote for a letter that was inserted by the step before: of several letters the first one votes.
    std::int64_t* inserted;
    std::int64_t vote_of_inserted = 0;

    void equal(std::int32_t row, std::int32_t column, std::int32_t letters) {
      vote_of_inserted = letters > 0 ? 0 : vote_of_inserted;
      agreement.agree(static_cast<std::size_t>(row), static_cast<std::size_t>(column), static_cast<std::size_t>(letters), voter.votes,
                      voter.votes_of_gap);
    }
    // Without branches: which step it is cannot be guessed.
    void difference(std::int32_t row, std::int32_t column, PathStep step) {
      const auto base = static_cast<std::size_t>(row), letter = static_cast<std::size_t>(column);
      const bool inserts = step == PathStep::text_only, has_letter = step != PathStep::pattern_only;
      const std::uint8_t of_gap = voter.votes_of_gap[letter];
      const std::uint8_t outcome = has_letter ? static_cast<std::uint8_t>(voter.codes.data()[letter]) : none;
      const std::uint8_t vote = has_letter ? voter.votes[letter] : of_gap;
      *inserted -= inserts ? vote_of_inserted : 0;
      inserted = &ballots[2 * base + (inserts ? 0 : 1)][outcome];
      *inserted += vote;
      vote_of_inserted = inserts ? vote : 0;
      agreement.disagree(base, inserts, of_gap);
    }
  };
  aligner_.align_padded(voter.codes);
  agreement_.begin_voter(voter.votes_of_gap[voter.codes.size()]);
  aligner_.walk_back(Steps{voter, ballots_.data(), agreement_, ballots_[0].data()});
  if (agreement_.end_voter()) count_agreement();
}

void ConsensusVote::count_agreement() {
  const auto for_bases = agreement_.for_bases(), for_no_insertion = agreement_.for_no_insertion();
  for (std::size_t base = 0; base < for_bases.size(); ++base) of_base(base)[static_cast<std::uint8_t>(pattern_[base])] += for_bases[base];
  for (std::size_t base = 0; base < for_no_insertion.size(); ++base) of_insertion(base)[none] += for_no_insertion[base];
  agreement_.clear();
}

// False: nothing changed.
bool ConsensusVote::elect(std::string& consensus) {
  constexpr std::string_view letters = "ACGT";
  elected_.resize(2 * consensus.size() + 1);
  auto to = elected_.begin();
  for (std::size_t base = 0; base <= consensus.size(); ++base) {
    const Ballot& inserted = of_insertion(base);
    // Mostly none has more votes than all letters together.
    if (inserted[none] < inserted[0] + inserted[1] + inserted[2] + inserted[3]) {
      const auto first = static_cast<std::size_t>(std::max_element(inserted.begin(), inserted.begin() + ambiguous_code) - inserted.begin());
      if (inserted[first] > inserted[none]) *to++ = letters[first];
    }
    if (base == consensus.size()) break;
    Ballot& votes = of_base(base);
    votes[ambiguous_code] = 0;  // votes for no base
    const auto held = static_cast<std::uint8_t>(pattern_[base]);
    if (2 * votes[held] > votes[0] + votes[1] + votes[2] + votes[3] + votes[none]) {
      *to++ = consensus[base];
      continue;
    }
    votes[ambiguous_code] = -1;
    const auto most = static_cast<std::size_t>(std::max_element(votes.begin(), votes.end()) - votes.begin());
    if (votes[most] == 0 || (held != ambiguous_code && votes[held] == votes[most]))
      *to++ = consensus[base];
    else if (most != none)
      *to++ = letters[most];
  }
  elected_.resize(static_cast<std::size_t>(to - elected_.begin()));
  if (elected_.empty() || elected_ == consensus) return false;
  consensus.swap(elected_);
  return true;
}

// Whether the last vote had a base for which another one had an eighth of the votes. (Of its consensus before the outcome, which is as good for
// this.)
bool ConsensusVote::may_have_sites() const {
  for (std::size_t base = 0; 2 * base + 1 < ballots_.size(); ++base) {
    const Ballot& votes = ballots_[2 * base + 1];
    std::int64_t all = votes[none], most = 0, second = 0;
    for (std::size_t code = 0; code < ambiguous_code; ++code) {
      all += votes[code];
      second = std::max(second, std::min(most, votes[code]));
      most = std::max(most, votes[code]);
    }
    if (8 * second >= all && second > 0) return true;
  }
  return false;
}

void ConsensusVote::find_sites(std::span<const std::int32_t> lengths, std::string_view consensus, VariantSites& sites) {
  sites.places.clear();
  sites.letters.clear();
  if (consensus.empty() || ballots_.empty() || !may_have_sites()) return;
  pattern_.resize(consensus.size());
  to_codes(consensus.data(), consensus.size(), pattern_.data());
  aligner_.set_pattern(pattern_);
  differences_.clear();
  struct Steps {
    std::string_view codes;
    std::uint32_t sequence;
    std::vector<Difference>& differences;
    void equal(std::int32_t, std::int32_t, std::int32_t) {}
    void difference(std::int32_t row, std::int32_t column, PathStep step) {
      if (step == PathStep::text_only) return;
      differences.push_back({row, sequence, step == PathStep::mismatch ? static_cast<std::uint8_t>(codes.data()[column]) : ambiguous_code});
    }
  };
  std::size_t begin = 0;
  std::int32_t voters = 0;
  for (std::size_t sequence = 0; sequence < lengths.size(); ++sequence) {
    const auto letters = static_cast<std::size_t>(lengths[sequence]);
    if (letters > 0) {
      const std::string_view codes = std::string_view(codes_).substr(begin + sequence * Wavefronts::padding, letters);
      aligner_.align_padded(codes);
      aligner_.walk_back(Steps{codes, static_cast<std::uint32_t>(sequence), differences_});
      ++voters;
    }
    begin += letters;
  }
  std::sort(differences_.begin(), differences_.end(),
            [](const Difference& a, const Difference& b) { return a.base != b.base ? a.base < b.base : a.sequence < b.sequence; });
  constexpr std::string_view letters = "ACGT-";
  for (auto first = differences_.begin(), last = first; first != differences_.end(); first = last) {
    std::array<std::int32_t, 5> count{};
    for (; last != differences_.end() && last->base == first->base; ++last) ++count[std::min(last->code, ambiguous_code)];
    if (*std::max_element(count.begin(), count.begin() + ambiguous_code) < least_support(voters)) continue;
    sites.places.push_back(first->base);
    const std::size_t at = sites.letters.size();
    for (const std::int32_t length : lengths) sites.letters += length > 0 ? consensus[static_cast<std::size_t>(first->base)] : '-';
    for (auto d = first; d != last; ++d) sites.letters[at + d->sequence] = letters[std::min(d->code, ambiguous_code)];
  }
}

}  // namespace sluice::read_correction
