// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// contract_problems: what every stage has to keep, checked from outside.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sluice/testing/contract.hpp>
#include <sluice/testing/kept_memory.hpp>
#include <sluice/testing/restarts.hpp>
#include <sluice/testing/sources.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "testing/contract_case.hpp"
#include "testing/differences.hpp"
#include "testing/made_up_rows.hpp"
#include "testing/test_host.hpp"
#include "testing/whole_descriptor.hpp"

namespace sluice::testing {

namespace {

class ContractSuite {
 public:
  ContractSuite(StageUnderTest stage, const ContractSample* sample) : stage_(std::move(stage)), has_sample_(sample != nullptr) {
    if (sample != nullptr) sample_ = *sample;
  }

  // Each begins with the stage's id.
  std::vector<std::string> problems() {
    problems_ = detail::whole_descriptor_problems(*stage_.descriptor);
    if (problems_.empty() && can_run()) run_cases();
    const char* const id = stage_.descriptor->id;
    for (std::string& text : problems_) text.insert(0, std::string(id == nullptr ? "a stage without an id" : id) + ": ");
    return std::move(problems_);
  }

 private:
  void run_cases() {
    const sluice_stage_kind kind = stage_.descriptor->kind;
    const bool has_input = kind == SLUICE_MAP || kind == SLUICE_REGROUP || kind == SLUICE_SINK;
    if (has_input) apart("made-up rows", [&] { check_made_up_rows(); });
    if (has_input && sample_.batches.empty()) return;
    // The others compare with this run, so that it has to come back; in a process of its own it is seen whether it does.
    const std::size_t before = problems_.size();
    apart("sample", [&] { check_sample(); });
    const Result whole = problems_.size() == before ? run().run() : Result();
    if (problems_.size() != before || !whole.ok()) return;
    apart("second run", [&] { expect_same(whole, run()); });
    apart("four threads", [&] { expect_same(whole, run().threads(4)); });
    apart("no optional column wanted", [&] { check_unwanted(whole); });
    if (has_input)
      check_cuts_and_failures(whole);
    else
      apart("other batch size", [&] { expect_same(whole, run().target_work(1).target_bytes(1)); });
    if (kind == SLUICE_SOURCE) apart("positions and parts", [&] { check_beginnings(); });
    apart("cancelled", [&] { check_cancelling(); });
    apart("no memory", [&] { check_lack_of_memory(); });
    apart("disk full", [&] { check_full_disk(whole); });
    if (has_input) apart("ended and resumed", [&] { check_restarts(); });
    for (std::size_t i = 0; i < stage_.descriptor->parameter_count; ++i)
      if (!names_columns(i)) apart("parameter '" + std::string(stage_.descriptor->parameters[i].name) + "'", [&] { check_parameter_limits(i); });
    for (const sluice_device_provider* provider : sample_.devices) check_device(*provider, whole);
  }

  void problem(const std::string& text) { problems_.push_back(text); }
  // Each once.
  void problem_of(const std::string& what, const std::vector<std::string>& found) {
    for (auto text = found.begin(); text != found.end(); ++text)
      if (std::find(found.begin(), text, *text) == text) problem(what + ": " + *text);
  }

  // A case in a process of its own.
  template <class Body>
  void apart(const std::string& what, const Body& body) {
    problem_of(what, detail::run_apart(sample_.seconds_a_case, [&] {
                 problems_.clear();
                 body();
                 return problems_;
               }));
  }
  // A case in this process.
  template <class Body>
  void here(const std::string& what, const Body& body) {
    const detail::NamedCase named(std::string(stage_.descriptor->id) + ": " + what, sample_.seconds_a_case);
    std::vector<std::string> before = std::exchange(problems_, {});
    body();
    const std::vector<std::string> found = std::exchange(problems_, std::move(before));
    problem_of(what, found);
  }

