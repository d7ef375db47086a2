// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <cstdint>
#include <sluice/testing.hpp>
#include <string>
#include <vector>

#include "unit/outcomes_of.hpp"
#include "unit/resumed_forms.hpp"

using namespace sluice::testing;

namespace {

const sluice_plugin_info& plugin() {
  static const sluice_plugin_info* const info = load_plugin(SLUICE_PLUGIN_DIR "/truth_writer.so");
  return *info;
}
TestBatch reads() {
  return BatchBuilder("read", 3)
      .text("read_id", {"a", "b", "c"})
      .text("contig", {"two", "one", "two"})
      .column<std::uint8_t>("is_reverse", {0, 1, 0})
      .list<std::int64_t>("truth_site", {{10, 20}, {5}, {10}})
      .list<std::uint8_t>("truth_methylated", {{1, 0}, {0}, {0}})
      .list<float>("truth_frequency", {{0.5F, 0.25F}, {0}, {0.5F}})
      .build();
}

}  // namespace

TEST_CASE("sites are counted over all reads and sorted by contig and position") {
  const Result result = run_stage(stage_of(plugin(), "truth_writer"), reads()).with({{"output", "t"}, {"reads_output", "r"}}).run();
  CHECK(result.files.at("t") ==
        "contig\tposition\tfrequency\treads\tmethylated_reads\none\t5\t0.000\t1\t0\ntwo\t10\t0.500\t2\t1\ntwo\t20\t0.250\t1\t0\n");
  CHECK(result.files.at("r") ==
        "contig\tposition\tstrand\tread_id\tmethylated\ntwo\t10\t+\ta\t1\ntwo\t20\t+\ta\t0\none\t5\t-\tb\t0\ntwo\t10\t+\tc\t0\n");
}

TEST_CASE("the table of reads is only made when asked for") {
  CHECK(run_stage(stage_of(plugin(), "truth_writer"), reads()).with({{"output", "t"}}).run().files.size() == 1);
  CHECK(outcomes_of(run_stage(stage_of(plugin(), "truth_writer"), reads()).with({{"output", "t"}})) == Outcomes{{"written", {3, 3}}});
}

TEST_CASE("the writer keeps the contract of every stage") {
  CHECK(contract_problems(plugin(),
                          {{"truth_writer", {.parameters = {{"output", "t"}, {"reads_output", "r"}}, .resources = {}, .batches = {reads()}}}}) ==
        std::vector<std::string>{});
}

TEST_CASE("both tables go on behind an interruption") {
  const StageRun run = run_stage(stage_of(plugin(), "truth_writer"), std::vector{reads(), reads()});
  CHECK(resume_problems(run, {"t", "t.gz"}) == std::vector<std::string>{});
  CHECK(resume_problems(StageRun(run).with({{"reads_output", "r.zst"}}), {"t", "t.arrow", "t.parquet"}) == std::vector<std::string>{});
}
