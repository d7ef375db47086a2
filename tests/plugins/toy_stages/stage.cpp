// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Small stages that the engine's own tests are made of: every role, with faults on request.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <numeric>
#include <sluice/follow_state.hpp>
#include <sluice/stage.hpp>
#include <string>
#include <thread>
#include <vector>

namespace {

void wait(double milliseconds) {
  if (milliseconds > 0) std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(milliseconds));
}

// Rows 0, 1, 2, ... as batches of equal or growing size.
class ToySource {
 public:
  struct Parameters {
    std::int64_t batches = 10, rows = 4, throw_at = -1, announce_at = -1;
    std::string go_on_with;
    double milliseconds = 0, work_per_row = 1;
    bool payload = false;
  };
  enum class Reason : std::uint32_t { skipped };
  static void describe(sluice::Describe<ToySource>& d) {
    d.id("toy_source")
        .summary("counts")
        .source("number")
        .work_unit("row")
        .gives("value", "i64", "0, 1, 2, ...")
        .gives("read_id", "utf8", "the same as text")
        .rows_named_by("read_id");
    d.gives("payload", "list<f32>", "1,000 zeros", sluice::Needed::optional);
    d.option("batches", &Parameters::batches, "how many batches").range(0, 1e9);
    d.option("rows", &Parameters::rows, "rows of each").range(0, 1e9);
    d.option("throw_at", &Parameters::throw_at, "throw at this batch");
    d.option("announce_at", &Parameters::announce_at, "say in the log that this batch comes next");
    d.option("go_on_with", &Parameters::go_on_with, "then wait until this file is there");
    d.option("milliseconds", &Parameters::milliseconds, "time for each batch");
    d.option("work_per_row", &Parameters::work_per_row, "work units of a row");
    d.option("payload", &Parameters::payload, "unused");
    d.reason("skipped", "never became a row");
  }
  ToySource(const sluice::Setup& setup, const Parameters& p) : p_(p), payload_(setup.wanted("payload")) {}
  bool process(const sluice::Call& call, sluice::Output& out) {
    if (batch_ == p_.throw_at) throw std::runtime_error("the source was told to throw");
    if (batch_ == p_.announce_at) announce(call);
    if (batch_ >= p_.batches) return false;
    wait(p_.milliseconds);
    out.set_rows(p_.rows);
    const auto value = out.column<std::int64_t>("value");
    std::vector<std::string> names;
    for (std::int64_t& v : value) {
      v = next_++;
      names.push_back("n" + std::to_string(v));
    }
    out.text_rows("read_id", names);
    if (payload_) {
      const auto zeros = out.list<float>("payload", out.offsets([](std::int64_t) { return 1000; }));
      std::fill(zeros.begin(), zeros.end(), 0.0F);
    }
    out.set_work(static_cast<double>(p_.rows) * p_.work_per_row);
    return ++batch_ < p_.batches;
  }

 private:
  void announce(const sluice::Call& call) const {
    call.warn("batch " + std::to_string(batch_) + " comes");
    while (!p_.go_on_with.empty() && !std::filesystem::exists(p_.go_on_with) && !call.cancelled()) wait(5);
  }

  Parameters p_;
  bool payload_;
  std::int64_t batch_ = 0, next_ = 0;
};

// Rows 0 to `rows` - 1, of which it can begin at any, or give one of several parts.
class ToyPositions {
 public:
  struct Parameters {
    std::int64_t rows = 100, of_batch = 7;
  };
  static void describe(sluice::Describe<ToyPositions>& d) {
    d.id("toy_positions").summary("counts from anywhere").source("number").positions().parts().gives("value", "i64", "0, 1, 2, ...");
    d.option("rows", &Parameters::rows, "how many");
    d.option("of_batch", &Parameters::of_batch, "rows of each batch");
  }
  ToyPositions(const sluice::Setup& setup, const Parameters& p) : of_batch_(p.of_batch) {
    const auto parts = static_cast<std::int64_t>(setup.parts()), part = static_cast<std::int64_t>(setup.part());
    next_ = p.rows * part / parts;
    end_ = p.rows * (part + 1) / parts;
    if (!setup.begin_at().empty()) next_ = std::stoll(setup.begin_at());
  }
  bool process(const sluice::Call&, sluice::Output& out) {
    out.set_rows(std::min(of_batch_, end_ - next_));
    for (std::int64_t& value : out.column<std::int64_t>("value")) value = next_++;
    return next_ < end_;
  }
  std::string position() const { return std::to_string(next_); }

