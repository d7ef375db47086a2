// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Files grow under hidden names beside their final ones, and nothing of that is left for long.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <functional>

#include "program.hpp"

using program::announced;
using program::announcement;
using program::Folder;
using program::Outcome;
using program::run;
using program::send;
using program::toy_pipeline;

namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

const std::string numbers = "1\n2\n3\n4\n";

// A run of a minute that is killed when it has begun to write.
void run_and_kill(const Folder& folder, const std::string& toy, const Names& more) {
  Names arguments = {"run", toy, "--batches", "10000", "--milliseconds", "5", "--set", announced};
  arguments.insert(arguments.end(), more.begin(), more.end());
  CHECK(run(arguments, {send(SIGKILL, announcement)}).code == 137);
  const Names names = folder.names();
  REQUIRE_MESSAGE(
      std::any_of(names.begin(), names.end(), [](const std::string& name) { return name.starts_with(".out.") && name.ends_with(".partial"); }),
      "there is no hidden file of the killed run");
}

// A run of 800 rows into `out` that waits in its middle until `look` has returned.
Outcome run_and_look(const Folder& folder, const std::string& toy, const Names& more, const std::function<void()>& look) {
  const Folder gate;
  Names arguments = {"run",
                     toy,
                     "--output",
                     folder.path("out"),
                     "--batches",
                     "200",
                     "--quiet",
                     "--set",
                     announced,
                     "--set",
                     "stages.numbers.params.go_on_with=" + gate.path("open")};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const Outcome outcome = run(arguments, {{announcement, [&](pid_t) {
                                             look();
                                             gate.write("open", "");
                                           }}});
  CHECK_MESSAGE(outcome.code == 0, outcome.err);
  return outcome;
}

}  // namespace

TEST_CASE("an output that grows has a hidden name, and no other file is there") {
  const Folder folder;
  const std::string toy = folder.write("toy.toml", toy_pipeline);
  folder.write("out", "old");
  run_and_look(folder, toy, {"--report", folder.path("report")}, [&] {
    const Names names = folder.names();
    CHECK(folder.read("out") == "old");
    for (const std::string& name : names)
      CHECK_MESSAGE((name == "out" || name == "toy.toml" || (name.starts_with(".") && name.ends_with(".partial"))), name);
    CHECK(std::count_if(names.begin(), names.end(), [](const std::string& name) { return name.starts_with(".out."); }) == 1);
  });
  CHECK(folder.names() == Names{"out", "report", "toy.toml"});
  CHECK(folder.read("out").starts_with(numbers));
}

TEST_CASE("the next run that writes a name removes what a killed one left of it") {
  const Folder folder;
  const std::string toy = folder.write("toy.toml", toy_pipeline);
  const Names side = {"--report", folder.path("report"), "--trace", folder.path("trace"), "--account", folder.path("account")};
  Names more = {"--output", folder.path("out"), "--pairs", folder.path("pairs")};
  more.insert(more.end(), side.begin(), side.end());
  run_and_kill(folder, toy, more);
  for (const char* name : {"out", "pairs", "report", "trace", "account"}) CHECK_FALSE(fs::exists(folder.path(name)));
  Names arguments = {"run", toy, "--batches", "1", "--quiet"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  CHECK(run(arguments).code == 0);
  CHECK(folder.names() == Names{"account", "out", "pairs", "report", "toy.toml", "trace"});
  CHECK(folder.read("out") == numbers);
}

TEST_CASE("a run that fails, and one that is interrupted, remove it too") {
  const Folder folder;
  const std::string toy = folder.write("toy.toml", toy_pipeline);
  run_and_kill(folder, toy, {"--output", folder.path("out")});
  CHECK(run({"run", toy, "--output", folder.path("out"), "--set", "stages.sum.params.throw_at=3", "--quiet"}).code == 4);
  CHECK(folder.names() == Names{"toy.toml"});
  run_and_kill(folder, toy, {"--output", folder.path("out")});
  CHECK(run({"run", toy, "--output", folder.path("out"), "--batches", "10000", "--milliseconds", "5", "--quiet", "--set", announced},
            {send(SIGINT, announcement)})
            .code == 130);
  CHECK(folder.names() == Names{"out.partial", "toy.toml"});
}

TEST_CASE("what a run that still lives is writing is left alone by another of the same name") {
  const Folder folder;
  const std::string toy = folder.write("toy.toml", toy_pipeline);
  const Outcome slow = run_and_look(folder, toy, {}, [&] {
    CHECK(run({"run", toy, "--output", folder.path("out"), "--batches", "1", "--quiet"}).code == 0);
    CHECK(folder.read("out") == numbers);
  });
  CHECK_MESSAGE(std::count(slow.err.begin(), slow.err.end(), '\n') == 1, slow.err);  // the announcement
  const std::string last = folder.read("out");
  CHECK(std::count(last.begin(), last.end(), '\n') == 800);
  CHECK(folder.names() == Names{"out", "toy.toml"});
}

TEST_CASE("an output that is a link stays one: its target gets the bytes, beside which they grow") {
  const Folder folder;
  const std::string toy = folder.write("toy.toml", toy_pipeline);
  fs::create_directory(folder.path("disk"));
  folder.write("disk/out", "old");
  for (const char* name : {"out", "report", "account", "trace"}) fs::create_symlink(std::string("disk/") + name, folder.path(name));
  const auto outcome = run({"run", toy, "--output", folder.path("out"), "--report", folder.path("report"), "--account", folder.path("account"),
                            "--trace", folder.path("trace"), "--batches", "1", "--quiet"});
  CHECK_MESSAGE(outcome.code == 0, outcome.err);
  CHECK(folder.read("disk/out") == numbers);
  for (const char* name : {"out", "report", "account", "trace"}) {
    CHECK(fs::is_symlink(folder.path(name)));
    CHECK(fs::is_regular_file(folder.path(std::string("disk/") + name)));
  }
  CHECK(std::distance(fs::directory_iterator(folder.path("disk")), fs::directory_iterator()) == 4);
}

TEST_CASE("outputs stay when the account, the report or the trace cannot be written, and the run says so") {
  const Folder folder;
  const std::string toy = folder.write("toy.toml", toy_pipeline);
  for (const char* option : {"--account", "--report", "--trace"}) {
    CAPTURE(option);
    fs::remove(folder.path("out"));
    const auto outcome = run({"run", toy, "--output", folder.path("out"), "--batches", "1", "--every", "2", option, "/dev/full", "--quiet"});
    CHECK(outcome.code == 4);
    CHECK_MESSAGE(outcome.says("/dev/full"), outcome.err);
    CHECK_MESSAGE(outcome.says("No space left on device"), outcome.err);
    CHECK(folder.names() == Names{"out", "toy.toml"});
    CHECK(folder.read("out") == "1\n-\n3\n-\n");
  }
}

TEST_CASE("a folder that cannot be written is named before the run begins") {
  const Folder folder;
  const std::string toy = folder.write("toy.toml", toy_pipeline);
  for (const auto& [output, pairs] : std::vector<std::pair<std::string, std::string>>{{"no/such/file", "pairs"}, {"out", "no/such/file"}}) {
    const auto outcome = run({"run", toy, "--output", folder.path(output), "--pairs", folder.path(pairs), "--quiet"});
    CHECK(outcome.code == 2);
    CHECK_MESSAGE(outcome.says("no/such"), outcome.err);
    CHECK(folder.names() == Names{"toy.toml"});
  }
}
