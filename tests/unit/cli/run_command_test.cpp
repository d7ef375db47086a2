// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "program.hpp"

using program::announced;
using program::announcement;
using program::Folder;
using program::run;
using program::send;
using program::toy_pipeline;

TEST_CASE("a run writes its output, says how it went and returns 0") {
  const Folder folder;
  const auto outcome = run({"run", folder.write("toy.toml", toy_pipeline), "--output", folder.path("out"), "--batches", "2"});
  CHECK_MESSAGE(outcome.code == 0, outcome.err);
  CHECK(outcome.out.empty());
  CHECK(folder.read("out") == "1\n2\n3\n4\n5\n6\n7\n8\n");
  CHECK(outcome.says("finished in "));
  CHECK(outcome.says("numbers -> write: 8 numbers, 8 written"));
}

TEST_CASE("a quiet run says nothing") {
  const Folder folder;
  CHECK(run({"run", folder.write("toy.toml", toy_pipeline), "--output", folder.path("out"), "--quiet"}).err.empty());
}

TEST_CASE("no progress is shown where nobody watches") {
  const Folder folder;
  const auto outcome =
      run({"run", folder.write("toy.toml", toy_pipeline), "--output", folder.path("out"), "--batches", "100", "--milliseconds", "10"});
  CHECK(outcome.err.find('\r') == std::string::npos);
}

TEST_CASE("the output can be standard output, and the pipeline can come from standard input") {
  const Folder folder;
  const auto outcome = run({"run", "-", "--output", "-", "--quiet", "--batches", "1"}, {}, folder.write("toy.toml", toy_pipeline));
  CHECK(outcome.code == 0);
  CHECK(outcome.out == "1\n2\n3\n4\n");
}

TEST_CASE("the help lists the pipeline's own parameters first") {
  const Folder folder;
  const auto outcome = run({"run", folder.write("toy.toml", toy_pipeline), "--help"});
  CHECK(outcome.code == 0);
  CHECK(outcome.prints("Usage: sluice run toy [options]"));
  CHECK(outcome.prints("how many batches [default 10]"));
  CHECK(run({"run", folder.write("toy.toml", toy_pipeline), "--help-all"}).prints("how many batches [from 0 to 1000000, default 10]"));
  CHECK(outcome.prints("the numbers [required]"));
  CHECK(outcome.out.find("Usage: sluice run toy [options]") < outcome.out.find("--threads"));
}

TEST_CASE("mistakes on the command line return 2, all together, with the nearest name") {
  const Folder folder;
  const std::string toy = folder.write("toy.toml", toy_pipeline);
  CHECK(run({"run", toy, "--output", "x", "--bathces", "3"}).says("sluice run: unknown option '--bathces' (did you mean '--batches'?)"));
  CHECK(run({"run", toy, "--output", "--batches", "3"}).says("--output has no value"));
  CHECK(run({"run", toy, "--output", "x", "more"}).says("unexpected argument 'more'"));
  CHECK(run({"run", folder.path("toi.toml")}).says("there is no pipeline file"));
  CHECK(run({"run"}).says("no pipeline is named"));
  CHECK(run({"rum"}).says("unknown command 'rum' (did you mean 'run'?)"));
  const auto outcome = run({"run", toy, "--batches", "many", "--threads", "0", "--memory", "lots", "--device", "gpu", "--max-bad-reads", "2",
                            "--report", "/nonexistent/r", "--set", "x"});
  CHECK(outcome.code == 2);
  for (const char* part : {"--output is required: the numbers (add --output FILE)", "--batches: 'many' is not an integer",
                           "--threads: 0 is out of range", "--memory: 'lots' is not a size", "--device: there is no device 'gpu'",
                           "--max-bad-reads: 2 is out of range", "--report: cannot create '/nonexistent/r'", "--set x: there is no '='"})
    CHECK_MESSAGE(outcome.says(part), outcome.err);
  CHECK(std::count(outcome.err.begin(), outcome.err.end(), '\n') == 8);
}

