// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <sluice/testing.hpp>
#include <string>
#include <vector>

#include "unit/arrow_table.hpp"
#include "unit/resumed_forms.hpp"

using namespace sluice::testing;

namespace {

const sluice_plugin_info& plugin() {
  static const sluice_plugin_info* const loaded = load_plugin(SLUICE_PLUGIN_DIR "/table_writer.so");
  return *loaded;
}

}  // namespace

TEST_CASE("of a failed row, where it is wanted, only the texts are written") {
  const TestBatch reads = BatchBuilder("read", 2)
                              .text("read_id", {"good", "bad"})
                              .binary("bases", {"A\tC\rG\nT", "TT"})
                              .column<std::int64_t>("start", {7, 8})
                              .list<float>("levels", {{1.5F, 2}, {3}})
                              .failed(1)
                              .build();
  const auto run = [&](const std::string& output, bool failed_rows) {
    const Result result = run_stage(stage_of(plugin(), "table_writer"), reads)
                              .with({{"columns", "start,read_id,bases,levels"}, {"output", output}, {"failed_rows", failed_rows}})
                              .run();
    REQUIRE_MESSAGE(result.ok(), result.message);
    CHECK(result.outcomes.at("written") == std::pair<std::uint64_t, std::uint64_t>{1, 2});
    return result.files.at(output);
  };
  const std::string header = "start\tread_id\tbases\tlevels\n";
  CHECK(run("a.tsv", false) == header + "7\tgood\tA C G T\t1.5,2\n");
  CHECK(run("a.tsv", true) == header + "7\tgood\tA C G T\t1.5,2\n\tbad\t\t\n");
  // Bytes have no type of their own in the table.
  CHECK(read_arrow(run("a.arrow", false)).types == std::vector<std::string>{"i64", "utf8", "utf8", "list<f32>"});
}

TEST_CASE("files of columns hold texts as they are, tabs and ends of lines too") {
  const TestBatch reads =
      BatchBuilder("read", 3).text("comment", {"A\tC\rG\nT", "", "\n"}).binary("tag", {"\xF8\xF9\xFA\xFF", "\xC3\xA9", "x"}).build();
  const Result result = run_stage(stage_of(plugin(), "table_writer"), reads).with({{"columns", "comment,tag"}, {"output", "a.arrow"}}).run();
  REQUIRE_MESSAGE(result.ok(), result.message);
  const std::string unknown = "\xEF\xBF\xBD";
  CHECK(read_arrow(result.files.at("a.arrow")).rows ==
        std::vector<std::vector<std::string>>{{"A\tC\rG\nT", unknown + unknown + unknown + unknown}, {"", "\xC3\xA9"}, {"\n", "x"}});
  const Result alone = run_stage(stage_of(plugin(), "table_writer"), reads).with({{"columns", "comment"}, {"output", "a.arrow"}}).run();
  CHECK(read_arrow(alone.files.at("a.arrow")).rows == std::vector<std::vector<std::string>>{{"A\tC\rG\nT"}, {""}, {"\n"}});
}

TEST_CASE("a table goes on behind an interruption, with the types of its columns") {
  const auto rows = [](std::int64_t first) {
    return BatchBuilder("read", 2)
        .text("read_id", {"a" + std::to_string(first), "b"})
        .column<std::int64_t>("start", {first, first + 1})
        .list<float>("levels", {{1.5F, 2}, {}})
        .build();
  };
  const StageRun run =
      run_stage(stage_of(plugin(), "table_writer"), std::vector{rows(1), rows(3), rows(8)}).with({{"columns", "read_id,start,levels"}});
  CHECK(resume_problems(run, {"a.tsv", "a.tsv.gz", "a.tsv.zst", "a.arrow", "a.parquet"}) == std::vector<std::string>{});
}
