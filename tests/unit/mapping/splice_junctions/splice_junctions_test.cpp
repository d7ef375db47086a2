// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sluice/overlap/introns.hpp>
#include <sluice/testing.hpp>
#include <string>
#include <vector>

#include "unit/figures_of.hpp"
#include "unit/resumed_forms.hpp"

namespace testing = sluice::testing;

namespace {

// Contigs "one" and "two" of 64 bases: TTTTGTAAAAAAAGTTTTTT... and the same as its reverse complement, ...CTTTTTTTACAAAA.
constexpr const char* forward_bases = "TTTTGTAAAAAAAGTTTTTTGCCCCCAGTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTTT";
std::uint64_t code_of(char base) { return base == 'A' ? 0 : base == 'C' ? 1 : base == 'G' ? 2 : 3; }

// An index of up to two contigs of one length.
testing::TestBatch index_of(std::size_t number, std::int32_t length, const std::vector<std::uint64_t>& packed) {
  std::vector<std::int64_t> names = {0, 3, 6}, bases = {0, length, 2 * std::int64_t{length}};
  std::vector<std::uint8_t> letters = {'o', 'n', 'e', 't', 'w', 'o'};
  names.resize(number + 1), bases.resize(number + 1), letters.resize(3 * number);
  return testing::BatchBuilder("minimizer_index", 1)
      .list<std::int32_t>("contig_length", {std::vector<std::int32_t>(number, length)})
      .list<std::int64_t>("contig_name_begin", {names})
      .list<std::uint8_t>("contig_name", {letters})
      .list<std::int64_t>("contig_base_begin", {bases})
      .list<std::uint64_t>("packed_bases", {packed})
      .list<std::int64_t>("ambiguous_begin", {{}})
      .list<std::int64_t>("ambiguous_end", {{}})
      .list<std::uint64_t>("slot", {std::vector<std::uint64_t>(16, ~std::uint64_t{0})})
      .list<std::uint64_t>("position", {{}})
      .list<std::uint32_t>("occurrence_count", {{}})
      .list<std::uint64_t>("occurrence_minimizers", {{}})
      .list<std::int64_t>("part_begin", {{}})
      .attribute("k", "15")
      .attribute("w", "10")
      .attribute("homopolymer_compressed", "0")
      .attribute("home_lines", "1")
      .build();
}

testing::TestBatch contigs(bool with_bases = true, std::size_t number = 2) {
  std::vector<std::uint64_t> packed(4);
  for (std::uint64_t i = 0; i < 64; ++i) {
    const std::uint64_t code = code_of(forward_bases[i]), reverse = 3 - code_of(forward_bases[63 - i]);
    packed[i / 32] |= code << 2 * (i % 32);
    packed[2 + i / 32] |= reverse << 2 * (i % 32);
  }
  if (!with_bases) packed.clear();
  packed.resize(std::min(packed.size(), 2 * number));
  return index_of(number, 64, packed);
}

struct Alignment {
  std::vector<std::uint32_t> cigar;
  std::int32_t target = 0, start = 0;
  std::uint8_t reverse = 0, strand = 1, primary = 1, quality = 60;
};
constexpr std::uint32_t m(std::uint32_t bases) { return bases << 4; }
constexpr std::uint32_t i(std::uint32_t bases) { return bases << 4 | 1; }
constexpr std::uint32_t d(std::uint32_t bases) { return bases << 4 | 2; }
constexpr std::uint32_t n(std::uint32_t bases) { return bases << 4 | 3; }

testing::TestBatch reads(const std::vector<std::vector<Alignment>>& of_reads, std::uint64_t sequence = 0) {
  const auto each = [&](auto value) {
    std::vector<std::vector<decltype(value(Alignment{}))>> rows;
    for (const auto& of_read : of_reads) {
      rows.emplace_back();
      for (const Alignment& alignment : of_read) rows.back().push_back(value(alignment));
    }
    return rows;
  };
  std::vector<std::string> names;
  for (std::size_t r = 0; r < of_reads.size(); ++r) names.push_back("r" + std::to_string(sequence) + "." + std::to_string(r));
  std::vector<std::vector<std::uint32_t>> cigars;
  for (const auto& of_read : of_reads) {
    cigars.emplace_back();
    for (const Alignment& alignment : of_read) cigars.back().insert(cigars.back().end(), alignment.cigar.begin(), alignment.cigar.end());
  }
  testing::BatchBuilder batch("read", static_cast<std::int64_t>(of_reads.size()));
  batch.text("read_id", names).sequence(sequence);
  for (const char* name :
       {"aligned_query_start", "aligned_query_end", "aligned_target_end", "aligned_matches", "aligned_columns", "aligned_ambiguous", "edit_distance",
        "alignment_score", "aligned_best_score", "aligned_anchors", "aligned_chain_score", "aligned_second_score"})
    batch.list<std::int32_t>(name, each([](const Alignment&) { return std::int32_t{0}; }));
  for (const char* name : {"aligned_is_first", "aligned_is_inversion", "aligned_split"})
    batch.list<std::uint8_t>(name, each([](const Alignment&) { return std::uint8_t{0}; }));
  return batch.list<double>("aligned_divergence", each([](const Alignment&) { return 0.0; }))
      .list<std::int32_t>("aligned_target", each([](const Alignment& a) { return a.target; }))
      .list<std::int32_t>("aligned_target_start", each([](const Alignment& a) { return a.start; }))
      .list<std::uint8_t>("aligned_is_reverse", each([](const Alignment& a) { return a.reverse; }))
      .list<std::uint8_t>("aligned_is_primary", each([](const Alignment& a) { return a.primary; }))
      .list<std::uint8_t>("aligned_mapq", each([](const Alignment& a) { return a.quality; }))
      .list<std::uint8_t>("aligned_transcript_strand", each([](const Alignment& a) { return a.strand; }))
      .list<std::int32_t>("cigar_count", each([](const Alignment& a) { return static_cast<std::int32_t>(a.cigar.size()); }))
      .list<std::uint32_t>("aligned_cigar", cigars)
      .build();
}

// GT..AG from 4 to 14 and GC..AG from 20 to 28 of contig one; on two, as the reverse complement, these are 50 to 60 and 36 to 44.
const std::vector<std::uint32_t> two_introns = {m(2), i(3), m(1), d(1), n(10), m(6), n(8), m(9)};
std::vector<testing::TestBatch> some_reads() {
  return {reads({{{.cigar = two_introns}}, {}, {{.cigar = {m(10), n(8), m(2)}, .start = 10}, {.cigar = two_introns, .target = 0, .primary = 0}}}, 0),
          reads({{{.cigar = two_introns, .quality = 9}},
                 {{.cigar = two_introns, .strand = 3}},
                 {{.cigar = {m(6), n(8), m(6), n(10), m(4)}, .target = 1, .start = 30, .reverse = 1, .strand = 1}},
                 {{.cigar = {m(6), n(8), m(3)}, .target = 1, .start = 30, .reverse = 0, .strand = 2}}},
                1)};
}

const sluice_plugin_info& plugin() {
  static const sluice_plugin_info* const loaded = testing::load_plugin(SLUICE_PLUGIN_DIR "/splice_junctions.so");
  return *loaded;
}
std::string counted(const std::vector<testing::TestBatch>& batches, const testing::ParameterTexts& options = {}) {
  const testing::Result result =
      testing::run_stage(testing::stage_of(plugin(), "junction_counts"), batches).resource("index", contigs()).with(options).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  std::string text;
  for (const auto& batch : result.batches) {
    const auto view = batch.view();
    const auto contig = view.text("contig"), ends = view.text("ends"), strand = view.text("strand");
    for (std::int64_t row = 0; row < view.rows(); ++row) {
      const auto r = static_cast<std::size_t>(row);
      text += std::string(contig[row]) + ' ' + std::to_string(view.column<std::int32_t>("start")[r]) + ' ' +
              std::to_string(view.column<std::int32_t>("end")[r]) + ' ' + std::string(ends[row]) + ' ' +
              std::to_string(view.column<std::int32_t>("score")[r]) + std::string(strand[row]) + ' ' +
              std::to_string(view.column<std::int64_t>("reads")[r]) + ' ' + std::to_string(view.column<std::int8_t>("known")[r]) + '\n';
    }
  }
  return text;
}
testing::StageRun lines(const std::vector<testing::TestBatch>& batches) {
  return testing::run_stage(testing::stage_of(plugin(), "junction_writer"), batches).resource("index", contigs());
}

}  // namespace

