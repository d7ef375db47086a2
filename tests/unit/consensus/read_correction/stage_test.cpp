// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sluice/testing.hpp>
#include <sluice/testing/kept_memory.hpp>

#include "read_correction/consensus_vote.hpp"
#include "unit/consensus/read_correction/simulated_reads.hpp"

using namespace sluice;
using namespace sluice::testing;

namespace {

const sluice_plugin_info& plugin(const std::string& name) { return *load_plugin(SLUICE_PLUGIN_DIR "/" + name + ".so"); }
StageUnderTest stage(const std::string& id) { return stage_of(plugin("read_correction"), id); }

// The resource that a stage makes of a FASTA file.
TestBatch of_file(const std::string& text, const std::string& resource) {
  const auto path = std::filesystem::temp_directory_path() / ("sluice_pile_test." + std::to_string(::getpid()));
  std::ofstream(path, std::ios::binary) << text;
  const TestBatch batch = StageRun(stage_of(plugin(resource), resource), {}).with({{"path", path.string()}}).run().batch();
  std::filesystem::remove(path);  // a store keeps it open
  return batch;
}

// Three reads of one place (the second is of the reverse strand), and one without bases before them.
struct Reads {
  std::string bases, fasta;
  Reads() {
    std::mt19937 random(21);
    bases = simulated_reads::random_bases(400, random);
    std::string reverse(bases.rbegin(), bases.rend());
    for (char& base : reverse) base = base == 'A' ? 'T' : base == 'C' ? 'G' : base == 'G' ? 'C' : 'A';
    fasta = ">empty\n\n>a\n" + bases + "\n>b\n" + reverse + "\n>c\n" + bases.substr(100) + "\n";
  }
};

TestBatch overlaps(const std::vector<std::int64_t>& target, const std::vector<std::int64_t>& query, const std::vector<std::int64_t>& target_start,
                   const std::vector<std::int64_t>& target_end, const std::vector<std::int64_t>& query_end,
                   const std::vector<std::uint8_t>& reverse) {
  return BatchBuilder("overlap", static_cast<std::int64_t>(target.size()))
      .column<std::int64_t>("target_index", target)
      .column<std::int64_t>("query_index", query)
      .column<std::int64_t>("target_start", target_start)
      .column<std::int64_t>("target_end", target_end)
      .column<std::int64_t>("query_start", std::vector<std::int64_t>(target.size(), 0))
      .column<std::int64_t>("query_end", query_end)
      .column<std::uint8_t>("is_reverse", reverse)
      .build();
}
// Of read a (row 1) with the others, and of b with a.
TestBatch good_overlaps() { return overlaps({1, 1, 2}, {2, 3, 1}, {0, 100, 0}, {400, 400, 400}, {400, 300, 400}, {1, 0, 1}); }

// What overlaps become: piles, their pieces, and windows with letters.
Result run_on(const std::string& id, const TestBatch& batch, const TestBatch& store, const ParameterTexts& parameters = {}) {
  return run_stage(stage(id), batch).with(parameters).resource("reads", store).run();
}
TestBatch good_piles(const TestBatch& store) { return run_on("pile_collection", good_overlaps(), store).batch(); }
TestBatch good_pieces(const TestBatch& store) { return run_on("pile_segmentation", good_piles(store), store, {{"min_layers", 1}}).batch(); }
TestBatch good_places(const TestBatch& store) { return run_on("piece_windows", good_pieces(store), store).batch(); }

TestBatch windows() {
  return BatchBuilder("window", 4)
      .column<std::int64_t>("target_index", {1, 1, 1, 2})
      .column<std::int64_t>("target_overlaps", {5, 5, 5, 2})
      .column<std::int64_t>("window_start", {2, 4, 8, 0})
      .column<std::int64_t>("window_end", {4, 6, 10, 4})
      .text("consensus", {"AAA", "C", "GG", "TTTT"})
      .column<std::uint8_t>("is_polished", {1, 1, 0, 1})
      .build();
}
const std::string three_reads = ">none\nACGN\n>t\nGTGTGTGTGTGT\n>u\nACGT\n";

}  // namespace

