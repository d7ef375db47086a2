// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <sluice/testing.hpp>
#include <string>
#include <vector>

using namespace sluice;
using namespace sluice::testing;

namespace {

const sluice_plugin_info& plugin() {
  static const sluice_plugin_info* const info = load_plugin(SLUICE_PLUGIN_DIR "/poly_a_length.so");
  return *info;
}
TestBatch signal_file(const std::string& chemistry) {
  return BatchBuilder("signal_file", 1)
      .text("run_id", {"run"})
      .text("experiment_type", {""})
      .text("sequencing_kit", {""})
      .text("flow_cell_id", {""})
      .text("chemistry", {chemistry})
      .attribute("chemistry", chemistry)
      .build();
}
BatchBuilder reads() {
  return BatchBuilder("read", 3)
      .text("read_id", {"short", "said", "bad"})
      .list<std::int16_t>("raw_signal", {{1, 2, 3}, {1, 2}, {1}})
      .column<double>("digitisation", {8192, 8192, 0})
      .column<double>("range", {1475, 1475, 1475})
      .column<double>("offset", {-200, -200, -200})
      .column<double>("sampling_rate", {4000, 4000, 4000})
      .text("bases", {"ACGT", "AC", ""});
}
StageRun lengths(const TestBatch& batch, const std::string& chemistry = "rna_004") {
  return run_stage(stage_of(plugin(), "poly_a_length"), batch).resource("signal", signal_file(chemistry));
}

}  // namespace

TEST_CASE("a sampling rate that no sequencer has fails its read, as lengths of tails are times such a rate") {
  const auto failed_at = [](double rate) {
    const TestBatch batch = BatchBuilder("read", 1)
                                .text("read_id", {"r"})
                                .list<std::int16_t>("raw_signal", {{1, 2, 3}})
                                .column<double>("digitisation", {8192})
                                .column<double>("range", {1475})
                                .column<double>("offset", {-200})
                                .column<double>("sampling_rate", {rate})
                                .text("bases", {"ACGT"})
                                .build();
    return lengths(batch).run().failed.size() == 1;
  };
  for (const double rate : {100.0, 3012.0, 1e6}) CHECK(!failed_at(rate));
  for (const double rate : {1.0, 99.9, 1e-300, 1.1e6, 1e300}) CHECK(failed_at(rate));
}

TEST_CASE("the basecaller's word is taken, and other chemistries are refused") {
  const Result measured = lengths(reads().build()).run();
  CHECK(measured.failed.size() == 1);
  const auto found = measured.batches.at(0).view();
  CHECK(found.column<std::int32_t>("poly_a_bases")[0] == -1);
  CHECK(found.text("poly_a_source")[1] == "signal");
  const Result said = lengths(reads().column<std::int32_t>("basecaller_poly_a", {-2, 37, 5}).build()).run();
  CHECK(said.batches.at(0).view().column<std::int32_t>("poly_a_bases")[1] == 37);
  CHECK(said.batches.at(0).view().text("poly_a_source")[0] == "signal");
  CHECK(said.batches.at(0).view().text("poly_a_source")[1] == "basecaller");
  CHECK(lengths(reads().build(), "dna_r9").run().status == SLUICE_ERROR_USAGE);
  CHECK(contract_problems(plugin(),
                          {{"poly_a_length", {.parameters = {}, .resources = {{"signal", signal_file("rna_004")}}, .batches = {reads().build()}}}}) ==
        std::vector<std::string>{});
}

