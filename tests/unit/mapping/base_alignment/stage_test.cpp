// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The stage classes have no headers of their own.
#include "base_alignment/stage.cpp"

#include <doctest/doctest.h>

#include <random>
#include <sluice/overlap/read_alignments.hpp>
#include <sluice/testing/kept_memory.hpp>

#include "base_alignment/alignment_rows.cpp"
#include "read_chains.hpp"
#include "unit/default_of.hpp"

using namespace sluice::base_alignment;
using namespace read_chains;
using sluice::testing::run_stage;
using sluice::testing::TestBatch;

namespace {

// The alignments of each read: start on the read, operations, reverse or not; separated by blanks.
std::string aligned(const std::string& contig, const std::vector<ReadChain>& reads, const sluice::testing::ParameterTexts& options = {}) {
  const auto result = run_stage<BaseAlignment>(columns_of(reads).build()).resource("index", index_of(contig)).with(options).run();
  REQUIRE(result.status == SLUICE_OK);
  std::string text;
  const auto batch = result.batch().view();
  std::vector<sluice::overlap::ReadAlignment> alignments;
  const sluice::overlap::ReadAlignments columns(batch, sluice::overlap::TagText::none);
  for (std::int64_t row = 0; row < batch.rows(); ++row) {
    columns.read(row, 1, alignments);
    for (const auto& alignment : alignments) {
      text += std::to_string(alignment.query_start) + (alignment.is_reverse ? '-' : '+') + (alignment.is_inversion ? "inversion:" : ":");
      sluice::overlap::tags::append_cigar(text, alignment.cigar);
      text += ' ';
    }
    text += "| ";
  }
  return text;
}

}  // namespace