  bool can_run() const {
    const sluice_stage_descriptor& d = *stage_.descriptor;
    for (std::size_t i = 0; i < d.parameter_count; ++i)
      if (d.parameters[i].required != 0 && !sample_.parameters.contains(d.parameters[i].name)) return false;
    for (std::size_t i = 0; i < d.resource_count; ++i)
      if (d.resources[i].optional == 0 && !sample_.resources.contains(d.resources[i].name)) return false;
    return d.implementation_count == 0 || std::string_view(d.implementations[0].device) == "cpu";
  }
  std::vector<TestBatch> single_rows() const {
    std::vector<TestBatch> single;
    for (const TestBatch& batch : sample_.batches)
      for (std::int64_t row = 0; row < batch.rows(); ++row) single.push_back(batch.rows(row, row + 1).with_sequence(single.size()));
    return single;
  }
  StageRun run() const { return run(sample_.batches); }
  StageRun run(std::vector<TestBatch> batches) const {
    StageRun prepared(stage_, std::move(batches));
    prepared.with(sample_.parameters);
    for (const auto& [slot, batch] : sample_.resources) prepared.resource(slot, batch);
    return prepared;
  }
  // Runs and reports what the host noticed, and memory that outlives everything the run gave.
  Result observed(StageRun prepared) {
    std::shared_ptr<detail::MiniHost> host;
    Result result = prepared.observe(&host).run();
    for (const std::string& text : result.problems) problem(text);
    std::int64_t held = 0;
    for (const TestBatch& batch : result.batches) held += static_cast<std::int64_t>(batch.contents().columns.size());
    if (held == 0 && host->memory.blocks() != 0) problem(std::to_string(host->memory.blocks()) + " blocks of memory were never freed");
    if (result.status == SLUICE_ERROR_INTERNAL) problem(result.message);
    return result;
  }

  void expect_same(const Result& expected, StageRun prepared) {
    const Result actual = observed(std::move(prepared));
    for (const std::string& text : detail::differences(*stage_.descriptor, expected, actual)) problem(text);
  }
  // Any of these statuses will do, or none.
  void expect_end(const Result& result, sluice_status status) {
    if (!result.ok() && result.status != status) problem("status " + std::to_string(result.status) + ": " + result.message);
  }

  // Rows of the declared types whose values fit nothing: they may fail, and so may the call, but not as a bug.
  void check_made_up_rows() {
    for (std::uint32_t seed = 1; seed <= 8; ++seed) {
      detail::about_to_try("seed " + std::to_string(seed));
      const Result result = observed(run({made_up_rows(stage_.descriptor->input.row_type, input_columns(), 5, seed)}));
      if (result.status == SLUICE_ERROR_CANCELLED) problem("cancelled without being asked");
    }
  }

  // Without a sample a stage may refuse to start.
  void check_sample() {
    const Result whole = observed(run());
    if (!whole.ok() && has_sample_ && whole.status != SLUICE_ERROR_INTERNAL) problem(whole.message);
  }

  void check_unwanted(const Result& whole) {
    const Result without = observed(run().wanted({}));
    if (!without.ok()) return problem(without.message);
    if (without.rows() != whole.rows()) problem("other rows");
  }

  void check_beginnings() {
    for (const double work : {1.0, 1e6}) {
      const auto prepare = [&](const StageUnderTest& source) {
        StageRun prepared(source, {});
        prepared.with(sample_.parameters).target_work(work);
        for (const auto& [slot, batch] : sample_.resources) prepared.resource(slot, batch);
        return prepared;
      };
      for (const std::string& text : source_problems(stage_, prepare)) problem(text);
    }
  }

