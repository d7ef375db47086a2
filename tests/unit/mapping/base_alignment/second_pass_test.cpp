// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The stage is linked with the plugin only.
#include "base_alignment/second_pass.cpp"

#include <doctest/doctest.h>

#include <fstream>
#include <sluice/overlap/read_alignments.hpp>
#include <sluice/testing.hpp>

#include "read_chains.hpp"

using namespace sluice::base_alignment;
using namespace read_chains;
using sluice::testing::run_stage;

namespace {

// Exons of 300 bases and introns GT..AG of 1,000: exon, intron, exon, intron, exon.
struct Gene {
  std::mt19937 random{5};
  std::string exons[3] = {random_bases(random, 300), random_bases(random, 300), random_bases(random, 300)};
  std::string introns[2] = {"GTAAGT" + random_bases(random, 990) + "TTAG", "GTAAGT" + random_bases(random, 990) + "TTAG"};
  std::string contig = random_bases(random, 500) + exons[0] + introns[0] + exons[1] + introns[1] + exons[2] + random_bases(random, 500);
};
constexpr std::uint32_t m(std::uint32_t bases) { return bases << 4; }
constexpr std::uint32_t n(std::uint32_t bases) { return bases << 4 | 3; }

struct Aligned {
  std::string bases;
  std::int32_t query_start, target_start;
  std::vector<std::uint32_t> cigar;
  std::uint8_t quality = 60, strand = 1, primary = 1;

  std::int32_t on_read() const { return sum(false); }
  std::int32_t on_target() const { return sum(true); }

 private:
  std::int32_t sum(bool with_introns) const {
    std::int32_t bases_of_all = 0;
    for (const std::uint32_t operation : cigar)
      bases_of_all += with_introns || (operation & 15U) == 0 ? static_cast<std::int32_t>(operation >> 4) : 0;
    return bases_of_all;
  }
};

sluice::testing::TestBatch batch_of(const std::vector<Aligned>& reads, std::uint64_t sequence = 0) {
  const auto each = [&](auto value) {
    std::vector<std::vector<decltype(value(reads[0]))>> rows;
    for (const Aligned& read : reads) rows.push_back(read.cigar.empty() ? std::vector<decltype(value(read))>() : std::vector{value(read)});
    return rows;
  };
  std::vector<std::string> bases, names, qualities;
  std::vector<std::int32_t> length;
  std::vector<std::vector<std::uint32_t>> cigars;
  for (const Aligned& read : reads) {
    bases.push_back(read.bases);
    names.push_back("r" + std::to_string(sequence) + "." + std::to_string(names.size()));
    qualities.emplace_back(read.bases.size(), '5');
    length.push_back(static_cast<std::int32_t>(read.bases.size()));
    cigars.push_back(read.cigar);
  }
  BatchBuilder batch("read", static_cast<std::int64_t>(reads.size()));
  batch.text("bases", bases).text("read_id", names).text("qualities", qualities).column<std::int32_t>("read_length", length);
  batch.column<std::int32_t>("repeat_length", std::vector<std::int32_t>(reads.size(), 7)).sequence(sequence).attribute("sam_header", "@RG\tID:g\n");
  for (const sluice::overlap::HitColumn& column : sluice::overlap::hit_columns) {
    if (column.type == std::string("list<u8>")) batch.list<std::uint8_t>(column.name, each([](const Aligned&) { return std::uint8_t{1}; }));
    if (column.type == std::string("list<f32>")) batch.list<float>(column.name, each([](const Aligned&) { return 0.5F; }));
    if (column.type == std::string("list<i32>")) batch.list<std::int32_t>(column.name, each([](const Aligned&) { return std::int32_t{3}; }));
  }
  for (const char* name : {"aligned_target", "aligned_ambiguous", "edit_distance", "aligned_second_score"})
    batch.list<std::int32_t>(name, each([](const Aligned&) { return std::int32_t{0}; }));
  for (const char* name : {"alignment_score", "aligned_best_score", "aligned_matches", "aligned_columns"})
    batch.list<std::int32_t>(name, each([](const Aligned& read) { return read.on_read(); }));
  for (const char* name : {"aligned_anchors", "aligned_chain_score"})
    batch.list<std::int32_t>(name, each([](const Aligned&) { return std::int32_t{9}; }));
  for (const char* name : {"aligned_is_reverse", "aligned_is_inversion", "aligned_split"})
    batch.list<std::uint8_t>(name, each([](const Aligned&) { return std::uint8_t{0}; }));
  batch.list<std::int32_t>("aligned_query_start", each([](const Aligned& read) { return read.query_start; }))
      .list<std::int32_t>("aligned_query_end", each([](const Aligned& read) { return read.query_start + read.on_read(); }))
      .list<std::int32_t>("aligned_target_start", each([](const Aligned& read) { return read.target_start; }))
      .list<std::int32_t>("aligned_target_end", each([](const Aligned& read) { return read.target_start + read.on_target(); }))
      .list<double>("aligned_divergence", each([](const Aligned&) { return 0.0; }))
      .list<std::uint8_t>("aligned_is_primary", each([](const Aligned& read) { return read.primary; }))
      .list<std::uint8_t>("aligned_is_first", each([](const Aligned& read) { return read.primary; }))
      .list<std::uint8_t>("aligned_mapq", each([](const Aligned& read) { return read.quality; }))
      .list<std::uint8_t>("aligned_transcript_strand", each([](const Aligned& read) { return read.strand; }))
      .list<std::int32_t>("cigar_count", each([](const Aligned& read) { return static_cast<std::int32_t>(read.cigar.size()); }))
      .list<std::uint32_t>("aligned_cigar", cigars);
  return batch.build();
}

// The name and the CIGAR of each read, a line each.
std::string lines_of(const sluice::testing::Result& result) {
  std::string text;
  std::vector<sluice::overlap::ReadAlignment> alignments;
  for (const sluice::testing::TestBatch& batch : result.batches) {
    const auto view = batch.view();
    CHECK(view.attribute("sam_header") == "@RG\tID:g\n");
    const sluice::overlap::ReadAlignments columns(view, sluice::overlap::TagText::none);
    for (std::int64_t row = 0; row < view.rows(); ++row) {
      text += std::string(view.text("read_id")[row]) + ":";
      columns.read(row, 1, alignments);
      for (const auto& alignment : alignments) {
        text += std::to_string(alignment.query_start) + "+";
        sluice::overlap::tags::append_cigar(text, alignment.cigar);
      }
      text += "\n";
    }
  }
  return text;
}

// A read over the first intron; one that has four bases of the second exon, with a worse one of them; one that ends in the third exon.
std::vector<Aligned> reads_of(const Gene& gene) {
  const std::string over = gene.exons[0].substr(200) + gene.exons[1].substr(0, 100);
  const std::string short_end = gene.exons[0].substr(100) + gene.exons[1].substr(0, 4);
  const std::string short_begin = gene.exons[0].substr(296) + gene.exons[1].substr(0, 200);
  return {
      {short_end, 0, 600, {m(200)}}, {over, 0, 700, {m(100), n(1000), m(100)}}, {short_begin, 4, 1800, {m(200)}}, {std::string(50, 'A'), 0, 0, {}}};
}

}  // namespace

