// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// What happens to a run in each of its states: what is answered, and what is left of two outputs that were there before.
#include "run/run_life.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "unit/core/toy_run.hpp"

using namespace sluice;
using namespace sluice::testing_core;

namespace {

using enum LifeState;
using enum LifeEvent;
using enum LifeAnswer;

constexpr const char* two_outputs = R"(
[stages.source]
use = "toy_source"
params = { batches = 20, rows = 3 }
[stages.map]
use = "toy_map"
params.add = 0
[stages.one]
use = "toy_sink"
inputs = ["map"]
params = { output = "${folder}/one.txt", column = "sum" }
[stages.two]
use = "toy_sink"
inputs = ["map"]
params = { output = "${folder}/two.txt", column = "sum" }
)";

enum class Left { whole, partial, nothing };

struct Cell {
  LifeState state;
  LifeEvent event;
  LifeAnswer answer;
  int exit_code;
  Left left;
};

// Written down a second time, on purpose: this is what is promised.
constexpr Cell cells[] = {
    {made, first_interrupt, never_begins, 130, Left::nothing},
    {made, second_interrupt, never_begins, 130, Left::nothing},
    {made, end_of_followed, ends_input, 0, Left::whole},
    {made, exception, never_begins, 4, Left::nothing},
    {made, lost_device, stands, 0, Left::whole},
    {made, full_disk, never_begins, 4, Left::nothing},
    {made, no_memory, never_begins, 4, Left::nothing},
    {made, end_all, never_begins, 130, Left::nothing},
    {running, first_interrupt, finishes, 130, Left::partial},
    {running, second_interrupt, drops, 130, Left::nothing},
    {running, end_of_followed, ends_input, 0, Left::whole},
    {running, exception, drops, 4, Left::nothing},
    {running, lost_device, stands, 0, Left::whole},
    {running, full_disk, drops, 4, Left::nothing},
    {running, no_memory, drops, 4, Left::nothing},
    {running, end_all, drops, 130, Left::nothing},
    {stopping, first_interrupt, stands, 130, Left::partial},
    {stopping, second_interrupt, drops, 130, Left::nothing},
    {stopping, end_of_followed, stands, 130, Left::partial},
    {stopping, exception, drops, 4, Left::nothing},
    {stopping, lost_device, stands, 130, Left::partial},
    {stopping, full_disk, drops, 4, Left::nothing},
    {stopping, no_memory, drops, 4, Left::nothing},
    {stopping, end_all, drops, 130, Left::nothing},
    {publishing, first_interrupt, completes, 130, Left::whole},
    {publishing, second_interrupt, takes_back, 130, Left::nothing},
    {publishing, end_of_followed, stands, 0, Left::whole},
    {publishing, exception, takes_back, 4, Left::nothing},
    {publishing, lost_device, stands, 0, Left::whole},
    {publishing, full_disk, takes_back, 4, Left::nothing},
    {publishing, no_memory, takes_back, 4, Left::nothing},
    {publishing, end_all, completes, 130, Left::whole},
    {ended, first_interrupt, stands, 0, Left::whole},
    {ended, second_interrupt, stands, 0, Left::whole},
    {ended, end_of_followed, stands, 0, Left::whole},
    {ended, exception, stands, 0, Left::whole},
    {ended, lost_device, stands, 0, Left::whole},
    {ended, full_disk, stands, 0, Left::whole},
    {ended, no_memory, stands, 0, Left::whole},
    {ended, end_all, stands, 0, Left::whole},
};

void write(const std::filesystem::path& file, const std::string& text) { std::ofstream(file) << text; }

// Tells `event` to a run in that state, once.
class Teller : public Events {
 public:
  Teller(ToyRun& run, LifeState state, LifeEvent event) : state_(state), event_(event) {
    run.options.listener = this;
    run.options.entered = [this](LifeState entered) {
      if (entered == state_ && (entered == publishing || entered == ended)) tell();
    };
    run.on_start = [this](Run& started) {
      run_ = &started;
      if (state_ == made) tell();
    };
  }
  void happened(const TraceEvent& event) noexcept override {
    if (event.sequence != 5 || (state_ != running && state_ != stopping) || begun_.exchange(true)) return;
    if (state_ == stopping) CHECK(run_->interrupt() == finishes);
    tell();
  }
  int told() const { return told_; }
  LifeAnswer answer() const { return answer_; }
  LifeState state_before() const { return before_; }

