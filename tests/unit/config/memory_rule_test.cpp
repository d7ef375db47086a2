// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "config/memory_rule.hpp"

#include <doctest/doctest.h>

#include <fstream>
#include <sluice/testing/temporary_folder.hpp>

using namespace sluice;

namespace {

const std::string rest = R"(
[stages.s]
use = "x"
[parameters.reference]
type = "path"
[parameters.reads]
type = "path"
)";
WrittenPipeline pipeline_with(const std::string& memory, Diagnostics& diagnostics) {
  return parse_pipeline("[pipeline]\nname = \"p\"\n" + memory + rest, "p.toml", diagnostics);
}

}  // namespace

TEST_CASE("what a run takes is the least, and what its files add") {
  Diagnostics diagnostics;
  const WrittenPipeline pipeline = pipeline_with("memory = { least = 100, reference = 5, reads = 0, advice = \"less\" }\n", diagnostics);
  REQUIRE_FALSE(diagnostics.has_errors());
  const testing::TemporaryFolder folder;
  const auto file = [&](const std::string& name, const std::string& content) {
    std::ofstream(folder.path() + "/" + name) << content;
    return folder.path() + "/" + name;
  };
  const std::string text = file("text.fa", ">a\nACGT\n"), index = file("index", "SLUICE12"), packed = file("packed.gz", "\x1f\x8b");
  const auto need = [&](const std::string& reference) {
    const auto found = memory_need(pipeline, {{"reference", reference}, {"reads", "missing.fq"}});
    REQUIRE(found);
    return *found;
  };
  CHECK(need(text).bytes == 140);
  CHECK(need(text).beyond.empty());
  CHECK(need(index).bytes == 108);
  CHECK(need(packed).bytes == 140);
  CHECK(need(text + "\n" + index).bytes == 148);
  for (const std::string& unknown : {std::string(), std::string("missing.fa"), folder.path()}) {
    CHECK(need(unknown).bytes == 100);
    CHECK(need(unknown).beyond == "5 bytes for each byte of --reference");
  }
  CHECK(memory_beside(pipeline.memory, 1000) == 5100);
  CHECK(pipeline.memory.advice == "less");
}

TEST_CASE("of a pipeline that says nothing, nothing is known, and one without a reference is beside none") {
  Diagnostics diagnostics;
  CHECK_FALSE(memory_need(pipeline_with("", diagnostics), {}));
  CHECK_FALSE(memory_beside(pipeline_with("", diagnostics).memory, 1000));
  CHECK_FALSE(memory_beside(pipeline_with("memory = { least = 100, reads = 1 }\n", diagnostics).memory, 1000));
  CHECK_FALSE(diagnostics.has_errors());
}

TEST_CASE("mistakes in a memory rule are found") {
  for (const char* wrong : {"memory = 5\n", "memory = { least = -1 }\n", "memory = { least = \"much\" }\n", "memory = { reference = 1e15 }\n"}) {
    Diagnostics diagnostics;
    pipeline_with(wrong, diagnostics);
    CHECK_MESSAGE(diagnostics.has_errors(), wrong);
  }
  Diagnostics diagnostics;
  pipeline_with("memory = { least = 1, refrence = 2 }\n", diagnostics);
  CHECK_FALSE(diagnostics.has_errors());
  CHECK_FALSE(diagnostics.list().empty());
}
