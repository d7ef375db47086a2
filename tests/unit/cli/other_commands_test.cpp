// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <regex>

#include "config/pipeline.hpp"
#include "program.hpp"

using program::Folder;
using program::run;
using program::toy_pipeline;

TEST_CASE("every command has a help, and the program lists them") {
  const auto list = run({"--help"});
  CHECK(list.code == 0);
  for (const char* command : {"run", "check", "plan", "plugins", "inspect", "new-plugin", "bench", "doctor", "docs", "schema", "completion"}) {
    CAPTURE(command);
    CHECK(list.prints(command));
    const auto help = run({command, "--help"});
    CHECK(help.code == 0);
    CHECK(help.prints("Usage: sluice " + std::string(command)));
    CHECK(help.err.empty());
  }
  CHECK(run({}).code == 2);
  CHECK(run({"--version"}).out.starts_with("sluice "));
}

TEST_CASE("no pipeline parameter can take the name of an option of run or bench") {
  const Folder folder;
  const auto& reserved = sluice::reserved_parameter_names();
  for (const char* command : {"run", "bench", "plan"}) {
    const std::string help = run({command, folder.write("toy.toml", toy_pipeline), "--help"}).out;
    const std::regex option("\\n  (?:-.,)?--([a-z-]+)");
    for (std::sregex_iterator it(help.begin() + static_cast<std::ptrdiff_t>(help.find("How to run it")), help.end(), option), end; it != end; ++it) {
      std::string name = (*it)[1];
      std::replace(name.begin(), name.end(), '-', '_');
      if (name == "samples") continue;  // gives way to a parameter of that name: --sample-table is the same
      CAPTURE(name);
      CHECK(std::find(reserved.begin(), reserved.end(), name) != reserved.end());
    }
  }
}

TEST_CASE("a full disk is noticed on standard output too") {
  const std::string command = "'" SLUICE_PROGRAM "' schema > /dev/full 2> /dev/null";
  CHECK(WEXITSTATUS(std::system(command.c_str())) == 4);
}