 private:
  std::int64_t of_batch_, next_ = 0, end_ = 0;
};

// Makes each batch from what came back of the one before: begins where its sums ended.
class ToyAsking {
 public:
  struct Parameters {
    std::int64_t batches = 10, rows = 4, throw_at = -1;
    double deadline = -1;
  };
  static void describe(sluice::Describe<ToyAsking>& d) {
    d.id("toy_asking").summary("goes on where the answer ended").source("number").gives("value", "i64", "");
    d.feedback("number").feedback_needs("sum", "i64", "the answer").feedback_needs("other", "i64", "", sluice::Needed::optional);
    d.option("batches", &Parameters::batches, "how many");
    d.option("rows", &Parameters::rows, "of each");
    d.option("throw_at", &Parameters::throw_at, "throw when this batch comes back");
    d.option("deadline", &Parameters::deadline, "seconds");
  }
  ToyAsking(const sluice::Setup& setup, const Parameters& p) : p_(p), asks_(setup.feedback_sinks() > 0) {}
  bool process(const sluice::Call& call, sluice::Output& out) { return asked_ != p_.batches && ask(call, out); }

 protected:
  bool ask(const sluice::Call& call, sluice::Output& out) {
    {
      std::unique_lock lock(mutex_);
      while (asks_ && answers_ < asked_) {
        if (call.cancelled()) return false;
        came_.wait_for(lock, std::chrono::milliseconds(10));
      }
    }
    ++asked_;
    out.set_rows(p_.rows);
    for (std::int64_t& value : out.column<std::int64_t>("value")) value = next_++;
    if (p_.deadline >= 0) out.set_deadline(p_.deadline);
    call.observe("answers_latency", static_cast<double>(asked_));
    return true;
  }

 public:
  void feedback(const sluice::Call&, const sluice::Batch& in) {
    const std::lock_guard lock(mutex_);
    if (static_cast<std::int64_t>(in.sequence()) != answers_) throw std::logic_error("an answer is missing");
    if (answers_ == p_.throw_at) throw std::runtime_error("the question was told to throw");
    if (in.find("value") != nullptr) throw std::logic_error("a column that nobody asked for");
    next_ = in.column<std::int64_t>("sum").back();
    ++answers_;
    came_.notify_all();
  }

 private:
  Parameters p_;
  bool asks_;
  std::mutex mutex_;  // guards answers_ and next_
  std::condition_variable came_;
  std::int64_t answers_ = 0, next_ = 0, asked_ = 0;
};

// The same as a regroup: one batch for each that it gets, and five at its end.
class ToyAskingRegroup : public ToyAsking {
 public:
  static void describe(sluice::Describe<ToyAskingRegroup>& d) {
    d.id("toy_asking_regroup").summary("asks for each batch").regroup("number", "number").needs("value", "i64", "").gives("value", "i64", "");
    d.feedback("number").feedback_needs("sum", "i64", "the answer");
    d.option("rows", &Parameters::rows, "of each");
  }
  using ToyAsking::ToyAsking;
  void process(const sluice::Call& call, const sluice::Batch&, sluice::Output& out) {
    if (ask(call, out)) out.emit();
  }
  void finish(const sluice::Call& call, sluice::Output& out) {
    for (int i = 0; i < 5 && ask(call, out); ++i) out.emit();
  }
};

