// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <fstream>
#include <sstream>

#include "modification_pileup/modified_bases_stage.hpp"
#include "unit/methylation/modification_pileup/brute_force.hpp"
#include "unit/methylation/modification_pileup/stage_fixture.hpp"

using namespace fixture;
using modbam::Record;

namespace {

std::vector<Record> records_of(std::uint64_t seed, std::size_t count, Contigs& contigs) {
  modbam::Generator generator(seed);
  contigs = {{"chr1", generator.contig(900)}};
  std::vector<Record> records;
  for (std::size_t i = 0; i < count; ++i) records.push_back(generator.record("read" + std::to_string(i), "chr1", contigs[0].second));
  return records;
}
bool can_be_used(const Record& record) { return record.mm && (!record.is_hard_clipped() || record.mn); }

std::string number_text(double value) {
  std::ostringstream text;
  text.precision(12);
  text << value;
  return text.str();
}
// The reference position of each base as it was sequenced.
std::vector<std::int64_t> positions_of(const Record& record) {
  std::vector<std::int64_t> positions(record.bases.size(), -1);
  std::int64_t position = record.position;
  std::size_t stored = 0;
  for (const auto& [operation, length] : record.cigar)
    for (std::uint32_t i = 0; i < length; ++i) {
      const bool takes_base = std::string("MIS=X").find(operation) != std::string::npos;
      const bool takes_position = std::string("MDN=X").find(operation) != std::string::npos;
      if (takes_base && takes_position) positions[record.is_reverse() ? positions.size() - 1 - stored : stored] = position;
      stored += takes_base ? 1 : 0;
      position += takes_position ? 1 : 0;
    }
  return positions;
}
bool comes_before(const std::string& a, const std::string& b) {
  const bool number_a = a[0] <= '9', number_b = b[0] <= '9';
  if (number_a != number_b) return number_a;
  return number_a ? std::stol(a) > std::stol(b) : a < b;
}

// What is said of each base, with nothing but maps.
std::string expected(const std::vector<Record>& records, double threshold, bool with_inferred, const brute_force::Rules& rules = {},
                     const std::function<bool(std::int64_t position, char strand)>& is_wanted = nullptr) {
  std::string lines;
  for (const Record& record : records) {
    if (!can_be_used(record)) continue;
    const std::vector<std::int64_t> positions = positions_of(record);
    const std::string bases = modbam::sequenced(record);
    for (const auto& [key, seen] : brute_force::bases_of(record, rules)) {
      const auto [strand, place] = key;
      if (!seen.has_call || std::string("ACGT").find(seen.base) == std::string::npos) continue;
      const double options = seen.ignored > 0 ? static_cast<double>(seen.probability.size() + 1) : 1;
      std::vector<std::string> codes;
      double rest = 1 - seen.ignored, best = 0;
      for (const auto& [code, probability] : seen.probability) codes.push_back(code), rest -= probability;
      std::sort(codes.begin(), codes.end(), comes_before);
      rest = std::min(std::max(rest, 0.0) * options + seen.ignored, options);
      std::string call;
      for (const std::string& code : codes)
        if (const double probability = std::min(seen.probability.at(code) * options + seen.ignored, options); probability > best)
          best = probability, call = code;
      if (rest >= best) call = "-";
      if (std::max(rest, best) < threshold * options) call = "failed";
      const char on = (strand == '+') != record.is_reverse() ? '+' : '-';
      std::string context;
      for (int i = -2; i <= 2; ++i) {
        const std::int64_t at = static_cast<std::int64_t>(place) + (strand == '+' ? i : -i);
        const bool is_there = at >= 0 && at < static_cast<std::int64_t>(bases.size());
        context += !is_there ? '-' : strand == '+' ? bases[static_cast<std::size_t>(at)] : modbam::complement(bases[static_cast<std::size_t>(at)]);
      }
      for (const std::string& code : codes) {
        const double probability = seen.probability.at(code);
        if (probability == 0 && !with_inferred) continue;
        if (is_wanted && !is_wanted(positions[place], on)) continue;
        lines += record.name + " " + std::to_string(place) + " " + record.contig + " " + std::to_string(positions[place]) + " " + on + " " + code +
                 " " + seen.base + " " + number_text(std::min(probability * options + seen.ignored, options) / options) + " " + call + " " +
                 (probability == 0 ? "1 " : "0 ") + context + " " + (record.haplotype ? std::to_string(*record.haplotype) : "ungrouped") + "\n";
      }
    }
  }
  return lines;
}
std::string lines_of_rows(const Result& result) {
  std::string lines;
  for (const TestBatch& batch : result.batches) {
    const auto rows = batch.view();
    for (std::int64_t row = 0; row < rows.rows(); ++row) {
      const auto i = static_cast<std::size_t>(row);
      const auto text = [&](const char* name) { return std::string(rows.text(name)[row]); };
      lines += text("read_id") + " " + std::to_string(rows.column<std::int64_t>("read_position")[i]) + " " + text("contig") + " " +
               std::to_string(rows.column<std::int64_t>("position")[i]) + " " + text("strand") + " " + text("modification") + " " +
               text("canonical_base") + " " + number_text(rows.column<double>("probability")[i]) + " " + text("call") + " " +
               std::to_string(rows.column<std::uint8_t>("inferred")[i]) + " " + text("context") + " " + text("haplotype") + "\n";
      CHECK(rows.column<std::uint8_t>("base_quality")[i] == 255);
    }
  }
  return lines;
}
Result rows_of(const std::vector<Record>& records, const ParameterTexts& parameters, std::size_t rows_per_batch = 100, int threads = 1) {
  const Result result = run_stage<ModifiedBases>(batches(records, rows_per_batch)).with(parameters).threads(threads).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  return result;
}

}  // namespace