TEST_CASE("introns are counted by place and strand, with their ends along the transcript") {
  CHECK(counted(some_reads()) == "one 4 14 GT-AG 6+ 1 -1\none 20 28 GC-AG 5+ 2 -1\ntwo 36 44 GC-AG 5- 2 -1\ntwo 50 60 GT-AG 6- 1 -1\n");
  CHECK(counted(some_reads(), {{"min_mapq", 0}}).starts_with("one 4 14 GT-AG 6+ 2 -1\none 20 28 GC-AG 5+ 3 -1\n"));
  CHECK(counted(some_reads(), {{"min_mapq", 9}}).starts_with("one 4 14 GT-AG 6+ 2 -1\n"));  // 9 is not lower
  CHECK(counted({}).empty());
}

TEST_CASE("columns told apart by = and X lie on the contig, and an intron has two bases or more") {
  constexpr std::uint32_t equal = 7, different = 8;
  CHECK(counted({reads({{{.cigar = {2U << 4 | equal, 2U << 4 | different, n(10), m(2)}}}})}) == "one 4 14 GT-AG 6+ 1 -1\n");
  CHECK(counted({reads({{{.cigar = {m(4), n(2), m(2)}}}})}) == "one 4 6 GT-GT 3+ 1 -1\n");
  CHECK(counted({reads({{{.cigar = {m(4), n(1), m(2)}}}})}).empty());
}