class ToyMap {
 public:
  struct Parameters {
    std::int64_t add = 1, throw_at = -1, fail_unless_multiple_of = 0;
    double milliseconds = 0;
    bool jitter = false, forget = false;
  };
  enum class Reason : std::uint32_t { not_a_multiple };
  template <class Stage>
  static void describe_options(sluice::Describe<Stage>& d) {
    d.option("add", &Parameters::add, "added to the value");
    d.option("throw_at", &Parameters::throw_at, "throw at the batch with this sequence number");
    d.option("fail_unless_multiple_of", &Parameters::fail_unless_multiple_of, "other rows fail");
    d.option("milliseconds", &Parameters::milliseconds, "time for each batch");
    d.option("jitter", &Parameters::jitter, "times differ, so that batches overtake each other");
    d.option("forget", &Parameters::forget, "do not give the column");
    d.reason("not_a_multiple", "the value is not a multiple");
  }
  static void describe(sluice::Describe<ToyMap>& d) {
    d.id("toy_map")
        .summary("adds")
        .map("number")
        .needs("value", "i64", "")
        .gives("sum", "i64", "value + add")
        .needs("payload", "list<f32>", "", sluice::Needed::optional);
    describe_options(d);
  }
  ToyMap(const sluice::Setup&, const Parameters& p) : p_(p) {}
  void process(const sluice::Call& call, const sluice::Batch& in, sluice::Output& out) { run(call, in, out, "sum"); }

 protected:
  void run(const sluice::Call& call, const sluice::Batch& in, sluice::Output& out, const char* column) {
    if (static_cast<std::int64_t>(in.sequence()) == p_.throw_at) throw std::runtime_error("the map was told to throw");
    wait(p_.milliseconds * (p_.jitter ? static_cast<double>((in.sequence() * 7919) % 5) : 1.0));
    if (p_.forget) return;
    const auto value = in.column<std::int64_t>("value");
    const auto sum = out.column<std::int64_t>(column);
    call.parallel_for(value.size(), 2, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        if (!in.ok(static_cast<std::int64_t>(i))) continue;
        sum[i] = value[i] + p_.add;
        if (p_.fail_unless_multiple_of > 0 && value[i] % p_.fail_unless_multiple_of != 0)
          out.fail(static_cast<std::int64_t>(i), Reason::not_a_multiple);
      }
    });
  }
  Parameters p_;
};

// Says that a call needs so much memory, and watches how many calls and rows there are at once.
class ToyHungry {
 public:
  struct Parameters {
    std::int64_t scratch = 0;
  };
  static void describe(sluice::Describe<ToyHungry>& d) {
    d.id("toy_hungry").summary("copies, and says that it needs memory").map("number").needs("value", "i64", "").gives("sum", "i64", "value");
    d.option("scratch", &Parameters::scratch, "bytes that it says a thread needs");
  }
  ToyHungry(const sluice::Setup&, const Parameters& p) : p_(p) {}
  sluice::Estimate estimate(const sluice::Batch& in) const {
    sluice::Estimate e;
    e.work = static_cast<double>(in.rows());
    e.largest_row_work = e.work;
    e.scratch_bytes = static_cast<std::uint64_t>(p_.scratch);
    return e;
  }
  void process(const sluice::Call& call, const sluice::Batch& in, sluice::Output& out) {
    call.observe("calls at once", ++calls_);
    const auto value = in.column<std::int64_t>("value");
    const auto sum = out.column<std::int64_t>("sum");
    std::atomic<int> rows{0};
    call.parallel_for(value.size(), 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) {
        call.observe("rows at once", ++rows);
        wait(0.2);
        sum[i] = value[i];
        --rows;
      }
    });
    --calls_;
  }

 private:
  const Parameters p_;
  std::atomic<int> calls_{0};
};

// A second branch with a column of its own, for fan-out and fan-in.
class ToyOther : public ToyMap {
 public:
  static void describe(sluice::Describe<ToyOther>& d) {
    d.id("toy_other").summary("adds into another column").map("number").needs("value", "i64", "").gives("other", "i64", "value + add");
    describe_options(d);
  }
  using ToyMap::ToyMap;
  void process(const sluice::Call& call, const sluice::Batch& in, sluice::Output& out) { run(call, in, out, "other"); }
};