TEST_CASE("a row for each base and modification, as a look at each base says") {
  for (std::uint64_t seed = 0; seed < 8; ++seed) {
    CAPTURE(seed);
    Contigs contigs;
    const std::vector<Record> records = records_of(seed, 30, contigs);
    const std::string all = expected(records, 0.75, false);
    CHECK(std::count(all.begin(), all.end(), '\n') > 500);
    CHECK((lines_of_rows(rows_of(records, {})) == all));
    CHECK((lines_of_rows(rows_of(records, {{"inferred", true}, {"filter_threshold", 0.5}}, 1, 3)) == expected(records, 0.5, true)));
    CHECK((lines_of_rows(rows_of(records, {{"ignore", "h"}, {"edge_filter", "5,20"}})) ==
           expected(records, 0.75, false, {.ignored = {"h"}, .edge_start = 5, .edge_end = 20})));
    CHECK((lines_of_rows(rows_of(records, {{"aligned", true}})) ==
           expected(records, 0.75, false, {}, [](std::int64_t position, char) { return position >= 0; })));
  }
}

TEST_CASE("reads that are not aligned have no places, and strands of the molecule") {
  for (std::uint64_t seed = 20; seed < 24; ++seed) {
    CAPTURE(seed);
    Contigs contigs;
    std::vector<Record> records = records_of(seed, 30, contigs);
    std::vector<Record> expected_records;
    for (Record& record : records) {
      record.bases = modbam::sequenced(record);  // as the basecaller wrote it
      record.flag = 4;
      record.cigar.clear();
      record.position = -1;
      record.contig = "*";
      expected_records.push_back(record);
      expected_records.back().contig.clear();
    }
    const std::string all = expected(expected_records, 0.75, false);
    CHECK(std::count(all.begin(), all.end(), '\n') > 500);
    CHECK((lines_of_rows(rows_of(records, {})) == all));
    CHECK(rows_of(records, {{"aligned", true}}).batches.empty());
  }
}

TEST_CASE("regions limit the rows to their positions and strands") {
  const sluice::testing::TemporaryFolder folder;
  const std::string bed = folder.path() + "/some.bed";
  std::ofstream(bed) << "chr1\t100\t300\nchr1\t350\t400\tx\t0\t-\n";
  Contigs contigs;
  const std::vector<Record> records = records_of(11, 40, contigs);
  CHECK((lines_of_rows(rows_of(records, {{"include_bed", bed}})) == expected(records, 0.75, false, {}, [](std::int64_t position, char strand) {
           return (position >= 100 && position < 300) || (position >= 350 && position < 400 && strand == '-');
         })));
}

TEST_CASE("records that cannot be used are counted and named") {
  Contigs contigs;
  std::vector<Record> records = records_of(12, 3, contigs);
  for (Record& record : records)
    record.mm = "C+m?;", record.ml = std::vector<std::uint8_t>(), record.mn.reset(), record.cigar = {{'M', record.bases.size()}};
  records[0].mm = "C+m?,100000;", records[0].ml = {1};
  records[1].mm.reset(), records[1].ml.reset();
  const Result result = rows_of(records, {});
  CHECK(result.batches.empty());
  CHECK(result.accounts.at("bad_mm").count == 1);
  CHECK(result.accounts.at("without_tags").count == 1);
}
