// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Shards of a run: what can be one, what each writes, and that all of them together are the run.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <functional>
#include <sluice/failure.hpp>

#include "machine/checksum.hpp"
#include "observe/report_tree.hpp"
#include "shard/merged_report.hpp"
#include "shard/shard_merge.hpp"
#include "shard/shard_plan.hpp"
#include "shard/shard_run.hpp"
#include "shard/shard_set.hpp"
#include "shard/state_file.hpp"
#include "unit/core/toy_run.hpp"

using namespace sluice;
using namespace sluice::testing_core;

namespace {

constexpr const char* version = "1.2.3";

const char* const rows_in_lines = R"(
[stages.source]
use = "toy_positions"
params = { rows = ROWS }
[stages.map]
use = "toy_map"
params = { add = 0, fail_unless_multiple_of = 3 }
[stages.sink]
use = "toy_sink"
params = { output = "OUTPUT", header = "numbers" }
)";

const char* const spread = R"(
[stages.source]
use = "toy_positions"
params = { rows = ROWS }
[stages.map]
use = "toy_map"
params.add = 5
[stages.spread]
use = "toy_spread"
[stages.sink]
use = "toy_sink"
params = { output = "OUTPUT", column = "total", header = "totals" }
)";

// The source has no parts.
const char* const part_of_all = R"(
[stages.source]
use = "toy_source"
params = { batches = 10, rows = 7 }
[stages.map]
use = "toy_map"
params = { add = 0, fail_unless_multiple_of = 3 }
[stages.part]
use = "toy_part_of_all"
[stages.sink]
use = "toy_sink"
params = { output = "OUTPUT", column = "total" }
)";

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size()) text.replace(at, from.size(), to);
}

Plan planned(std::string toml, const std::string& output, long rows) {
  replace_all(toml, "OUTPUT", output);
  replace_all(toml, "ROWS", std::to_string(rows));
  Diagnostics diagnostics;
  const WrittenPipeline written = parse_pipeline("[pipeline]\nname = \"toy\"\n" + toml, "toy.toml", diagnostics);
  Plan plan = make_plan(resolve_pipeline(written, {}, toy_registry(), diagnostics), "cpu", {"cpu"}, diagnostics);
  for (const Diagnostic& diagnostic : diagnostics.list()) FAIL(diagnostic.text());
  return plan;
}

std::string content_of(const std::filesystem::path& file) {
  std::ostringstream content;
  content << std::ifstream(file, std::ios::binary).rdbuf();
  return content.str();
}

void write_to(const std::filesystem::path& file, const std::string& text) { std::ofstream(file, std::ios::binary) << text; }

RunOptions toy_options() {
  RunOptions options;
  options.threads = 2;
  options.device = "cpu";
  return options;
}

RunResult run_shard(const Plan& plan, std::uint64_t part, std::uint64_t parts) {
  const ShardPlan shards = shard_plan(plan);
  for (const ShardProblem& problem : shards.problems) FAIL(problem.message);
  const ShardRun shard(plan, shards, {part, parts}, version);
  RunOptions options = toy_options();
  shard.set(options);
  const RunResult result = Run(plan, toy_registry(), options).execute();
  REQUIRE_MESSAGE(result.state == RunState::finished, result.message);
  CHECK(shard.write_manifests(result, toy_registry(), "", report_tree(result, plan, toy_registry(), {version, {"sluice"}, 0, {}})) == "");
  return result;
}