TEST_CASE("the score adds up what both ends have") {
  using sluice::overlap::score_of;
  CHECK(score_of("GT-AG") == 6);
  CHECK(score_of("GC-AG") == 5);
  CHECK(score_of("AT-AG") == 4);
  CHECK(score_of("GT-AC") == 4);
  CHECK(score_of("AT-AC") == 2);
  CHECK(score_of("CC-AC") == 1);
  CHECK(score_of("CC-CC") == 0);
}

TEST_CASE("the report is told of junctions, known ones and their reads, and of introns that were written") {
  const testing::TemporaryFolder folder;
  const std::string bed = folder.path() + "/known.bed";
  std::ofstream(bed) << "one\t20\t28\n";
  const testing::Result result =
      testing::run_stage(testing::stage_of(plugin(), "junction_counts"), some_reads()).resource("index", contigs()).with({{"known", bed}}).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  // Four junctions, of six reads in all; the known one has two of them.
  CHECK(figure(result, "00") == Amounts{{"amount", 4}});
  CHECK(figure(result, "01") == Amounts{{"part", 1}, {"whole", 4}});
  CHECK(figure(result, "02") == Amounts{{"part", 2}, {"whole", 6}});
  const auto written = lines(some_reads()).with({{"output", "-"}}).run();
  CHECK(written.counters.at("introns of reads") == 6);
  CHECK(testing::resume_problems(testing::run_stage(testing::stage_of(plugin(), "junction_counts"), some_reads()).resource("index", contigs())) ==
        std::vector<std::string>{});
}

TEST_CASE("known introns are said, by their places") {
  const testing::TemporaryFolder folder;
  const std::string bed = folder.path() + "/known.bed";
  std::ofstream(bed) << "one\t4\t14\tx\t0\t+\ntwo\t36\t45\none\t0\t40\tt\t0\t+\t0\t40\t0\t2\t20,12,\t0,28,\n";
  CHECK(counted(some_reads(), {{"known", bed}}) == "one 4 14 GT-AG 6+ 1 1\none 20 28 GC-AG 5+ 2 1\ntwo 36 44 GC-AG 5- 2 0\ntwo 50 60 GT-AG 6- 1 0\n");
}

