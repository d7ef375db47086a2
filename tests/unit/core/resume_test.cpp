// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Runs that end early and are gone on with: the bytes are those of a run that nothing has stopped.
#include <doctest/doctest.h>

#include <fstream>
#include <sluice/failure.hpp>

#include "run/checkpoint.hpp"
#include "unit/core/toy_run.hpp"

using namespace sluice;
using namespace sluice::testing_core;

namespace {

// Sinks of all kinds of stages that keep state: behind maps alone, behind an ordered map, behind a regroup, and behind a regroup of that.
std::string pipeline(const std::string& sink, std::int64_t throw_at) {
  std::string text = R"(
[stages.source]
use = "toy_positions"
params = { rows = 3000, of_batch = 7 }
[stages.map]
use = "toy_map"
inputs = ["source"]
params = { add = 1, fail_unless_multiple_of = 3 }
[stages.running]
use = "toy_running_sum"
inputs = ["map"]
[stages.pairs]
use = "toy_regroup"
inputs = ["map"]
[stages.sums]
use = "toy_sink"
inputs = ["map"]
params = { output = "${folder}/sums.txt" THROW_sums }
[stages.running_sums]
use = "toy_sink"
inputs = ["running"]
params = { column = "running", output = "${folder}/running.txt" THROW_running_sums }
[stages.totals]
use = "toy_sink"
inputs = ["pairs"]
params = { column = "total", output = "${folder}/totals.txt" THROW_totals }
)";
  for (const char* name : {"sums", "running_sums", "totals"}) {
    const std::string mark = "THROW_" + std::string(name);
    const std::string value = name == sink ? ", throw_at = " + std::to_string(throw_at) : std::string();
    text.replace(text.find(mark + " "), mark.size(), value);
  }
  return text;
}

std::map<std::string, std::string> outputs_of(const ToyResult& result) {
  std::map<std::string, std::string> files;
  for (const auto& [name, content] : result.files)
    if (!name.starts_with('.')) files[name] = content;
  return files;
}

void take_checkpoints(ToyRun& run) {
  run.options.checkpoints = {1e-9, 0};
  run.options.journal = run.path(".journal");
}

void go_on(ToyRun& run) {
  const auto journal = read_journal(run.path(".journal"));
  run.options.going_on_from = journal ? std::make_shared<const Checkpoint>(journal->checkpoint) : nullptr;
}

}  // namespace

TEST_CASE("A run that a sink has ended is gone on with, and has the bytes of one that nothing has stopped") {
  ToyRun whole;
  const ToyResult at_once = whole(pipeline("", 0));
  const auto expected = outputs_of(at_once);
  REQUIRE(expected.size() == 3);
  for (const Executor executor : {Executor::serial, Executor::flow_graph})
    for (const char* sink : {"sums", "running_sums", "totals"})
      for (const std::int64_t throw_at : {0, 1, 2, 50, 200, 428}) {
        CAPTURE(sink);
        CAPTURE(throw_at);
        ToyRun run;
        run.options.executor = executor;
        take_checkpoints(run);
        const ToyResult stopped = run(pipeline(sink, throw_at));
        CHECK(stopped.run.state == RunState::failed);
        CHECK(outputs_of(stopped).empty());
        CHECK(stopped.run.can_be_resumed == std::filesystem::exists(run.path(".journal")));
        // One after the other everything is said as soon as a border is drawn.
        if (executor == Executor::serial && throw_at > 1) CHECK(stopped.run.can_be_resumed);
        go_on(run);
        const ToyResult result = run(pipeline("", 0));
        REQUIRE_MESSAGE(result.run.state == RunState::finished, result.run.message);
        CHECK(result.files == expected);  // nothing hidden is left either
        for (const StageStatistics& stage : at_once.run.statistics.stages) {
          CAPTURE(stage.name);
          CHECK(result.stage(stage.name).batches == stage.batches);
          CHECK(result.stage(stage.name).rows_in == stage.rows_in);
          CHECK(result.stage(stage.name).rows_out == stage.rows_out);
          CHECK(result.stage(stage.name).failed == stage.failed);
        }
      }
}

TEST_CASE("A run is stopped again and again, and goes on each time") {
  ToyRun whole;
  const auto expected = outputs_of(whole(pipeline("", 0)));
  ToyRun run;
  take_checkpoints(run);
  for (std::int64_t throw_at = 20; throw_at < 420; throw_at += 40) {
    const ToyResult stopped = run(pipeline("totals", throw_at));
    CHECK(stopped.run.state == RunState::failed);
    go_on(run);
  }
  const ToyResult result = run(pipeline("", 0));
  REQUIRE_MESSAGE(result.run.state == RunState::finished, result.run.message);
  CHECK(result.files == expected);
}