class ToyBlocking : public ToyMap {
 public:
  static void describe(sluice::Describe<ToyBlocking>& d) {
    d.id("toy_blocking")
        .summary("adds, on a thread of its own")
        .map("number")
        .blocking()
        .needs("value", "i64", "")
        .gives("blocked", "i64", "value + add");
    describe_options(d);
  }
  using ToyMap::ToyMap;
  void process(const sluice::Call& call, const sluice::Batch& in, sluice::Output& out) {
    if (inside_.exchange(true)) throw std::logic_error("two calls of a blocking stage at once");
    run(call, in, out, "blocked");
    inside_ = false;
  }

 private:
  std::atomic<bool> inside_{false};
};

class ToySideBySide : public ToyMap {
 public:
  static void describe(sluice::Describe<ToySideBySide>& d) {
    d.id("toy_side_by_side")
        .summary("adds, on threads of its own, where two calls must meet")
        .map("number")
        .blocking()
        .side_by_side()
        .needs("value", "i64", "")
        .gives("blocked", "i64", "value + add");
    describe_options(d);
  }
  using ToyMap::ToyMap;
  void process(const sluice::Call& call, const sluice::Batch& in, sluice::Output& out) {
    if (++inside_ > 1) have_met_ = true;
    for (std::int64_t looks = 0; !have_met_; ++looks) {
      if (looks == 100'000'000) throw std::logic_error("no two calls side by side");
      std::this_thread::yield();
    }
    run(call, in, out, "blocked");
    --inside_;
  }

 private:
  std::atomic<int> inside_{0};
  std::atomic<bool> have_met_{false};
};

// Follows: rows from `there` on wait for what never comes.
class ToyFollowing {
 public:
  struct Parameters {
    bool follow = true;
    std::int64_t there = 0;
  };
  enum class Reason : std::uint32_t { lost, not_needed };
  static void describe(sluice::Describe<ToyFollowing>& d) {
    d.id("toy_following").summary("waits").map("number").blocking().needs("value", "i64", "").gives("found", "i64", "value");
    d.option("follow", &Parameters::follow, "wait");
    d.option("there", &Parameters::there, "so many are there");
    d.reason("lost", "it never came").reason("not_needed", "nobody asks for it any more");
  }
  ToyFollowing(const sluice::Setup&, const Parameters& p) : p_(p) {}
  void process(const sluice::Call& call, const sluice::Batch& in, sluice::Output& out) {
    const auto value = in.column<std::int64_t>("value");
    const auto found = out.column<std::int64_t>("found");
    std::copy(value.begin(), value.end(), found.begin());
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (value[static_cast<std::size_t>(row)] < p_.there) continue;
      while (sluice::follow_state(call) == sluice::FollowState::goes_on) wait(1);
      if (sluice::follow_state(call) == sluice::FollowState::ends)
        out.fail(row, Reason::lost);
      else
        out.filter(row, Reason::not_needed);
    }
  }

 private:
  Parameters p_;
};

// The first rows are enough.
class ToyFirst {
 public:
  struct Parameters {
    std::int64_t rows = 0;
  };
  enum class Reason : std::uint32_t { behind };
  static void describe(sluice::Describe<ToyFirst>& d) {
    d.id("toy_first").summary("takes the first").map("number").ordered();
    d.option("rows", &Parameters::rows, "so many");
    d.uses("constant", "constant", "a resource, of which nothing is done", sluice::Needed::optional);
    d.reason("behind", "they are there");
  }
  ToyFirst(const sluice::Setup&, const Parameters& p) : left_(p.rows) {}
  bool process(const sluice::Call&, const sluice::Batch& in, sluice::Output& out) {
    for (std::int64_t row = 0; row < in.rows(); ++row)
      if (in.ok(row) && left_-- <= 0) out.filter(row, Reason::behind);
    return left_ > 0;
  }

 private:
  std::int64_t left_;
};