TEST_CASE("a known intron of the other strand is another one; one without a strand is of both") {
  const testing::TemporaryFolder folder;
  const std::string bed = folder.path() + "/known.bed";
  const auto known_of = [&](const std::string& lines) {
    std::ofstream(bed) << lines;
    std::string known, rows = counted(some_reads(), {{"known", bed}});
    for (std::size_t end = rows.find('\n'); end != std::string::npos; end = rows.find('\n', end + 1)) known += rows[end - 1];
    return known;
  };
  CHECK(known_of("one\t4\t14\tx\t0\t-\none\t20\t28\tx\t0\t+\ntwo\t36\t44\tx\t0\t+\ntwo\t50\t60\tx\t0\t-\n") == "0101");
  CHECK(known_of("one\t4\t14\tx\t0\t-\none\t4\t14\tx\t0\t+\ntwo\t36\t44\tx\t0\t+\ntwo\t36\t44\tx\t0\t.\n") == "1010");
}

TEST_CASE("a line for each intron of each read") {
  const auto result = lines(some_reads()).with({{"output", "-"}}).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  CHECK(result.files.at("-") ==
        "one\t4\t14\tr0.0\t6\t+\none\t20\t28\tr0.0\t5\t+\none\t20\t28\tr0.2\t5\t+\ntwo\t36\t44\tr1.2\t5\t-\ntwo\t50\t60\tr1.2\t6\t-\n"
        "two\t36\t44\tr1.3\t5\t-\n");
}

TEST_CASE("junctions come in batches of at most 10,000") {
  // A contig of A, and an intron of two bases from each place on.
  std::vector<std::vector<Alignment>> of_reads;
  for (std::int32_t start = 0; start < 10'001; ++start) of_reads.push_back({{.cigar = {m(1), n(2), m(1)}, .start = start}});
  const testing::Result result = testing::run_stage(testing::stage_of(plugin(), "junction_counts"), reads(of_reads))
                                     .resource("index", index_of(1, 10'016, std::vector<std::uint64_t>(313)))
                                     .run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  REQUIRE(result.batches.size() == 2);
  CHECK(result.batches[0].rows() == 10'000);
  CHECK(result.batches[1].view().column<std::int32_t>("start")[0] == 10'001);
  CHECK(figure(result, "00") == Amounts{{"amount", 10'001}});
}

TEST_CASE("what can't be is refused") {
  const auto beyond = lines({reads({{{.cigar = {m(2), n(8), m(2)}, .start = 60}}})}).with({{"output", "-"}}).run();
  CHECK(beyond.status == SLUICE_ERROR_INPUT);
  CHECK(beyond.message.find("beyond contig 'one'") != std::string::npos);
  // Without contigs no bases are missing.
  for (const std::size_t number : {0, 1, 2}) {
    const auto bare = testing::run_stage(testing::stage_of(plugin(), "junction_counts"), std::vector<testing::TestBatch>{})
                          .resource("index", contigs(false, number))
                          .run();
    CHECK(bare.ok() == (number == 0));
    CHECK((bare.message.find("has no bases") != std::string::npos) == (number > 0));
  }
}

TEST_CASE("both stages keep the contract of all stages") {
  const testing::TemporaryFolder folder;
  const testing::ContractSample counts{.resources = {{"index", contigs()}}, .batches = some_reads()};
  const testing::ContractSample written{
      .parameters = {{"output", folder.path() + "/introns.bed"}}, .resources = {{"index", contigs()}}, .batches = some_reads()};
  for (const std::string& problem : testing::contract_problems(plugin(), {{"junction_counts", counts}, {"junction_writer", written}}))
    FAIL_CHECK(problem);
  CHECK(testing::resume_problems(lines(some_reads()), {"a.bed", "a.bed.gz", "a.bed.zst"}) == std::vector<std::string>{});
}
