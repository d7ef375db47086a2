// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Runs that end early and are gone on with: the bytes are those of a run that nothing has stopped.
#include <doctest/doctest.h>

#include <fstream>
#include <sluice/failure.hpp>
#include <sluice/staged_file.hpp>

#include "machine/checksum.hpp"
#include "run/journal_file.hpp"
#include "run/resuming.hpp"
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

std::string content_of(const std::filesystem::path& file) {
  std::ostringstream content;
  content << std::ifstream(file, std::ios::binary).rdbuf();
  return content.str();
}

void take_checkpoints(ToyRun& run) {
  run.options.checkpoints = {1e-9, 0};
  run.options.journal = run.path(".journal");
}

// Interrupted at a batch in the middle, and its only checkpoint is taken then.
ToyResult interrupted_run(ToyRun& run) {
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
  run.options.checkpoints = {1e6, 0};
  run.options.listener = &at_batch;
  run.on_start = [&](Run& started) { running = &started; };
  const ToyResult result = run(pipeline("", 0));
  run.options.listener = nullptr;
  run.on_start = nullptr;
  return result;
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
    const ToyResult stopped = interrupted_run(run);
    REQUIRE(stopped.run.state == RunState::interrupted);
    CHECK(stopped.run.can_be_resumed);
    CHECK(stopped.files.contains("sums.txt.partial"));
    go_on(run);
    REQUIRE(run.options.going_on_from);
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
    StagedFile cut(run.path(".journal"));
    cut.write("cut");
    cut.leave();
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
  const std::string zeros(100000, '\0');
  const auto spooled = [&](std::string_view bytes) {
    auto spool = std::make_shared<SpoolFile>(file, "");
    spool->append(bytes);
    return spool;
  };
  Checkpoint checkpoint;
  checkpoint.stages["a"] = {3, 4, true, "", spooled(zeros), {}};
  checkpoint.stages["b"] = {5, 0, false, "17", nullptr, {}};
  checkpoint.files.push_back({"out\xfe", ".out\xfe.abcdef.partial", 7, "0123456789abcdef"});
  checkpoint.spooled_account = spooled("lines\n");
  write_journal(file, identity, checkpoint);
  const auto journal = read_journal(file);
  REQUIRE(journal);
  CHECK(difference(journal->identity, identity).empty());
  CHECK(journal->checkpoint.stages.at("a").state == zeros);
  CHECK(journal->checkpoint.stages.at("a").ended);
  CHECK(journal->checkpoint.stages.at("b").next == 5);
  CHECK(journal->checkpoint.stages.at("b").position == "17");
  CHECK(journal->checkpoint.files.front().path == "out\xfe");
  CHECK(journal->checkpoint.files.front().bytes == 7);
  CHECK(journal->checkpoint.files.front().xxh3 == "0123456789abcdef");
  CHECK(journal->checkpoint.account == "lines\n");

  const std::string whole = content_of(file);
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

TEST_CASE("A journal that names files of others is refused, and they stay as they are") {
  for (const std::string name :
       {"thesis.txt", ".thesis.txt.abcdef.partial", ".sums.txt.abcdef.partia", ".sums.txt.ABCDEF.partial", ".sums.txt..partial",
        "folder/.sums.txt.abcdef.partial", "../.sums.txt.abcdef.partial", "sums.txt", ".sums.txt.a/cdef.partial", ""}) {
    CAPTURE(name);
    ToyRun run;
    const std::string sums = run.path("sums.txt").string();
    std::filesystem::create_directories(run.path("folder"));
    const std::filesystem::path victim = run.path(name.empty() ? "thesis.txt" : name).lexically_normal();
    std::error_code error;
    std::filesystem::create_directories(victim.parent_path(), error);
    std::ofstream(victim) << "years of work";
    Checkpoint checkpoint;
    checkpoint.files.push_back({sums, name.empty() ? "" : run.path("").string() + name, 0, Checksum::text_of("")});
    write_journal(run.path(".journal"), {}, checkpoint);
    CHECK_THROWS_WITH(read_journal(run.path(".journal")), doctest::Contains("names files that this run can't have left"));
    CHECK(content_of(victim) == "years of work");
    std::filesystem::remove(victim);
  }
}

TEST_CASE("What can't have been left by the run that is gone on with is not touched: links, second names, other bytes") {
  const auto is_refused = [](const std::string& change, const std::string& words) {
    CAPTURE(change);
    ToyRun run;
    take_checkpoints(run);
    REQUIRE(interrupted_run(run).run.state == RunState::interrupted);
    go_on(run);
    REQUIRE(run.options.going_on_from);
    std::string left;
    for (const FilePoint& file : run.options.going_on_from->files)
      if (file.path == run.path("sums.txt").string()) left = file.temporary;
    std::string bytes = content_of(left);
    REQUIRE(bytes.size() > 100);
    if (change == "link") {
      std::filesystem::rename(left, run.path("thesis.txt"));
      std::filesystem::create_symlink(run.path("thesis.txt"), left);
    } else if (change == "second name") {
      std::filesystem::create_hard_link(left, run.path("thesis.txt"));
    } else if (change == "byte") {
      bytes[bytes.size() / 3] = '#';
      std::ofstream(left) << bytes;
    } else if (change == "cut") {
      bytes.resize(10);
      std::ofstream(left) << bytes;
    } else if (change == "folder") {
      std::filesystem::remove(left);
      std::filesystem::create_directory(left);
    }
    const ToyResult result = run(pipeline("", 0));
    CHECK(result.run.state == RunState::failed);
    if (change != "folder" && change != "link") CHECK_FALSE(result.run.can_be_resumed);  // it would be refused again
    CHECK_MESSAGE(result.run.message.find(words) != std::string::npos, result.run.message);
    CHECK_FALSE(std::filesystem::exists(run.path("sums.txt")));
    if (change != "folder") CHECK(content_of(left) == bytes);
  };
  is_refused("link", "symbolic link");
  is_refused("second name", "has another name, too");
  is_refused("byte", "has other bytes than it had");
  is_refused("cut", "is shorter than it was");
  is_refused("folder", "continue");
}

TEST_CASE("A journal of another kind is refused: a link, a folder, one that nests without end") {
  ToyRun run;
  write_journal(run.path("other"), {}, {});
  std::filesystem::create_symlink(run.path("other"), run.path("link"));
  CHECK(read_journal(run.path("other")));
  CHECK_THROWS_AS(read_journal(run.path("link")), Failure);
  CHECK_THROWS_AS(read_journal(run.path("")), Failure);
  const auto journal_of = [](const std::string& description) {
    const std::uint64_t bytes = description.size();
    return "sluice journal 1\n" + std::string(reinterpret_cast<const char*>(&bytes), sizeof bytes) + description + std::string(16, '0');
  };
  const auto pack = [](const char* what, std::size_t times) {
    std::string text;
    for (std::size_t i = 0; i < times; ++i) text += what;
    return text;
  };
  CHECK_THROWS_AS(parse_journal(journal_of(pack("\x91", 4'000'000)), "j"), Failure);                     // arrays of one array
  CHECK_THROWS_AS(parse_journal(journal_of(pack("\x81\xa1k", 4'000'000)), "j"), Failure);                // maps
  CHECK_THROWS_AS(parse_journal(journal_of("\xdd\xff\xff\xff\xff" + pack("\xc0", 100)), "j"), Failure);  // so many elements
  CHECK_THROWS_AS(parse_journal(journal_of("\xdb\xff\xff\xff\xff_"), "j"), Failure);                     // so long a text
  CHECK_THROWS_AS(parse_journal(journal_of("\xc0"), "j"), Failure);
}

TEST_CASE("A journal that contradicts itself is refused before the run: stages that are missing, or stand elsewhere") {
  ToyRun folder;
  std::string toml = pipeline("", 0);
  for (std::size_t at; (at = toml.find("${folder}")) != std::string::npos;) toml.replace(at, 9, folder.path("").string());
  Diagnostics diagnostics;
  const WrittenPipeline written = parse_pipeline("[pipeline]\nname = \"toy\"\n" + toml, "toy.toml", diagnostics);
  const Plan plan = make_plan(resolve_pipeline(written, {}, toy_registry(), diagnostics), "cpu", {"cpu"}, diagnostics);
  REQUIRE_FALSE(diagnostics.has_errors());
  RunOptions begun;
  REQUIRE(prepare_resuming(plan, toy_registry(), Resuming::begins, begun).problem.empty());
  Checkpoint whole;
  whole.stages["source"] = {7, 0, false, "49", nullptr, {}};
  whole.stages["running"] = whole.stages["sums"] = whole.stages["running_sums"] = {7, 0, false, "", nullptr, {}};
  whole.stages["pairs"] = {7, 3, false, "", nullptr, {}};
  whole.stages["totals"] = {3, 0, false, "", nullptr, {}};
  const auto problem_of = [&](const std::function<void(Checkpoint&)>& change) {
    Checkpoint changed = whole;
    change(changed);
    write_journal(begun.journal, begun.identity, changed);
    RunOptions options;
    return prepare_resuming(plan, toy_registry(), Resuming::goes_on, options).problem;
  };
  CHECK(problem_of([](Checkpoint&) {}) == "");
  for (const auto& entry : whole.stages) {
    const std::string& name = entry.first;
    CAPTURE(name);
    CHECK(problem_of([&](Checkpoint& c) { c.stages.erase(name); }).find("contradicts itself") != std::string::npos);
    CHECK(problem_of([&](Checkpoint& c) { c.stages[name].next += 1'000'000'000; }).find("contradicts itself") != std::string::npos);
  }
  CHECK(problem_of([](Checkpoint& c) { c.stages["pairs"].emitted = 4; }).find("contradicts itself") != std::string::npos);
}

TEST_CASE("A checkpoint takes little memory, however large the states and the account are") {
  const auto set_peak_back = [] { return static_cast<bool>(std::ofstream("/proc/self/clear_refs") << "5" << std::flush); };
  const auto kib = [](const std::string& what) {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
      if (line.starts_with(what)) return std::stol(line.substr(line.find(':') + 1));
    return 0L;
  };
  if (!set_peak_back()) {
    MESSAGE("skipped: the peak of the memory can't be set back here");
    return;
  }
  const std::string toml = R"(
[stages.source]
use = "toy_positions"
params = { rows = 21, of_batch = 7 }
[stages.map]
use = "toy_map"
inputs = ["source"]
[stages.sums]
use = "toy_sink"
inputs = ["map"]
params = { output = "${folder}/sums.txt", state_mib = 100 }
)";
  class LongAccount : public Events {
   public:
    void save(const std::function<void(std::string_view)>& write) override {
      for (int i = 0; i < 1'000'000; ++i) write("a read that is lost as all the others were, for a reason that takes a line to say\n");
    }
  } account;
  ToyRun warm;
  CHECK(warm(toml).run.state == RunState::finished);
  ToyRun run;
  take_checkpoints(run);
  run.options.listener = &account;
  set_peak_back();
  [[maybe_unused]] const long before = kib("VmHWM");
  const ToyResult result = run(toml);
  CHECK(result.run.state == RunState::finished);
  CHECK(result.run.statistics.checkpoints.kept > 0);
#ifndef SLUICE_SANITIZED  // what is freed is kept, to be watched
  CHECK(kib("VmHWM") - before < 16 << 10);
#endif
}

TEST_CASE("What has changed between two runs is said") {
  const RunIdentity before = {{"--k", "15"}, {"the input 'a'", "1"}};
  CHECK(difference(before, before).empty());
  CHECK(difference(before, {{"--k", "16"}, {"the input 'a'", "1"}}) == "--k was '15' and is '16'");
  CHECK(difference(before, {{"--k", "15"}}) == "the input 'a' is no longer there");
  CHECK(difference(before, {{"--k", "15"}, {"the input 'a'", "1"}, {"the input 'b'", "1"}}) == "the input 'b' is new");
}