TEST_CASE("a pile becomes windows of equal sequences when the reads are equal") {
  const Reads reads;
  const TestBatch store = of_file(reads.fasta, "sequence_store");
  const Result result = run_stage(stage_of(plugin("window_cutting"), "window_sequences"), good_places(store))
                            .with({{"backbone_without_qualities", "weight_one"}})
                            .resource("reads", store)
                            .run();
  REQUIRE(result.ok());
  const Batch rows = result.batch().view();
  const auto lengths = rows.list<std::int32_t>("sequence_length");
  std::int64_t next = 0;
  for (std::int64_t row = 0; row < rows.rows(); ++row) {
    const auto r = static_cast<std::size_t>(row);
    const bool is_a = rows.column<std::int64_t>("target_index")[r] == 1;
    CHECK(rows.text("window_name")[row] == (is_a ? "a" : "b"));
    CHECK(rows.column<std::int64_t>("target_overlaps")[r] == (is_a ? 2 : 1));
    if (rows.column<std::int64_t>("window_index")[r] == 0) next = 0;
    CHECK(rows.column<std::int64_t>("window_start")[r] == next);
    next = rows.column<std::int64_t>("window_end")[r];
    std::string_view text = rows.text("sequences")[row];
    CHECK(rows.text("sequence_qualities")[row] == std::string(text.size(), '"'));
    const auto length = static_cast<std::size_t>(lengths[row][0]);
    for (std::size_t i = 0; i < lengths[row].size(); ++i) CHECK(text.substr(i * length, length) == text.substr(0, length));
    CHECK(text.size() == length * lengths[row].size());
  }
  CHECK(next == 400);
}

TEST_CASE("overlaps beyond their reads, on themselves and inside both reads are left out and counted; wrong order is an error") {
  const Reads reads;
  const TestBatch store = of_file(reads.fasta, "sequence_store");
  const auto run = [&](const TestBatch& batch) { return run_on("pile_collection", batch, store); };
  const Result bad = run(overlaps({1, 1, 1, 1, 9, -1}, {2, 7, 3, 1, 1, 1}, {0, 0, 0, 0, 0, 0}, {401, 400, 400, 400, 10, 10},
                                  {400, 400, 301, 400, 10, 10}, {0, 0, 0, 0, 0, 0}));
  CHECK(bad.ok());
  CHECK(bad.batches.empty());
  CHECK(bad.accounts.at("bad_overlap").count == 5);
  const Result inside = run(overlaps({1}, {2}, {150}, {250}, {200}, {1}));
  CHECK(inside.accounts.at("inside").count == 1);
  CHECK(inside.accounts.at("inside").names.size() == 1);
  const Result order = run(overlaps({2, 1}, {1, 2}, {0, 0}, {400, 400}, {400, 400}, {1, 1}));
  CHECK_FALSE(order.ok());
  CHECK(order.message.find("order") != std::string::npos);
}

TEST_CASE("a pile has all overlaps of its read, in their order") {
  const Reads reads;
  const TestBatch store = of_file(reads.fasta, "sequence_store");
  const TestBatch batch = good_piles(store);
  const Batch piles = batch.view();
  REQUIRE(piles.rows() == 2);
  CHECK(piles.column<std::int64_t>("target_index")[0] == 1);
  CHECK(piles.column<std::int64_t>("target_overlaps")[0] == 2);
  CHECK(piles.column<std::int64_t>("target_overlaps")[1] == 1);
  CHECK(std::ranges::equal(piles.list<std::int64_t>("pile_query")[0], std::vector<std::int64_t>{2, 3}));
  CHECK(std::ranges::equal(piles.list<std::int32_t>("pile_target_start")[0], std::vector<std::int32_t>{0, 100}));
  CHECK(std::ranges::equal(piles.list<std::int32_t>("pile_query_end")[0], std::vector<std::int32_t>{400, 300}));
  CHECK(std::ranges::equal(piles.list<std::uint8_t>("pile_is_reverse")[1], std::vector<std::uint8_t>{1}));
}