// The shards of a pipeline, in a folder of their own.
class ToyShards {
 public:
  ToyShards(const std::string& toml, std::uint64_t parts, long rows = 100) : toml_(toml), parts_(parts), rows_(rows) {
    for (std::uint64_t part = 0; part < parts; ++part) make(part, parts);
  }
  void make(std::uint64_t part, std::uint64_t parts) { run_shard(planned(toml_, file(part), rows_), part, parts); }
  std::string file(std::uint64_t part) const { return folder_.path("out." + std::to_string(part)).string(); }
  std::string whole() const { return folder_.path("whole").string(); }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (std::uint64_t part = 0; part < parts_; ++part) names.push_back(file(part));
    return names;
  }
  std::string folder() const { return folder_.path("").string(); }
  std::string of_one_run() const {
    const RunResult result = Run(planned(toml_, whole(), rows_), toy_registry(), toy_options()).execute();
    REQUIRE_MESSAGE(result.state == RunState::finished, result.message);
    std::string content = content_of(whole());
    std::filesystem::remove(whole());
    return content;
  }
  // "" or what went wrong.
  std::string merge(const std::vector<std::string>& names) const {
    try {
      std::vector<ShardManifest> shards = find_shards(names, "");
      check_shards(shards, toy_registry(), version);
      ShardMerge merging(std::move(shards), whole(), toy_registry());
      RunOptions options = toy_options();
      merging.set(options);
      const RunResult result = Run(merging.plan(), toy_registry(), options).execute();
      return result.state == RunState::finished ? "" : result.message;
    } catch (const Failure& failure) {
      return failure.what();
    }
  }

 private:
  ToyRun folder_;
  std::string toml_;
  std::uint64_t parts_;
  long rows_;
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string problem_of(const std::string& toml) {
  std::string text;
  for (const ShardProblem& problem : shard_plan(planned(toml, "/tmp/x", 10)).problems) text += problem.message + "\n";
  return text;
}

std::string with_source(const std::string& source, const std::string& rest) {
  return "[stages.source]\nuse = \"" + source + "\"\n[stages.map]\nuse = \"toy_map\"\n" + rest;
}

}  // namespace

TEST_CASE("All shards of a run, in whatever order they are named, are the run") {
  for (const char* toml : {rows_in_lines, spread, part_of_all})
    for (const std::uint64_t parts : {1, 2, 3, 7, 150}) {
      const ToyShards shards(toml, parts);
      const std::string expected = shards.of_one_run();
      std::vector<std::string> names = shards.files();
      CHECK(shards.merge(names) == "");
      CHECK(content_of(shards.whole()) == expected);
      std::reverse(names.begin(), names.end());
      std::rotate(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(names.size() / 2), names.end());
      CHECK(shards.merge(names) == "");
      CHECK(content_of(shards.whole()) == expected);
      CHECK(shards.merge({shards.folder()}) == "");
      CHECK(content_of(shards.whole()) == expected);
    }
}

TEST_CASE("Shards of an input without rows are its run") {
  for (const char* toml : {rows_in_lines, spread}) {
    const ToyShards shards(toml, 3, 0);
    const std::string expected = shards.of_one_run();
    CHECK(shards.merge(shards.files()) == "");
    CHECK(content_of(shards.whole()) == expected);
  }
}

TEST_CASE("A plan says why it can't be run in shards") {
  const std::string sink = "[stages.sink]\nuse = \"toy_sink\"\nparams.output = \"OUTPUT\"\n";
  CHECK(problem_of(with_source("toy_positions", sink)) == "");
  CHECK(problem_of(with_source("toy_source", sink)) == "the stage 'source' (toy_source) can't read a part of its input\n");
  CHECK(problem_of(with_source("toy_positions", "[stages.sink]\nuse = \"toy_sink\"\nparams.output = \"-\"\n"))
            .starts_with("the output of the stage 'sink' (toy_sink) is standard output"));
  CHECK(problem_of(with_source(
            "toy_positions",
            "[stages.pairs]\nuse = \"toy_regroup\"\n[stages.sink]\nuse = \"toy_sink\"\nparams = { output = \"OUTPUT\", column = \"total\" }\n")) ==
        "the stage 'pairs' (toy_regroup) needs all rows\n");
  CHECK(problem_of(with_source("toy_positions", "[stages.sums]\nuse = \"toy_running_sum\"\n" + sink)) ==
        "the stage 'sums' (toy_running_sum) needs all rows\n");
  // What is for a regroup that takes all rows is done by every shard, and by nobody else.
  const std::string part =
      "[stages.part]\nuse = \"toy_part_of_all\"\ninputs = [\"map\"]\n[stages.totals]\nuse = \"toy_sink\"\n"
      "params = { output = \"OUTPUT.2\", column = \"total\" }\n";
  CHECK(problem_of(with_source("toy_source", part)) == "");
  CHECK(has(problem_of(with_source("toy_positions", sink + part)),
            "the stage 'map' (toy_map) has to give all rows, of which the stage 'sink' (toy_sink) may get those of a part only\n"));
  // Behind a state nothing matters: that is run once.
  const std::string behind =
      "[stages.spread]\nuse = \"toy_spread\"\n[stages.sink]\nuse = \"toy_sink\"\nparams = { output = \"OUTPUT\", column = \"total\" }\n";
  const ShardPlan plan = shard_plan(planned(with_source("toy_positions", behind), "/tmp/x", 10));
  CHECK(plan.problems.empty());
  REQUIRE(plan.outputs.size() == 1);
  CHECK(plan.outputs[0].form == "state");
  CHECK(plan.outputs[0].state_of == 2);
}