// Keeps the sum of all values so far: wrong as soon as a batch is lost, repeated, overtaken or given to two threads at once.
class ToyRunningSum : public ToyMap {
 public:
  static void describe(sluice::Describe<ToyRunningSum>& d) {
    d.id("toy_running_sum").summary("adds up").map("number").ordered().needs("value", "i64", "").gives("running", "i64", "sum of all values so far");
    describe_options(d);
  }
  ToyRunningSum(const sluice::Setup& setup, const Parameters& p) : ToyMap(setup, p) {
    if (setup.saved().empty()) return;
    sluice::StateReader state(setup.saved().front());
    expected_ = state.value<std::uint64_t>();
    sum_ = state.value<std::int64_t>();
  }
  void save(const sluice::Call&, sluice::StateWriter& to) const {
    if (inside_) throw std::logic_error("an ordered stage was asked for its state while it was called");
    to.value(expected_);
    to.value(sum_);
  }
  void process(const sluice::Call&, const sluice::Batch& in, sluice::Output& out) {
    if (inside_.exchange(true)) throw std::logic_error("two calls of an ordered stage at once");
    if (in.sequence() != expected_++) throw std::logic_error("an ordered stage got its batches out of order");
    if (static_cast<std::int64_t>(in.sequence()) == p_.throw_at) throw std::runtime_error("the running sum was told to throw");
    wait(p_.milliseconds);
    const auto running = out.column<std::int64_t>("running");
    for (std::size_t i = 0; i < running.size(); ++i) running[i] = sum_ += in.column<std::int64_t>("value")[i];
    inside_ = false;
  }

 private:
  std::atomic<bool> inside_{false};
  std::uint64_t expected_ = 0;
  std::int64_t sum_ = 0;
};

// Pairs of rows become one; what is left comes at the end.
class ToyRegroup {
 public:
  struct Parameters {
    bool throw_at_end = false;
    std::int64_t keeps = 0;
  };
  static void describe(sluice::Describe<ToyRegroup>& d) {
    d.id("toy_regroup").summary("adds up pairs").regroup("number", "pair").needs("sum", "i64", "").gives("total", "i64", "");
    d.option("throw_at_end", &Parameters::throw_at_end, "throw in finish");
    d.option("keeps", &Parameters::keeps, "bytes that it says it keeps");
  }
  ToyRegroup(const sluice::Setup& setup, const Parameters& p) : p_(p) {
    if (setup.saved().empty()) return;
    sluice::StateReader state(setup.saved().front());
    expected_ = state.value<std::uint64_t>();
    held_ = state.value<std::int64_t>();
    open_ = state.value<std::uint8_t>() != 0;
  }
  void save(const sluice::Call&, sluice::StateWriter& to) const {
    to.value(expected_);
    to.value(held_);
    to.value(static_cast<std::uint8_t>(open_ ? 1 : 0));
  }
  void process(const sluice::Call& call, const sluice::Batch& in, sluice::Output& out) {
    if (p_.keeps > 0) call.keeps(static_cast<std::uint64_t>(p_.keeps));
    if (in.sequence() != expected_++) throw std::logic_error("a regroup stage got its batches out of order");
    const auto sum = in.column<std::int64_t>("sum");
    std::vector<std::int64_t> totals;
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row)) continue;
      if (open_) totals.push_back(held_ + sum[static_cast<std::size_t>(row)]);
      held_ = sum[static_cast<std::size_t>(row)];
      open_ = !open_;
    }
    if (!totals.empty()) give(out, totals);
  }
  void finish(const sluice::Call&, sluice::Output& out) {
    if (p_.throw_at_end) throw std::runtime_error("the regroup was told to throw");
    if (open_) give(out, {held_});
  }

 private:
  static void give(sluice::Output& out, const std::vector<std::int64_t>& totals) {
    out.set_rows(static_cast<std::int64_t>(totals.size()));
    std::copy(totals.begin(), totals.end(), out.column<std::int64_t>("total").begin());
    out.emit();
  }
  Parameters p_;
  std::uint64_t expected_ = 0;
  bool open_ = false;
  std::int64_t held_ = 0;
};