TEST_CASE("piles that do not lie on their reads fail; lists of other lengths are an error") {
  const Reads reads;
  const TestBatch store = of_file(reads.fasta, "sequence_store");
  const auto pile = [](std::int64_t target, std::int64_t query, std::int32_t end) {
    return BatchBuilder("pile", 1)
        .column<std::int64_t>("target_index", {target})
        .column<std::int64_t>("target_overlaps", {1})
        .list<std::int64_t>("pile_query", {{query}})
        .list<std::int32_t>("pile_target_start", {{0}})
        .list<std::int32_t>("pile_target_end", {{400}})
        .list<std::int32_t>("pile_query_start", {{0}})
        .list<std::int32_t>("pile_query_end", {{end}})
        .list<std::int32_t>("pile_matches", {{0}})
        .list<std::uint8_t>("pile_is_reverse", {{1}})
        .build();
  };
  CHECK(run_on("pile_segmentation", pile(1, 2, 400), store).failed.empty());
  for (const TestBatch& bad : {pile(9, 2, 400), pile(1, -1, 400), pile(1, 2, 401), pile(0, 2, 400)})
    CHECK(run_on("pile_segmentation", bad, store).failed == std::vector<FailedRow>{{0, 0, "bad_pile"}});

  const auto pieces = BatchBuilder("pile", 1)
                          .column<std::int64_t>("target_index", {1})
                          .column<std::int64_t>("target_overlaps", {1})
                          .list<std::int32_t>("piece_start", {{0}})
                          .list<std::int32_t>("piece_end", {{10}})
                          .list<std::int32_t>("piece_layers", {{2}})
                          .list<std::int64_t>("layer_query", {{2}})
                          .list<std::int32_t>("layer_query_start", {{0}})
                          .list<std::int32_t>("layer_query_end", {{10}})
                          .list<std::uint8_t>("layer_is_reverse", {{0}})
                          .build();
  CHECK(run_on("piece_windows", pieces, store).message.find("differ in length") != std::string::npos);
}

TEST_CASE("hits become overlaps of the rows of the store, without those of a read on itself") {
  const Reads reads;
  const auto hits = BatchBuilder("read", 2)
                        .text("read_id", {"a", "b"})
                        .list<std::int32_t>("hit_target", {{0, 1}, {2}})
                        .list<std::int32_t>("hit_query_start", {{0, 1}, {2}})
                        .list<std::int32_t>("hit_query_end", {{10, 11}, {12}})
                        .list<std::int32_t>("hit_target_start", {{20, 21}, {22}})
                        .list<std::int32_t>("hit_target_end", {{30, 31}, {32}})
                        .list<std::uint8_t>("hit_is_reverse", {{0, 1}, {1}})
                        .list<std::int32_t>("hit_matches", {{5, 6}, {7}})
                        .build();
  const auto index = of_file(reads.fasta.substr(8), "minimizer_index");  // an index has no sequences without bases
  const Result result =
      run_stage(stage("hit_overlaps"), hits).resource("reads", of_file(reads.fasta, "sequence_store")).resource("index", index).run();
  REQUIRE(result.ok());
  const Batch rows = result.batch().view();
  REQUIRE(rows.rows() == 2);
  CHECK(rows.column<std::int64_t>("target_index")[0] == 1);
  CHECK(rows.column<std::int64_t>("query_index")[0] == 2);
  CHECK(rows.column<std::int64_t>("target_start")[0] == 1);
  CHECK(rows.column<std::int64_t>("query_end")[0] == 31);
  CHECK(rows.column<std::int64_t>("target_overlaps")[0] == 1);
  CHECK(rows.column<std::int64_t>("overlap_matches")[0] == 6);
  CHECK(rows.column<std::uint8_t>("is_reverse")[0] == 1);
  CHECK(rows.column<std::int64_t>("target_index")[1] == 2);
  CHECK(rows.column<std::int64_t>("query_index")[1] == 3);
  const Result other =
      run_stage(stage("hit_overlaps"), hits).resource("reads", of_file(three_reads, "sequence_store")).resource("index", index).run();
  CHECK_FALSE(other.ok());
}