TEST_CASE_FIXTURE(Fixture, "a read is aligned from its first base to its last; foreign ends are left") {
  CHECK(aligned(contig, {chain_of(contig, piece(5000, 7000))}) == "0+:2000M | ");
  CHECK(aligned(contig, {chain_of(contig, with_errors(piece(0, 3000), 50))}) == "0+:3000M | ");
  CHECK(aligned(contig, {chain_of(contig, with_errors(piece(27000, 30000), 50)), {"ACGT", {}, {}}}, {{"eqx", true}}).find("| | ") !=
        std::string::npos);
  const std::string ends = aligned(contig, {chain_of(contig, random_bases(random, 700) + piece(9000, 11000) + random_bases(random, 700))});
  CHECK(ends.find("+:20") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "a long gap is one gap") {
  CHECK(aligned(contig, {chain_of(contig, piece(5000, 7000) + piece(9000, 11000))}).find("2000D") != std::string::npos);
  CHECK(aligned(contig, {chain_of(contig, piece(5000, 7000) + random_bases(random, 1500) + piece(7000, 9000))}).find("1500I") != std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "a read is split around an inversion, which is found") {
  const std::string read = piece(4000, 7000) + reverse_complement(piece(7000, 8000)) + piece(8000, 11000);
  ReadChain chain = chain_of(contig, read);
  const std::string found = aligned(contig, {chain});
  CHECK(found.find("-inversion:") != std::string::npos);
  CHECK(std::count(found.begin(), found.end(), ':') == 3);
  CHECK(aligned(contig, {chain}, {{"for_only", true}}).find("inversion") == std::string::npos);
}

TEST_CASE_FIXTURE(Fixture, "a read is aligned across an intron, along its transcript or against it") {
  const std::string left = piece(5000, 5400), right = piece(9000, 9400), intron = "GTA" + piece(12000, 13000) + "CAG";
  const std::string gene = left + intron + right;
  const sluice::testing::ParameterTexts options = {
      {"splice", true},  {"transcript_strand", "both"}, {"match", 1},    {"mismatch", 2},           {"gap_open", 2},
      {"gap_extend", 1}, {"long_gap_open", 32},         {"z_drop", 200}, {"z_drop_inversion", 100}, {"max_matrix_cells", 0}};
  for (const bool reverse : {false, true}) {
    const std::string genome = reverse ? reverse_complement(gene) : gene, read = reverse ? reverse_complement(left + right) : left + right;
    const auto result =
        run_stage<BaseAlignment>(columns_of({chain_of(genome, read)}).build()).resource("index", index_of(genome)).with(options).run();
    REQUIRE(result.status == SLUICE_OK);
    const auto batch = result.batch().view();
    std::string cigar;
    sluice::overlap::tags::append_cigar(cigar, batch.list<std::uint32_t>("aligned_cigar")[0]);
    CHECK(cigar == "400M1006N400M");
    CHECK(batch.list<std::uint8_t>("aligned_transcript_strand")[0][0] == (reverse ? 2 : 1));
  }
}

TEST_CASE_FIXTURE(Fixture, "lists that do not fit together, and anchors that lead nowhere, are refused") {
  const ReadChain good = chain_of(contig, piece(5000, 7000));
  const auto message = [&](const ReadChain& read) {
    const auto result = run_stage<BaseAlignment>(columns_of({read}).build()).resource("index", index_of(contig)).run();
    CHECK(result.status == SLUICE_ERROR_INPUT);
    return result.message;
  };
  ReadChain bad = good;
  bad.bases.resize(300);
  CHECK(message(bad).find("outside its target or the read") != std::string::npos);
  bad = good;
  bad.x[3] = 1'000'000;
  CHECK(message(bad).find("outside its target or the read") != std::string::npos);
  bad = good;
  std::swap(bad.x[3], bad.x[4]);
  CHECK(message(bad).find("do not ascend") != std::string::npos);
  bad = good;
  bad.y[2] &= 0xFFFFFFFFU;
  CHECK(message(bad).find("outside its target or the read") != std::string::npos);
  bad = good;
  bad.x.pop_back();
  CHECK(message(bad).find("differ in length") != std::string::npos);
  const auto refuses = [&](const sluice::testing::ParameterTexts& options, const TestBatch& index) {
    return run_stage<BaseAlignment>(columns_of({good}).build()).resource("index", index).with(options).run().status != SLUICE_OK;
  };
  CHECK(refuses({{"gap_open", 100}, {"long_gap_open", 100}}, index_of(contig)));
  CHECK(refuses({{"z_drop", 100}}, index_of(contig)));
  // Scores that minimap2 2.24 takes, and dies of.
  CHECK(refuses({{"mismatch", 9}, {"gap_open", 2}}, index_of(contig)));
  CHECK_FALSE(refuses({{"mismatch", 8}, {"gap_open", 2}}, index_of(contig)));
  CHECK(refuses({{"ambiguous", 13}}, index_of(contig)));
  CHECK_FALSE(refuses({{"ambiguous", 12}}, index_of(contig)));
  CHECK(refuses({{"match", 90}, {"gap_open", 40}, {"long_gap_open", 60}}, index_of(contig)));
  CHECK(refuses({}, index_of(contig, false)));
}

TEST_CASE_FIXTURE(Fixture, "the estimate of memory is above what operations and texts take, and counts all reads of a batch") {
  std::vector<ReadChain> reads;
  for (std::size_t i = 0; i < 20; ++i) reads.push_back(chain_of(contig, with_errors(piece(1000 * i, 1000 * i + 8000), 40)));
  const TestBatch batch = columns_of(reads).build();
  const auto result = run_stage<BaseAlignment>(batch).resource("index", index_of(contig)).with({{"eqx", true}, {"cs_long", true}}).run();
  REQUIRE(result.status == SLUICE_OK);
  const auto made = result.batch().view();
  const std::uint64_t operations = 4 * made.list<std::uint32_t>("aligned_cigar").values().size();
  std::uint64_t texts = 0;
  for (std::int64_t row = 0; row < made.rows(); ++row) texts += made.text("difference_text")[row].size() + made.text("mismatch_text")[row].size();
  CHECK(texts > 20 * 8000);
  const MadeOfAlignment everything{.texts = {.difference = true, .mismatches = true}, .form = DifferenceForm::long_form, .eqx = true};
  const sluice::Estimate estimate = estimate_alignment(batch.view(), everything);
  CHECK(estimate.work == 20 * 8000);
  CHECK(estimate.largest_row_work == 8000);
  CHECK(estimate.output_bytes > operations + texts);
  CHECK(estimate.output_bytes > estimate_alignment(batch.view(), {}).output_bytes);
  // Codes of both strands of all reads are there at once when a device aligns them.
  std::vector<ReadChain> many;
  for (int i = 0; i < 60; ++i) many.insert(many.end(), reads.begin(), reads.end());
  CHECK(estimate_alignment(columns_of(many).build().view(), {}).scratch_bytes > 60 * 20 * 8000 * 10);
}

TEST_CASE_FIXTURE(Fixture, "whatever the read, nothing breaks, and the same comes out on any number of threads") {
  std::vector<ReadChain> reads;
  for (int i = 0; i < 60; ++i) {
    std::string read;
    for (std::uint32_t part = 0, parts = 1 + random() % 4; part < parts; ++part) {
      const std::size_t begin = random() % 25000;
      std::string text = piece(begin, begin + 50 + random() % 3000);
      if (random() % 3 == 0) text = reverse_complement(text);
      if (random() % 5 == 0) text = std::string(random() % 400, 'N');
      if (random() % 5 == 0) text = random_bases(random, random() % 2000);
      read += with_errors(text, 5 + random() % 60).substr(0, 4000);
    }
    for (char& base : read)
      if (base == '\0') base = 'A';
    reads.push_back(chain_of(contig, read));
  }
  const TestBatch batch = columns_of(reads).build();
  const auto one = run_stage<BaseAlignment>(batch).resource("index", index_of(contig)).run();
  const auto three = run_stage<BaseAlignment>(batch).resource("index", index_of(contig)).threads(3).run();
  REQUIRE(one.status == SLUICE_OK);
  for (std::int64_t row = 0; row < batch.rows(); ++row) {
    const auto a = one.batch().view().list<std::uint32_t>("aligned_cigar")[row], b = three.batch().view().list<std::uint32_t>("aligned_cigar")[row];
    CHECK(std::equal(a.begin(), a.end(), b.begin(), b.end()));
  }
}

namespace {

// A read without alignments; one with a best place, a part on the other strand, a doubtful part and a secondary place.
BatchBuilder aligned_reads_builder() {
  const std::vector<std::int32_t> zeros(4, 0);
  const std::vector<std::uint8_t> zero_bytes(4, 0);
  BatchBuilder builder("read", 2);
  builder.text("read_id", {"none", "parts"}).text("bases", {"ACGT", "ACGTTTGNCR"});
  for (const char* name : {"aligned_matches", "aligned_columns", "aligned_ambiguous", "edit_distance", "alignment_score", "aligned_best_score",
                           "aligned_anchors", "aligned_chain_score", "aligned_second_score"})
    builder.list<std::int32_t>(name, {{}, zeros});
  for (const char* name : {"aligned_is_inversion", "aligned_split", "aligned_transcript_strand"}) builder.list<std::uint8_t>(name, {{}, zero_bytes});
  return builder.list<std::int32_t>("aligned_target", {{}, {0, 0, 0, 0}})
      .list<std::uint8_t>("aligned_is_reverse", {{}, {0, 1, 0, 0}})
      .list<std::int32_t>("aligned_query_start", {{}, {0, 4, 8, 0}})
      .list<std::int32_t>("aligned_query_end", {{}, {4, 9, 10, 4}})
      .list<std::int32_t>("aligned_target_start", {{}, {99, 9, 50, 300}})
      .list<std::int32_t>("aligned_target_end", {{}, {103, 15, 52, 304}})
      .list<double>("aligned_divergence", {{}, {0, 0, 0, 0}})
      .list<std::uint8_t>("aligned_is_primary", {{}, {1, 1, 1, 0}})
      .list<std::uint8_t>("aligned_is_first", {{}, {1, 0, 0, 0}})
      .list<std::uint8_t>("aligned_mapq", {{}, {60, 30, 3, 0}})
      .list<std::int32_t>("cigar_count", {{}, {1, 3, 1, 1}})
      .list<std::uint32_t>("aligned_cigar", {{}, {4U << 4, 2U << 4, 1U << 4 | 2, 3U << 4, 2U << 4, 4U << 4}});
}
TestBatch aligned_reads() { return aligned_reads_builder().build(); }

}  // namespace

TEST_CASE_FIXTURE(Fixture, "each alignment that is not secondary becomes a row with the whole read") {
  const auto result = run_stage<AlignmentRows>(aligned_reads()).resource("index", index_of(contig)).run();
  REQUIRE(result.status == SLUICE_OK);
  REQUIRE(result.batches.size() == 1);
  const auto rows = result.batches[0].view();
  REQUIRE(rows.rows() == 2);
  const std::uint32_t clip = 4;
  CHECK(rows.text("read_id")[0] == "parts");
  CHECK(rows.text("read_id")[1] == "parts");
  CHECK(rows.text("bases")[1] == "ACGTTTGNCR");
  CHECK(rows.text("contig")[1] == "one");
  CHECK(rows.column<std::int64_t>("ref_start")[1] == 9);
  CHECK(rows.column<std::int64_t>("ref_end")[1] == 15);
  CHECK(rows.column<std::uint16_t>("flag")[0] == 0);
  CHECK(rows.column<std::uint16_t>("flag")[1] == 2064);
  CHECK(rows.column<std::uint8_t>("mapq")[1] == 30);
  const auto cigar = [&](std::int64_t row) {
    const auto operations = rows.list<std::uint32_t>("cigar")[row];
    return std::vector<std::uint32_t>(operations.begin(), operations.end());
  };
  CHECK(cigar(0) == std::vector<std::uint32_t>{4U << 4, 6U << 4 | clip});
  CHECK(cigar(1) == std::vector<std::uint32_t>{1U << 4 | clip, 2U << 4, 1U << 4 | 2, 3U << 4, 4U << 4 | clip});
  const auto first_only =
      run_stage<AlignmentRows>(aligned_reads()).resource("index", index_of(contig)).with({{"supplementary", false}, {"min_mapq", 0}}).run();
  REQUIRE(first_only.batches.size() == 1);
  CHECK(first_only.batches[0].rows() == 1);
  const auto none = run_stage<AlignmentRows>(aligned_reads().all_failed()).resource("index", index_of(contig)).run();
  CHECK(none.status == SLUICE_OK);
  CHECK(none.batches.empty());
}

TEST_CASE_FIXTURE(Fixture, "rows have the records of their alignments; of those that are not used, too, if all are kept") {
  const auto length = [](const std::string& record) { return std::string{static_cast<char>(record.size()), '\0', '\0', '\0'} + record; };
  const auto rows_of = [&](const std::vector<std::string>& records, const char* keep) {
    auto result = run_stage<AlignmentRows>(aligned_reads_builder().binary("read_records", records).attribute("sam_header", "@PG\tID:x\n").build())
                      .resource("index", index_of(contig))
                      .with({{"keep", keep}})
                      .run();
    REQUIRE(result.status == SLUICE_OK);
    return result;
  };
  const std::vector<std::string> records = {length("unmapped"), length("first") + length("second") + length("third") + length("fourth")};
  const auto used = rows_of(records, "used");
  CHECK(used.rows() == 2);
  CHECK(used.batches[0].view().text("bam_record")[1] == "second");
  CHECK(used.batches[0].view().attribute("sam_header") == "@PG\tID:x\n");
  CHECK(used.accounts.at("unmapped").names == std::vector<std::string>{"none"});
  const auto all = rows_of(records, "all");
  REQUIRE(all.batches.size() == 1);
  const auto view = all.batches[0].view();
  REQUIRE(view.rows() == 5);
  CHECK(view.text("bam_record")[0] == "unmapped");
  CHECK(view.text("contig")[0] == "*");
  CHECK(view.column<std::uint16_t>("flag")[0] == 4);
  CHECK(view.text("bam_record")[4] == "fourth");
  CHECK(view.column<std::uint16_t>("flag")[4] == 256);
  CHECK(all.failed.empty());
  CHECK(all.accounts.empty());
  for (const std::string& damaged : {std::string(), std::string("abc"), length("first").substr(0, 6)})
    CHECK(rows_of({damaged, damaged}, "all").batches[0].view().text("bam_record")[2].empty());
}

TEST_CASE_FIXTURE(Fixture, "base_alignment keeps the contract of all stages") {
  const TestBatch reads = columns_of({chain_of(contig, piece(5000, 7000)), {"ACGT", {}, {}}, chain_of(contig, piece(0, 900))}).build();
  CHECK(sluice::testing::contract_problems(
            *sluice_plugin_init(nullptr, nullptr),
            {{"base_alignment", {.resources = {{"index", index_of(contig)}}, .batches = {reads, reads}}},
             {"alignment_rows", {.resources = {{"index", index_of(contig)}}, .batches = {aligned_reads(), aligned_reads()}}}}) ==
        std::vector<std::string>{});
}

TEST_CASE_FIXTURE(Fixture, "a read with a bad stretch, whose alignment takes more than is kept, leaves nothing behind") {
  const ReadChain huge = chain_of(contig, piece(1000, 3000) + random_bases(random, 11000) + piece(14000, 16000));
  std::vector<ReadChain> small;
  for (std::size_t i = 0; i < 8; ++i) small.push_back(chain_of(contig, with_errors(piece(2000 * i, 2000 * i + 400 * (i + 1)), 9 + i)));
  const sluice::testing::ContractSample sample{.resources = {{"index", index_of(contig)}}, .batches = {columns_of(small).build()}};
  const auto problems = sluice::testing::kept_memory_problems(sluice::testing::stage_of<BaseAlignment>(), sample, columns_of({huge}).build());
  CHECK(problems == std::vector<std::string>{});
}

TEST_CASE("the defaults are those of minimap2 -x map-ont") {
  CHECK(sluice::testing::other_defaults(sluice::testing::stage_of<BaseAlignment>(), {{"match", "2"},
                                                                                     {"mismatch", "4"},
                                                                                     {"gap_open", "4"},
                                                                                     {"gap_extend", "2"},
                                                                                     {"long_gap_open", "24"},
                                                                                     {"long_gap_extend", "1"},
                                                                                     {"ambiguous", "1"},
                                                                                     {"z_drop", "400"},
                                                                                     {"z_drop_inversion", "200"},
                                                                                     {"end_bonus", "-1"},
                                                                                     {"min_score", "80"},
                                                                                     {"min_fill_length", "200"},
                                                                                     {"max_matrix_cells", "100000000"},
                                                                                     {"max_clip_ratio", "1"},
                                                                                     {"trim_ends", "true"},
                                                                                     {"bw", "500"},
                                                                                     {"bw_long", "20000"},
                                                                                     {"max_gap", "5000"},
                                                                                     {"min_cnt", "3"},
                                                                                     {"min_chain_score", "40"},
                                                                                     {"secondary_ratio", "0.8"},
                                                                                     {"best_count", "5"},
                                                                                     {"mask_level", "0.5"}}) == "");
}