TEST_CASE("ends of reads reach over the introns of reads that come later, and reads keep their order and cells") {
  const Gene gene;
  const std::vector<Aligned> reads = reads_of(gene);
  for (const bool together : {true, false}) {
    std::vector<sluice::testing::TestBatch> batches;
    if (together) batches.push_back(batch_of(reads));
    for (std::size_t i = 0; !together && i < reads.size(); ++i) batches.push_back(batch_of({reads[i]}, i));
    const auto result = run_stage<SecondPass>(batches).resource("index", index_of(gene.contig)).with({{"match", 1}, {"mismatch", 2}}).run();
    REQUIRE_MESSAGE(result.ok(), result.message);
    const std::string lines = lines_of(result);
    CHECK(lines == (together ? "r0.0:0+200M1000N4M\nr0.1:0+100M1000N100M\nr0.2:0+4M1000N200M\nr0.3:\n"
                             : "r0.0:0+200M1000N4M\nr1.0:0+100M1000N100M\nr2.0:0+4M1000N200M\nr3.0:\n"));
    const auto view = result.batches.front().view();
    CHECK(view.text("bases")[0] == reads[0].bases);
    CHECK(view.text("qualities")[0] == std::string(204, '5'));
    CHECK(view.text("comment")[0].empty());
    CHECK(view.column<std::int32_t>("read_length")[0] == 204);
    CHECK(view.column<std::int32_t>("repeat_length")[0] == 7);
    CHECK(view.list<std::int32_t>("hit_target")[0].size() == 1);
    CHECK(view.list<float>("hit_divergence")[0][0] == 0.5F);
    // The texts of changed reads are made anew; those of others are base_alignment's, of which there are none here.
    CHECK(view.text("difference_text")[0] == ":200~gt1000ag:4\n");
    CHECK(view.text("mismatch_text")[0] == "204\n");
    CHECK(view.list<std::int32_t>("aligned_matches")[0][0] == 204);
    CHECK(view.list<std::int32_t>("aligned_best_score")[0][0] == 204);
    CHECK(view.list<std::int32_t>("alignment_score")[0][0] == 200);
    CHECK(view.list<std::int32_t>("aligned_anchors")[0][0] == 9);
  }
}