TEST_CASE("corrected pieces are upper case, a read's own bases lower case, and every read is given") {
  const auto joined = [](const ParameterTexts& parameters) {
    return run_stage(stage("piece_joining"), windows()).with(parameters).resource("reads", of_file(three_reads, "sequence_store")).run();
  };
  const auto bases = [](const Result& result) {
    std::vector<std::string> all;
    for (std::int64_t row = 0; row < result.batch().view().rows(); ++row) all.emplace_back(result.batch().view().text("contig_bases")[row]);
    return all;
  };
  const Result result = joined({});
  REQUIRE(result.ok());
  CHECK(bases(result) == std::vector<std::string>{"acgn", "gtAAACgtgtgt", "TTTT"});
  CHECK(result.batch().view().column<std::int64_t>("windows")[1] == 3);
  CHECK(result.batch().view().column<std::int64_t>("polished_windows")[1] == 2);
  CHECK(result.batch().view().column<std::int64_t>("corrected_bases")[1] == 4);
  CHECK(bases(joined({{"uncorrected", "upper_case"}})) == std::vector<std::string>{"ACGN", "GTAAACGTGTGT", "TTTT"});
  CHECK(bases(joined({{"uncorrected", "trim"}})) == std::vector<std::string>{"acgn", "AAAC", "TTTT"});
  const Result left_out = joined({{"min_corrected", 0.5}});
  CHECK(bases(left_out) == std::vector<std::string>{"TTTT"});
  CHECK(left_out.accounts.at("uncorrected").count == 2);
}

namespace {

// Two windows of read 1, with sites: by the letters of its own and of seven other reads it is of the minority.
TestBatch windows_with_sites() {
  const std::vector<std::int64_t> layers{0, 2, 3, 4, 5, 6, 7};
  return BatchBuilder("window", 2)
      .column<std::int64_t>("target_index", {1, 1})
      .column<std::int64_t>("target_overlaps", {7, 7})
      .column<std::int64_t>("window_start", {0, 6})
      .column<std::int64_t>("window_end", {6, 12})
      .text("consensus", {"AAAAAA", "CCCCCC"})
      .text("voted_consensus", {"AAAAAA", "CCCCCC"})
      .column<std::uint8_t>("is_polished", {1, 1})
      .list<std::int64_t>("layer_query", {layers, layers})
      .list<std::int32_t>("site_place", {{1, 4}, {2, 5}})
      .text("site_letters", {"GGGGAAAATTTTAAAA", "-TTTCCCCTTTTCCCC"})
      .build();
}

}  // namespace

TEST_CASE("where the windows name sites, a read keeps the bases of those that agree with it") {
  const auto joined = [](const TestBatch& batch, const ParameterTexts& parameters) {
    return run_stage(stage("piece_joining"), batch).with(parameters).resource("reads", of_file(three_reads, "sequence_store")).run();
  };
  CHECK(joined(windows_with_sites(), {}).batch().view().text("contig_bases")[1] == "AGAATACCTCCT");
  CHECK(joined(windows_with_sites(), {{"variants", "majority"}}).batch().view().text("contig_bases")[1] == "AAAAAACCCCCC");
  const auto odd = BatchBuilder("window", 1)
                       .column<std::int64_t>("target_index", {1})
                       .column<std::int64_t>("target_overlaps", {1})
                       .column<std::int64_t>("window_start", {0})
                       .column<std::int64_t>("window_end", {6})
                       .text("consensus", {"AAAA"})
                       .text("voted_consensus", {"AAAA"})
                       .column<std::uint8_t>("is_polished", {1})
                       .list<std::int64_t>("layer_query", {{0}})
                       .list<std::int32_t>("site_place", {{4}})
                       .text("site_letters", {"AC"})
                       .build();
  CHECK(joined(odd, {}).message.find("do not fit") != std::string::npos);
}