TEST_CASE("an option with nothing behind its = has an empty value, and leaves the next word alone") {
  const Folder folder;
  const std::string toy = folder.write("toy.toml", toy_pipeline);
  const auto outcome = run({"run", toy, "--output", folder.path("out"), "--account=", "--quiet"});
  CHECK(outcome.code == 0);
  CHECK(outcome.err.empty());
  CHECK_FALSE(std::filesystem::exists("--quiet"));
  CHECK(run({"run", toy, "--batches=", "--output", folder.path("other")}).says("--batches is empty"));
  CHECK_FALSE(std::filesystem::exists(folder.path("other")));
  CHECK(run({"run", toy, "--output=", "--quiet"}).says("--output is empty"));
}

TEST_CASE("mistakes in the file are found before anything is written") {
  const Folder folder;
  const std::string toy = folder.write("toy.toml", std::string(toy_pipeline) + "params.colum = \"x\"\n[stages.more]\nuse = \"toy_mop\"\n");
  const auto outcome = run({"run", toy, "--output", folder.path("out"), "--pairs", folder.path("pairs")});
  CHECK(outcome.code == 2);
  CHECK(outcome.err.find("toy.toml:") != std::string::npos);
  CHECK_FALSE(std::filesystem::exists(folder.path("out")));
}

TEST_CASE("a parameter that enables a branch makes its output") {
  const Folder folder;
  const auto outcome = run(
      {"run", folder.write("toy.toml", toy_pipeline), "--output", folder.path("out"), "--pairs", folder.path("pairs"), "--batches", "1", "--shout"});
  CHECK(outcome.code == 0);
  CHECK(folder.read("pairs") == "3\n7\n");
}

TEST_CASE("too many bad rows return 3, and the reason is in the summary, the account and a hint") {
  const Folder folder;
  const std::vector<std::string> arguments = {
      "run", folder.write("toy.toml", toy_pipeline), "--output", folder.path("out"), "--every", "20", "--account", folder.path("account")};
  auto strict = arguments;
  strict.insert(strict.end(), {"--max-bad-reads", "0.5"});
  CHECK(run(arguments).code == 0);
  const auto outcome = run(strict);
  CHECK(outcome.code == 3);
  CHECK(outcome.says("38 failed (95.0 %); sum: not_a_multiple 38"));
  CHECK(
      outcome.says("warning: 95.0 % of the numbers failed in stage 'sum' (toy_map), most of them as not_a_multiple (the value is not a multiple): "
                   "give a smaller --every"));
  CHECK(folder.read("account").find("n1\tsum\tnot_a_multiple\n") != std::string::npos);
}

TEST_CASE("the report's account adds up and names what was run") {
  const Folder folder;
  const auto outcome = run({"run", folder.write("toy.toml", toy_pipeline), "--output", folder.path("out"), "--every", "3", "--pairs",
                            folder.path("pairs"), "--report", folder.path("r.json"), "--trace", folder.path("t.json")});
  REQUIRE_MESSAGE(outcome.code == 0, outcome.err);
  const auto report = nlohmann::json::parse(folder.read("r.json"));
  CHECK(report["state"] == "finished");
  CHECK(report["exit_code"] == 0);
  CHECK(report["parameters"]["every"] == "3");
  CHECK(report["versions"]["plugins"][0]["name"].is_string());
  REQUIRE(report["account"].size() == 3);
  for (const auto& path : report["account"]) {
    CHECK(path["adds_up"] == true);
    CHECK(path["read"].get<int>() ==
          path["filtered"].get<int>() + path["failed"].get<int>() + path["written"].get<int>() + path["unfinished"].get<int>());
  }
  CHECK(report["account"][0]["failed"] == 26);
  CHECK(report["account"][0]["losses"][0]["reason"] == "not_a_multiple");
  CHECK(report["stages"].size() == 5);
  CHECK(report["stages"][1]["implementations"][0]["device"] == "cpu");
  const auto trace = nlohmann::json::parse(folder.read("t.json"));
  CHECK(std::count_if(trace["traceEvents"].begin(), trace["traceEvents"].end(),
                      [](const auto& event) { return event["ph"] == "X" && event["name"] == "sum"; }) == 10);
}