// The first, the sum and the last of all values.
class ToySpread {
 public:
  struct Parameters {
    bool early = false;
  };
  static void describe(sluice::Describe<ToySpread>& d) {
    d.id("toy_spread").summary("first, sum and last").regroup("number", "pair").sums().needs("sum", "i64", "").gives("total", "i64", "");
    d.option("early", &Parameters::early, "give the first as soon as it is there");
  }
  ToySpread(const sluice::Setup& setup, const Parameters& p) : p_(p) {
    for (const std::string_view saved : setup.saved()) {
      sluice::StateReader state(saved);
      const auto count = state.value<std::int64_t>(), first = state.value<std::int64_t>(), sum = state.value<std::int64_t>(),
                 last = state.value<std::int64_t>();
      if (count > 0 && count_ == 0) first_ = first;
      if (count > 0) last_ = last;
      count_ += count;
      sum_ += sum;
    }
  }
  void save(const sluice::Call&, sluice::StateWriter& to) const {
    for (const std::int64_t value : {count_, first_, sum_, last_}) to.value(value);
  }
  void process(const sluice::Call&, const sluice::Batch& in, sluice::Output& out) {
    const auto sum = in.column<std::int64_t>("sum");
    for (std::int64_t row = 0; row < in.rows(); ++row) {
      if (!in.ok(row)) continue;
      const std::int64_t value = sum[static_cast<std::size_t>(row)];
      if (count_++ == 0) first_ = value;
      last_ = value;
      sum_ += value;
    }
    if (p_.early) give(out, {first_});
  }
  void finish(const sluice::Call&, sluice::Output& out) { give(out, {first_, sum_, last_}); }

 private:
  static void give(sluice::Output& out, const std::vector<std::int64_t>& totals) {
    out.set_rows(static_cast<std::int64_t>(totals.size()));
    std::copy(totals.begin(), totals.end(), out.column<std::int64_t>("total").begin());
    out.emit();
  }
  Parameters p_;
  std::int64_t count_ = 0, first_ = 0, sum_ = 0, last_ = 0;
};

// Takes all rows, and gives a part of their sums.
class ToyPartOfAll {
 public:
  using Parameters = sluice::NoParameters;
  static void describe(sluice::Describe<ToyPartOfAll>& d) {
    d.id("toy_part_of_all").summary("a part of all").regroup("number", "pair").parts().needs("sum", "i64", "").gives("total", "i64", "");
  }
  ToyPartOfAll(const sluice::Setup& setup, const Parameters&) : part_(setup.part()), parts_(setup.parts()) {}
  void process(const sluice::Call&, const sluice::Batch& in, sluice::Output&) {
    const auto sum = in.column<std::int64_t>("sum");
    for (std::int64_t row = 0; row < in.rows(); ++row)
      if (in.ok(row)) all_.push_back(sum[static_cast<std::size_t>(row)]);
  }
  void finish(const sluice::Call&, sluice::Output& out) {
    const std::size_t begin = all_.size() * part_ / parts_, end = all_.size() * (part_ + 1) / parts_;
    out.set_rows(static_cast<std::int64_t>(end - begin));
    std::copy(all_.begin() + static_cast<std::ptrdiff_t>(begin), all_.begin() + static_cast<std::ptrdiff_t>(end),
              out.column<std::int64_t>("total").begin());
    out.emit();
  }

 private:
  std::size_t part_, parts_;
  std::vector<std::int64_t> all_;
};

// Makes more than it gets: batches of 100 payloads (400 kB) for each of its input, and at the end.
class ToyExpand {
 public:
  struct Parameters {
    std::int64_t per_batch = 0, at_end = 0;
  };
  static void describe(sluice::Describe<ToyExpand>& d) {
    d.id("toy_expand").summary("makes much of little").regroup("number", "number").needs("value", "i64", "");
    d.gives("value", "i64", "0, 1, 2, ...").gives("payload", "list<f32>", "1,000 zeros");
    d.option("per_batch", &Parameters::per_batch, "batches made of each batch");
    d.option("at_end", &Parameters::at_end, "batches made at the end");
  }
  ToyExpand(const sluice::Setup&, const Parameters& p) : p_(p) {}
  void process(const sluice::Call&, const sluice::Batch&, sluice::Output& out) { give(out, p_.per_batch); }
  void finish(const sluice::Call&, sluice::Output& out) { give(out, p_.at_end); }

