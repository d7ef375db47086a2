// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <random>
#include <sluice/testing.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "unit/files/bedgraph_writer/big_wig_file.hpp"
#include "unit/methylation/made_sites.hpp"
#include "unit/resumed_forms.hpp"

namespace testing = sluice::testing;
using made_sites::rows;

namespace {

const sluice_plugin_info& plugin() {
  static const sluice_plugin_info* const loaded = testing::load_plugin(SLUICE_PLUGIN_DIR "/bedgraph_writer.so");
  return *loaded;
}
std::string written(const testing::ParameterTexts& parameters, const std::vector<testing::TestBatch>& batches = {rows()}) {
  const testing::TemporaryFolder folder;
  testing::ParameterTexts all = parameters;
  all.insert({"output", folder.path() + "/sites.bedgraph"});
  const testing::Result result = testing::run_stage(testing::stage_of(plugin(), "bedgraph_writer"), batches).with(all).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  return result.files.at(folder.path() + "/sites.bedgraph");
}

// A header that names the contigs, on the disk.
class Alignments {
 public:
  explicit Alignments(const std::string& contigs) { std::ofstream(path(), std::ios::binary) << "@HD\tVN:1.6\tSO:coordinate\n" << contigs; }
  std::string path() const { return folder_.path() + "/reads.sam"; }

 private:
  testing::TemporaryFolder folder_;
};
testing::StageRun big_wig(const Alignments& alignments, const std::vector<testing::TestBatch>& batches, const testing::TemporaryFolder& folder) {
  return testing::run_stage(testing::stage_of(plugin(), "bedgraph_writer"), batches)
      .with({{"format", "bigwig"}, {"alignments", alignments.path()}, {"output", folder.path() + "/sites.bw"}});
}
big_wig_file::Contents contents(const Alignments& alignments, const std::vector<testing::TestBatch>& batches) {
  const testing::TemporaryFolder folder;
  const testing::Result result = big_wig(alignments, batches, folder).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  return big_wig_file::Reader(result.files.at(folder.path() + "/sites.bw")).contents();
}
using Values = std::vector<std::tuple<std::string, std::uint32_t, float>>;

// A site a row, all modified or not.
testing::TestBatch sites(std::uint64_t sequence, const std::vector<std::string>& contigs, const std::vector<std::int64_t>& positions,
                         const std::vector<std::int64_t>& modified, std::int64_t calls) {
  std::vector<std::int64_t> canonical;
  for (const std::int64_t number : modified) canonical.push_back(calls - number);
  return testing::BatchBuilder("pileup", static_cast<std::int64_t>(contigs.size()))
      .text("contig", contigs)
      .column<std::int64_t>("position", positions)
      .text("modification", std::vector<std::string>(contigs.size(), "m"))
      .column<std::int64_t>("modified", modified)
      .column<std::int64_t>("canonical", canonical)
      .column<std::int64_t>("other_modified", std::vector<std::int64_t>(contigs.size(), 0))
      .sequence(sequence)
      .build();
}

}  // namespace

TEST_CASE("a line for each position, with both strands together") {
  CHECK(written({}) == "a\t5\t6\t50.00\na\t9\t10\t44.44\nb\t9\t10\t50.00\nb\t10\t11\t0.00\n");
  CHECK(written({{"modification", "h"}}) == "a\t5\t6\t25.00\n");
  CHECK(written({{"min_coverage", 5}}) == "a\t9\t10\t44.44\nb\t9\t10\t50.00\n");
  CHECK(written({{"modification", "a"}}).empty());
}

