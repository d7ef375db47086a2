// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// contract_problems: what every stage has to keep, checked from outside.

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <sluice/testing/contract.hpp>
#include <sluice/testing/restarts.hpp>
#include <sluice/testing/sources.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "testing/differences.hpp"
#include "testing/made_up_rows.hpp"
#include "testing/test_host.hpp"

namespace sluice::testing {

namespace {

class ContractSuite {
 public:
  ContractSuite(StageUnderTest stage, const ContractSample* sample) : stage_(std::move(stage)), has_sample_(sample != nullptr) {
    if (sample != nullptr) sample_ = *sample;
  }

  std::vector<std::string> problems() {
    check_descriptor();
    if (!problems_.empty() || !can_run()) return problems_;
    const bool has_input =
        stage_.descriptor->kind == SLUICE_MAP || stage_.descriptor->kind == SLUICE_REGROUP || stage_.descriptor->kind == SLUICE_SINK;
    if (has_input) check_made_up_rows();
    if (has_input && sample_.batches.empty()) return problems_;
    const Result whole = observed("sample", run());
    if (!whole.ok() && !has_sample_ && whole.status != SLUICE_ERROR_INTERNAL) return problems_;  // it refuses to start with nothing
    if (!whole.ok()) return problem("sample: " + whole.message), problems_;
    expect_same("second run", whole, observed("second run", run()));
    expect_same("four threads", whole, observed("four threads", run().threads(4)));
    check_unwanted(whole);
    if (has_input)
      check_cuts_and_failures(whole);
    else
      expect_same("other batch size", whole, observed("other batch size", run().target_work(1).target_bytes(1)));
    if (stage_.descriptor->kind == SLUICE_SOURCE) check_beginnings();
    check_interruptions(whole);
    if (has_input) check_restarts();
    check_parameter_limits();
    for (const sluice_device_provider* provider : sample_.devices) check_device(*provider, whole);
    return problems_;
  }

 private:
  void problem(const std::string& text) { problems_.push_back(std::string(stage_.descriptor->id) + ": " + text); }

