// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Stages that do on request what a plugin must never do. Before that they say so in the log, so that a test knows that it is about to happen.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <sluice/stage.hpp>
#include <string>
#include <thread>

namespace {

struct Parameters {
  std::string what = "nothing", when = "process";
  std::int64_t at_batch = 3;
};

template <class Stage>
void describe_options(sluice::Describe<Stage>& d) {
  using Of = typename Stage::Parameters;
  d.option("what", static_cast<std::string Of::*>(&Of::what), "how to misbehave")
      .choices({"nothing", "go_on", "interrupt", "wait", "be_slow", "hang", "segfault", "segfault_in_parallel_for", "abort", "exit", "quick_exit",
                "throw", "stack_overflow", "race"});
  d.option("when", static_cast<std::string Of::*>(&Of::when), "in which call").choices({"create", "process", "finish", "destroy"});
  d.option("at_batch", static_cast<std::int64_t Of::*>(&Of::at_batch), "in the batch with this sequence number");
}

// Not const: the compiler must not know that nothing is there.
volatile std::uintptr_t nowhere = 0;

void write_to_nowhere() { *reinterpret_cast<volatile int*>(nowhere) = 1; }

// NOLINTNEXTLINE(misc-no-recursion)
[[gnu::noinline]] std::uintptr_t fill_the_stack(std::uintptr_t depth) {
  volatile char page[4096];
  page[depth % sizeof page] = static_cast<char>(depth);
  if (depth == nowhere) return 0;  // never: it counts up from 1
  return fill_the_stack(depth + 1) + static_cast<std::uintptr_t>(page[depth % sizeof page]);
}

// Calls that meet here count without a lock.
std::int64_t counted = 0;
void race() {
  for (int i = 0; i < 200; ++i) {
    ++counted;  // RACE
    std::this_thread::yield();
  }
}

void misbehave(const sluice::Host& host, const std::string& what) {
  if (what == "nothing") return;
  host.warn("about to " + what);
  if (what == "interrupt" && std::getenv("SLUICE_TEST_GOES_ON") == nullptr) ::kill(::getpid(), SIGINT);
  if (what == "wait") {
    while (!host.cancelled()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    throw sluice::Failure(SLUICE_ERROR_CANCELLED, "waited until it was cancelled");
  }
  if (what == "be_slow") std::this_thread::sleep_for(std::chrono::milliseconds(1500));  // deaf to whatever happens meanwhile
  if (what == "hang")
    for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
  if (what == "segfault") write_to_nowhere();
  if (what == "segfault_in_parallel_for")
    host.parallel_for(1000, 1, [](std::size_t, std::size_t end) {
      if (end == 1000) write_to_nowhere();
    });
  if (what == "abort") std::abort();
  if (what == "exit") std::exit(0);
  if (what == "quick_exit") std::quick_exit(0);
  if (what == "throw") throw 42;
  if (what == "stack_overflow") nowhere = fill_the_stack(1);
}

// What all of them share: made, and called for one batch after the other.
class Misbehaving {
 public:
  Misbehaving(const sluice::Setup& setup, const Parameters& p) : p_(p) {
    if (p_.when == "create") misbehave(setup, p_.what);
  }
  ~Misbehaving() {
    if (p_.when == "destroy" && p_.what == "interrupt") ::kill(::getpid(), SIGINT);  // all batches are done
  }
  Misbehaving(const Misbehaving&) = delete;

 protected:
  void called(const sluice::Call& call, std::int64_t batch) const {
    if (p_.what == "race") return race();  // in every batch
    if (p_.when == "process" && batch == p_.at_batch) misbehave(call, p_.what);
  }
  void finished(const sluice::Call& call) const {
    if (p_.when == "finish") misbehave(call, p_.what);
  }

 private:
  Parameters p_;
};

class MisbehavingSource : public Misbehaving {
 public:
  struct Parameters : ::Parameters {
    std::int64_t batches = 10;
    double milliseconds = 0;
  };
  static void describe(sluice::Describe<MisbehavingSource>& d) {
    d.id("misbehaving_source").summary("counts, and misbehaves").source("number").gives("value", "i64", "0, 1, 2, ...");
    describe_options(d);
    d.option("batches", &Parameters::batches, "how many batches of a hundred");
    d.option("milliseconds", &Parameters::milliseconds, "time for each batch");
  }
  MisbehavingSource(const sluice::Setup& setup, const Parameters& p) : Misbehaving(setup, p), batches_(p.batches), pause_(p.milliseconds) {}
  bool process(const sluice::Call& call, sluice::Output& out) {
    called(call, batch_);
    if (batch_ >= batches_) return false;
    std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(pause_));
    out.set_rows(100);
    for (std::int64_t& value : out.column<std::int64_t>("value")) value = next_++;
    return ++batch_ < batches_;
  }

 private:
  std::int64_t batches_, batch_ = 0, next_ = 0;
  double pause_;
};

class MisbehavingMap : public Misbehaving {
 public:
  using Parameters = ::Parameters;
  static void describe(sluice::Describe<MisbehavingMap>& d) {
    d.id("misbehaving_map").summary("copies, and misbehaves").map("number").needs("value", "i64", "").gives("sum", "i64", "the value");
    d.uses("constant", "constant", "not looked at", sluice::Needed::optional);
    describe_options(d);
  }
  using Misbehaving::Misbehaving;
  void process(const sluice::Call& call, const sluice::Batch& in, sluice::Output& out) {
    called(call, static_cast<std::int64_t>(in.sequence()));
    const auto value = in.column<std::int64_t>("value");
    std::copy(value.begin(), value.end(), out.column<std::int64_t>("sum").begin());
  }
};

class MisbehavingSink : public Misbehaving {
 public:
  struct Parameters : ::Parameters {
    sluice::Path output;
  };
  static void describe(sluice::Describe<MisbehavingSink>& d) {
    d.id("misbehaving_sink").summary("writes numbers, and misbehaves").sink("number").needs("sum", "i64", "");
    describe_options(d);
    d.option("output", &Parameters::output, "file").required();
  }
  MisbehavingSink(const sluice::Setup& setup, const Parameters& p) : Misbehaving(setup, p), file_(setup, p.output) {}
  void commit(const sluice::Call& call, const sluice::Batch& in) {
    called(call, static_cast<std::int64_t>(in.sequence()));
    for (const std::int64_t sum : in.column<std::int64_t>("sum")) file_.write(std::to_string(sum) + "\n");
  }
  void finish(const sluice::Call& call, sluice::Output&) {
    finished(call);
    file_.close();
  }

 private:
  sluice::OutputFile file_;
};

class MisbehavingResource : public Misbehaving {
 public:
  using Parameters = ::Parameters;
  static void describe(sluice::Describe<MisbehavingResource>& d) {
    d.id("misbehaving_resource").summary("one number, or none").resource("constant").gives("value", "i64", "");
    describe_options(d);
  }
  MisbehavingResource(const sluice::Setup& setup, const Parameters& p) : Misbehaving(setup, p), at_batch_(p.at_batch) {}
  void process(const sluice::Call& call, sluice::Output& out) {
    called(call, at_batch_);  // there is but one call
    out.set_rows(1);
    out.column<std::int64_t>("value")[0] = 7;
  }

 private:
  std::int64_t at_batch_;
};

// As a library's own code may, before anybody has called it.
const bool crashes_when_loaded = std::getenv("MISBEHAVE_WHEN_LOADED") != nullptr && std::raise(SIGSEGV) == 0;

}  // namespace

SLUICE_PLUGIN("misbehaving_stages", "1.0.0", "MIT", MisbehavingSource, MisbehavingMap, MisbehavingSink, MisbehavingResource);