TEST_CASE("a modification that no position has is told with those that there are, and what is no code is refused") {
  const testing::TemporaryFolder folder;
  const auto run = [&](const char* code) {
    return testing::run_stage(testing::stage_of(plugin(), "bedgraph_writer"), rows())
        .with({{"output", folder.path() + "/x"}, {"modification", code}})
        .run();
  };
  CHECK(run("a").logged("no position has the modification 'a': those that there are: 'h', 'm'"));
  CHECK(run("76792").logged("no position has the modification '76792'"));
  CHECK_FALSE(run("h").logged("no position"));
  for (const char* wrong : {"zz", "0", "-1", "99999999999", "m,h", "1m", "?"}) {
    CAPTURE(wrong);
    CHECK(run(wrong).status == SLUICE_ERROR_USAGE);
  }
}

TEST_CASE("a position whose rows come in two batches is one line") {
  const auto half = [](std::uint64_t sequence, std::int64_t modified) {
    return testing::BatchBuilder("pileup", 1)
        .text("contig", {"a"})
        .column<std::int64_t>("position", {5})
        .text("modification", {"m"})
        .column<std::int64_t>("modified", {modified})
        .column<std::int64_t>("canonical", {1})
        .column<std::int64_t>("other_modified", {0})
        .sequence(sequence)
        .build();
  };
  CHECK(written({}, {half(0, 1), half(1, 5)}) == "a\t5\t6\t75.00\n");
}

TEST_CASE("bigWig has the values of bedGraph, and all contigs") {
  const auto file = contents(Alignments("@SQ\tSN:b\tLN:12\n@SQ\tSN:empty\tLN:7\n@SQ\tSN:a\tLN:10\n"), {rows()});
  CHECK(file.values == Values{{"a", 5, 50}, {"a", 9, 400.0F / 9}, {"b", 9, 50}, {"b", 10, 0}});
  CHECK(file.contigs == decltype(file.contigs){{"a", {0, 10}}, {"b", {1, 12}}, {"empty", {2, 7}}});
  CHECK(file.covered == 4);
  CHECK(file.least == 0);
  CHECK(file.greatest == 50);
  CHECK(file.sum == doctest::Approx(100 + 400.0 / 9));
  const auto nothing = contents(Alignments("@SQ\tSN:a\tLN:10\n"), {});
  CHECK(nothing.values.empty());
  CHECK(nothing.contigs.size() == 1);
}

TEST_CASE("bigWig of many sites and contigs: trees of several levels, and zooms that are the sums of the values") {
  constexpr int contigs = 300, sites_a_contig = 1500;
  std::mt19937 random(3);
  std::string header;
  std::vector<testing::TestBatch> batches;
  Values expected;
  double sum = 0;
  for (int contig = 0; contig < contigs; ++contig) {
    const std::string name = "contig_" + std::to_string(random() % 10) + "_" + std::to_string(contig);
    header += "@SQ\tSN:" + name + "\tLN:200000\n";
    std::vector<std::int64_t> positions, modified;
    std::int64_t position = 0;
    for (int i = 0; i < sites_a_contig; ++i) {
      positions.push_back(position += 1 + static_cast<std::int64_t>(random() % 130));
      modified.push_back(static_cast<std::int64_t>(random() % 5));
      expected.emplace_back(name, static_cast<std::uint32_t>(position), static_cast<float>(modified.back()) * 25);
      sum += static_cast<double>(modified.back()) * 25;
    }
    batches.push_back(sites(static_cast<std::uint64_t>(contig), std::vector<std::string>(sites_a_contig, name), positions, modified, 4));
  }
  const auto file = contents(Alignments(header), batches);
  CHECK((file.values == expected));
  CHECK(file.contigs.size() == contigs);
  CHECK(file.sum == sum);
  REQUIRE(file.zooms.contains(1024));
  CHECK(file.zooms.size() >= 4);
  for (const auto& [bases, zooms] : file.zooms) {
    const auto bases_of_zoom = bases;  // clang captures no bindings
    CAPTURE(bases_of_zoom);
    std::size_t value = 0;
    bool are_sums = true;
    for (const big_wig_file::Zoom& zoom : zooms) {
      big_wig_file::Zoom own{.contig = zoom.contig, .begin = std::get<1>(expected.at(value)), .least = 1e9F, .greatest = -1};
      const std::uint32_t window = own.begin / bases;
      const std::string& name = std::get<0>(expected[value]);
      for (; value < expected.size() && std::get<0>(expected[value]) == name && std::get<1>(expected[value]) / bases == window; ++value) {
        const auto& [contig, position, share] = expected[value];
        own.end = position + 1;
        ++own.values;
        own.least = std::min(own.least, share), own.greatest = std::max(own.greatest, share);
        own.sum += share, own.sum_of_squares += share * share;
      }
      are_sums = are_sums && file.contigs.at(name).first == zoom.contig && own.begin == zoom.begin && own.end == zoom.end &&
                 own.values == zoom.values && own.least == zoom.least && own.greatest == zoom.greatest && own.sum == zoom.sum &&
                 own.sum_of_squares == zoom.sum_of_squares;
    }
    CHECK(are_sums);
    CHECK(value == expected.size());
  }
}