  // ---- descriptor
  static bool is_snake_case(const char* text) {
    if (text == nullptr || *text == '\0') return false;
    for (const char* c = text; *c != '\0'; ++c)
      if (!((*c >= 'a' && *c <= 'z') || *c == '_' || (c != text && *c >= '0' && *c <= '9'))) return false;
    return true;
  }
  static bool is_column_type(std::string_view type) {
    bool in_list = false;
    if (type.starts_with("list<") && type.ends_with(">")) {
      type = type.substr(5, type.size() - 6);
      in_list = true;
    }
    return std::any_of(std::begin(element_types), std::end(element_types),
                       [&](const ElementType& e) { return type == e.name && !(in_list && type == "binary"); });
  }
  static bool is_empty(const char* text) { return text == nullptr || *text == '\0'; }
  enum class Doc { needed, left_to_the_giver };
  void check_name(std::set<std::string>& seen, const char* what, const char* name, const char* doc, Doc rule = Doc::needed) {
    if (!is_snake_case(name)) return problem(std::string(what) + " '" + (name == nullptr ? "" : name) + "' is not snake_case");
    if (!seen.insert(name).second) problem(std::string(what) + " '" + name + "' is declared twice");
    if (rule == Doc::needed && is_empty(doc)) problem(std::string(what) + " '" + name + "' has no doc");
  }
  void check_port(const char* what, const sluice_port& port, Doc rule) {
    std::set<std::string> seen;
    for (std::size_t i = 0; i < port.column_count; ++i) {
      const sluice_column_spec& column = port.columns[i];
      if (rule == Doc::left_to_the_giver && column.name != nullptr && std::string_view(column.name) == "*") continue;  // every column there is
      check_name(seen, what, column.name, column.doc, rule);
      if (column.type == nullptr || !is_column_type(column.type)) problem(std::string(what) + " '" + column.name + "' has no known type");
    }
  }
  void check_parameter(const sluice_parameter& p) {
    const std::string name = std::string("parameter '") + p.name + "'";
    if (p.type < SLUICE_BOOL || p.type > SLUICE_CHOICE) problem(name + " has no known type");
    if (p.minimum > p.maximum) problem(name + " has its minimum above its maximum");
    if (p.required != 0 && p.default_value.is_set != 0) problem(name + " is required and has a default");
    if (p.default_value.is_set == 0) return;
    if (p.default_value.type != p.type) problem(name + " has a default of another type");
    const double number = p.type == SLUICE_FLOAT ? p.default_value.real : static_cast<double>(p.default_value.integer);
    const bool numeric = p.type == SLUICE_INT || p.type == SLUICE_FLOAT || p.type == SLUICE_SIZE;
    if (numeric && (p.minimum != 0 || p.maximum != 0) && !(number >= p.minimum && number <= p.maximum))
      problem(name + " has its default outside its range");
    if (p.type != SLUICE_CHOICE) return;
    bool found = false;
    for (const char* const* choice = p.choices; choice != nullptr && *choice != nullptr; ++choice)
      found = found || std::string_view(*choice) == p.default_value.text;
    if (!found) problem(name + " has a default that is no choice");
  }
  void check_descriptor() {
    const sluice_stage_descriptor& d = *stage_.descriptor;
    if (!is_snake_case(d.id)) return problems_.push_back("a stage's id is not snake_case");
    if (d.struct_size < sizeof(sluice_stage_descriptor)) problem("struct_size is too small");
    if (is_empty(d.summary)) problem("no summary");
    if (is_empty(d.doc)) problem("no doc");
    if (d.kind < SLUICE_SOURCE || d.kind > SLUICE_RESOURCE) return problem("unknown kind");
    const bool wants_input = d.kind == SLUICE_MAP || d.kind == SLUICE_REGROUP || d.kind == SLUICE_SINK;
    if (wants_input == is_empty(d.input.row_type)) problem("input row type does not fit the kind");
    if ((d.kind == SLUICE_SINK) != is_empty(d.output.row_type)) problem("output row type does not fit the kind");
    if (d.kind == SLUICE_MAP && !is_empty(d.input.row_type) && std::string_view(d.input.row_type) != d.output.row_type)
      problem("a map changes the row type");
    if (d.kind == SLUICE_SINK && d.output.column_count != 0) problem("a sink gives columns");
    const bool ordered = (d.traits & SLUICE_TRAIT_ORDERED) != 0;
    if (ordered && (d.kind != SLUICE_MAP || (d.traits & SLUICE_TRAIT_BLOCKING) != 0)) problem("only a map that does not block can be ordered");
    if (!ordered && (d.traits & SLUICE_TRAIT_RESTARTABLE) != 0) problem("restartable without ordered");
    check_port("input column", d.input, Doc::left_to_the_giver);
    if (d.kind != SLUICE_SOURCE && d.kind != SLUICE_REGROUP && !is_empty(d.feedback.row_type)) problem("only sources and regroups take feedback");
    check_port("feedback column", d.feedback, Doc::left_to_the_giver);
    check_port("output column", d.output, Doc::needed);
    if (d.kind == SLUICE_MAP)
      for (std::size_t i = 0; i < d.output.column_count; ++i)
        for (std::size_t j = 0; j < d.input.column_count; ++j)
          if (std::string_view(d.output.columns[i].name) == d.input.columns[j].name)
            problem(std::string("column '") + d.input.columns[j].name + "' is both needed and given");
    std::set<std::string> parameters, slots, reasons;
    for (std::size_t i = 0; i < d.parameter_count; ++i) {
      check_name(parameters, "parameter", d.parameters[i].name, d.parameters[i].help);
      check_parameter(d.parameters[i]);
    }
    for (std::size_t i = 0; i < d.resource_count; ++i) check_name(slots, "resource slot", d.resources[i].name, d.resources[i].doc);
    for (std::size_t i = 0; i < d.reason_count; ++i) check_name(reasons, "reason", d.reasons[i].code, d.reasons[i].doc);
    if (d.implementation_count == 0 && d.kind != SLUICE_SINK) problem("no implementation");
    for (std::size_t i = 0; i < d.implementation_count; ++i)
      if (is_empty(d.implementations[i].device) || is_empty(d.implementations[i].doc)) problem("an implementation without device or doc");
    if (is_empty(d.work_unit)) problem("no work unit");
  }