 private:
  void tell() {
    before_ = run_->state();
    answer_ = run_->tell(event_);
    ++told_;
  }
  const LifeState state_;
  const LifeEvent event_;
  Run* run_ = nullptr;
  std::atomic<bool> begun_{false};
  std::atomic<int> told_{0};
  LifeState before_ = made;
  LifeAnswer answer_ = stands;
};

void check_left(const ToyResult& result, Left left) {
  CHECK(result.files.size() == (left == Left::partial ? 4 : 2));
  for (const std::string name : {"one.txt", "two.txt"}) {
    CHECK(result.files.at(name) == (left == Left::whole ? numbers(0, 60) : "of before\n"));
    if (left != Left::partial) continue;
    const std::string& part = result.files.at(name + ".partial");
    CHECK(numbers(0, 60).starts_with(part));
    CHECK(part.size() >= numbers(0, 15).size());
  }
  if (left == Left::partial) CHECK(result.files.at("one.txt.partial") == result.files.at("two.txt.partial"));
}

}  // namespace

TEST_CASE("Every event in every state has the answer that is promised, and leaves what is promised") {
  CHECK(std::size(cells) == life_state_count * life_event_count);
  for (const Cell& cell : cells)
    for (const Executor executor : {Executor::serial, Executor::flow_graph}) {
      INFO("state ", static_cast<int>(cell.state), ", event ", static_cast<int>(cell.event), ", executor ", static_cast<int>(executor));
      CHECK(life_answer(cell.state, cell.event) == cell.answer);
      ToyRun run;
      run.options.executor = executor;
      for (const char* name : {"one.txt", "two.txt"}) write(run.path(name), "of before\n");
      Teller teller(run, cell.state, cell.event);
      const ToyResult result = run(two_outputs);
      CAPTURE(result.run.message);
      CHECK(teller.told() == 1);
      CHECK(teller.state_before() == cell.state);
      CHECK(teller.answer() == cell.answer);
      CHECK(exit_code(result.run) == cell.exit_code);
      check_left(result, cell.left);
    }
}

TEST_CASE("Interrupts that come at once from many threads are the first, the second and more, never the first twice") {
  for (int times = 0; times < 50; ++times) {
    RunLife life;
    REQUIRE(life.step(running));
    std::atomic<int> finishing{0}, dropping{0};
    {
      std::vector<std::jthread> threads;
      for (int i = 0; i < 4; ++i)
        threads.emplace_back([&] {
          const LifeAnswer answer = life.interrupt();
          finishing += answer == finishes ? 1 : 0;
          dropping += answer == drops ? 1 : 0;
        });
    }
    CHECK(finishing == 1);
    CHECK(dropping == 3);
    CHECK(life.drops());
    CHECK_FALSE(life.step(publishing));
  }
}

TEST_CASE("An output that can't get its name leaves all others as they were, and the message says so") {
  for (const char* blocked : {"one.txt", "two.txt"}) {
    ToyRun run;
    const std::string other = std::string(blocked) == "one.txt" ? "two.txt" : "one.txt";
    write(run.path(other), "of before\n");
    run.options.entered = [&](LifeState state) {
      if (state == publishing) std::filesystem::create_directories(run.path(blocked) / "inside");
    };
    const ToyResult result = run(two_outputs);
    CAPTURE(result.run.message);
    CHECK(result.run.state == RunState::failed);
    CHECK(exit_code(result.run) == 4);
    CHECK(result.run.message.find(blocked) != std::string::npos);
    CHECK(result.run.message.find("no output was given its name") != std::string::npos);
    CHECK(result.files.at(other) == "of before\n");
    CHECK(result.files.size() == 2);  // the other, and the folder
  }
}