TEST_CASE("A state that is not all that has become of the rows is refused") {
  ToyRun folder;
  std::string toml = spread;
  replace_all(toml, "use = \"toy_spread\"", "use = \"toy_spread\"\nparams.early = true");
  const Plan plan = planned(toml, folder.path("out").string(), 10);
  const ShardPlan shards = shard_plan(plan);
  const ShardRun shard(plan, shards, {0, 2}, version);
  RunOptions options = toy_options();
  shard.set(options);
  const RunResult result = Run(plan, toy_registry(), options).execute();
  CHECK(result.state == RunState::failed);
  CHECK(has(result.message, "gave rows before its end"));
  CHECK_FALSE(std::filesystem::exists(folder.path("out")));
}

TEST_CASE("Shards that are missing, doubled or of other runs are refused by name") {
  ToyShards shards(rows_in_lines, 3);
  const std::vector<std::string> all = shards.files();
  CHECK(has(shards.merge({all[0], all[2]}), "1 of 3 shards is missing: 2"));
  CHECK(has(shards.merge({all[0], all[1], all[1], all[2]}), "shard 2 of 3 is there twice"));
  CHECK(has(shards.merge({all[0], all[1], shards.folder() + "nothing"}), "is no shard"));
  shards.make(1, 4);
  CHECK(has(shards.merge(all), "other numbers of shards"));
  std::string other = rows_in_lines;
  replace_all(other, "add = 0", "add = 1");
  run_shard(planned(other, all[1], 100), 1, 3);
  const std::string difference = shards.merge(all);
  CHECK(has(difference, "'" + all[0] + "' (shard 1 of 3) and '" + all[1] + "' (shard 2 of 3) don't belong together"));
  CHECK(has(difference, "stages.map.params.add is \"0\" and \"1\""));
  CHECK_FALSE(std::filesystem::exists(shards.whole()));
}

TEST_CASE("A shard that is not what its manifest says is refused") {
  for (const char* toml : {rows_in_lines, spread}) {
    const ToyShards shards(toml, 2);
    const std::string file = shards.file(1), content = content_of(file);
    for (const std::size_t at : {std::size_t{0}, content.size() / 2, content.size() - 1}) {
      std::string damaged = content;
      damaged[at] = static_cast<char>(damaged[at] ^ 1);
      write_to(file, damaged);
      CHECK(has(shards.merge(shards.files()), "is not what its manifest says"));
    }
    write_to(file, content.substr(0, content.size() - 1));
    CHECK(has(shards.merge(shards.files()), "but its manifest says"));
    std::filesystem::remove(file);
    CHECK(has(shards.merge(shards.files()), "cannot open"));
    CHECK_FALSE(std::filesystem::exists(shards.whole()));
  }
}