  // ---- runs
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
  Result observed(const std::string& what, StageRun prepared) {
    std::shared_ptr<detail::MiniHost> host;
    Result result = prepared.observe(&host).run();
    for (const std::string& text : result.problems) problem(what + ": " + text);
    std::int64_t held = 0;
    for (const TestBatch& batch : result.batches) held += static_cast<std::int64_t>(batch.contents().columns.size());
    if (held == 0 && host->blocks_in_use != 0) problem(what + ": " + std::to_string(host->blocks_in_use) + " blocks of memory were never freed");
    if (result.status == SLUICE_ERROR_INTERNAL) problem(what + ": " + result.message);
    return result;
  }

  void expect_same(const std::string& what, const Result& expected, const Result& actual) {
    for (const std::string& text : detail::differences(*stage_.descriptor, expected, actual)) problem(what + ": " + text);
  }

  void check_unwanted(const Result& whole) {
    const Result without = observed("no optional column wanted", run().wanted({}));
    if (!without.ok()) return problem("no optional column wanted: " + without.message);
    if (without.rows() != whole.rows()) problem("no optional column wanted: other rows");
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
    const TestBatch& first = sample_.batches.front();
    const Result empty = observed("empty batch", run({first.rows(0, 0)}));
    if (!empty.ok()) problem("empty batch: " + empty.message);
    if (empty.rows() != 0) problem("empty batch: rows came out");

    std::vector<TestBatch> single = single_rows();
    expect_same("one row a batch", whole, observed("one row a batch", run(single)));
    expect_same("one row a batch, four at once", whole, observed("one row a batch, four at once", run(single).threads(4)));

    std::vector<TestBatch> failed;
    for (const TestBatch& batch : sample_.batches) failed.push_back(batch.all_failed());
    const Result all_failed = observed("all rows failed", run(failed));
    if (!all_failed.ok()) problem("all rows failed: " + all_failed.message);
    if (!all_failed.failed.empty()) problem("all rows failed: the stage failed them again");

    if (stage_.descriptor->kind == SLUICE_REGROUP || single.empty()) return;
    for (std::size_t row = 0; row < single.size(); row += 2) single[row] = single[row].all_failed();
    const Result half = observed("every other row failed", run(single));
    if (!half.ok()) return problem("every other row failed: " + half.message);
    const std::vector<std::string> expected = detail::rows_of(*stage_.descriptor, whole), actual = detail::rows_of(*stage_.descriptor, half);
    for (std::size_t row = 1; row < std::min(expected.size(), actual.size()); row += 2)
      if (expected[row] != actual[row]) return problem("every other row failed: row " + std::to_string(row) + " differs");
  }

