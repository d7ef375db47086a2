// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/consensus_vote.hpp"

#include <algorithm>
#include <bit>
#include <sluice/sequence/bases.hpp>

#include "read_correction/strand_letters.hpp"
#include "read_correction/vote_rules.hpp"

namespace sluice::read_correction {
namespace {

constexpr std::size_t none = 5;

// Loops of a fixed number of steps, which compilers turn into vectors.
constexpr std::size_t at_once = 16;
constexpr std::size_t padding = Agreement::padding;

void votes_of(const char* __restrict qualities, std::uint8_t* __restrict votes) {
  for (std::size_t i = 0; i < at_once; ++i) votes[i] = vote_of(qualities[i]);
}

void lower_of_neighbours(const std::uint8_t* __restrict votes, std::uint8_t* __restrict lower) {
  for (std::size_t i = 0; i < at_once; ++i) lower[i] = std::min(votes[i], votes[i + 1]);
}

}  // namespace

void ConsensusVote::refine(std::string_view sequences, std::span<const std::int32_t> lengths, std::string_view qualities, std::int32_t rounds,
                           std::string& consensus) {
  may_have_sites_ = false;
  if (rounds > 0 && !consensus.empty()) code(sequences, lengths, qualities);
  for (std::int32_t round = 0; round < rounds && !consensus.empty(); ++round) {
    pattern_.resize(consensus.size());
    to_codes(consensus.data(), consensus.size(), pattern_.data());
    align();
    ballots_.assign(2 * consensus.size() + 2, {});
    agreement_.reset(consensus.size());
    for (std::size_t voter = 0; voter < voters_.size(); ++voter) count(voter);
    count_agreement();
    if (!elect(consensus)) return;
  }
}

void ConsensusVote::code(std::string_view sequences, std::span<const std::int32_t> lengths, std::string_view qualities) {
  codes_.resize(sequences.size() + lengths.size() * Wavefronts::padding);
  // What is computed too much lies behind the last vote, or is overwritten.
  votes_.resize(padding + sequences.size() + 2 * at_once);
  votes_of_gap_.resize(padding + sequences.size() + lengths.size() + 2 * at_once);
  voters_.clear();
  voter_codes_.clear();
  char* to = codes_.data();
  std::size_t begin = 0;
  for (std::size_t sequence = 0; sequence < lengths.size(); ++sequence) {
    const auto letters = static_cast<std::size_t>(lengths[sequence]);
    to_codes(sequences.data() + begin, letters, to);
    std::fill_n(to + letters, Wavefronts::padding, Wavefronts::text_end);
    if (letters > 0) {
      voters_.push_back({static_cast<std::uint32_t>(sequence), votes_.data() + padding + begin, votes_of_gap_.data() + padding + begin + sequence});
      voter_codes_.emplace_back(to, letters);
    }
    begin += letters;
    to += letters + Wavefronts::padding;
  }
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

void ConsensusVote::align() {
  aligner_.set_pattern(pattern_);
  alignments_.align(pattern_, voter_codes_);
}

template <class Steps>
void ConsensusVote::walk_back(std::size_t voter, Steps&& steps) {
  if (alignments_.has(voter)) return alignments_.path(voter).walk_back(steps);
  aligner_.align_padded(voter_codes_[voter]);
  aligner_.walk_back(steps);
}

void ConsensusVote::count(std::size_t voter) {
  const Agreement::Voice voice = agreement_.begin_voter(voters_[voter].votes_of_gap[voter_codes_[voter].size()]);
  if (alignments_.has(voter))
    count_differences(voter, voice);
  else
    count_steps(voter, voice);
  if (agreement_.end_voter()) count_agreement();
}

// Of a path in the band: what moves it from one diagonal to another, then the other letters. Without branches for what there is at a base, which
// cannot be guessed.
void ConsensusVote::count_differences(std::size_t voter, const Agreement::Voice& voice) {
  const Agreement::Voice says = voice;
  const Voter of = voters_[voter];
  const char* const codes = voter_codes_[voter].data();
  const BandedAlignments::Path path = alignments_.path(voter);
  Ballot* const ballots = ballots_.data();
  // Of several letters the first one votes.
  const auto count_insertion = [=](std::size_t base, std::size_t first_letter, bool is_there) {
    const auto code = static_cast<std::uint8_t>(codes[first_letter] & (is_there ? 0xFF : 0));
    ballots[2 * base][code] += is_there ? of.votes[first_letter] : 0;
    says.insert(base, is_there);
  };
  std::size_t row = path.rows();
  for (std::size_t word = path.words(); word-- > 0;) {
    const auto [missing, others, inserted_behind] = path.differences(word);
    for (std::uint64_t left = missing | inserted_behind; left != 0;) {
      const auto bit = static_cast<std::size_t>(std::bit_width(left)) - 1, base = word * 64 + bit;
      left ^= std::uint64_t{1} << bit;
      const std::size_t letter = path.letters_before(base);
      const bool is_missing = (missing >> bit & 1U) != 0;
      says.agree(base + 1, path.letters_before(base + 1), row - base - 1, of.votes, of.votes_of_gap);
      count_insertion(base + 1, letter + (is_missing ? 0 : 1), (inserted_behind >> bit & 1U) != 0);
      // Where the base is not missing the next letters that agree overwrite it.
      says.disagree(base, false, of.votes_of_gap[letter]);
      ballots[2 * base + 1][none] += is_missing ? of.votes_of_gap[letter] : 0;
      row = base + (is_missing ? 0 : 1);
    }
  }
  const std::size_t before = path.letters_before(0);
  says.agree(0, before, row, of.votes, of.votes_of_gap);
  count_insertion(0, 0, before > 0);
  for (std::size_t word = path.words(); word-- > 0;) {
    for (std::uint64_t left = path.differences(word).others; left != 0; left &= left - 1) {
      const std::size_t base = word * 64 + static_cast<std::size_t>(std::countr_zero(left)), letter = path.letters_before(base);
      ballots[2 * base + 1][static_cast<std::uint8_t>(codes[letter])] += of.votes[letter];
      says.replace(base);
    }
  }
}

void ConsensusVote::count_steps(std::size_t voter, const Agreement::Voice& voice) {
  struct Steps {
    const Voter& voter;
    const char* codes;
    Ballot* ballots;
    Agreement::Voice voice;
    // The vote for a letter that was inserted by the step before: of several letters the first one votes.
    std::int64_t* inserted;
    std::int64_t vote_of_inserted = 0;

    void equal(std::int32_t row, std::int32_t column, std::int32_t letters) {
      vote_of_inserted = letters > 0 ? 0 : vote_of_inserted;
      voice.agree(static_cast<std::size_t>(row), static_cast<std::size_t>(column), static_cast<std::size_t>(letters), voter.votes,
                  voter.votes_of_gap);
    }
    // Without branches: which step it is cannot be guessed.
    void difference(std::int32_t row, std::int32_t column, PathStep step) {
      const auto base = static_cast<std::size_t>(row), letter = static_cast<std::size_t>(column);
      const bool inserts = step == PathStep::text_only, has_letter = step != PathStep::pattern_only;
      const std::uint8_t of_gap = voter.votes_of_gap[letter];
      const std::uint8_t outcome = has_letter ? static_cast<std::uint8_t>(codes[letter]) : none;
      const std::uint8_t vote = has_letter ? voter.votes[letter] : of_gap;
      *inserted -= inserts ? vote_of_inserted : 0;
      inserted = &ballots[2 * base + (inserts ? 0 : 1)][outcome];
      *inserted += vote;
      vote_of_inserted = inserts ? vote : 0;
      voice.disagree(base, inserts, of_gap);
    }
  };
  const char* const codes = voter_codes_[voter].data();
  walk_back(voter, Steps{voters_[voter], codes, ballots_.data(), voice, ballots_[0].data()});
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
  may_have_sites_ = false;
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
    const std::int64_t all = votes[0] + votes[1] + votes[2] + votes[3] + votes[none];
    may_have_sites_ = may_have_sites_ || (8 * (all - votes[held]) >= all && second_votes(votes) * 8 >= std::max<std::int64_t>(all, 1));
    if (2 * votes[held] > all) {
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

void ConsensusVote::find_sites(std::span<const std::int32_t> lengths, std::string_view consensus, VariantSites& sites) {
  sites.places.clear();
  sites.letters.clear();
  if (consensus.empty() || !may_have_sites_) return;
  elected_.resize(consensus.size());
  to_codes(consensus.data(), consensus.size(), elected_.data());
  if (elected_ != pattern_) {
    pattern_ = elected_;
    align();
  }
  differences_.clear();
  struct Steps {
    const char* codes;
    std::uint32_t sequence;
    std::vector<Difference>& differences;
    void equal(std::int32_t, std::int32_t, std::int32_t) {}
    void difference(std::int32_t row, std::int32_t column, PathStep step) {
      if (step == PathStep::text_only) return;
      differences.push_back({row, sequence, step == PathStep::mismatch ? static_cast<std::uint8_t>(codes[column]) : ambiguous_code});
    }
  };
  for (std::size_t voter = 0; voter < voters_.size(); ++voter)
    walk_back(voter, Steps{voter_codes_[voter].data(), voters_[voter].sequence, differences_});
  base_counts_.assign(consensus.size(), {});
  for (const Difference& difference : differences_) ++base_counts_[static_cast<std::size_t>(difference.base)][difference.code];
  const std::int32_t support = least_support(static_cast<std::int32_t>(voters_.size()));
  site_of_base_.assign(consensus.size(), -1);
  for (std::size_t base = 0; base < consensus.size(); ++base) {
    const auto& count = base_counts_[base];
    if (*std::max_element(count.begin(), count.begin() + ambiguous_code) < support) continue;
    site_of_base_[base] = static_cast<std::int32_t>(sites.places.size());
    sites.places.push_back(static_cast<std::int32_t>(base));
    for (const std::int32_t length : lengths) sites.letters += length > 0 ? consensus[base] : '-';
  }
  constexpr std::string_view letters = "ACGT-";
  for (const Difference& difference : differences_)
    if (const std::int32_t site = site_of_base_[static_cast<std::size_t>(difference.base)]; site >= 0)
      sites.letters[static_cast<std::size_t>(site) * lengths.size() + difference.sequence] = letters[difference.code];
}

}  // namespace sluice::read_correction