TEST_CASE("bigWig does not depend on batches, and is gone on with") {
  const Alignments alignments("@SQ\tSN:a\tLN:100000\n@SQ\tSN:b\tLN:100000\n");
  const testing::TemporaryFolder folder;
  std::vector<testing::TestBatch> batches;
  std::vector<std::string> all_names;
  std::vector<std::int64_t> all_positions, all_modified;
  for (int batch = 0; batch < 4; ++batch) {
    std::vector<std::int64_t> positions, modified;
    for (int i = 0; i < 700; ++i) positions.push_back((batch % 2) * 30000 + i * 40), modified.push_back(i % 3);
    const std::vector<std::string> names(700, batch < 2 ? "a" : "b");
    batches.push_back(sites(static_cast<std::uint64_t>(batch), names, positions, modified, 3));
    all_names.insert(all_names.end(), names.begin(), names.end());
    all_positions.insert(all_positions.end(), positions.begin(), positions.end());
    all_modified.insert(all_modified.end(), modified.begin(), modified.end());
  }
  CHECK(testing::resume_problems(big_wig(alignments, batches, folder)) == std::vector<std::string>{});
  const auto bytes = [&](const std::vector<testing::TestBatch>& of) {
    return big_wig(alignments, of, folder).run().files.at(folder.path() + "/sites.bw");
  };
  CHECK((bytes(batches) == bytes({sites(0, all_names, all_positions, all_modified, 3)})));
}

TEST_CASE("bigWig refuses sites that are not sorted, that lie on no contig, and contigs without lengths") {
  const Alignments alignments("@SQ\tSN:a\tLN:10\n@SQ\tSN:b\tLN:10\n");
  const testing::TemporaryFolder folder;
  const auto message = [&](const std::vector<std::string>& contigs, const std::vector<std::int64_t>& positions) {
    return big_wig(alignments, {sites(0, contigs, positions, std::vector<std::int64_t>(contigs.size(), 1), 2)}, folder).run().message;
  };
  const auto says = [](const std::string& text, const char* what) { return text.find(what) != std::string::npos; };
  CHECK(says(message({"a", "a"}, {5, 3}), "site a:3 comes after a later one"));
  CHECK(says(message({"a", "b", "a"}, {5, 3, 7}), "sites on 'a' come again"));
  CHECK(says(message({"c"}, {5}), "sites on 'c', whose length is not known"));
  CHECK(says(message({"a"}, {10}), "site a:10 lies behind the end of its contig"));
  const Alignments giant("@SQ\tSN:a\tLN:5000000000\n");
  CHECK(says(big_wig(giant, {rows()}, folder).run().message, "too long for bigWig"));
  CHECK(
      says(testing::run_stage(testing::stage_of(plugin(), "bedgraph_writer"), rows()).with({{"format", "bigwig"}, {"output", "x.bw"}}).run().message,
           "bigWig needs the lengths of all contigs"));
}