TEST_CASE("the basecaller's place counts from the read's part, and what it has not said is -1") {
  const auto batch = reads()
                         .column<std::int64_t>("signal_begin", {100, 100, 0})
                         .list<std::int64_t>("signal_part", {{30, 0, 0}, {30, 0}, {}})
                         .column<std::int32_t>("basecaller_poly_a", {37, 38, 5})
                         .list<std::int32_t>("basecaller_poly_a_place", {{9, 0, 40}, {9, -1, 0}, {}})
                         .build();
  const Result said = lengths(batch).run();
  const auto found = said.batches.at(0).view();
  // 100 samples of the sequencer's read are cut, and 30 of them are the part's.
  CHECK(found.column<std::int64_t>("poly_a_begin")[0] == 70);
  CHECK(found.column<std::int64_t>("poly_a_end")[0] == 110);
  CHECK(found.column<std::int64_t>("poly_a_begin")[1] == -1);  // two numbers are no part
  CHECK(found.column<std::int64_t>("poly_a_end")[1] == 0);
  // A part that begins with the sequencer's read, and one that says so by a place before it.
  const auto whole = reads()
                         .column<std::int64_t>("signal_begin", {100, 100, 0})
                         .list<std::int64_t>("signal_part", {{0, 0, 0}, {-5, 0, 0}, {}})
                         .column<std::int32_t>("basecaller_poly_a", {37, 38, 5})
                         .list<std::int32_t>("basecaller_poly_a_place", {{9, 10, 40}, {9, 10, 40}, {}})
                         .build();
  const Result of_whole = lengths(whole).run();
  for (const std::size_t row : {0, 1}) CHECK(of_whole.batches.at(0).view().column<std::int64_t>("poly_a_begin")[row] == 110);
  const Result none = lengths(reads()
                                  .column<std::int32_t>("basecaller_poly_a", {0, -1, 5})
                                  .list<std::int32_t>("basecaller_poly_a_place", {{9, 10, 40}, {9, 10, 40}, {}})
                                  .build())
                          .run();
  CHECK(none.batches.at(0).view().column<std::int64_t>("poly_a_begin")[0] == -1);
  CHECK(none.batches.at(0).view().column<std::int64_t>("poly_a_end")[1] == -1);
}

namespace {

// A read of cDNA of 160 bases of ten samples, of which twenty are its tail, with the columns that say which part of the sequencer's read it is.
TestBatch tail_from(int base, std::int64_t signal_begin, const std::vector<std::int64_t>& signal_part) {
  std::vector<std::int16_t> samples;
  std::string bases;
  for (int i = 0; i < 160; ++i) {
    const bool tail = i >= base && i < base + 20;
    samples.insert(samples.end(), 10, static_cast<std::int16_t>(tail ? 50 : i % 2 == 0 ? 0 : 100));
    bases += tail ? 'T' : i % 2 == 0 ? 'G' : 'C';
  }
  return BatchBuilder("read", 1)
      .text("read_id", {"tail"})
      .list<std::int16_t>("raw_signal", {samples})
      .column<double>("digitisation", {1000})
      .column<double>("range", {1000})
      .column<double>("offset", {0})
      .column<double>("sampling_rate", {4000})
      .text("bases", {bases})
      .column<std::int64_t>("signal_begin", {signal_begin})
      .list<std::int64_t>("signal_part", {signal_part})
      .build();
}
std::string tags_of(std::int32_t bases, const std::vector<std::int32_t>& places) {
  std::string tags = "pti";
  const auto append = [&](std::int32_t number) {
    for (int byte = 0; byte < 4; ++byte) tags += static_cast<char>(static_cast<std::uint32_t>(number) >> (8 * byte) & 0xFFU);
  };
  append(bases);
  tags += "paBi";
  append(5);
  for (const std::int32_t place : places) append(place);
  return tags;
}

}  // namespace

TEST_CASE("the tags that are added are those of dorado, in samples of the read's part") {
  const Result measured = lengths(tail_from(20, 100, {30, 0, 0}), "dna_r10").run();
  REQUIRE(measured.ok());
  const auto view = measured.batches.at(0).view();
  CHECK(view.column<std::int64_t>("poly_a_begin")[0] == 300);
  CHECK(view.column<std::int64_t>("poly_a_end")[0] == 500);
  CHECK(view.text("added_tags")[0] == tags_of(20, {300 - 70, 300 - 70, 500 - 70, -1, -1}));
  // Sample 0 is a place as any other.
  const Result at_once = lengths(tail_from(0, 0, {}), "dna_r10").run();
  REQUIRE(at_once.ok());
  CHECK(at_once.batches.at(0).view().text("added_tags")[0] == tags_of(20, {0, 0, 200, -1, -1}));
}
