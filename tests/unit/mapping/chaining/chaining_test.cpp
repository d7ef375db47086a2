// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "chaining/chaining.hpp"

#include <doctest/doctest.h>

#include <map>
#include <set>
#include <sluice/testing.hpp>
#include <sluice/testing/kept_memory.hpp>

#include "chaining/anchor_sort.hpp"
#include "chaining/ordered_anchor_tree.hpp"
#include "made_up_anchors.hpp"
#include "unit/default_of.hpp"

namespace sluice::chaining {
namespace {

MadeUpRead along_a_diagonal(int anchors, std::int32_t step) {
  MadeUpRead read;
  read.length = 20 + anchors * step;
  for (int i = 0; i < anchors; ++i) {
    read.x.push_back(static_cast<std::uint64_t>(1000 + i * step));
    read.y.push_back(std::uint64_t{15} << 32 | static_cast<std::uint64_t>(14 + i * step));
  }
  return read;
}

TEST_CASE("anchors on one diagonal are one chain, and score the bases that they cover") {
  ChainingWorkspace workspace;
  const FoundChains chains = find_chains(along_a_diagonal(10, 10), {}, workspace);
  CHECK(chains.score == std::vector<std::int32_t>{15 + 9 * 10});
  CHECK(chains.anchor_count == std::vector<std::int32_t>{10});
  CHECK(chains.predecessor == std::vector<std::int32_t>{-1, 0, 1, 2, 3, 4, 5, 6, 7, 8});
}

TEST_CASE("a difference of the gaps costs what minimap2 says") {
  // 100 bases on the read, 130 on the target: 15 - (int)(0.12 * 30 + log2(31) / 2).
  MadeUpRead read;
  read.length = 1000;
  read.x = {500, 630};
  read.y = {std::uint64_t{15} << 32 | 100, std::uint64_t{15} << 32 | 200};
  ChainingWorkspace workspace;
  CHECK(find_chains(read, {}, workspace).anchor_score == std::vector<std::int32_t>{15, 15 + 15 - 6});
}

TEST_CASE("chains with too few anchors, or of too low a score, are none") {
  ChainingWorkspace workspace;
  CHECK(find_chains(along_a_diagonal(3, 13), {}, workspace).score.size() == 1);
  CHECK(find_chains(along_a_diagonal(3, 12), {}, workspace).score.empty());
  ChainingParameters parameters;
  parameters.min_cnt = 4;
  CHECK(find_chains(along_a_diagonal(3, 15), parameters, workspace).score.empty());
  CHECK(find_chains({}, {}, workspace).score.empty());
}

TEST_CASE("chains are made of the anchors of one target and strand, ascending, no anchor twice") {
  std::mt19937 random(5);
  ChainingWorkspace workspace;
  for (const AnchorKind& kind : anchor_kinds()) {
    const MadeUpRead read = make_up_anchors(kind, random);
    const FoundChains chains = find_chains(read, {}, workspace);
    std::multiset<std::pair<std::uint64_t, std::uint64_t>> left;
    for (std::size_t i = 0; i < read.x.size(); ++i) left.insert({read.x[i], read.y[i]});
    std::size_t at = 0;
    for (std::size_t c = 0; c < chains.score.size(); ++c) {
      CHECK(chains.score[c] >= 40);
      CHECK(chains.anchor_count[c] >= 3);
      for (std::int32_t i = 0; i < chains.anchor_count[c]; ++i, ++at) {
        const auto anchor = left.find({chains.x[at], chains.y[at]});
        REQUIRE(anchor != left.end());
        left.erase(anchor);
        if (i == 0) continue;
        CHECK((chains.x[at] >> 32) == (chains.x[at - 1] >> 32));
        CHECK(chains.x[at] > chains.x[at - 1]);
        CHECK(query_position(chains.y[at]) > query_position(chains.y[at - 1]));
      }
    }
    CHECK(at == chains.x.size());
  }
}

// On each target 60 stretches of anchors that end in two ways, which are equally good.
MadeUpRead with_equal_ends(std::uint64_t targets) {
  MadeUpRead read;
  read.length = 61000;
  const auto add = [&](std::uint64_t target, int x, int y) {
    read.x.push_back(target << 32 | static_cast<std::uint64_t>(x));
    read.y.push_back(std::uint64_t{15} << 32 | static_cast<std::uint64_t>(y));
  };
  for (std::uint64_t target = 0; target < targets; ++target) {
    for (int stretch = 0; stretch < 60; ++stretch) {
      const int x = 1000 * stretch + 100, y = 1000 * (60 - stretch);
      const int anchors = 5 + (7 * stretch + stretch * stretch * (static_cast<int>(target) + 1)) % 6, last = 20 * (anchors - 1);
      for (int i = 0; i < anchors; ++i) add(target, x + 20 * i, y + 20 * i);
      add(target, x + last + 30, y + last + 40);
      add(target, x + last + 40, y + last + 30);
    }
  }
  return read;
}

TEST_CASE("with ties by place the chains on a target do not depend on what else the read meets") {
  ChainingWorkspace workspace;
  ChainingParameters parameters;
  parameters.bw_long = 0;
  const auto ends_on_first_target = [&](std::uint64_t targets) {
    const FoundChains found = find_chains(with_equal_ends(targets), parameters, workspace);
    std::vector<std::uint64_t> ends;
    std::size_t at = 0;
    for (const std::int32_t count : found.anchor_count) {
      at += static_cast<std::size_t>(count);
      if (found.x[at - 1] >> 32 == 0) ends.push_back(found.x[at - 1]);
    }
    return ends;
  };
  CHECK(ends_on_first_target(1).size() == 60);
  CHECK(ends_on_first_target(1) != ends_on_first_target(2));  // minimap2's ties
  parameters.ties = Ties::place;
  CHECK(ends_on_first_target(1).size() == 60);
  CHECK(ends_on_first_target(1) == ends_on_first_target(2));
  CHECK(ends_on_first_target(1) == ends_on_first_target(5));
}

TEST_CASE("two chains on either side of a long gap are joined, unless bw_long forbids it") {
  MadeUpRead read = along_a_diagonal(40, 15);
  for (int i = 0; i < 40; ++i) {
    read.x.push_back(read.x[static_cast<std::size_t>(i)] + 9000);
    read.y.push_back(read.y[static_cast<std::size_t>(i)] + 3000);
  }
  read.length = 4000;
  ChainingWorkspace workspace;
  CHECK(find_chains(read, {}, workspace).anchor_count == std::vector<std::int32_t>{40, 40});  // 15 bases are not worth this gap
  for (std::size_t i = 40; i < 80; ++i) read.x[i] -= 5400;
  CHECK(find_chains(read, {}, workspace).anchor_count == std::vector<std::int32_t>{80});
  ChainingParameters parameters;
  parameters.bw_long = parameters.bw;
  CHECK(find_chains(read, parameters, workspace).anchor_count == std::vector<std::int32_t>{40, 40});
}

TEST_CASE("anchors that can't be chained are told apart") {
  const MadeUpRead read = along_a_diagonal(4, 10);
  CHECK(check_anchors(read.anchors(), read.length) == AnchorFault::none);
  CHECK(check_anchors(read.anchors(), 40) == AnchorFault::outside_read);
  CHECK(check_anchors(read.anchors(), -1) == AnchorFault::outside_read);
  CHECK(check_anchors({std::span(read.x).first(3), read.y}, read.length) == AnchorFault::different_lengths);
  const std::vector<std::uint64_t> descending = {4, 3, 2, 1}, far = {1, 2, 3, 0x90000000};
  CHECK(check_anchors({descending, read.y}, read.length) == AnchorFault::unsorted);
  CHECK(check_anchors({far, read.y}, read.length) == AnchorFault::outside_read);
}

TEST_CASE("the sort is in place, byte by byte from the top, stable up to 64 records only") {
  struct Record {
    std::uint64_t key;
    std::uint32_t place;
  };
  const auto key = [](const Record& record) { return record.key; };
  std::mt19937_64 random(1);
  bool stable = true;
  for (const std::uint64_t spread : {1ULL, 7ULL, 300ULL, 70000ULL, 1ULL << 40}) {
    for (const std::uint32_t n : {0U, 1U, 2U, 64U, 65U, 500U, 5000U}) {
      std::vector<Record> records(n);
      for (std::uint32_t i = 0; i < n; ++i) records[i] = {(1ULL << 63) + random() % spread, i};
      std::vector<Record> from_the_top = records;
      sort_records(std::span(records), key);
      if (n > 64) detail::sort_by_digits(std::span(from_the_top), key, 56);
      std::set<std::uint32_t> places;
      for (std::uint32_t i = 0; i < n; ++i) {
        places.insert(records[i].place);
        if (n > 64) CHECK(records[i].place == from_the_top[i].place);
        if (i == 0) continue;
        CHECK(records[i - 1].key <= records[i].key);
        const bool in_order = records[i - 1].key != records[i].key || records[i - 1].place < records[i].place;
        if (n <= 64) CHECK(in_order);
        stable &= in_order;
      }
      CHECK(places.size() == n);
    }
  }
  CHECK_FALSE(stable);
}

TEST_CASE("the tree finds the lowest cost of an interval, and walks down from any key") {
  std::mt19937 random(2);
  constexpr std::int32_t anchors = 400;
  std::vector<std::int32_t> query(anchors);
  std::vector<double> cost(anchors);
  for (std::int32_t i = 0; i < anchors; ++i) {
    query[static_cast<std::size_t>(i)] = static_cast<std::int32_t>(random() % 90);
    cost[static_cast<std::size_t>(i)] = static_cast<double>(random() % 50);
  }
  OrderedAnchorTree tree;
  tree.reset(query, cost);
  std::map<std::pair<std::int32_t, std::int32_t>, double> inside;
  std::int32_t first = 0;
  for (std::int32_t i = 0; i < anchors; ++i) {
    tree.insert(i);
    inside[{query[static_cast<std::size_t>(i)], i}] = cost[static_cast<std::size_t>(i)];
    for (; static_cast<std::int32_t>(inside.size()) > 60; ++first) {
      tree.remove(first);
      inside.erase({query[static_cast<std::size_t>(first)], first});
    }
    REQUIRE(tree.size() == static_cast<std::int32_t>(inside.size()));
    const auto low = static_cast<std::int32_t>(random() % 100) - 5, high = low + static_cast<std::int32_t>(random() % 60);
    double lowest = 1e9;
    for (const auto& [at, value] : inside)
      if (at.first > low && at.first < high) lowest = std::min(lowest, value);
    const std::int32_t found = tree.lowest_cost({low, INT32_MAX}, {high, -1});
    REQUIRE((found == OrderedAnchorTree::none) == (lowest == 1e9));
    if (found != OrderedAnchorTree::none) CHECK(cost[static_cast<std::size_t>(found)] == lowest);
    std::vector<std::int32_t> expected, walked;
    for (auto at = inside.rbegin(); at != inside.rend(); ++at)
      if (at->first.first <= high) expected.push_back(at->first.second);
    for (auto descent = tree.descend({high, INT32_MAX}); descent.anchor() != OrderedAnchorTree::none; descent.next())
      walked.push_back(descent.anchor());
    CHECK(walked == expected);
  }
}

// minimap2 2.24 and 2.31: an anchor knows of its subtree the right child's lowest before the left child's, and that before itself.
TEST_CASE("of equal costs the shape of the tree decides, as in minimap2") {
  // A full tree: 80 above 40 and 120, 40 above 20 and 60, 60 above 50 and 70.
  const std::vector<std::int32_t> query = {80, 40, 120, 20, 60, 100, 140, 10, 30, 50, 70, 90, 110, 130, 150};
  const auto lowest = [&](const std::vector<std::int32_t>& low_ones, std::int32_t low, std::int32_t high) {
    std::vector<double> cost(query.size(), 2);
    for (const std::int32_t at : low_ones) cost[static_cast<std::size_t>(std::ranges::find(query, at) - query.begin())] = 1;
    OrderedAnchorTree tree;
    tree.reset(query, cost);
    for (std::int32_t i = 0; i < std::ssize(query); ++i) tree.insert(i);
    return query[static_cast<std::size_t>(tree.lowest_cost({low, INT32_MAX}, {high, -1}))];
  };
  // Of the subtree of 60, which is met as a whole.
  CHECK(lowest({50, 60, 70}, 0, 200) == 70);
  CHECK(lowest({50, 60}, 0, 200) == 50);
  CHECK(lowest({60, 70}, 0, 200) == 70);
  CHECK(lowest({50, 70}, 0, 200) == 70);
  CHECK(lowest({60}, 0, 200) == 60);
  // The anchors of the path down, and their subtrees, are met one after the other; the first counts.
  CHECK(lowest({40, 60, 120, 140}, 0, 200) == 40);
  CHECK(lowest({70, 100, 120}, 0, 200) == 70);
  CHECK(lowest({80, 40, 70}, 0, 200) == 80);
}

TEST_CASE("the stage gives each read its chains, whatever batch it is in, and bad reads a reason") {
  namespace testing = sluice::testing;
  std::mt19937 random(9);
  ChainingWorkspace workspace;
  std::vector<std::int32_t> lengths;
  std::vector<std::vector<std::uint64_t>> x, y;
  std::vector<FoundChains> expected;
  for (const AnchorKind& kind : anchor_kinds()) {
    const MadeUpRead read = make_up_anchors(kind, random);
    lengths.push_back(read.length);
    x.push_back(read.x);
    y.push_back(read.y);
    expected.push_back(find_chains(read, {}, workspace));
  }
  lengths.insert(lengths.end(), {100, 100, 100});
  x.insert(x.end(), {{5, 4}, {5}, {5}});
  y.insert(y.end(), {{5, 4}, {100}, {}});
  const auto rows = static_cast<std::int64_t>(lengths.size());
  const auto reads = testing::BatchBuilder("read", rows)
                         .column<std::int32_t>("read_length", lengths)
                         .list<std::uint64_t>("anchor_x", x)
                         .list<std::uint64_t>("anchor_y", y)
                         .build();
  const auto* plugin = testing::load_plugin(SLUICE_PLUGIN_DIR "/chaining.so");
  const auto result = testing::run_stage(testing::stage_of(*plugin, "chaining"), reads).expect_rows(static_cast<std::int64_t>(expected.size()));
  const auto& batch = result.batch();
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i);
    const auto same = [&]<class T>(const char* name, const std::vector<T>& values) {
      const auto found = batch.view().template list<T>(name)[row];
      CHECK(std::vector<T>(found.begin(), found.end()) == values);
    };
    same("chain_score", expected[i].score);
    same("chain_anchor_count", expected[i].anchor_count);
    same("chain_anchor_x", expected[i].x);
    same("chain_anchor_y", expected[i].y);
    same("anchor_score", expected[i].anchor_score);
    same("anchor_predecessor", expected[i].predecessor);
  }
  std::vector<std::string> reasons;
  for (const auto& failed : result.failed) reasons.push_back(failed.reason);
  CHECK(reasons == std::vector<std::string>{"unsorted_anchors", "anchor_outside_read", "different_lengths"});
  for (const std::string& problem : testing::contract_problems(*plugin, {{"chaining", {.batches = {reads}}}})) FAIL_CHECK(problem);
}