 private:
  void give(sluice::Output& out, std::int64_t batches) {
    for (; batches > 0; --batches) {
      out.set_rows(100);
      for (std::int64_t& value : out.column<std::int64_t>("value")) value = next_++;
      const auto zeros = out.list<float>("payload", out.offsets([](std::int64_t) { return 1000; }));
      std::fill(zeros.begin(), zeros.end(), 0.0F);
      out.emit();
    }
  }
  Parameters p_;
  std::int64_t next_ = 0;
};

// Writes one column, a line a row, failed rows as '-'.
class ToySink {
 public:
  struct Parameters {
    std::string column = "sum";
    sluice::Path output;
    double milliseconds = 0;
    std::int64_t throw_at = -1;
    bool skip_failed = false;
    std::string header;
    std::int64_t state_mib = 0;
  };
  static void describe(sluice::Describe<ToySink>& d) {
    d.id("toy_sink").summary("writes numbers").sink("*").concatenates();
    for (const char* column : {"sum", "other", "blocked", "total", "worked", "worked_again", "running", "found"})
      d.needs(column, "i64", "", sluice::Needed::optional);
    d.option("column", &Parameters::column, "what to write");
    d.option("output", &Parameters::output, "file").required();
    d.option("milliseconds", &Parameters::milliseconds, "time for each batch");
    d.option("throw_at", &Parameters::throw_at, "throw at the batch with this sequence number");
    d.option("skip_failed", &Parameters::skip_failed, "no line for failed rows");
    d.option("header", &Parameters::header, "the first line");
    d.option("state_mib", &Parameters::state_mib, "MiB of a state that takes no memory");
  }
  ToySink(const sluice::Setup& setup, const Parameters& p) : p_(p), file_(setup, p.output) {
    if (p.header.empty() || !setup.saved().empty()) return;
    file_.write(p.header + "\n");
    file_.header(p.header.size() + 1);
  }
  void process(const sluice::Call&, const sluice::Batch& in, sluice::Output& out) {
    std::vector<std::string> lines(static_cast<std::size_t>(in.rows()));
    const auto values = in.column<std::int64_t>(p_.column);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (in.ok(static_cast<std::int64_t>(i)))
        lines[i] = std::to_string(values[i]) + "\n";
      else if (!p_.skip_failed)
        lines[i] = "-\n";
    }
    out.text_rows("_line", lines);
  }
  void commit(const sluice::Call&, const sluice::Batch& in) {
    if (static_cast<std::int64_t>(in.sequence()) == p_.throw_at) throw sluice::Failure::output("the sink was told to throw");
    wait(p_.milliseconds);
    for (std::int64_t row = 0; row < in.rows(); ++row) file_.write(in.text("_line")[row]);
  }
  void save(const sluice::Call&, sluice::StateWriter& to) const {  // all is in the file
    static const std::string mebibyte(std::size_t{1} << 20, '*');
    for (std::int64_t i = 0; i < p_.state_mib; ++i) to.text(mebibyte);
  }
  void finish(const sluice::Call&, sluice::Output&) { file_.close(); }

 private:
  Parameters p_;
  sluice::OutputFile file_;
};

class ToyResource {
 public:
  struct Parameters {
    std::int64_t value = 7;
    bool fail = false;
  };
  static void describe(sluice::Describe<ToyResource>& d) {
    d.id("toy_resource").summary("one number").resource("constant").gives("value", "i64", "");
    d.option("value", &Parameters::value, "the number");
    d.option("fail", &Parameters::fail, "fail");
  }
  ToyResource(const sluice::Setup&, const Parameters& p) : p_(p) {}
  void process(const sluice::Call&, sluice::Output& out) {
    if (p_.fail) throw sluice::Failure::input("the resource was told to fail", "do not tell it");
    out.set_rows(1);
    out.column<std::int64_t>("value")[0] = p_.value;
  }

 private:
  Parameters p_;
};

}  // namespace

SLUICE_PLUGIN("toy_stages", "1.0.0", "MIT", ToySource, ToyPositions, ToyAsking, ToyAskingRegroup, ToyMap, ToyOther, ToyHungry, ToyBlocking,
              ToySideBySide, ToyFollowing, ToyFirst, ToyRunningSum, ToyRegroup, ToySpread, ToyPartOfAll, ToyExpand, ToySink, ToyResource);
