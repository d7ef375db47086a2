// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "read_correction/consensus_vote.hpp"

#include <doctest/doctest.h>

#include <array>

#include "unit/consensus/read_correction/plain_vote.hpp"
#include "unit/consensus/read_correction/simulated_reads.hpp"

using namespace sluice::read_correction;

namespace {

std::string outcome(const std::vector<std::string>& sequences, std::string consensus, std::int32_t rounds = 1, const std::string& qualities = {}) {
  std::string all;
  std::vector<std::int32_t> lengths;
  for (const std::string& sequence : sequences) {
    all += sequence;
    lengths.push_back(static_cast<std::int32_t>(sequence.size()));
  }
  ConsensusVote vote;
  vote.refine(all, lengths, qualities, rounds, consensus);
  return consensus;
}

}  // namespace

TEST_CASE("what most sequences say replaces, removes and inserts a base") {
  CHECK(outcome({"ACGTACGT", "ACGTACGT", "ACTTACGT"}, "ACTTACGT") == "ACGTACGT");
  CHECK(outcome({"ACGTACGT", "ACGTACGT", "ACGTTACGT"}, "ACGTTACGT") == "ACGTACGT");
  CHECK(outcome({"ACGTACGT", "ACGTACGT", "ACGACGT"}, "ACGACGT") == "ACGTACGT");
  CHECK(outcome({"TACG", "TACG", "ACG"}, "ACG") == "TACG");
  CHECK(outcome({"ACGT", "ACGT", "ACG"}, "ACG") == "ACGT");
}

TEST_CASE("a tie keeps the consensus") {
  CHECK(outcome({"ACGTACGT", "ACCTACGT"}, "ACCTACGT") == "ACCTACGT");
  CHECK(outcome({"ACGTACGT", "ACTACGT"}, "ACGTACGT") == "ACGTACGT");
  CHECK(outcome({"ACGTACGT", "ACTACGT"}, "ACTACGT") == "ACTACGT");
}

TEST_CASE("a letter weighs its quality, a gap the lower one of its neighbours") {
  CHECK(outcome({"ACGTA", "ACCTA", "ACCTA"}, "ACCTA", 1, "++5+++++++++++\"") == "ACCTA");
  CHECK(outcome({"ACGTA", "ACCTA", "ACCTA"}, "ACCTA", 1, "++I++++++++++++") == "ACGTA");
  // Two gaps of weight 1 against one base of weight 10.
  CHECK(outcome({"ACTA", "ACTA", "ACGTA"}, "ACTA", 1, "+\"+++\"+++++++") == "ACGTA");
}

TEST_CASE("nothing to vote with leaves the consensus") {
  CHECK(outcome({}, "ACGT") == "ACGT");
  CHECK(outcome({"", ""}, "ACGT") == "ACGT");
  CHECK(outcome({"ACGA"}, "ACGT", 0) == "ACGT");
  CHECK(outcome({"ACGA"}, "") == "");
  CHECK(outcome({"NNNN", "NNNN"}, "ACGT") == "ACGT");
  CHECK(outcome({"ANGT", "ACGT"}, "ANGT") == "ACGT");
}

TEST_CASE("votes are counted letter by letter along the path that has gaps as far right as they can lie") {
  std::mt19937 random(16);
  for (int round = 0; round < 300; ++round) {
    const std::string truth = simulated_reads::random_bases(1 + random() % 150, random);
    const double errors = std::array{0.01, 0.1, 0.3}[random() % 3];
    std::vector<std::string> copies;
    std::string qualities;
    // Now and then more than are counted at a time, with the highest scores there are.
    const std::size_t voters = round % 50 == 0 ? 1100 : random() % 30;
    for (std::size_t copy = 0; copy < voters; ++copy) {
      copies.push_back(simulated_reads::noisy_copy(truth, errors, random));
      for (char& base : copies.back())
        if (random() % 50 == 0) base = "NRacgtu"[random() % 7];
      for (std::size_t i = 0; i < copies.back().size(); ++i) qualities.push_back(round % 50 == 0 ? '~' : static_cast<char>('!' + random() % 94));
    }
    if (round % 4 == 0) qualities.clear();
    std::string consensus = simulated_reads::noisy_copy(truth, 0.05, random);
    if (round % 7 == 0 && !consensus.empty()) consensus[random() % consensus.size()] = "NRa"[random() % 3];
    CHECK(outcome(copies, consensus, 1, qualities) == plain_vote::outcome(copies, qualities, consensus));
  }
}

TEST_CASE("twenty noisy copies nearly always make up for an error of the consensus") {
  std::mt19937 random(15);
  int restored = 0;
  for (int round = 0; round < 200; ++round) {
    const std::string truth = simulated_reads::random_bases(100, random);
    std::vector<std::string> copies;
    for (int copy = 0; copy < 20; ++copy) copies.push_back(simulated_reads::noisy_copy(truth, 0.08, random));
    if (outcome(copies, simulated_reads::noisy_copy(truth, 0.02, random), 3) == truth) ++restored;
  }
  CHECK(restored > 180);
}