TEST_CASE("check finds every mistake of a file at once, without its required parameters") {
  const Folder folder;
  CHECK(run({"check", folder.write("toy.toml", toy_pipeline)}).prints("no mistakes found"));
  const auto outcome = run({"check", folder.write("bad.toml", R"([pipeline]
name = "bad"
[stages.numbers]
use = "toy_source"
params.batchs = 3
[stages.sum]
use = "toy_map"
inputs = ["numbres"]
params.add = "much"
[stages.write]
use = "toy_sink"
)")});
  CHECK(outcome.code == 2);
  CHECK(outcome.says("bad.toml:5:8: stage 'numbers': unknown parameter 'batchs' (did you mean 'batches'?)"));
  CHECK(outcome.says("stage 'sum': unknown input 'numbres' (did you mean 'numbers'?)"));
  CHECK(outcome.says("stage 'sum': parameter 'add': 'much' is not an integer"));
  CHECK(outcome.says("stage 'write': parameter 'output': it is required"));
}

TEST_CASE("check finds columns that nobody gives") {
  const Folder folder;
  const auto outcome =
      run({"check", folder.write("bad.toml",
                                 "[pipeline]\nname = \"bad\"\n[stages.numbers]\nuse = \"toy_source\"\n[stages.pair]\nuse = \"toy_regroup\"\n"
                                 "[stages.write]\nuse = \"toy_sink\"\nparams = { output = \"x\", column = \"total\" }\n")});
  CHECK(outcome.code == 2);
  CHECK(outcome.says("stage 'pair'"));
  CHECK(outcome.says("sum"));
}

TEST_CASE("plan shows stages, columns and devices, and draws the graph") {
  const Folder folder;
  const std::string toy = folder.write("toy.toml", toy_pipeline);
  const auto plan = run({"plan", toy, "--pairs", "p"});
  CHECK(plan.code == 0);
  CHECK(plan.prints("sum: toy_map (map, gives 'number' rows)"));
  CHECK(plan.prints("makes         sum i64 on host; last used by 'pair'"));
  CHECK(plan.prints("runs on       cpu"));
  const auto graph = run({"plan", toy, "--dot"});
  CHECK(graph.out.starts_with("digraph"));
  CHECK(graph.prints("\"numbers\" -> \"sum\""));
}

TEST_CASE("inspect answers every question about a stage") {
  const auto outcome = run({"inspect", "toy_map"});
  CHECK(outcome.code == 0);
  for (const char* part :
       {"# toy_map", "reads `number` rows", "| value ", "| fail_unless_multiple_of | int ", "| not_a_multiple |", "use = \"toy_map\""})
    CHECK(outcome.prints(part));
  const auto unknown = run({"inspect", "toy_mapp"});
  CHECK(unknown.code == 2);
  CHECK(unknown.says("did you mean 'toy_map'?"));
  const auto part = run({"inspect", "toy"});
  CHECK(part.says("'toy_map'"));
  CHECK(part.says("'toy_sink'"));
  const auto pipeline = run({"inspect", "methylation"});
  CHECK(pipeline.code == 2);
  CHECK(pipeline.says("'methylation' is a pipeline: 'sluice plan methylation' or 'sluice run methylation --help' describes it"));
}

TEST_CASE("plugins lists stages, and the loader's reason for a plugin that it could not load") {
  const Folder folder;
  folder.write("broken.so", "this is no library");
  REQUIRE(::mkfifo(folder.path("pipe.so").c_str(), 0600) == 0);
  const auto outcome = run({"plugins", "--plugin-dir", folder.path("")});
  CHECK(outcome.code == 0);
  CHECK(outcome.prints("toy_source"));
  CHECK(outcome.prints("not loaded:"));
  CHECK(outcome.prints("broken.so"));
  CHECK(outcome.prints("pipe.so: is not a regular file"));
  CHECK(run({"plugins", "--gives", "sum"}).prints("toy_map"));
  CHECK_FALSE(run({"plugins", "--gives", "sum"}).prints("toy_sink"));
  const auto line = [](const std::vector<std::string>& options) {
    std::vector<std::string> all = {"plugins"};
    all.insert(all.end(), options.begin(), options.end());
    const auto outcome = run(all);
    CHECK(outcome.code == 0);
    CHECK(outcome.err.empty());
    return outcome.out;
  };
  CHECK(line({"--gives", "smu"}).find("no stage gives column 'smu' (did you mean 'sum'?)\n") != std::string::npos);
  CHECK(line({"--gives", "zzzzzzzz"}).find("no stage gives column 'zzzzzzzz'\n") != std::string::npos);
  CHECK(line({"--gives", "sum", "--needs", "zzzzzzzz"}).find("no stage gives column 'sum' and needs column 'zzzzzzzz'\n") != std::string::npos);
}

TEST_CASE("doctor looks at the machine and returns 1 for a broken plugin") {
  const auto healthy = run({"doctor"});
  for (const char* part : {"processor", "threads", "memory", "profile", "plugins", "temporary"}) CHECK(healthy.prints(part));
  CHECK(healthy.prints("beside a genome of human size"));
  CHECK(healthy.prints("methylation needs"));
  const Folder folder;
  folder.write("broken.so", "this is no library");
  const auto sick = run({"doctor", "--plugin-dir", folder.path("")});
  CHECK(sick.code == 1);
  CHECK(sick.prints("PROBLEM"));
}

TEST_CASE("docs writes a page per stage and notices when one is out of date") {
  const Folder folder;
  CHECK(run({"docs", folder.path("pages")}).code == 0);
  CHECK(folder.read("pages/stages/toy_map.md").find("# toy_map") != std::string::npos);
  const std::string index = folder.read("pages/index.md");
  CHECK(index.find("## Maps: add columns to rows") < index.find("- [toy_map](stages/toy_map.md): "));
  CHECK(index.find("- [methylation](pipelines/methylation.md): ") != std::string::npos);
  CHECK(run({"docs", folder.path("pages"), "--check"}).code == 0);
  folder.write("pages/stages/toy_map.md", "old");
  folder.write("pages/stages/gone.md", "old");
  const auto outcome = run({"docs", folder.path("pages"), "--check"});
  CHECK(outcome.code == 1);
  CHECK(outcome.says("toy_map.md: is out of date"));
  CHECK(outcome.says("gone.md: describes nothing that is there"));
}

TEST_CASE("schema is JSON that knows the stages and their parameters") {
  const auto outcome = run({"schema"});
  REQUIRE(outcome.code == 0);
  const auto schema = nlohmann::json::parse(outcome.out);
  const auto& stage = schema["properties"]["stages"]["additionalProperties"];
  CHECK(stage["properties"]["use"]["anyOf"][0]["enum"].dump().find("toy_map") != std::string::npos);
  CHECK(stage["properties"]["use"]["anyOf"][0]["enum"].dump().find("toy_resource") == std::string::npos);
}

TEST_CASE("new-plugin fills the name into every file and path") {
  const Folder folder;
  std::filesystem::create_directories(folder.path("skeleton"));
  folder.write("skeleton/@NAME@.cpp.in", "class @CLASS@;  // @NAME@\n");
  folder.write("skeleton/notes.txt", "@NAME@ stays\n");
  const auto outcome = run({"new-plugin", "base_counter", "--into", folder.path(""), "--template", folder.path("skeleton")});
  CHECK_MESSAGE(outcome.code == 0, outcome.err);
  CHECK(folder.read("base_counter/base_counter.cpp") == "class BaseCounter;  // base_counter\n");
  CHECK(folder.read("base_counter/notes.txt") == "@NAME@ stays\n");
  CHECK(run({"new-plugin", "base_counter", "--into", folder.path(""), "--template", folder.path("skeleton")}).says("exists"));
  for (const char* bad : {"Base", "1st", "../up", "a-b", ""}) CHECK(run({"new-plugin", bad, "--template", folder.path("skeleton")}).code == 2);
}

TEST_CASE("bench shows the median of several runs") {
  const Folder folder;
  const auto outcome = run({"bench", folder.write("toy.toml", toy_pipeline), "--output", folder.path("out"), "--repeat", "3"});
  CHECK_MESSAGE(outcome.code == 0, outcome.err);
  CHECK(outcome.prints("median of 3 runs"));
  CHECK(outcome.prints("toy_map"));
}

TEST_CASE("completion offers commands, pipelines, stages, options and the values of options") {
  const Folder folder;
  const std::string toy = folder.write("toy.toml", toy_pipeline);
  const auto words = [&](std::vector<std::string> before) {
    before.insert(before.begin(), {"completion", "words"});
    return "\n" + run(before).out;
  };
  const auto offers = [](const std::string& lines, const std::string& word) {
    return lines.find("\n" + word + "\n") != std::string::npos || lines.find("\n" + word + "\t") != std::string::npos;
  };
  CHECK(offers(words({}), "new-plugin"));
  CHECK(offers(words({"run"}), "methylation"));
  CHECK(offers(words({"run"}), ":files"));
  CHECK(offers(words({"run", toy}), "--batches"));
  CHECK(offers(words({"run", toy}), "--threads"));
  CHECK_FALSE(offers(words({"run", toy}), "methylation"));
  for (const char* command : {"run", "bench"})
    for (const char* hidden : {"--watchdog", "--inject-device-fault", "--executor", "--no-shout"}) CHECK_FALSE(offers(words({command, toy}), hidden));
  CHECK(words({"run", toy, "--device"}).find("\nauto\t") != std::string::npos);
  CHECK_FALSE(offers(words({"run", toy, "--device"}), "--batches"));
  CHECK(words({"run", toy, "--log-level"}) == "\ndebug\ninfo\nwarning\nerror\n");
  CHECK(words({"run", toy, "--log-level", "="}) == "\ndebug\ninfo\nwarning\nerror\n");
  CHECK(words({"run", toy, "--output"}) == "\n:files\n");
  CHECK(words({"run", toy, "--plugin-dir"}) == "\n:folders\n");
  CHECK(words({"run", toy, "--batches"}) == "\n");
  CHECK(offers(words({"run", toy, "--set"}), "stages.numbers.params.batches="));
  CHECK(offers(words({"run", "map", "--format"}), "paf"));
  CHECK(offers(words({"inspect"}), "toy_map"));
  CHECK(offers(words({"bench"}), "toy_map"));
  CHECK(offers(words({"bench", "toy_map"}), "--pipeline"));
  CHECK(offers(words({"bench", "toy_map", "--pipeline"}), "methylation"));
  CHECK(offers(words({"completion"}), "fish"));
  for (const char* shell : {"bash", "zsh", "fish"}) CHECK(run({"completion", shell}).prints("completion words"));
  CHECK(run({"completion", "tcsh"}).code == 2);
}

TEST_CASE("the manual page has every command and the options that --help shows") {
  const auto page = run({"docs", "--manual"});
  REQUIRE(page.code == 0);
  for (const char* part : {".TH SLUICE 1", "sluice new\\-plugin", "\\-\\-max\\-bad\\-reads", "\\-\\-calibrate", "methylation"})
    CHECK(page.prints(part));
  CHECK_FALSE(page.prints("watchdog"));
}

TEST_CASE("every shipped pipeline has a manual page with its options and those of other programs") {
  const Folder folder;
  REQUIRE(run({"docs", "--manual", folder.path("man1")}).code == 0);
  for (const auto& file : sluice::shipped_pipelines()) {
    const std::string page = folder.read("man1/sluice-" + file.stem().string() + ".1");
    CAPTURE(file);
    CHECK(page.find("\\-\\-threads") != std::string::npos);
    CHECK(page.find(".SH EXAMPLE") != std::string::npos);
  }
  CHECK(folder.read("man1/sluice-map.1").find("\\fB\\-ax") == std::string::npos);
  CHECK(folder.read("man1/sluice-map.1").find("\\-\\-split\\-prefix") != std::string::npos);
}