TEST_CASE("of several motifs at a position the first one of each strand counts") {
  const testing::TestBatch batch = testing::BatchBuilder("pileup", 5)
                                       .text("contig", {"a", "a", "a", "a", "a"})
                                       .column<std::int64_t>("position", {5, 5, 5, 5, 8})
                                       .text("modification", {"m,CG,0", "m,GC,1", "m,CG,0", "m,GC,1", "m,GC,1"})
                                       .text("strand", {"+", "+", "+", "-", "+"})
                                       .column<std::int64_t>("modified", {2, 4, 1, 4, 1})
                                       .column<std::int64_t>("canonical", {2, 0, 3, 0, 1})
                                       .column<std::int64_t>("other_modified", {0, 0, 0, 0, 0})
                                       .build();
  CHECK(written({}, {batch}) == "a\t5\t6\t58.33\na\t8\t9\t50.00\n");
}

TEST_CASE("positions and counts up to what can be added up are written, and others are refused") {
  const auto site = [](std::int64_t position, std::int64_t modified, std::int64_t canonical, std::int64_t other) {
    const testing::TemporaryFolder folder;
    const std::string path = folder.path() + "/sites.bedgraph";
    const testing::TestBatch batch = testing::BatchBuilder("pileup", 1)
                                         .text("contig", {"a"})
                                         .column<std::int64_t>("position", {position})
                                         .text("modification", {"m"})
                                         .column<std::int64_t>("modified", {modified})
                                         .column<std::int64_t>("canonical", {canonical})
                                         .column<std::int64_t>("other_modified", {other})
                                         .build();
    const testing::Result result = testing::run_stage(testing::stage_of(plugin(), "bedgraph_writer"), batch).with({{"output", path}}).run();
    return result.ok() ? result.files.at(path) : result.message;
  };
  constexpr std::int64_t most = 9007199254740991;  // 2^63 / 1024 - 1
  CHECK(site(most, 1, 1, 0) == "a\t9007199254740991\t9007199254740992\t50.00\n");
  CHECK(site(0, most, 0, most) == "a\t0\t1\t50.00\n");
  CHECK(site(0, 0, most, 0) == "a\t0\t1\t0.00\n");
  CHECK(site(0, 1, 0, 0) == "a\t0\t1\t100.00\n");  // one call is enough where nothing is said
  const std::string refused = "a position or counts that can't be";
  for (const std::int64_t wrong : {most + 1, std::int64_t{-1}}) {
    CHECK(site(wrong, 1, 1, 0).find(refused) != std::string::npos);
    CHECK(site(0, wrong, 1, 0).find(refused) != std::string::npos);
    CHECK(site(0, 1, wrong, 0).find(refused) != std::string::npos);
    CHECK(site(0, 1, 1, wrong).find(refused) != std::string::npos);
  }
}

TEST_CASE("a site whose rows come before and behind an interruption is one line") {
  const auto same_site = [](std::uint64_t sequence, std::int64_t modified) {
    return testing::BatchBuilder("pileup", 2)
        .text("contig", {"a", "b"})
        .column<std::int64_t>("position", {5, 7})
        .text("modification", {"m", "m"})
        .column<std::int64_t>("modified", {modified, 2})
        .column<std::int64_t>("canonical", {1, 1})
        .column<std::int64_t>("other_modified", {0, 1})
        .sequence(sequence)
        .build();
  };
  const std::vector<testing::TestBatch> batches = {rows(), same_site(1, 1), rows(2)};
  CHECK(testing::resume_problems(testing::run_stage(testing::stage_of(plugin(), "bedgraph_writer"), batches), {"x.bedgraph", "x.bedgraph.zst"}) ==
        std::vector<std::string>{});
}

TEST_CASE("the stage keeps the contract of all stages") {
  const testing::TemporaryFolder folder;
  const testing::ContractSample sample{.parameters = {{"output", folder.path() + "/sites.bedgraph"}}, .batches = {rows()}};
  for (const std::string& problem : testing::contract_problems(plugin(), {{"bedgraph_writer", sample}})) FAIL_CHECK(problem);
}