  void check_interruptions(const Result& whole) {
    for (const std::int64_t checks : {0, 1, 3}) {
      const Result result = observed("cancelled", run().cancel_after(checks));
      if (!result.ok() && result.status != SLUICE_ERROR_CANCELLED)
        problem("cancelled: status " + std::to_string(result.status) + ": " + result.message);
    }
    for (const std::int64_t allocations : {0, 1, 2, 3, 5, 8, 13}) {
      const Result result = observed("no memory", run().memory_for(allocations));
      if (!result.ok() && result.status != SLUICE_ERROR_MEMORY) problem("no memory: status " + std::to_string(result.status) + ": " + result.message);
    }
    std::uint64_t largest = 0;
    for (const auto& [path, bytes] : whole.files) largest = std::max<std::uint64_t>(largest, bytes.size());
    if (largest == 0) return;
    std::shared_ptr<detail::MiniHost> host;
    const Result full = run().file_capacity(largest / 2).observe(&host).run();
    if (host->files.wrote_beyond_capacity() && full.status != SLUICE_ERROR_OUTPUT)
      problem("disk full: status " + std::to_string(full.status) + ": " + full.message);
  }

  // Ended and gone on with behind any row, and, of those that say so, put together of parts.
  void check_restarts() {
    std::vector<TestBatch> single = single_rows();
    constexpr std::size_t most_restarts = 40;
    if (single.size() > most_restarts) single = sample_.batches;
    for (const std::string& text : restart_problems(run(std::move(single)))) problem(text);
  }

  // The same bytes as on the CPU; and when the device is full, the status that makes the host try again elsewhere.
  void check_device(const sluice_device_provider& provider, const Result& whole) {
    const std::string what = std::string("on ") + provider.kind;
    expect_same(what, whole, observed(what, run().device(provider)));
    const TestBatch& first = sample_.batches.front();
    const Result empty = observed(what + ", empty batch", run({first.rows(0, 0)}).device(provider));
    if (!empty.ok()) problem(what + ", empty batch: " + empty.message);
    const Result failed = observed(what + ", all rows failed", run({first.all_failed()}).device(provider));
    if (!failed.ok()) problem(what + ", all rows failed: " + failed.message);
    std::vector<TestBatch> single = single_rows();
    expect_same(what + ", one row a batch", whole, observed(what + ", one row a batch", run(single).device(provider)));
    for (const std::int64_t allocations : {0, 1, 2, 3, 5, 8}) {
      const Result full = observed(what + ", device full", run().device(provider).device_memory_for(allocations));
      if (!full.ok() && full.status != SLUICE_ERROR_DEVICE_MEMORY)
        problem(what + ", device full: status " + std::to_string(full.status) + ": " + full.message);
    }
  }

  // The ends of each parameter's range, or absurd values where it has none: any refusal will do, but not a bug.
  void check_parameter_limits() {
    const sluice_stage_descriptor& d = *stage_.descriptor;
    for (std::size_t i = 0; i < d.parameter_count; ++i) {
      if (names_columns(i)) continue;
      const sluice_parameter& p = d.parameters[i];
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
        const std::string what = std::string("parameter '") + p.name + "' = '" + value + "'";
        const Result result = run().with({{p.name, value}}).at_most_calls(4).run();
        if (result.status == SLUICE_ERROR_INTERNAL) problem(what + ": " + result.message);
        for (const std::string& text : result.problems) problem(what + ": " + text);
      }
    }
  }

  // Rows of the declared types whose values fit nothing: they may fail, and so may the call, but not as a bug.
  void check_made_up_rows() {
    for (std::uint32_t seed = 1; seed <= 8; ++seed) {
      const std::string what = "made-up rows " + std::to_string(seed);
      const Result result = observed(what, run({made_up_rows(stage_.descriptor->input.row_type, input_columns(), 5, seed)}));
      if (result.status == SLUICE_ERROR_CANCELLED) problem(what + ": cancelled without being asked");
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
  std::vector<std::string> problems_;
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
    const std::string id = plugin.stage(i)->id;
    if (!ids.insert(id).second) problems.push_back("plugin: two stages are called '" + id + "'");
    const auto sample = samples.find(id);
    const auto found = ContractSuite(stage_of(plugin, id), sample == samples.end() ? nullptr : &sample->second).problems();
    problems.insert(problems.end(), found.begin(), found.end());
  }
  return problems;
}

}  // namespace sluice::testing