TEST_CASE("A shard that is renamed with its manifest is read, and not what has its old name now") {
  for (const char* toml : {rows_in_lines, spread}) {
    const ToyShards shards(toml, 2);
    const std::string expected = shards.of_one_run(), renamed = shards.folder() + "renamed";
    std::filesystem::rename(shards.file(0), renamed);
    CHECK(has(shards.merge(shards.files()), "cannot open '" + shards.file(0) + "'"));
    std::filesystem::rename(shards.file(0) + manifest_ending, renamed + manifest_ending);
    CHECK(has(shards.merge(shards.files()), "is no shard"));
    write_to(shards.file(0), "what another run has written");
    CHECK(shards.merge({renamed, shards.file(1)}) == "");
    CHECK(content_of(shards.whole()) == expected);
  }
}

TEST_CASE("Nobody waits for a shard, or its manifest, that is a pipe") {
  for (const std::string ending : {"", manifest_ending}) {
    const ToyShards shards(spread, 2);
    std::filesystem::remove(shards.file(0) + ending);
    REQUIRE(::mkfifo((shards.file(0) + ending).c_str(), 0600) == 0);
    CHECK(has(shards.merge(shards.files()), "cannot open '" + shards.file(0) + ending + "'"));
  }
}

TEST_CASE("A manifest may say anything: it is read or refused") {
  const ToyShards shards(spread, 2);
  const std::filesystem::path file = shards.file(0) + manifest_ending;
  const std::string content = content_of(file);
  const auto refused = [&](const std::string& text) {
    write_to(file, text);
    const std::string problem = shards.merge(shards.files());
    CHECK_MESSAGE(problem != "", text.substr(0, 100));
  };
  // Without its last end of a line it is whole.
  for (std::size_t length = 0; length + 1 < content.size(); length += 97) refused(content.substr(0, length));
  for (const auto& [from, to] : {std::pair("\"shard\": 1", "\"shard\": 0"),
                                 {"\"shard\": 1", "\"shard\": 9"},
                                 {"\"shards\": 2", "\"shards\": 0"},
                                 {"\"shards\": 2", "\"shards\": 99999999999"},
                                 {"\"format\"", "\"other\""},
                                 {"\"version\": 1", "\"version\": 2"},
                                 {"\"toy_spread\"", "\"toy_regroup\""},
                                 {"\"toy_spread\"", "\"nothing\""},
                                 {"\"toy_positions\"", "\"toy_sink\""},
                                 {"\"sluice\": \"1.2.3\"", "\"sluice\": \"1.2.4\""},
                                 {"\"name\": \"out.0\"", "\"name\": \"../out.0\""},
                                 {"\"add\": \"5\"", "\"add\": \"five\""},
                                 {"\"add\": \"5\"", "\"add\": 5"},
                                 {"\"add\": \"5\"", "\"subtract\": \"5\""},
                                 {"\"state_of\": \"spread\"", "\"state_of\": \"map\""},
                                 {"\"inputs\": []", "\"inputs\": {}"}}) {
    const std::string change = from;  // a binding can't be captured by the macro
    std::string changed = content;
    replace_all(changed, from, to);
    REQUIRE_MESSAGE(changed != content, change);
    refused(changed);
  }
  refused(std::string(100'000, '['));
  refused("{\"format\": \"sluice shard\", \"version\": " + std::string(100'000, '[') + std::string(100'000, ']') + "}");
  write_to(file, content);
  CHECK(shards.merge(shards.files()) == "");
}

TEST_CASE("A file of a state may have any bytes: it is read or refused") {
  ToyRun folder;
  const std::filesystem::path file = folder.path("state");
  std::string whole;
  write_state_file(
      {"spread", "1.0.0, x", "0123456789abcdef"}, [](const WritePiece& write) { write("the "), write("state"); },
      [&](std::string_view bytes) { whole += bytes; });
  write_to(file, whole);
  {
    const StateFile read(file);
    CHECK(read.head() == StateHead{"spread", "1.0.0, x", "0123456789abcdef"});
    CHECK(read.state() == "the state");
  }
  for (std::size_t length = 0; length < whole.size(); ++length) {
    write_to(file, whole.substr(0, length));
    CHECK_THROWS_AS(StateFile{file}, Failure);
  }
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x80);
    write_to(file, damaged);
    CHECK_THROWS_AS(StateFile{file}, Failure);
  }
  CHECK_THROWS_AS(StateFile{folder.path("nothing")}, Failure);
}

TEST_CASE("What the shards say of rows is added up") {
  const ToyShards shards(rows_in_lines, 3);
  std::vector<ShardManifest> manifests = find_shards(shards.files(), "");
  const auto report = merged_report(manifests, {}, nlohmann::ordered_json::object());
  REQUIRE(report["account"].size() == 1);
  CHECK(report["account"][0]["read"] == 100);
  CHECK(report["account"][0]["failed"] == 66);
  CHECK(report["account"][0]["written"] == 34);
  CHECK(report["account"][0]["adds_up"] == true);
  CHECK(report["account"][0]["losses"][0]["rows"] == 66);
  CHECK(report["shards"].size() == 3);
}

TEST_CASE("What every shard does is counted once") {
  const ToyShards shards(part_of_all, 3);
  std::vector<ShardManifest> manifests = find_shards(shards.files(), "");
  CHECK(manifests[0].rows + manifests[1].rows + manifests[2].rows == 70);
  const std::set<std::string> alike = ShardMerge(manifests, shards.whole(), toy_registry()).alike();
  CHECK(alike == std::set<std::string>{"source", "map", "part"});
  const auto report = merged_report(manifests, alike, nlohmann::ordered_json::object());
  REQUIRE(report["account"].size() == 2);
  CHECK(report["account"][0]["read"] == 70);
  CHECK(report["account"][0]["failed"] == 46);
  CHECK(report["account"][1]["read"] == 24);
  CHECK(report["account"][1]["written"] == 24);
  const std::string header = "read\tstage\treason\n", same = "a\tmap\tshort\n";
  const std::filesystem::path merged = shards.folder() + "lost.tsv";
  for (ShardManifest& manifest : manifests) {
    manifest.account.name = "lost." + std::to_string(manifest.part);
    const std::string own = header + "(2 without a name)\tmap\tshort\n" + same + "b" + std::to_string(manifest.part) + "\tsink\tlong\n";
    write_to(manifest.place.parent_path() / manifest.account.name, own);
    manifest.account.bytes = own.size();
    manifest.account.xxh3 = Checksum::text_of(own);
  }
  CHECK(write_merged_account(manifests, alike, {}, merged) == "");
  CHECK(content_of(merged) == header + "(2 without a name)\tmap\tshort\n" + same + "b0\tsink\tlong\nb1\tsink\tlong\nb2\tsink\tlong\n");
}

TEST_CASE("Tables of lost rows are merged in their order, and rows without names added up") {
  const ToyShards shards(rows_in_lines, 2);
  std::vector<ShardManifest> manifests = find_shards(shards.files(), "");
  const std::filesystem::path merged = shards.folder() + "lost.tsv";
  CHECK_THROWS_AS(write_merged_account(manifests, {}, {}, merged), Failure);
  const std::string header = "read\tstage\treason\n";
  const std::filesystem::path a = shards.folder() + "a.tsv", b = shards.folder() + "b.tsv";
  write_to(a, header + "(2 without a name)\tx\tshort\nb\tx\tshort\nd\tx\tshort\n");
  write_to(b, header + "(10 without a name)\tx\tshort\n(1 without a name)\ty\tlong\nc\tx\tshort\n");
  CHECK(write_merged_account({}, {}, {a, b}, merged) == "");
  CHECK(content_of(merged) == header + "(1 without a name)\ty\tlong\n(12 without a name)\tx\tshort\nb\tx\tshort\nc\tx\tshort\nd\tx\tshort\n");
}

TEST_CASE("--shard is I/N with I from 1 to N") {
  ShardNumber number;
  CHECK(parse_shard("2/7", number));
  CHECK(number.part == 1);
  CHECK(number.parts == 7);
  for (const char* text : {"", "/", "1/", "/2", "0/2", "3/2", "-1/2", "1/2/3", "1 /2", "1/0", "x/2", "1/99999999999999999999"})
    CHECK_FALSE(parse_shard(text, number));
}