TEST_CASE("a failing stage returns 4, names itself, and leaves no output but a report") {
  const Folder folder;
  const auto outcome = run({"run", folder.write("toy.toml", toy_pipeline), "--output", folder.path("out"), "--set", "stages.sum.params.throw_at=3",
                            "--report", folder.path("r.json")});
  CHECK(outcome.code == 4);
  CHECK(outcome.says("sluice run: stage 'sum': the map was told to throw"));
  CHECK(folder.names().size() == 2);
  const auto report = nlohmann::json::parse(folder.read("r.json"));
  CHECK(report["state"] == "failed");
  CHECK(report["error"]["stage"] == "sum");
  CHECK(report["account"][0]["written"] == 0);
}

TEST_CASE("a full disk returns 4 and a line that names the file") {
  const Folder folder;
  const auto outcome = run({"run", folder.write("toy.toml", toy_pipeline), "--output", "/dev/full"});
  CHECK(outcome.code == 4);
  CHECK(outcome.says("/dev/full"));
  CHECK(outcome.says("No space left on device"));
}

TEST_CASE("an interrupt drains, keeps what is finished beside the output, and returns 130") {
  const Folder folder;
  const auto outcome = run({"run", folder.write("toy.toml", toy_pipeline), "--output", folder.path("out"), "--batches", "100000", "--milliseconds",
                            "5", "--set", announced},
                           {send(SIGINT, announcement)});
  CHECK(outcome.code == 130);
  CHECK(outcome.says("interrupted: finishing what is in flight"));
  CHECK(outcome.says("what was finished is in"));
  CHECK_FALSE(std::filesystem::exists(folder.path("out")));
  CHECK(folder.read("out.partial").starts_with("1\n2\n3\n"));
}

TEST_CASE("a second interrupt stops at once, SIGTERM is an interrupt too") {
  const Folder folder;
  // Hours of work are left.
  const auto outcome = run({"run", folder.write("toy.toml", toy_pipeline), "--output", folder.path("out"), "--batches", "100000", "--set",
                            "stages.write.params.milliseconds=1000", "--set", announced},
                           {send(SIGTERM, announcement), send(SIGTERM, "terminated: two seconds")});
  CHECK(outcome.code == 130);
  CHECK_MESSAGE(outcome.says("stopping at once"), outcome.err);
  CHECK(folder.names() == std::vector<std::string>{"toy.toml"});
}

TEST_CASE("the answer does not depend on threads, batch size and executor") {
  const Folder folder;
  const std::string toy = folder.write("toy.toml", toy_pipeline);
  std::string first;
  for (const std::vector<std::string>& how : std::vector<std::vector<std::string>>{
           {"--threads", "1"}, {"--threads", "4"}, {"--batch-work", "1"}, {"--executor", "serial"}, {"--policy", "first_free"}}) {
    std::vector<std::string> arguments = {
        "run", toy, "--output", "-", "--quiet", "--batches", "200", "--every", "7", "--set", "stages.sum.params.jitter=true"};
    arguments.insert(arguments.end(), how.begin(), how.end());
    const auto outcome = run(arguments);
    CHECK(outcome.code == 0);
    if (first.empty()) first = outcome.out;
    CHECK(outcome.out == first);
  }
}

TEST_CASE("an unknown policy is a mistake of the command line, which names those that there are") {
  const Folder folder;
  const auto outcome = run({"run", folder.write("toy.toml", toy_pipeline), "--output", folder.path("out"), "--policy", "clever"});
  CHECK(outcome.code == 2);
  CHECK_MESSAGE(outcome.says("--policy"), outcome.err);
  CHECK(outcome.says("adaptive"));
  CHECK(outcome.says("first_free"));
}