  void check_cuts_and_failures(const Result& whole) {
    const std::vector<TestBatch> single = single_rows();
    apart("empty batch", [&] { check_empty_batch(); });
    apart("one row a batch", [&] { expect_same(whole, run(single)); });
    apart("one row a batch, four at once", [&] { expect_same(whole, run(single).threads(4)); });
    apart("all rows failed", [&] { check_all_failed(); });
    // What other rows make of a row is the business of regroups, and of maps that keep state.
    const bool is_alone = stage_.descriptor->kind != SLUICE_REGROUP && (stage_.descriptor->traits & SLUICE_TRAIT_ORDERED) == 0;
    if (!is_alone || single.empty()) return;
    apart("every other row failed", [&] { check_half_failed(whole, single); });
    apart("rows alone and behind the largest one", [&] { check_kept_memory(); });
  }
  void check_empty_batch() {
    const Result empty = observed(run({sample_.batches.front().rows(0, 0)}));
    if (!empty.ok()) problem(empty.message);
    if (empty.rows() != 0 && (stage_.descriptor->traits & SLUICE_TRAIT_ROWS_WITHOUT_INPUT) == 0)
      problem("rows came out of none; a regroup for which that is right says so with rows_without_input()");
    // It counts as if it had not been there.
    if (stage_.descriptor->kind == SLUICE_REGROUP) expect_same(empty, run({}));
  }
  void check_all_failed() {
    std::vector<TestBatch> failed;
    for (const TestBatch& batch : sample_.batches) failed.push_back(batch.all_failed());
    const Result result = observed(run(failed));
    if (!result.ok()) problem(result.message);
    if (!result.failed.empty()) problem("the stage failed them again");
  }
  void check_half_failed(const Result& whole, std::vector<TestBatch> single) {
    for (std::size_t row = 0; row < single.size(); row += 2) single[row] = single[row].all_failed();
    const Result half = observed(run(single));
    if (!half.ok()) return problem(half.message);
    const std::vector<std::string> expected = detail::rows_of(*stage_.descriptor, whole), actual = detail::rows_of(*stage_.descriptor, half);
    for (std::size_t row = 1; row < std::min(expected.size(), actual.size()); row += 2)
      if (expected[row] != actual[row]) return problem("row " + std::to_string(row) + " differs");
    // The same rows failed among others in one batch: what comes of those is the same, to the byte.
    std::vector<TestBatch> mixed;
    std::size_t next = 0;
    for (const TestBatch& batch : sample_.batches) {
      TestBatch::Contents contents = batch.contents();
      for (std::uint16_t& status : contents.status)
        if (next++ % 2 == 0) status = 1;
      mixed.emplace_back(std::move(contents));
    }
    expect_same(half, run(std::move(mixed)));
  }
  void check_kept_memory() {
    const auto names = [](const TestBatch& batch) {
      std::set<std::string> all;
      for (const TestBatch::Column& column : batch.contents().columns) all.insert(column.name);
      return all;
    };
    // A row alone has to have the columns that it has among the others.
    ContractSample alike = sample_;
    std::erase_if(alike.batches, [&](const TestBatch& batch) { return names(batch) != names(sample_.batches.front()); });
    std::optional<TestBatch> largest;
    std::size_t largest_bytes = 0;
    for (const TestBatch& batch : alike.batches)
      for (std::int64_t row = 0; row < batch.rows(); ++row) {
        if (!batch.ok(row)) continue;
        std::size_t bytes = 0;
        for (const TestBatch::Column& column : batch.contents().columns) bytes += batch.cell(column, row).size();
        if (largest && bytes <= largest_bytes) continue;
        largest = batch.rows(row, row + 1);
        largest_bytes = bytes;
      }
    if (!largest) return;
    for (const std::string& text : kept_memory_problems(stage_, alike, *largest)) problem(text);
  }

  void check_cancelling() {
    for (const std::int64_t checks : {0, 1, 3}) expect_end(observed(run().cancel_after(checks)), SLUICE_ERROR_CANCELLED);
  }
  void check_lack_of_memory() {
    for (const std::int64_t allocations : {0, 1, 2, 3, 5, 8, 13}) {
      detail::about_to_try(std::to_string(allocations) + " allocations");
      expect_end(observed(run().memory_for(allocations)), SLUICE_ERROR_MEMORY);
    }
  }
  void check_full_disk(const Result& whole) {
    std::uint64_t largest = 0;
    for (const auto& [path, bytes] : whole.files) largest = std::max<std::uint64_t>(largest, bytes.size());
    if (largest == 0) return;
    std::shared_ptr<detail::MiniHost> host;
    const Result full = run().file_capacity(largest / 2).observe(&host).run();
    if (host->files.wrote_beyond_capacity() && full.status != SLUICE_ERROR_OUTPUT)
      problem("status " + std::to_string(full.status) + ": " + full.message);
  }

  // Ended and resumed behind any row, and, of those that say so, put together of parts.
  void check_restarts() {
    std::vector<TestBatch> single = single_rows();
    constexpr std::size_t most_restarts = 40;
    if (single.size() > most_restarts) single = sample_.batches;
    for (const std::string& text : restart_problems(run(std::move(single)))) problem(text);
  }

  // The same bytes as on the CPU; and when the device is full, the status that makes the host try again elsewhere. Drivers of devices do not
  // outlive a fork: these cases run here.
  void check_device(const sluice_device_provider& provider, const Result& whole) {
    const std::string what = std::string("on ") + provider.kind;
    const TestBatch& first = sample_.batches.front();
    const auto expect_ok = [&](const Result& result) {
      if (!result.ok()) problem(result.message);
    };
    here(what, [&] { expect_same(whole, run().device(provider)); });
    here(what + ", empty batch", [&] { expect_ok(observed(run({first.rows(0, 0)}).device(provider))); });
    here(what + ", all rows failed", [&] { expect_ok(observed(run({first.all_failed()}).device(provider))); });
    here(what + ", one row a batch", [&] { expect_same(whole, run(single_rows()).device(provider)); });
    here(what + ", device full", [&] {
      for (const std::int64_t allocations : {0, 1, 2, 3, 5, 8})
        expect_end(observed(run().device(provider).device_memory_for(allocations)), SLUICE_ERROR_DEVICE_MEMORY);
    });
  }

