// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A vote on each base of a consensus: the sequences that it was made from are aligned to it, and change it where most of them disagree.
//
// A partial order graph splits a column when sequences were merged into it with their differences at different places, and what is split loses: most
// errors that a column majority leaves on a piece are a base too many. Aligned once more to the finished consensus, with gaps at the same place in
// all, the sequences agree.

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "read_correction/agreement.hpp"
#include "read_correction/banded_alignments.hpp"
#include "read_correction/unit_cost_path.hpp"
#include "read_correction/variant_sites.hpp"

namespace sluice::read_correction {

class ConsensusVote {
 public:
  // Sequences one after the other, their lengths, and Phred + 33 of all their letters (empty: every letter has one vote). Replaces `consensus` by the
  // outcome of up to `rounds` votes; ends with the first that changes nothing. Sequences without letters do not vote. Lengths must add up.
  //
  // A letter votes with its Phred score (at least 1), a missing letter with the lower score of its two neighbours. A base is replaced or removed when
  // another outcome has strictly more votes; an insertion before a base is made (its first letter) when it has strictly more votes than none.
  // A vote that would leave nothing changes nothing. Letters other than A, C, G, T vote for no base.
  void refine(std::string_view sequences, std::span<const std::int32_t> lengths, std::string_view qualities, std::int32_t rounds,
              std::string& consensus);

  // Behind refine() with the same sequences and one round or more: bases of its consensus that another letter is at in many sequences.
  void find_sites(std::span<const std::int32_t> lengths, std::string_view consensus, VariantSites& sites);

  std::size_t bytes() const { return alignments_.bytes() + aligner_.bytes() + codes_.capacity(); }

 private:
  using Ballot = std::array<std::int64_t, 6>;  // A, C, G, T, any other letter, none
  // Which of the sequences a voter is, its letters, its votes, and what its gaps vote with: before each letter, and behind the last.
  struct Voter {
    std::uint32_t sequence;
    const std::uint8_t* votes;
    const std::uint8_t* votes_of_gap;
  };

  void code(std::string_view sequences, std::span<const std::int32_t> lengths, std::string_view qualities);
  void align();
  // The path of a voter to the pattern, as Wavefronts::walk_back() has it.
  template <class Steps>
  void walk_back(std::size_t voter, Steps&& steps);
  void count(std::size_t voter);
  void count_steps(std::size_t voter, const Agreement::Voice& voice);
  void count_differences(std::size_t voter, const Agreement::Voice& voice);
  void count_agreement();
  Ballot& of_insertion(std::size_t base) { return ballots_[2 * base]; }
  Ballot& of_base(std::size_t base) { return ballots_[2 * base + 1]; }
  bool elect(std::string& consensus);

  BandedAlignments alignments_;
  UnitCostAligner aligner_;                         // of what those do not have
  std::string codes_, pattern_;                     // of the sequences, of the consensus: nucleotide codes
  std::vector<std::uint8_t> votes_, votes_of_gap_;  // behind padding
  std::vector<Voter> voters_;                       // sequences with letters
  std::vector<std::string_view> voter_codes_;
  std::vector<Ballot> ballots_;  // of each base of the consensus, and before it of a letter between it and the base before; behind the last, too
  Agreement agreement_;
  bool may_have_sites_ = false;  // whether the last vote had a base for which another one had an eighth of the votes
  std::string elected_;
  struct Difference {
    std::int32_t base;
    std::uint32_t sequence;
    std::uint8_t code;
  };
  std::vector<Difference> differences_;                   // of sequences from the consensus, without insertions
  std::vector<std::array<std::int32_t, 5>> base_counts_;  // how many sequences have another letter there, by its code
  std::vector<std::int32_t> site_of_base_;                // -1: it is none
};

}  // namespace sluice::read_correction