TEST_CASE("introns of doubtful, secondary and undecided alignments are not known to others, nor those with unusual ends") {
  const Gene gene;
  std::uint8_t before = 0;  // how a read before it runs along the transcript: as if the intron were of the other strand, where its ends are unusual
  const auto changed = [&](const std::string& contig, auto change) {
    std::vector<Aligned> reads = reads_of(gene);
    change(reads[1]);
    if (before != 0) reads.insert(reads.begin(), reads_of(gene)[1]), reads.front().strand = before;
    const auto result = run_stage<SecondPass>({batch_of(reads)}).resource("index", index_of(contig)).with({{"match", 1}, {"mismatch", 2}}).run();
    REQUIRE_MESSAGE(result.ok(), result.message);
    return lines_of(result).find("200M1000N4M") != std::string::npos;
  };
  CHECK(changed(gene.contig, [](Aligned&) {}));
  CHECK_FALSE(changed(gene.contig, [](Aligned& read) { read.quality = 9; }));
  CHECK_FALSE(changed(gene.contig, [](Aligned& read) { read.primary = 0; }));
  CHECK_FALSE(changed(gene.contig, [](Aligned& read) { read.strand = 3; }));
  CHECK_FALSE(changed(gene.contig, [](Aligned& read) { read.strand = 2; }));
  Gene other = gene;
  other.contig[801] = 'A';  // GA..AG
  CHECK_FALSE(changed(other.contig, [](Aligned&) {}));
  before = 2;
  CHECK(changed(gene.contig, [](Aligned&) {}));
}

TEST_CASE("annotated introns are there without a read, and lead to others") {
  const Gene gene;
  const sluice::testing::TemporaryFolder folder;
  std::ofstream(folder.path() + "/known.bed") << "one\t800\t1800\tx\t0\t+\n";
  const auto result = run_stage<SecondPass>({batch_of({reads_of(gene)[0]})})
                          .resource("index", index_of(gene.contig))
                          .with({{"match", 1}, {"mismatch", 2}, {"annotated_junctions", folder.path() + "/known.bed"}})
                          .run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  CHECK(lines_of(result) == "r0.0:0+200M1000N4M\n");
}

TEST_CASE("alignments that do not fit their read or contig are refused") {
  const Gene gene;
  const auto is_refused = [&](auto change) {
    Aligned read = reads_of(gene)[1];
    change(read);
    const auto result = run_stage<SecondPass>({batch_of({read})}).resource("index", index_of(gene.contig)).run();
    return result.status == SLUICE_ERROR_INPUT && result.message.find("does not fit") != std::string::npos;
  };
  CHECK(is_refused([](Aligned& read) { read.bases.resize(150); }));
  CHECK(is_refused([](Aligned& read) { read.target_start = 3000; }));
  CHECK(is_refused([](Aligned& read) { read.target_start = -1; }));
  CHECK(is_refused([](Aligned& read) { read.cigar.push_back(5U << 4 | 9U); }));
  CHECK(run_stage<SecondPass>({batch_of(reads_of(gene))}).resource("index", index_of(gene.contig, false)).run().message.find("has no bases") !=
        std::string::npos);
}

TEST_CASE("splice_second_pass keeps the contract of all stages") {
  const Gene gene;
  const auto problems = sluice::testing::contract_problems<SecondPass>(
      {.resources = {{"index", index_of(gene.contig)}}, .batches = {batch_of(reads_of(gene)), batch_of(reads_of(gene), 1)}});
  CHECK(problems == std::vector<std::string>{});
}

TEST_CASE("rows come back as they were, few or many") {
  for (const std::size_t rows : {std::size_t{0}, std::size_t{5}, std::size_t{3000}}) {
    std::mt19937 random(static_cast<unsigned>(rows));
    const auto row_of = [&](std::mt19937& from) { return random_bases(from, from() % (from() % 500 == 0 ? 5'000'000 : 4000)); };
    HeldRows held;
    for (std::size_t i = 0; i < rows; ++i) held.add(row_of(random));
    std::mt19937 again(static_cast<unsigned>(rows));
    std::string row;
    bool same = true;
    for (std::size_t i = 0; i < rows; ++i) same = held.take(row) && row == row_of(again) && same;
    CHECK(same);
    CHECK_FALSE(held.take(row));
  }
}