TEST_CASE("a part of the reads is joined of a part of the windows, reads without any at its borders as well") {
  const TestBatch store = of_file(three_reads, "sequence_store");  // 4, 12 and 4 bases: of two parts the first has two reads
  const auto of_part = [&](const TestBatch& batch, std::uint64_t part) {
    return run_stage(in_part(stage("piece_joining"), part, 2), batch).resource("reads", store).run();
  };
  const auto bases = [](const Result& result) {
    std::string all;
    for (std::int64_t row = 0; row < result.batch().view().rows(); ++row) all += std::string(result.batch().view().text("contig_bases")[row]) + " ";
    return all;
  };
  const auto one_window = [](std::int64_t read) {
    return BatchBuilder("window", 1)
        .column<std::int64_t>("target_index", {read})
        .column<std::int64_t>("target_overlaps", {5})
        .column<std::int64_t>("window_start", {0})
        .column<std::int64_t>("window_end", {4})
        .text("consensus", {"CCC"})
        .column<std::uint8_t>("is_polished", {1})
        .build();
  };
  CHECK(bases(of_part(one_window(0), 0)) == "CCC gtgtgtgtgtgt ");
  CHECK(bases(of_part(one_window(1), 0)) == "acgn CCCgtgtgtgt ");
  CHECK(bases(of_part(one_window(2), 1)) == "CCC ");
  for (const auto& [read, part] : {std::pair<int, int>(2, 0), {1, 1}, {0, 1}})
    CHECK(of_part(one_window(read), static_cast<std::uint64_t>(part)).message.find("is of another part") != std::string::npos);
}

TEST_CASE("sequences that do not fit together fail their window, others are voted on") {
  const auto batch = BatchBuilder("window", 3)
                         .text("sequences", {"ACGTACGTACTT", "ACGTACGT", "ACG"})
                         .list<std::int32_t>("sequence_length", {{4, 4, 4}, {4, 5}, {-1, 4}})
                         .text("consensus", {"ACTT", "ACGT", "ACG"})
                         .column<std::uint8_t>("is_polished", {1, 1, 1})
                         .build();
  const Result result = run_stage(stage("consensus_vote"), batch).run();
  REQUIRE(result.ok());
  CHECK(result.batch().view().text("voted_consensus")[0] == "ACGT");
  CHECK(result.failed == std::vector<FailedRow>{{0, 1, "bad_sequences"}, {0, 2, "bad_sequences"}});
}

namespace {

// Letters to replace, remove or insert, by the whole table.
std::size_t differences_of(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j)
      diagonal = std::exchange(row[j], std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)}));
  }
  return row.back();
}

}  // namespace