TEST_CASE("a read with so many anchors that its memory is given back leaves nothing behind, and has the chains of its parts") {
  namespace testing = sluice::testing;
  std::mt19937 random(13);
  const auto batch_of = [](const std::vector<MadeUpRead>& reads) {
    std::vector<std::int32_t> lengths;
    std::vector<std::vector<std::uint64_t>> x, y;
    for (const MadeUpRead& read : reads) lengths.push_back(read.length), x.push_back(read.x), y.push_back(read.y);
    return testing::BatchBuilder("read", static_cast<std::int64_t>(reads.size()))
        .column<std::int32_t>("read_length", lengths)
        .list<std::uint64_t>("anchor_x", x)
        .list<std::uint64_t>("anchor_y", y)
        .build();
  };
  std::vector<MadeUpRead> small;
  for (const AnchorKind& kind : anchor_kinds()) small.push_back(make_up_anchors(kind, random));
  const MadeUpRead huge = make_up_anchors({450'000, 20, 1'000'000, 3000, 1, 15}, random);
  const auto* plugin = testing::load_plugin(SLUICE_PLUGIN_DIR "/chaining.so");
  const auto problems = testing::kept_memory_problems(testing::stage_of(*plugin, "chaining"), {.batches = {batch_of(small)}}, batch_of({huge}));
  CHECK(problems == std::vector<std::string>{});
}

TEST_CASE("the defaults are those of minimap2 -x map-ont") {
  CHECK(testing::other_defaults(testing::stage_of(*testing::load_plugin(SLUICE_PLUGIN_DIR "/chaining.so"), "chaining"),
                                {{"max_gap", "5000"},
                                 {"max_gap_ref", "-1"},
                                 {"bw", "500"},
                                 {"bw_long", "20000"},
                                 {"max_chain_iter", "5000"},
                                 {"min_cnt", "3"},
                                 {"min_chain_score", "40"},
                                 {"rmq_inner_dist", "1000"},
                                 {"rmq_size_cap", "100000"},
                                 {"rmq_rescue_size", "1000"},
                                 {"rmq_rescue_ratio", "0.1"},
                                 {"chain_gap_scale", "0.8"},
                                 {"chain_skip_scale", "0"},
                                 {"k", "15"},
                                 {"max_chain_skip", "(none)"}}) == "");
}

}  // namespace
}  // namespace sluice::chaining