TEST_CASE("An interrupted run keeps what it has finished under a name of its own, and goes on from there") {
  ToyRun whole;
  const auto expected = outputs_of(whole(pipeline("", 0)));
  for (const Executor executor : {Executor::serial, Executor::flow_graph}) {
    ToyRun run;
    run.options.executor = executor;
    take_checkpoints(run);
    run.options.checkpoints = {1e6, 0};  // none but that of the interrupt
    Run* running = nullptr;
    class AtBatch : public Events {
     public:
      explicit AtBatch(Run*& target) : target_(target) {}
      void happened(const TraceEvent& event) noexcept override {
        if (event.name == "totals" && event.sequence == 100 && !std::exchange(told_, true)) target_->interrupt();
      }

     private:
      Run*& target_;
      bool told_ = false;
    } at_batch(running);
    run.options.listener = &at_batch;
    run.on_start = [&](Run& started) { running = &started; };
    const ToyResult stopped = run(pipeline("", 0));
    REQUIRE(stopped.run.state == RunState::interrupted);
    CHECK(stopped.run.can_be_resumed);
    CHECK(stopped.files.contains("sums.txt.partial"));
    go_on(run);
    REQUIRE(run.options.going_on_from);
    run.options.listener = nullptr;
    CHECK(run.options.going_on_from->stages.at("source").next > 100);
    const ToyResult result = run(pipeline("", 0));
    REQUIRE_MESSAGE(result.run.state == RunState::finished, result.run.message);
    CHECK(result.files == expected);
  }
}

TEST_CASE("A run without --resume begins anew, and leaves nothing of the one before") {
  ToyRun whole;
  const auto expected = outputs_of(whole(pipeline("", 0)));
  ToyRun run;
  take_checkpoints(run);
  CHECK(run(pipeline("totals", 200)).run.state == RunState::failed);
  const ToyResult result = run(pipeline("", 0));
  CHECK(result.files == expected);
}

TEST_CASE("What is left of a journal that was being written is removed by the next run") {
  for (const bool goes_on : {false, true}) {
    ToyRun run;
    take_checkpoints(run);
    CHECK(run(pipeline("totals", 200)).run.state == RunState::failed);
    std::ofstream(run.path("..journal.abcdef.partial")) << "cut";
    if (goes_on) go_on(run);
    const ToyResult result = run(pipeline("", 0));
    CHECK(result.run.state == RunState::finished);
    for (const auto& [name, content] : result.files) CHECK_FALSE(name.starts_with('.'));
  }
}

TEST_CASE("A journal is read as it was written, and a damaged one is refused") {
  ToyRun folder;
  const std::filesystem::path file = folder.path("journal");
  CHECK_FALSE(read_journal(file));
  const RunIdentity identity = {{"the pipeline", "x"}, {"--motif", std::string("\xff\0", 2)}};
  Checkpoint checkpoint;
  checkpoint.stages["a"] = {3, 4, true, std::string(100000, '\0')};
  checkpoint.stages["b"] = {5, 0, false, ""};
  checkpoint.files.push_back({"out\xfe", ".out", 7});
  write_journal(file, identity, checkpoint);
  const auto journal = read_journal(file);
  REQUIRE(journal);
  CHECK(difference(journal->identity, identity).empty());
  CHECK(journal->checkpoint.stages.at("a").state == checkpoint.stages.at("a").state);
  CHECK(journal->checkpoint.stages.at("a").ended);
  CHECK(journal->checkpoint.stages.at("b").next == 5);
  CHECK(journal->checkpoint.files.front().path == "out\xfe");
  CHECK(journal->checkpoint.files.front().bytes == 7);

  std::ostringstream content;
  content << std::ifstream(file, std::ios::binary).rdbuf();
  const std::string whole = content.str();
  const auto refuses = [&](const std::string& bytes) {
    std::ofstream(file, std::ios::binary) << bytes;
    CHECK_THROWS_AS(read_journal(file), Failure);
  };
  for (std::size_t length = 0; length < whole.size(); length += length < 300 ? 1 : 997) refuses(whole.substr(0, length));
  for (std::size_t at = 0; at < whole.size(); at += at < 300 ? 1 : 997) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x40);
    refuses(changed);
  }
}

TEST_CASE("What has changed between two runs is said") {
  const RunIdentity before = {{"--k", "15"}, {"the input 'a'", "1"}};
  CHECK(difference(before, before).empty());
  CHECK(difference(before, {{"--k", "16"}, {"the input 'a'", "1"}}) == "--k was '15' and is '16'");
  CHECK(difference(before, {{"--k", "15"}}) == "the input 'a' is no longer there");
  CHECK(difference(before, {{"--k", "15"}, {"the input 'a'", "1"}, {"the input 'b'", "1"}}) == "the input 'b' is new");
}