TEST_CASE("the identity with overlapping reads is that of the windows counted one by one") {
  std::mt19937 random(5);
  constexpr std::size_t windows = 1500;
  std::vector<std::string> sequences, consensus;
  std::vector<std::vector<std::int32_t>> lengths;
  std::vector<std::uint8_t> is_polished;
  std::vector<std::vector<std::string>> copies(windows);
  double truth_equal = 0, truth_bases = 0;
  for (std::size_t w = 0; w < windows; ++w) {
    const std::string truth = simulated_reads::random_bases(80 + random() % 40, random);
    std::string& all = sequences.emplace_back();
    lengths.emplace_back();
    for (std::size_t copy = 0; copy < 3 + random() % 12; ++copy) {
      copies[w].push_back(simulated_reads::noisy_copy(truth, 0.08, random));
      lengths.back().push_back(static_cast<std::int32_t>(copies[w].back().size()));
      all += copies[w].back();
      if (copy == 0) continue;
      const std::size_t whole = std::max(truth.size(), copies[w].back().size());
      truth_bases += static_cast<double>(whole);
      truth_equal += static_cast<double>(whole - differences_of(truth, copies[w].back()));
    }
    consensus.push_back(simulated_reads::noisy_copy(truth, 0.01, random));
    is_polished.push_back(w % 10 != 0);
  }
  const auto batch = BatchBuilder("window", static_cast<std::int64_t>(windows))
                         .text("sequences", sequences)
                         .list<std::int32_t>("sequence_length", lengths)
                         .text("consensus", consensus)
                         .column<std::uint8_t>("is_polished", is_polished)
                         .build();
  const Result result = run_stage(stage("consensus_vote"), batch).threads(2).run();
  REQUIRE(result.ok());
  std::uint64_t equal[2] = {}, bases[2] = {}, sampled = 0;
  for (std::size_t w = 0; w < windows; ++w) {
    if (is_polished[w] == 0 || sequences[w].size() % 61 != 0) continue;
    ++sampled;
    const std::string pieces[2] = {copies[w][0], std::string(result.batch().view().text("voted_consensus")[static_cast<std::int64_t>(w)])};
    for (int after = 0; after < 2; ++after)
      for (std::size_t copy = 1; copy < copies[w].size(); ++copy) {
        const std::size_t whole = std::max(pieces[after].size(), copies[w][copy].size());
        bases[after] += whole;
        equal[after] += whole - differences_of(pieces[after], copies[w][copy]);
      }
  }
  REQUIRE(sampled > 10);
  const auto counter = [&](int figure, const char* what) {
    return static_cast<std::uint64_t>(result.counters.at(std::string("\x1F"
                                                                     "0") +
                                                         static_cast<char>('0' + figure) + "\x1F" + what));
  };
  for (int figure = 0; figure < 2; ++figure) {
    CHECK(counter(figure, "part") == equal[figure]);
    CHECK(counter(figure, "whole") == bases[figure]);
  }
  // What is left after the correction are the errors of the other reads.
  const auto share = [&](int figure) { return static_cast<double>(equal[figure]) / static_cast<double>(bases[figure]); };
  CHECK(share(1) == doctest::Approx(truth_equal / truth_bases).epsilon(0.01));
  CHECK(share(0) < share(1) - 0.04);
}

TEST_CASE("how alike reads are, and how many are cut as noisy ones, is counted") {
  const TestBatch store = of_file(Reads().fasta, "sequence_store");
  const auto counted = [&](const ParameterTexts& parameters) { return run_on("pile_segmentation", good_piles(store), store, parameters).counters; };
  const auto counter = [](const auto& counters, const char* figure, const char* what) {
    return counters.at(std::string("\x1F") + figure + "\x1F" + what);
  };
  // Three overlaps of reads without errors.
  const auto counters = counted({});
  CHECK(counter(counters, "00", "part") == counter(counters, "00", "whole"));
  CHECK(counter(counters, "00", "whole") > 800);
  CHECK(counter(counters, "01", "part") == 0);
  CHECK(counter(counters, "01", "whole") == 2);
  const auto has_title = [](const auto& of, const std::string& title) {
    return std::any_of(of.begin(), of.end(), [&](const auto& entry) { return entry.first.find(title) != std::string::npos; });
  };
  CHECK(has_title(counters, "reads cut by 8-mers into pieces of 300"));
  CHECK(has_title(counted({{"k", 12}}), "reads cut by 12-mers into pieces of 300"));
  CHECK(has_title(counted({{"piece_length", 70}}), "reads cut by 8-mers into pieces of 70"));
  CHECK_FALSE(has_title(counted({{"k", 12}, {"piece_length", 70}}), "reads cut by"));
}

