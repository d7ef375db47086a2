// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Chains against the description of the method, which shares no number with the plugin.
#include "described_method.hpp"

#include <doctest/doctest.h>

#include <random>
#include <vector>

namespace sluice::chaining {
namespace {

TEST_CASE("parameters that nobody gives are those of minimap2 2.24, map-ont, but for the limit of skips") {
  const ChainingParameters p;
  CHECK(p.max_gap == 5000);
  CHECK(p.max_gap_ref == -1);
  CHECK(p.bw == 500);
  CHECK(p.bw_long == 20000);
  CHECK(p.max_chain_iter == 5000);
  CHECK(p.min_cnt == 3);
  CHECK(p.min_chain_score == 40);
  CHECK(p.rmq_inner_dist == 1000);
  CHECK(p.rmq_size_cap == 100000);
  CHECK(p.rmq_rescue_size == 1000);
  CHECK(p.rmq_rescue_ratio == 0.1F);
  CHECK(p.chain_gap_scale == 0.8F);
  CHECK(p.chain_skip_scale == 0.0F);
  CHECK(p.k == 15);
}

std::vector<ChainingParameters> parameter_sets() {
  std::vector<ChainingParameters> sets(9);
  sets[1].max_chain_iter = 20;
  sets[2].max_gap = 700;
  sets[2].max_gap_ref = 300;
  sets[2].bw = 60;
  sets[3].chain_skip_scale = 0.4F;
  sets[3].chain_gap_scale = 1.7F;
  sets[4].bw = 1;
  sets[4].min_chain_score = 17;
  sets[5].chain_gap_scale = 0.0F;
  sets[5].chain_skip_scale = 0.05F;
  sets[5].k = 28;
  sets[6].max_gap = 100000;
  sets[6].bw = 50000;
  sets[6].bw_long = 90000;
  sets[7].rmq_size_cap = 30;
  sets[7].rmq_inner_dist = 0;
  sets[7].bw_long = 900;
  sets[8].rmq_rescue_size = 10;
  sets[8].rmq_rescue_ratio = 0.9F;
  sets[8].min_cnt = 1;
  return sets;
}

TEST_CASE("chains are those of the description, anchor for anchor and score for score") {
  std::mt19937 random(29);
  ChainingWorkspace workspace;
  int decided = 0, undecided = 0;
  for (const AnchorKind& kind : anchor_kinds()) {
    const MadeUpRead read = make_up_anchors(kind, random);
    for (const ChainingParameters& parameters : parameter_sets()) {
      CAPTURE(kind.count);
      CAPTURE(kind.period);
      CAPTURE(parameters.bw);
      const auto expected = described::chains_of(read, parameters);
      ++(expected ? decided : undecided);
      if (!expected) continue;
      const FoundChains found = find_chains(read, parameters, workspace);
      REQUIRE(found.score.size() == expected->size());
      std::size_t at = 0;
      for (std::size_t c = 0; c < expected->size(); ++c) {
        REQUIRE(found.score[c] == (*expected)[c].score);
        REQUIRE(found.anchor_count[c] == static_cast<std::int32_t>((*expected)[c].anchors.size()));
        for (const described::Anchor& anchor : (*expected)[c].anchors) {
          REQUIRE(found.x[at] == anchor.x);
          REQUIRE(found.y[at++] == anchor.y);
        }
      }
    }
  }
  CHECK(decided > 80);
  MESSAGE(decided << " reads decided, " << undecided << " by the shape of a tree");
}

TEST_CASE("the scan of predecessors with a limit of skips gives the described scores where the limit is out of reach") {
  std::mt19937 random(31);
  ChainingWorkspace workspace;
  for (const AnchorKind& kind : anchor_kinds()) {
    const MadeUpRead read = make_up_anchors(kind, random);
    for (ChainingParameters parameters : parameter_sets()) {
      parameters.max_chain_skip = parameters.max_chain_iter - 1;
      std::vector<described::Anchor> anchors;
      for (std::size_t i = 0; i < read.x.size(); ++i) anchors.push_back({read.x[i], read.y[i]});
      const described::Scores expected = described::first_pass(anchors, parameters);
      if (parameters.max_chain_iter < 100) continue;
      const FoundChains found = find_chains(read, parameters, workspace);
      CHECK(std::equal(found.anchor_score.begin(), found.anchor_score.end(), expected.score.begin(), expected.score.end()));
      CHECK(std::equal(found.predecessor.begin(), found.predecessor.end(), expected.predecessor.begin(), expected.predecessor.end()));
    }
  }
}

}  // namespace
}  // namespace sluice::chaining
