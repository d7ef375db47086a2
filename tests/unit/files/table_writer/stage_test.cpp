// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <sluice/testing.hpp>
#include <string>
#include <vector>

#include "unit/resumed_forms.hpp"

using namespace sluice::testing;

TEST_CASE("a table goes on behind an interruption, with the types of its columns") {
  static const sluice_plugin_info* const plugin = load_plugin(SLUICE_PLUGIN_DIR "/table_writer.so");
  const auto rows = [](std::int64_t first) {
    return BatchBuilder("read", 2)
        .text("read_id", {"a" + std::to_string(first), "b"})
        .column<std::int64_t>("start", {first, first + 1})
        .list<float>("levels", {{1.5F, 2}, {}})
        .build();
  };
  const StageRun run =
      run_stage(stage_of(*plugin, "table_writer"), std::vector{rows(1), rows(3), rows(8)}).with({{"columns", "read_id,start,levels"}});
  CHECK(resume_problems(run, {"a.tsv", "a.tsv.gz", "a.tsv.zst", "a.arrow"}) == std::vector<std::string>{});
}
