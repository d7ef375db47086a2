// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "poa_consensus/window_consensus.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "poa_consensus/scratch_shares.hpp"
#include "unit/consensus/poa_consensus/noisy_copies.hpp"

using namespace sluice::poa_consensus;
using testing::MadeWindow;
using testing::make_window;

namespace {

MadeWindow window_of(std::vector<std::string> sequences) {
  MadeWindow window;
  window.sequences = std::move(sequences);
  return window;
}

WindowResult consensus(MadeWindow window, const ConsensusParameters& parameters = {}) {
  WindowConsensus maker(parameters);
  WindowResult result;
  REQUIRE(maker.make(window.view(), result) == WindowProblem::none);
  REQUIRE(result.coverage.size() == result.consensus.size());
  return result;
}

WindowProblem problem(const Window& window, const ConsensusParameters& parameters = {}) {
  WindowConsensus maker(parameters);
  WindowResult result;
  return maker.make(window, result);
}

ConsensusParameters majority(std::int32_t rounds, Undecided undecided = Undecided::keep_template, std::int32_t support = 0) {
  ConsensusParameters parameters;
  parameters.algorithm = Algorithm::majority;
  parameters.rounds = rounds;
  parameters.undecided = undecided;
  parameters.min_support = support;
  return parameters;
}

// What a device would give back of a graph.
struct MadePaths {
  std::vector<std::uint16_t> node, aligned_from;
  std::string guide;
  GraphPaths view() const { return {node, aligned_from, guide}; }
};
MadePaths paths_of(const PartialOrderGraph& graph, bool has_guide, const std::vector<std::int32_t>& order) {
  MadePaths paths;
  std::vector<std::int32_t> turn(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) turn[static_cast<std::size_t>(order[i])] = static_cast<std::int32_t>(i) + (has_guide ? 1 : 0);
  for (const std::int32_t merged : turn)
    for (const std::int32_t id : graph.path(merged)) paths.node.push_back(static_cast<std::uint16_t>(id));
  for (std::int32_t id = 0; id < graph.node_count(); ++id) {
    // The list of a node that is made ends with the one that it was aligned with; younger ones come behind it.
    std::uint16_t from = GraphPaths::none;
    for (std::int32_t a = graph.node(id).first_aligned; a >= 0; a = graph.aligned(a).next)
      if (graph.aligned(a).node < id) from = static_cast<std::uint16_t>(graph.aligned(a).node);
    paths.aligned_from.push_back(from);
  }
  if (has_guide)
    for (const std::int32_t id : graph.path(0)) paths.guide += graph.letter(id);
  return paths;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

std::string without_gaps(std::string row) {
  std::erase(row, '-');
  return row;
}

}  // namespace

TEST_CASE("small windows have the consensus that one expects") {
  CHECK(consensus(window_of({})).consensus.empty());
  CHECK(consensus(window_of({""})).consensus.empty());
  CHECK(consensus(window_of({"", "", ""})).consensus.empty());
  CHECK(consensus(window_of({"ACGT"})).consensus == "ACGT");
  CHECK(consensus(window_of({"A"})).consensus == "A");
  CHECK(consensus(window_of({"A", "A", "A"})).consensus == "A");
  CHECK(consensus(window_of({"", "ACGT", ""})).consensus == "ACGT");
  CHECK(consensus(window_of({"ACGTACGT", "ACGAACGT", "ACGAACGT"})).consensus == "ACGAACGT");
  for (const std::int32_t rounds : {1, 2, 3}) {
    CAPTURE(rounds);
    CHECK(consensus(window_of({""}), majority(rounds)).consensus.empty());
    CHECK(consensus(window_of({"ACGT"}), majority(rounds)).consensus == "ACGT");
    CHECK(consensus(window_of({"ACGTACGT", "ACGAACGT", "ACGAACGT"}), majority(rounds)).consensus == "ACGAACGT");
    CHECK(consensus(window_of({"ACGTACGT", "ACGACGT", "ACGACGT"}), majority(rounds)).consensus == "ACGACGT");
    CHECK(consensus(window_of({"ACGACGT", "ACGTACGT", "ACGTACGT"}), majority(rounds)).coverage == std::vector<std::int32_t>{3, 3, 3, 2, 3, 3, 3, 3});
  }
  ConsensusParameters guided;
  guided.rounds = 2;
  CHECK(consensus(window_of({"ACGTACGT", "ACGAACGT", "ACGAACGT"}), guided).coverage == std::vector<std::int32_t>(8, 3));
}

TEST_CASE("200 identical sequences are their own consensus") {
  std::mt19937 random(1);
  const std::string sequence = testing::random_bases(random, 300);
  for (const ConsensusParameters& parameters : {ConsensusParameters{}, majority(2)}) {
    const WindowResult result = consensus(window_of(std::vector<std::string>(200, sequence)), parameters);
    CHECK(result.consensus == sequence);
    CHECK(result.coverage == std::vector<std::int32_t>(300, 200));
  }
}

TEST_CASE("a column without a majority takes the letter of sequence 0") {
  CHECK(consensus(window_of({"AACAA", "AAGAA"}), majority(1)).consensus == "AACAA");
  CHECK(consensus(window_of({"AACAA", "AAGAA", "AATAA"}), majority(1)).consensus == "AACAA");
  CHECK(consensus(window_of({"AATAA", "AAGAA", "AAGAA"}), majority(1)).consensus == "AAGAA");
  CHECK(consensus(window_of({"AATAA", "AAGAA", "AAGAA"}), majority(1, Undecided::keep_template, 3)).consensus == "AATAA");
  // Between a letter and a gap the letter wins if they are equally frequent.
  CHECK(consensus(window_of({"CCAGG", "CCGG"}), majority(1)).consensus == "CCAGG");
  CHECK(consensus(window_of({"CCGG", "CCAGG"}), majority(1)).consensus == "CCAGG");
}

TEST_CASE("rows of the alignment without their gaps are the sequences") {
  std::mt19937 random(2);
  WindowResult result;
  for (int round = 0; round < 60; ++round) {
    ConsensusParameters parameters = majority(1 + round % 3);
    parameters.algorithm = round % 2 == 0 ? Algorithm::majority : Algorithm::heaviest_bundle;
    parameters.scoring.mode = static_cast<AlignmentMode>(random() % 3);
    parameters.scoring.gap_extend = round % 5 == 0 ? -2 : -8;
    MadeWindow window = make_window(random, random() % 100, 1 + random() % 12, 60, round % 4 == 0 ? "ACGTN" : "ACGT");
    WindowConsensus maker(parameters);
    REQUIRE(maker.make(window.view(), result) == WindowProblem::none);
    std::string rows;
    maker.append_alignment(rows);
    std::size_t begin = 0, width = rows.find('\n');
    for (const std::string& sequence : window.sequences) {
      const std::size_t end = rows.find('\n', begin);
      REQUIRE(end != std::string::npos);
      CHECK(end - begin == width);
      CHECK(without_gaps(rows.substr(begin, end - begin)) == sequence);
      begin = end + 1;
    }
    CHECK(begin == rows.size());
    for (const std::int32_t coverage : result.coverage) {
      CHECK(coverage >= 0);
      CHECK(coverage <= static_cast<std::int32_t>(window.sequences.size()));
    }
  }
}

TEST_CASE("a graph that is read back from its paths is the graph") {
  std::mt19937 random(6);
  for (int round = 0; round < 60; ++round) {
    ConsensusParameters parameters = round % 2 == 0 ? majority(1 + round % 4) : ConsensusParameters{};
    MadeWindow window = make_window(random, 40 + random() % 150, 1 + random() % 20, 60, round % 5 == 0 ? "ACGTN" : "ACGT");
    // Where most sequences are empty, so is the consensus that guides the next round.
    if (round % 6 == 4)
      for (std::size_t i = 1; i < window.sequences.size(); ++i) window.sequences[i].clear();
    if (round % 4 == 1) add_layers(random, window);
    if (round % 3 == 0) add_qualities(random, window);
    if (round % 4 == 1) parameters.layer_order = LayerOrder::racon;
    CAPTURE(round);
    WindowConsensus maker(parameters), reader(parameters);
    WindowResult made, read;
    REQUIRE(maker.make(window.view(), made) == WindowProblem::none);
    const bool has_guide = parameters.rounds > 1 && window.layer_begin.empty();
    std::vector<std::int32_t> order(window.sequences.size());
    order_layers(parameters.layer_order, window.layer_begin, order);
    const MadePaths paths = paths_of(maker.graph(), has_guide, order);
    REQUIRE(reader.read(window.view(), paths.view(), read));
    CHECK(read.consensus == made.consensus);
    CHECK(read.coverage == made.coverage);
    CHECK(read.is_polished);
    std::string made_text, read_text;
    for (auto [of, text] : {std::pair{&maker, &made_text}, std::pair{&reader, &read_text}}) {
      of->append_alignment(*text);
      of->append_gfa("w", *text);
      of->append_dot("w", *text);
    }
    CHECK(read_text == made_text);
    MadePaths damaged = paths;
    damaged.node.back() = 60000;
    CHECK(!reader.read(window.view(), damaged.view(), read));
    damaged = paths;
    damaged.aligned_from.push_back(GraphPaths::none);
    CHECK(!reader.read(window.view(), damaged.view(), read));
  }
}

TEST_CASE("a second round of layers is better than the first, and its backbone weighs nothing") {
  std::mt19937 random(9);
  std::size_t differences[2] = {};
  for (int round = 0; round < 30; ++round) {
    MadeWindow window;
    window.truth = testing::random_bases(random, 300);
    // Layers of the truth; the backbone is worse than they are, and weighs nothing. Places on it are about those on the truth.
    window.sequences.push_back(testing::noisy_copy(random, window.truth, 60));
    const auto last = static_cast<std::int32_t>(window.sequences[0].size()) - 1;
    window.layer_begin = {0};
    window.layer_end = {last};
    for (int layer = 0; layer < 9; ++layer) {
      const auto begin = layer % 3 != 0 ? std::size_t{0} : std::size_t{90};
      window.sequences.push_back(testing::noisy_copy(random, window.truth.substr(begin), 40));
      window.layer_begin.push_back(static_cast<std::int32_t>(begin));
      window.layer_end.push_back(last);
    }
    for (const std::string& sequence : window.sequences) window.qualities.emplace_back(sequence.size(), window.qualities.empty() ? '!' : '5');
    ConsensusParameters parameters;
    parameters.layer_order = LayerOrder::racon;
    for (const std::int32_t rounds : {1, 2}) {
      parameters.layer_rounds = rounds;
      const WindowResult result = consensus(window, parameters);
      REQUIRE(result.is_polished);
      differences[rounds - 1] += edit_distance(result.consensus, window.truth);
    }
  }
  CHECK(differences[1] < differences[0]);
}

TEST_CASE("sequences of either strand are turned") {
  std::mt19937 random(7);
  ConsensusParameters parameters;
  parameters.strands = Strands::either;
  for (int round = 0; round < 20; ++round) {
    const MadeWindow window = make_window(random, 80 + random() % 80, 9);
    MadeWindow turned = window;
    for (std::size_t i = 1; i < turned.sequences.size(); i += 2) {
      std::string& sequence = turned.sequences[i];
      std::reverse(sequence.begin(), sequence.end());
      for (char& base : sequence) base = "TGCA"[std::string_view("ACGT").find(base)];
    }
    CHECK(consensus(turned, parameters).consensus == consensus(window).consensus);
  }
}

TEST_CASE("haplotypes have their own consensuses, and noise is none") {
  std::mt19937 random(8);
  ConsensusParameters parameters = majority(2);
  parameters.groups = {.most_groups = 3};
  std::size_t right = 0;
  for (int round = 0; round < 40; ++round) {
    MadeWindow window = make_window(random, 120, 24, 25);
    const std::string first = window.truth;
    std::string second = first;
    const bool has_two = round % 2 == 0;
    if (has_two) {
      for (const std::size_t place : {std::size_t{20}, std::size_t{60}, std::size_t{101}}) second[place] = second[place] == 'A' ? 'C' : 'A';
      for (std::size_t i = 0; i < 24; i += 3) window.sequences[i] = testing::noisy_copy(random, second, 25);
    }
    CAPTURE(round);
    const WindowResult result = consensus(window, parameters);
    REQUIRE(!result.haplotypes.empty());
    std::size_t sequences = 0;
    for (const Haplotype& haplotype : result.haplotypes) sequences += haplotype.sequences.size();
    CHECK(sequences == 24);
    if (result.haplotypes.size() == 1) CHECK(result.haplotypes[0].consensus == result.consensus);
    if (result.haplotypes.size() != (has_two ? 2U : 1U)) continue;
    if (has_two) CHECK(std::abs(static_cast<int>(result.haplotypes[0].sequences.size()) - 16) <= 1);
    right += result.haplotypes[0].consensus == first && (!has_two || result.haplotypes[1].consensus == second) ? 1U : 0U;
  }
  CHECK(right >= 36);
}

TEST_CASE("kernels of a call share what there is of a device's memory") {
  using cuda::ScratchDemand;
  const std::vector<ScratchDemand> demands = {{1000, 500}, {100, 500}, {10, 1}};
  CHECK(cuda::share_scratch(demands, 1'000'000) == std::vector<std::uint32_t>{500, 500, 1});
  for (const std::uint64_t budget : {500'000, 100'000, 10'000, 2'000}) {
    const std::vector<std::uint32_t> blocks = cuda::share_scratch(demands, budget);
    CHECK(cuda::scratch_of(demands, blocks) <= budget);
    for (const std::uint32_t of_kernel : blocks) CHECK(of_kernel >= 1);
  }
  CHECK(cuda::share_scratch(demands, 0) == std::vector<std::uint32_t>{1, 1, 1});
}

TEST_CASE("70,000 sequences are counted") {
  ConsensusParameters parameters = majority(1);
  const WindowResult result = consensus(window_of(std::vector<std::string>(70'000, "ACGT")), parameters);
  CHECK(result.coverage == std::vector<std::int32_t>(4, 70'000));
}

TEST_CASE("many copies give the template back, and a window leaves nothing to the next") {
  std::mt19937 random(3);
  WindowConsensus maker(majority(2));
  WindowResult result;
  std::size_t right = 0;
  for (int i = 0; i < 50; ++i) {
    MadeWindow window = make_window(random, 100, 24, 33);
    REQUIRE(maker.make(window.view(), result) == WindowProblem::none);
    right += result.consensus == window.truth ? 1U : 0U;
    CHECK(consensus(window, majority(2)).consensus == result.consensus);
  }
  CHECK(right >= 45);
}

TEST_CASE("windows of too few sequences keep sequence 0") {
  ConsensusParameters parameters;
  parameters.min_sequences = 3;
  const WindowResult kept = consensus(window_of({"ACGTA", "ACCTA"}), parameters);
  CHECK(kept.consensus == "ACGTA");
  CHECK(!kept.is_polished);
  CHECK(consensus(window_of({"ACGTA", "ACCTA", "ACCTA"}), parameters).is_polished);
}

TEST_CASE("ends that less than half of the layers cover are cut off") {
  ConsensusParameters parameters;
  parameters.trim = Trim::racon;
  parameters.layer_order = LayerOrder::racon;
  MadeWindow window = window_of({"AAAACCCCGGGGTTTTACGTACGT", "CCCCGGGGTTTT", "CCCCGGGGTTTT", "CCCCGGGGTTTT", "CCCCGGGGTTTT"});
  window.layer_begin = {0, 4, 4, 4, 4};
  window.layer_end = {23, 15, 15, 15, 15};
  CHECK(consensus(window, parameters).consensus == "CCCCGGGGTTTT");
  parameters.trim = Trim::none;
  CHECK(consensus(window, parameters).consensus == "AAAACCCCGGGGTTTTACGTACGT");
  parameters.trim = Trim::racon;
  MadeWindow apart = window_of({"AACCGGTTAC", "AA", "CC", "GG", "TT"});
  apart.layer_begin = {0, 0, 2, 4, 6};
  apart.layer_end = {9, 1, 3, 5, 7};
  CHECK(consensus(apart, parameters).consensus.size() <= 10);
}

TEST_CASE("letters that weigh nothing give sequence 0") {
  MadeWindow window = window_of({"ACGTACGT", "ACGAACGT"});
  window.qualities = {"!!!!!!!!", "!!!!!!!!"};
  CHECK(consensus(window).consensus == "ACGTACGT");
  window.qualities = {"!!!!!!!!", "\"\"\"\"\"\"\"\""};
  CHECK(consensus(window).consensus == "ACGAACGT");
}

TEST_CASE("windows that do not make sense are refused") {
  MadeWindow window = window_of({"ACGT", "ACG"});
  const Window good = window.view();
  CHECK(problem(good) == WindowProblem::none);
  const std::vector<std::int32_t> longer = {4, 4}, negative = {8, -1}, outside = {0, 4}, backwards = {0, 1}, inside = {0, 2}, one = {0};
  const auto with = [&](auto&& change) {
    Window changed = good;
    change(changed);
    return problem(changed);
  };
  CHECK(with([&](Window& w) { w.lengths = longer; }) == WindowProblem::bad_sequences);
  CHECK(with([&](Window& w) { w.lengths = negative; }) == WindowProblem::bad_sequences);
  CHECK(with([&](Window& w) { w.qualities = "IIII"; }) == WindowProblem::bad_sequences);
  CHECK(with([&](Window& w) { w.qualities = "IIIIII "; }) == WindowProblem::bad_sequences);
  CHECK(with([&](Window& w) { w.layer_begin = inside, w.layer_end = inside; }) == WindowProblem::none);
  CHECK(with([&](Window& w) { w.layer_begin = inside; }) == WindowProblem::bad_layers);
  CHECK(with([&](Window& w) { w.layer_begin = inside, w.layer_end = outside; }) == WindowProblem::bad_layers);
  CHECK(with([&](Window& w) { w.layer_begin = inside, w.layer_end = backwards; }) == WindowProblem::bad_layers);
  CHECK(with([&](Window& w) { w.layer_begin = one, w.layer_end = one; }) == WindowProblem::bad_layers);
  ConsensusParameters small;
  small.matrix_bytes = 30;
  CHECK(problem(good, small) == WindowProblem::too_large);
}
