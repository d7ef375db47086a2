// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// What the contract suite sees of stages that do harm: each fault in one case, and the rest of the suite goes on.
#include <doctest/doctest.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <sluice/testing.hpp>
#include <string>
#include <thread>
#include <vector>

using namespace sluice::testing;

namespace {

#ifdef SLUICE_SANITIZED
constexpr bool is_sanitized = true;
#else
constexpr bool is_sanitized = false;
#endif

enum class Harm : std::int64_t {
  none,
  behind_column,       // the element behind the last
  far_behind_column,   // 8 elements further
  in_front_of_column,  // the element before the first
  behind_text,
  behind_offsets,
  behind_failed_row,  // another value where the row in front has failed
  crash,
  abort,
  exit,
  hang,
  crash_in_finish,
  crash_in_create,
  crash_in_estimate
};

// A map that does harm in batches that have more than one row; so "one row a batch" and "empty batch" are fine.
struct Harmful {
  struct Parameters {
    std::int64_t harm = 0;
  };
  static void describe(sluice::Describe<Harmful>& d) {
    d.id("harmful").summary("does harm").doc("Wrong on purpose.").map("row");
    d.needs("number", "f64", "numbers").gives("twice", "f64", "two of it").gives("name", "utf8", "of the number");
    d.option("harm", &Parameters::harm, "which").range(0, 0);
  }
  Harmful(const sluice::Setup&, const Parameters&) {
    if (harm == Harm::crash_in_create) std::raise(SIGSEGV);
  }
  sluice::Estimate estimate(const sluice::Batch& in) const {
    if (harm == Harm::crash_in_estimate) std::raise(SIGSEGV);
    return {static_cast<double>(in.rows()), 1, 0, 0, {}};
  }
  void process(const sluice::Call&, const sluice::Batch& in, sluice::Output& out) {
    const auto numbers = in.column<double>("number");
    const auto twice = out.column<double>("twice");
    std::transform(numbers.begin(), numbers.end(), twice.begin(), [](double number) { return 2 * number; });
    const sluice::Buffer offsets = out.offsets([](std::int64_t) { return 1; });
    const auto name = out.text("name", offsets);
    std::fill(name.begin(), name.end(), 'n');
    if (in.rows() < 2) return;
    double* const end = twice.data() + twice.size();
    if (harm == Harm::behind_column) end[0] = 1;
    if (harm == Harm::far_behind_column) end[8] = 1;
    if (harm == Harm::in_front_of_column) twice.data()[-1] = 1;
    if (harm == Harm::behind_text) name.data()[name.size()] = 'n';
    if (harm == Harm::behind_offsets) offsets.as<std::int64_t>().data()[in.rows() + 1] = in.rows() + 1;
    if (harm == Harm::behind_failed_row)
      for (std::size_t row = 1; row < twice.size(); ++row)
        if (!in.ok(static_cast<std::int64_t>(row) - 1)) twice[row] += 1;
    if (harm == Harm::crash && in.sequence() == 1) std::raise(SIGSEGV);
    if (harm == Harm::abort) std::abort();
    if (harm == Harm::exit) std::exit(3);
    if (harm == Harm::hang)
      for (;;) ::pause();
  }
  void finish(const sluice::Call&, sluice::Output&) {
    if (harm == Harm::crash_in_finish) std::raise(SIGBUS);
  }
  inline static Harm harm = Harm::none;
};

// Windows of a reference without a read.
template <bool says_so>
struct Windows {
  struct Parameters {};
  static void describe(sluice::Describe<Windows>& d) {
    d.id("windows").summary("two windows").doc("Their coverage.").regroup("row", "window").needs("number", "f64", "numbers");
    d.gives("coverage", "i64", "rows that were fine");
    if (says_so) d.rows_without_input();
  }
  void process(const sluice::Call&, const sluice::Batch& in, sluice::Output&) {
    for (std::int64_t row = 0; row < in.rows(); ++row) rows_ += in.ok(row);
  }
  void finish(const sluice::Call&, sluice::Output& out) {
    out.set_rows(2);
    out.template column<std::int64_t>("coverage")[1] = rows_;
    out.emit();
  }
  std::int64_t rows_ = 0;
};

// Gives reads without saying how long they are.
struct Uncounted {
  struct Parameters {};
  static void describe(sluice::Describe<Uncounted>& d) {
    d.id("uncounted").summary("three rows").doc("Of a base each.").source("row").work_unit("base").gives("letter", "utf8", "a base");
  }
  bool process(const sluice::Call&, sluice::Output& out) {
    out.set_rows(3);
    out.text_rows("letter", std::vector<std::string>{"A", "C", "G"});
    return false;
  }
};

TestBatch numbers() { return BatchBuilder("row", 3).column<double>("number", {1, 2, 3}).build(); }

std::vector<std::string> problems_with(Harm harm) {
  Harmful::harm = harm;
  std::vector<std::string> problems = contract_problems<Harmful>({.batches = {numbers(), numbers().with_sequence(1)}});
  Harmful::harm = Harm::none;
  return problems;
}

bool any_begins(const std::vector<std::string>& lines, const std::string& beginning) {
  return std::any_of(lines.begin(), lines.end(), [&](const std::string& line) { return line.starts_with(beginning); });
}
std::string all(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

struct Spelling {
  const char* id = "spelled";
  const char* column = "column";
  const char* parameter = "parameter";
  const char* reason = "reason";
  const char* row_type = "row";
};
std::vector<std::string> problems_of(const Spelling& spelled) {
  const sluice_column_spec needs[] = {{"number", "f64", 0, "numbers"}}, gives[] = {{spelled.column, "f64", 0, "a column"}};
  sluice_parameter parameter{};
  parameter.name = spelled.parameter;
  parameter.type = SLUICE_INT;
  parameter.help = parameter.unit = "a number";
  const sluice_reason reason{spelled.reason, "why"};
  const sluice_implementation implementation{"cpu", "none"};
  sluice_stage_descriptor d{};
  d.struct_size = sizeof d;
  d.id = spelled.id;
  d.summary = d.doc = d.work_unit = "words";
  d.kind = SLUICE_MAP;
  d.input = {spelled.row_type, 1, sizeof needs[0], needs};
  d.output = {spelled.row_type, 1, sizeof gives[0], gives};
  d.parameter_count = d.reason_count = d.implementation_count = 1;
  d.parameter_stride = sizeof parameter, d.parameters = &parameter;
  d.reason_stride = sizeof reason, d.reasons = &reason;
  d.implementation_stride = sizeof implementation, d.implementations = &implementation;
  const auto refuse = [](const sluice_create_args*, sluice_stage*, sluice_error* error) -> sluice_status {
    return sluice::detail::fill(error, SLUICE_ERROR_USAGE, "no instances", ""), SLUICE_ERROR_USAGE;
  };
  return contract_problems({&d, refuse}, {});
}

}  // namespace

TEST_CASE("A stage that does no harm has no problems") {
  const std::vector<std::string> problems = problems_with(Harm::none);
  CHECK_MESSAGE(problems.empty(), all(problems));
}

TEST_CASE("What is written outside of a column is found and named") {
  const struct {
    Harm harm;
    const char* problem;
  } cases[] = {
      {Harm::behind_column, "harmful: sample: column 'twice': 24 bytes of memory: what lies behind them was overwritten, at byte 24"},
      {Harm::far_behind_column, "harmful: sample: column 'twice': 24 bytes of memory: what lies behind them was overwritten, at byte 88"},
      {Harm::in_front_of_column, "harmful: sample: column 'twice': 24 bytes of memory: what lies in front of them was overwritten, at byte -8"},
      {Harm::behind_text, "harmful: sample: column 'name': 3 bytes of memory: what lies behind them was overwritten, at byte 3"},
      {Harm::behind_offsets, "harmful: sample: offsets of column 'name': 32 bytes of memory: what lies behind them was overwritten, at byte 32"},
  };
  for (const auto& [harm, problem] : cases) {
    const std::vector<std::string> problems = problems_with(harm);
    const std::string expected = is_sanitized ? "harmful: sample: " : problem;  // a sanitizer ends the case where it happens
    INFO(all(problems));
    CHECK_MESSAGE(any_begins(problems, expected), expected);
  }
}

TEST_CASE("A row that is another one behind a failed row of its batch is found") {
  const std::vector<std::string> problems = problems_with(Harm::behind_failed_row);
  INFO(all(problems));
  CHECK(any_begins(problems, "harmful: every other row failed: "));
}

TEST_CASE("A case that crashes is told with stage, case, function and batch") {
  if (is_sanitized) return;  // sanitizers end a process that crashes in their own way
  std::vector<std::string> problems = problems_with(Harm::crash);
  INFO(all(problems));
  CHECK(any_begins(problems, "harmful: sample: crashed in process() of batch 1: SIGSEGV (Segmentation fault)"));
  problems = problems_with(Harm::abort);
  INFO(all(problems));
  CHECK(any_begins(problems, "harmful: sample: crashed in process() of batch 0: SIGABRT (Aborted)"));
  CHECK(any_begins(problems, "harmful: made-up rows: crashed in process() of batch 0 with seed 1: SIGABRT"));
  CHECK(any_begins(problems_with(Harm::crash_in_finish), "harmful: sample: crashed in finish(): SIGBUS (Bus error)"));
  CHECK(any_begins(problems_with(Harm::crash_in_create), "harmful: sample: crashed in create(): SIGSEGV"));
  CHECK(any_begins(problems_with(Harm::crash_in_estimate), "harmful: sample: crashed in estimate() of batch 0: SIGSEGV"));
}

TEST_CASE("A case that ends the process, or never ends, is told") {
  CHECK(any_begins(problems_with(Harm::exit), "harmful: sample: ended the process in process() of batch 0 with exit code 3"));
  Harmful::harm = Harm::hang;
  const std::vector<std::string> problems = contract_problems<Harmful>({.batches = {numbers()}, .seconds_a_case = 0.2});
  Harmful::harm = Harm::none;
  INFO(all(problems));
  CHECK(any_begins(problems, "harmful: made-up rows: was not over after 0.2 s in process() of batch 0 with seed 1"));
  CHECK(any_begins(problems, "harmful: sample: was not over after 0.2 s in process() of batch 0"));
}

TEST_CASE("A regroup gives rows where none came in if it says so") {
  const std::vector<std::string> problems = contract_problems<Windows<true>>({.batches = {numbers()}});
  CHECK_MESSAGE(problems.empty(), all(problems));
  CHECK(any_begins(contract_problems<Windows<false>>({.batches = {numbers()}}), "windows: empty batch: rows came out of none"));
}

TEST_CASE("A source that counts bases says how many each batch has") {
  CHECK(any_begins(contract_problems<Uncounted>(), "uncounted: sample: a batch without set_work(), of a source that counts bases"));
}

TEST_CASE("Ids, names and codes are snake_case") {
  CHECK(problems_of({}).empty());
  CHECK(any_begins(problems_of({.id = "Read Composition!"}), "Read Composition!: stage 'Read Composition!' is not snake_case"));
  CHECK(any_begins(problems_of({.id = ""}), ": a stage without a name"));
  CHECK(any_begins(problems_of({.id = "2nd"}), "2nd: stage '2nd' is not snake_case"));
  CHECK(any_begins(problems_of({.column = "GC content"}), "spelled: output column 'GC content' is not snake_case"));
  CHECK(any_begins(problems_of({.parameter = "min-quality"}), "spelled: parameter 'min-quality' is not snake_case"));
  CHECK(any_begins(problems_of({.reason = "too short"}), "spelled: reason 'too short' is not snake_case"));
  CHECK(any_begins(problems_of({.row_type = "r\xC3\xA9sum\xC3\xA9"}), "spelled: row type 'r\xC3\xA9sum\xC3\xA9' is not snake_case"));
}