  // The ends of each parameter's range, or absurd values where it has none: any refusal will do, but not a bug.
  void check_parameter_limits(std::size_t index) {
    const sluice_parameter& p = stage_.descriptor->parameters[index];
    const bool bounded = p.minimum != 0 || p.maximum != 0;
    std::vector<Text> values;
    if (p.type == SLUICE_BOOL) values = {true, false};
    if (p.type == SLUICE_INT || p.type == SLUICE_SIZE) {
      if (bounded)
        values = {static_cast<std::int64_t>(p.minimum), static_cast<std::int64_t>(std::min(p.maximum, 9e18))};
      else
        values = {std::numeric_limits<std::int64_t>::max(), std::numeric_limits<std::int64_t>::min(), 0};
    }
    if (p.type == SLUICE_FLOAT) values = bounded ? std::vector<Text>{p.minimum, p.maximum} : std::vector<Text>{0.0, -1e300, 1e300};
    if (p.type == SLUICE_CHOICE)
      for (const char* const* choice = p.choices; *choice != nullptr; ++choice) values.emplace_back(*choice);
    if (p.type == SLUICE_STRING) values = {"", "\xff\n\t%s"};
    for (const Text& value : values) {
      const std::string what = "'" + std::string(value) + "'";
      detail::about_to_try(what);
      const Result result = run().with({{p.name, value}}).at_most_calls(4).run();
      if (result.status == SLUICE_ERROR_INTERNAL) problem(what + ": " + result.message);
      problem_of(what, result.problems);
    }
  }

  // Names and types of the columns that the stage may look at: "*" stands for those of the sample, among which are the ones that its parameters name.
  ColumnTypes input_columns() const {
    ColumnTypes columns;
    const sluice_port& port = stage_.descriptor->input;
    for (std::size_t i = 0; i < port.column_count; ++i) {
      if (std::string_view(port.columns[i].name) != "*")
        columns.emplace_back(port.columns[i].name, port.columns[i].type);
      else if (!sample_.batches.empty())
        for (const TestBatch::Column& column : sample_.batches.front().contents().columns) columns.emplace_back(column.name, column.type);
    }
    return columns;
  }
  // The host compares such names with the columns there are, before there is an instance.
  bool names_columns(std::size_t parameter) const {
    const sluice_stage_descriptor& d = *stage_.descriptor;
    return std::any_of(d.roles, d.roles + d.role_count, [&](const sluice_parameter_role& role) {
      return role.parameter == parameter && (role.role == SLUICE_ROLE_COLUMNS || role.role == SLUICE_ROLE_CONDITION);
    });
  }

  StageUnderTest stage_;
  bool has_sample_;
  ContractSample sample_;
  std::vector<std::string> problems_;  // of the case that runs; else of all
};

}  // namespace

std::vector<std::string> contract_problems(StageUnderTest stage, const ContractSample& sample) {
  return ContractSuite(std::move(stage), &sample).problems();
}

std::vector<std::string> contract_problems(const sluice_plugin_info& plugin, const std::map<std::string, ContractSample>& samples) {
  std::vector<std::string> problems;
  if (plugin.struct_size < sizeof(sluice_plugin_info)) problems.emplace_back("plugin: struct_size is too small");
  for (const char* text : {plugin.name, plugin.version, plugin.licence})
    if (text == nullptr || *text == '\0') problems.emplace_back("plugin: name, version or licence is missing");
  std::set<std::string> ids;
  for (std::size_t i = 0; i < plugin.stage_count; ++i) {
    const sluice_stage_descriptor* const stage = plugin.stage(i);
    if (stage == nullptr || stage->id == nullptr) {
      problems.push_back("plugin: stage " + std::to_string(i) + " has no descriptor, or one without an id");
      continue;
    }
    const std::string id = stage->id;
    if (!ids.insert(id).second) problems.push_back("plugin: two stages are called '" + id + "'");
    const auto sample = samples.find(id);
    const auto found = ContractSuite(stage_of(plugin, id), sample == samples.end() ? nullptr : &sample->second).problems();
    problems.insert(problems.end(), found.begin(), found.end());
  }
  return problems;
}

}  // namespace sluice::testing