TEST_CASE("sequences that have a base of the consensus are counted, and fail with it where they do not fit") {
  const auto batch = BatchBuilder("window", 4)
                         .text("sequences", {"ACGTACGTACTTAT", "ACGTACGT", "", "ACGT"})
                         .list<std::int32_t>("sequence_length", {{4, 4, 4, 2, 0}, {4, 5}, {0, 0}, {4}})
                         .text("voted_consensus", {"ACGT", "ACGT", "ACGT", "ACGT"})
                         .column<std::uint8_t>("is_polished", {1, 1, 1, 0})
                         .build();
  const Result result = run_stage(stage("vote_support"), batch).run();
  REQUIRE(result.ok());
  CHECK(result.failed == std::vector<FailedRow>{{0, 1, "bad_sequences"}});
  const Batch rows = result.batch().view();
  const auto coverage = rows.list<std::int32_t>("voted_coverage"), support = rows.list<std::int32_t>("voted_support");
  CHECK(std::ranges::equal(coverage[0], std::vector<std::int32_t>{4, 3, 3, 4}));
  CHECK(std::ranges::equal(support[0], std::vector<std::int32_t>{4, 3, 2, 4}));
  CHECK(std::ranges::equal(coverage[2], std::vector<std::int32_t>{0, 0, 0, 0}));
  CHECK(coverage[3].empty());
}

TEST_CASE("a corrected read's qualities are those of its windows, and its own between them") {
  const auto qualities = [](const TestBatch& batch, const ParameterTexts& parameters) {
    const Result result =
        run_stage(stage("piece_joining"), batch)
            .with(parameters)
            .resource("reads", of_file("@none\nACGN\n+\n5678\n@t\nGTGTGTGTGTGT\n+\nabcdefghijkl\n@u\nACGT\n+\nIIII\n", "sequence_store"))
            .run();
    REQUIRE_MESSAGE(result.ok(), result.message);
    std::vector<std::string> all;
    for (std::int64_t row = 0; row < result.batch().view().rows(); ++row) {
      all.emplace_back(result.batch().view().text("contig_qualities")[row]);
      CHECK(all.back().size() == result.batch().view().text("contig_bases")[row].size());
    }
    return all;
  };
  const auto with_support = [] {
    return BatchBuilder("window", 4)
        .column<std::int64_t>("target_index", {1, 1, 1, 2})
        .column<std::int64_t>("target_overlaps", {5, 5, 5, 2})
        .column<std::int64_t>("window_start", {2, 4, 8, 0})
        .column<std::int64_t>("window_end", {4, 6, 10, 4})
        .text("consensus", {"AAA", "C", "GG", "TTTT"})
        .text("voted_consensus", {"AAA", "C", "GG", "TTTT"})
        .column<std::uint8_t>("is_polished", {1, 1, 0, 1})
        .list<std::int32_t>("voted_coverage", {{8, 8, 8}, {9}, {}, {4, 4}})  // the last does not fit its consensus
        .list<std::int32_t>("voted_support", {{8, 4, 0}, {9}, {}, {4, 4}})
        .build();
  };
  // 10, and 2 for every sequence of the majority: 26, 10 and the lowest, 2; 28.
  const std::string a = {33 + 26, 33 + 10, 33 + 2}, c = {33 + 28};
  CHECK(qualities(with_support(), {}) == std::vector<std::string>{"5678", "ab" + a + c + "ghijkl", "!!!!"});
  CHECK(qualities(with_support(), {{"uncorrected", "trim"}}) == std::vector<std::string>{"5678", a + c, "!!!!"});
  CHECK(qualities(with_support(), {{"min_corrected", 0.5}}) == std::vector<std::string>{"!!!!"});
  CHECK(qualities(windows(), {}) == std::vector<std::string>{"5678", "ab!!!!ghijkl", "!!!!"});
  // Bases that the read keeps against most others (the second and fifth, and two of the second window) have that of no majority.
  CHECK(qualities(windows_with_sites(), {})[1] == "!+!!+!!!+!!+");
}

