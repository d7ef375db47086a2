// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The fast forms of both engines against the forms that follow the method line by line, on every instruction set of this machine.
#include <doctest/doctest.h>

#include <string>

#include "chaining/long_join_search.hpp"
#include "chaining/predecessor_search.hpp"
#include "made_up_anchors.hpp"
#include "unit/instruction_sets.hpp"

namespace sluice::chaining {
namespace {

struct Table {
  explicit Table(std::size_t anchors) : score(anchors), predecessor(anchors) {}
  PredecessorTable view() { return {score, predecessor}; }
  bool operator==(const Table&) const = default;
  std::vector<std::int32_t> score, predecessor;
};

std::vector<ChainingParameters> parameter_sets() {
  std::vector<ChainingParameters> sets(8);
  sets[1].max_chain_iter = 20;  // the best anchor beyond the window counts
  sets[2].max_gap = 700;
  sets[2].max_gap_ref = 300;
  sets[2].bw = 60;
  sets[3].chain_skip_scale = 0.4F;
  sets[3].bw = 1500;
  sets[4].bw = 1;
  sets[5].chain_gap_scale = 0.0F;
  sets[5].k = 28;
  sets[6].max_gap = 100000;
  sets[6].bw = 50000;
  sets[7].rmq_size_cap = 30;
  sets[7].rmq_inner_dist = 0;
  sets[7].bw_long = 900;
  sets[7].max_chain_iter = 1;
  return sets;
}

template <class Check>
void for_each_made_up_read(Check check) {
  std::mt19937 random(11);
  for (const AnchorKind& kind : anchor_kinds())
    for (int repetition = 0; repetition < 3; ++repetition) {
      const MadeUpRead read = make_up_anchors(kind, random);
      REQUIRE(check_anchors(read.anchors(), read.length) == AnchorFault::none);
      for (const ChainingParameters& parameters : parameter_sets()) {
        CAPTURE(kind.count);
        CAPTURE(kind.period);
        CAPTURE(parameters.bw);
        check(read, parameters);
      }
    }
}

TEST_CASE("searching for predecessors by diagonals and blocks finds what the scan of all of them finds") {
  PredecessorSearchScratch scratch;
  std::vector<std::int32_t> stamps;
  for_each_made_up_read([&](const MadeUpRead& read, const ChainingParameters& parameters) {
    Table expected(read.x.size());
    scan_predecessors(read.anchors(), parameters, stamps, expected.view());
    sluice::testing::for_each_instruction_set([&] {
      Table found(read.x.size());
      search_predecessors(read.anchors(), parameters, scratch, found.view());
      REQUIRE(found == expected);
    });
  });
}

TEST_CASE("joining by lanes finds what two trees find, also where their shape decides between anchors of equal cost") {
  JoinSearchScratch scratch;
  TreeScratch trees;
  int runs = 0, with_tree = 0;
  for_each_made_up_read([&](const MadeUpRead& read, const ChainingParameters& parameters) {
    const JoinLimits limits = join_limits(parameters, parameters.bw_long);
    for (std::size_t first = 0, last = 0; first < read.x.size(); first = last) {
      while (last < read.x.size() && read.x[last] >> 32 == read.x[first] >> 32) ++last;
      Table expected(read.x.size());
      scan_joins(read.anchors(), first, last, parameters, limits, trees, expected.view());
      sluice::testing::for_each_instruction_set([&] {
        Table found(read.x.size());
        scratch.tree = {};
        search_joins(read.anchors(), first, last, parameters, limits, scratch, found.view());
        ++runs;
        with_tree += scratch.tree.queries().empty() ? 0 : 1;
        REQUIRE(found == expected);
      });
    }
  });
  CHECK(runs > 1000);
  CHECK(with_tree > 0);
  MESSAGE(runs << " runs of anchors, " << with_tree << " with a tree");
}

TEST_CASE("a limit of skips that no search can reach changes nothing, a low one may") {
  std::mt19937 random(3);
  ChainingWorkspace workspace;
  int changed = 0;
  for (const AnchorKind& kind : anchor_kinds()) {
    const MadeUpRead read = make_up_anchors(kind, random);
    ChainingParameters unlimited, high, low;
    unlimited.max_chain_iter = high.max_chain_iter = 100000;
    unlimited.rmq_size_cap = high.rmq_size_cap = 100000;
    high.max_chain_skip = 99999;  // scanned one by one, but never cut short
    low.max_chain_skip = 2;
    const FoundChains chains = find_chains(read, unlimited, workspace);
    CHECK(find_chains(read, high, workspace) == chains);
    changed += find_chains(read, low, workspace) == chains ? 0 : 1;
  }
  CHECK(changed > 0);
}

}  // namespace
}  // namespace sluice::chaining
