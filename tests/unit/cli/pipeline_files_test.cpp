// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Which pipeline a word means, and mistakes in one that are found before anything is opened.
#include <doctest/doctest.h>

#include "program.hpp"

using program::Folder;
using program::run;
using program::toy_pipeline;
using program::WorkingDirectory;

namespace {

namespace fs = std::filesystem;

// The toy source into a table of these columns, with a stage between them that gives `sum`, or without.
enum class Between { map, nothing };
std::string table_of(const std::string& columns, Between between = Between::map) {
  return std::string(
             "[pipeline]\nname = \"table\"\n[parameters.output]\ntype = \"path\"\ndefault = \"-\"\n[stages.numbers]\nuse = \"toy_source\"\n"
             "params = { batches = 1, rows = 2 }\n") +
         (between == Between::map ? "[stages.sum]\nuse = \"toy_map\"\n" : "") +
         "[stages.table]\nuse = \"table_writer\"\nparams = { output = \"${output}\", columns = \"" + columns + "\" }\n";
}

}  // namespace

TEST_CASE("a file in the working directory does not take the place of a shipped pipeline") {
  const Folder folder;
  const WorkingDirectory here(folder);
  for (const char* name : {"map", "consensus"}) folder.write(name, toy_pipeline);
  CHECK(run({"run", "map", "--help"}).prints("Usage: sluice run map [options]"));
  CHECK(run({"check", "consensus"}).code == 0);
  CHECK(run({"run", "consensus", "--help"}).prints("--windows"));
  CHECK(run({"run", "./consensus", "--help"}).prints("Usage: sluice run toy [options]"));
  CHECK(run({"run", folder.path("consensus"), "--help"}).prints("Usage: sluice run toy [options]"));
}

TEST_CASE("a file is named by a path or by its ending, other words are names") {
  const Folder folder;
  const WorkingDirectory here(folder);
  folder.write("mine.toml", toy_pipeline);
  folder.write("mine", toy_pipeline);
  CHECK(run({"run", "mine.toml", "--help"}).prints("Usage: sluice run toy [options]"));
  CHECK(run({"run", "./mine", "--help"}).prints("Usage: sluice run toy [options]"));
  const auto outcome = run({"run", "mine", "--output", "out"});
  CHECK(outcome.code == 2);
  CHECK_MESSAGE(outcome.says("there is no pipeline 'mine'"), outcome.err);
  CHECK_MESSAGE(outcome.says("./mine"), outcome.err);
  CHECK(folder.names() == std::vector<std::string>{"mine", "mine.toml"});
}

TEST_CASE("a column that the table names wrongly is found before anything is opened, with the one that is meant") {
  const Folder folder;
  const std::string table = folder.write("table.toml", table_of("value,read_idd"));
  for (const char* command : {"check", "run", "plan"}) {
    CAPTURE(command);
    const auto outcome = run({command, table, "--output", folder.path("out")});
    CHECK(outcome.code == 2);
    CHECK_MESSAGE(outcome.says("'read_idd'"), outcome.err);
    CHECK_MESSAGE(outcome.says("did you mean 'read_id'?"), outcome.err);
    CHECK(outcome.err.find("table.toml:") != std::string::npos);
    CHECK(folder.names() == std::vector<std::string>{"table.toml"});
  }
}

TEST_CASE("every wrong column is named, and an empty one is wrong") {
  const Folder folder;
  const auto outcome = run({"check", folder.write("table.toml", table_of("valeu,nonsense,sum"))});
  CHECK(outcome.code == 2);
  CHECK(outcome.says("'valeu'"));
  CHECK(outcome.says("'nonsense'"));
  CHECK_FALSE(outcome.says("'sum'"));
}

TEST_CASE("a table's columns come as they are named, and optional ones are made only if they are") {
  const Folder folder;
  const auto written = [&](const std::string& columns) {
    const auto outcome = run({"run", folder.write("table.toml", table_of(columns)), "--quiet"});
    CHECK_MESSAGE(outcome.code == 0, outcome.err);
    return outcome.out;
  };
  CHECK(written("sum,value") == "sum\tvalue\n1\t0\n2\t1\n");
  CHECK(written("read_id") == "read_id\nn0\nn1\n");
  const auto plan = [&](const std::string& columns) { return run({"plan", folder.write("table.toml", table_of(columns, Between::nothing))}).out; };
  CHECK(plan("value").find("does not make payload") != std::string::npos);
  CHECK(plan("value,payload").find("payload list<f32> on host; last used by 'table'") != std::string::npos);
  CHECK(written("payload").starts_with("payload\n0,0,0,"));
}

TEST_CASE("the plan does not call a column unused that the table names") {
  const Folder folder;
  const std::string plan = run({"plan", folder.write("table.toml", table_of("value,sum"))}).out;
  CHECK(plan.find("value i64 on host; last used by 'table'") != std::string::npos);
  CHECK(plan.find("sum i64 on host; last used by 'table'") != std::string::npos);
  CHECK(plan.find("value i64 on host; nobody") == std::string::npos);
  CHECK(plan.find("sum i64 on host; nobody") == std::string::npos);
}

TEST_CASE("a condition that is not understood is refused, not taken for true") {
  const Folder folder;
  const std::string head = toy_pipeline;
  const auto with_condition = [&](const std::string& condition) {
    std::string text = head;
    text.replace(text.find("enabled = \"${pairs}\""), std::string("enabled = \"${pairs}\"").size(), "enabled = \"" + condition + "\"");
    return folder.write("toy.toml", text);
  };
  for (const char* condition : {"${batches} > 2", "${batches} < 2", "${batches} >= 2", "${shout} && ${pairs}", "${shout} || ${pairs}", "!${shout}",
                                "${batches} == 2 == 2", "${batches} == 2 != 3", "${batches} == 2 | 3", "${batches} == 2|", "not ${shout}"}) {
    CAPTURE(condition);
    for (const char* command : {"run", "check"}) {
      const auto outcome = run({command, with_condition(condition), "--output", folder.path("out"), "--pairs", folder.path("pairs")});
      CHECK_MESSAGE(outcome.code == 2, outcome.err);
      CHECK_MESSAGE(outcome.says("enabled"), outcome.err);
      CHECK_MESSAGE(outcome.err.find("toy.toml:") != std::string::npos, outcome.err);
      CHECK_FALSE(fs::exists(folder.path("out")));
    }
  }
  const auto makes_pairs = [&](const std::string& condition) {
    fs::remove(folder.path("pairs"));
    const auto outcome =
        run({"run", with_condition(condition), "--output", folder.path("out"), "--pairs", folder.path("pairs"), "--batches", "1", "--quiet"});
    CHECK_MESSAGE(outcome.code == 0, condition << "\n" << outcome.err);
    return fs::exists(folder.path("pairs"));
  };
  for (const char* condition :
       {"true", "${pairs}", "${batches} == 1", "${batches} != 2", "${batches}, ${every} == 1, 0", "${batches}, ${every} != 1, 1"})
    CHECK_MESSAGE(makes_pairs(condition), condition);
  for (const char* condition : {"false", "${shout}", "${batches} == 2", "${batches} != 1", "${batches}, ${every} == 1, 1", "${pairs} == "})
    CHECK_MESSAGE(!makes_pairs(condition), condition);
}