TEST_CASE("a window whose vote takes more than is kept leaves nothing behind") {
  std::mt19937 random(9);
  std::vector<std::string> sequences, consensus;
  std::vector<std::vector<std::int32_t>> lengths;
  for (const std::size_t length : {12'000, 300, 40, 900, 5, 500}) {
    const std::string truth = simulated_reads::random_bases(length, random);
    std::string& all = sequences.emplace_back();
    lengths.emplace_back();
    for (int copies = 0; copies < 6; ++copies) {
      const std::string copy = simulated_reads::noisy_copy(truth, 0.2, random);
      lengths.back().push_back(static_cast<std::int32_t>(copy.size()));
      all += copy;
    }
    consensus.push_back(simulated_reads::noisy_copy(truth, 0.05, random));
  }
  read_correction::ConsensusVote vote;
  std::string voted = consensus[0];
  vote.refine(sequences[0], lengths[0], {}, 2, voted);
  REQUIRE(vote.bytes() > std::size_t{8} << 20);

  const auto batch = BatchBuilder("window", static_cast<std::int64_t>(sequences.size()))
                         .text("sequences", sequences)
                         .list<std::int32_t>("sequence_length", lengths)
                         .text("consensus", consensus)
                         .column<std::uint8_t>("is_polished", std::vector<std::uint8_t>(sequences.size(), 1))
                         .build();
  CHECK(kept_memory_problems(stage("consensus_vote"), {.batches = {batch.rows(1, batch.rows())}}, batch.rows(0, 1)) == std::vector<std::string>{});
}

TEST_CASE("the stages keep the contract of all stages") {
  const Reads reads;
  const TestBatch store = of_file(reads.fasta, "sequence_store");
  const auto votes = BatchBuilder("window", 2)
                         .text("sequences", {"ACGTACGTACTT", "ACGT"})
                         .list<std::int32_t>("sequence_length", {{4, 4, 4}, {4}})
                         .text("sequence_qualities", {"++++++++++++", "++++"})
                         .text("consensus", {"ACTT", "ACGT"})
                         .column<std::uint8_t>("is_polished", {1, 0})
                         .build();
  const auto supported = BatchBuilder("window", 2)
                             .text("sequences", {"ACGTACGTACTT", "ACGT"})
                             .list<std::int32_t>("sequence_length", {{4, 4, 4}, {4}})
                             .text("voted_consensus", {"ACGT", "ACGT"})
                             .column<std::uint8_t>("is_polished", {1, 0})
                             .build();
  const std::map<std::string, ContractSample> samples = {
      {"pile_collection", {.resources = {{"reads", store}}, .batches = {good_overlaps()}}},
      {"pile_segmentation", {.parameters = {{"min_layers", 1}}, .resources = {{"reads", store}}, .batches = {good_piles(store)}}},
      {"piece_windows", {.resources = {{"reads", store}}, .batches = {good_pieces(store)}}},
      // Without min_corrected, reads come even where no window does.
      {"piece_joining",
       {.parameters = {{"min_corrected", 0.1}}, .resources = {{"reads", of_file(three_reads, "sequence_store")}}, .batches = {windows()}}},
      {"consensus_vote", {.batches = {votes}}},
      {"vote_support", {.batches = {supported}}}};
  for (const std::string& problem : contract_problems(plugin("read_correction"), samples)) FAIL_CHECK(problem);
  const ContractSample with_sites{
      .parameters = {{"min_corrected", 0.1}}, .resources = {{"reads", of_file(three_reads, "sequence_store")}}, .batches = {windows_with_sites()}};
  for (const std::string& problem : contract_problems(plugin("read_correction"), {{"piece_joining", with_sites}})) FAIL_CHECK(problem);
}
