// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The host looks at everything that a plugin hands over, and names what is wrong.
#include <doctest/doctest.h>

#include "unit/core/toy_run.hpp"

using namespace sluice;
using namespace sluice::testing_core;

namespace {

struct Misuse {
  const char* what;
  const char* message;  // a part of it
};

}  // namespace

TEST_CASE("What a map must not ask of the host is refused with its cause") {
  const Misuse misuses[] = {
      {"undeclared", "column 'nobody' is not declared in gives"},
      {"no_name", "without a name"},
      {"other_type", "column 'made' is f32, declared as i64"},
      {"unknown_type", "column 'made' is of a type that sluice does not have, declared as i64"},
      {"other_length", "column 'made' has 4 rows, the batch has 3"},
      {"nulls", "column 'made' has nulls"},
      {"bitmap", "column 'made' has a bitmap of nulls"},
      {"negative_offset", "a length or an offset that can't be"},
      {"offset_behind_the_end", "column 'made' has 24 bytes of values where its rows need 32"},
      {"eight_bytes", "column 'made' has 8 bytes of values where its rows need 24"},
      {"no_sizes", "column 'made' comes without the sizes of its buffers"},
      {"released", "column 'made' has been released"},
      {"twice", "column 'made' was added twice"},
      {"text_without_bytes", "column 'text' has no bytes"},
      {"text_behind_its_bytes", "column 'text' has offsets that point past its bytes"},
      {"offsets_go_back", "column 'text' has offsets that go back at row 1"},
      {"null_column", "a column was added without saying what it is"},
      {"rows_of_a_map", "the number of rows was set by a map"},
      {"row_that_is_not_there", "row 3 of 3 failed for reason 0 of 1"},
      {"reason_that_is_not_there", "row 0 of 3 failed for reason 7 of 1"},
      {"emit_by_a_map", "a batch was emitted by a stage that is not a regroup"},
      {"deadline_by_a_map", "a deadline was set by a stage that makes no batches"},
      {"negative_work", "the work of a batch was set to -1"},
      {"null_attribute", "an attribute without name or value"},
      {"account_for_no_reason", "the account was refused"},
      {"count_of_nothing", "the number was refused"},
      {"file_without_a_name", "a file without a name was opened"},
  };
  for (const Misuse& misuse : misuses)
    for (const Executor executor : {Executor::serial, Executor::flow_graph}) {
      CAPTURE(misuse.what);
      ToyRun run;
      run.options.executor = executor;
      const ToyResult result = run(std::string(R"(
[stages.source]
use = "toy_source"
params = { batches = 3, rows = 3 }
[stages.misuse]
use = "misusing_map"
params.what = ")") + misuse.what + R"("
[stages.map]
use = "toy_map"
[stages.sink]
use = "toy_sink"
params.output = "${folder}/out.txt"
)");
      CHECK(result.run.state == RunState::failed);
      CHECK(result.run.stage == "misuse");
      CHECK_MESSAGE(result.run.message.find(misuse.message) != std::string::npos, result.run.message);
      CHECK(result.files.empty());
    }
}

TEST_CASE("An empty text needs no bytes, and a map that does nothing wrong is let through") {
  for (const char* what : {"nothing", "null_text"}) {
    ToyRun run;
    const ToyResult result = run(std::string(R"(
[stages.source]
use = "toy_source"
params = { batches = 3, rows = 3 }
[stages.misuse]
use = "misusing_map"
params.what = ")") + what + R"("
[stages.map]
use = "toy_map"
[stages.sink]
use = "toy_sink"
params.output = "${folder}/out.txt"
)");
    CHECK_MESSAGE(result.run.state == RunState::finished, result.run.message);
  }
}

TEST_CASE("A source can't say how many rows there are at a wrong moment, nor that there are more than fit") {
  const Misuse misuses[] = {
      {"no_rows", "column 'value' was added before the number of rows was set"},     {"negative_rows", "the number of rows was set to -1"},
      {"absurd_rows", "the number of rows was set to 9223372036854775807"},          {"rows_that_do_not_fit", "no room for the rows"},
      {"rows_after_columns", "the number of rows was set after columns were added"},
  };
  for (const Misuse& misuse : misuses) {
    CAPTURE(misuse.what);
    ToyRun run;
    const ToyResult result = run(std::string(R"(
[stages.misuse]
use = "misusing_source"
params.what = ")") + misuse.what +
                                 R"("
[stages.map]
use = "toy_map"
[stages.sink]
use = "toy_sink"
params.output = "${folder}/out.txt"
)");
    CHECK(result.run.state == RunState::failed);
    CHECK_MESSAGE(result.run.message.find(misuse.message) != std::string::npos, result.run.message);
    CHECK(result.files.empty());
  }
}
