// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// How a stage describes itself: what it needs and gives, and its options, each said once. Part of <sluice/stage.hpp>.

#include <sluice/abi.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <optional>
#include <sluice/call.hpp>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace sluice {

// A file name; "-" means standard input or output where the help says so.
struct Path : std::string {
  using std::string::string;
  Path() = default;
  Path(std::string text) : std::string(std::move(text)) {}
};
// A number of bytes; users write "64 KiB" or "2GB".
struct Size {
  std::int64_t bytes = 0;
};

enum class Needed : std::int32_t { always = 0, optional = 1 };

// Builds a stage's static descriptor. All strings must be literals (or live for ever).
template <class Stage>
class Describe {
 public:
  using Parameters = typename Stage::Parameters;

  Describe() { d_.struct_size = sizeof d_; }
  Describe(const Describe&) = delete;

  Describe& id(const char* text) { return d_.id = text, *this; }
  Describe& summary(const char* text) { return d_.summary = text, *this; }
  Describe& doc(const char* text) { return d_.doc = text, *this; }
  Describe& work_unit(const char* text) { return d_.work_unit = text, *this; }
  Describe& source(const char* row_type) { return d_.kind = SLUICE_SOURCE, d_.output.row_type = row_type, *this; }
  Describe& map(const char* row_type) { return d_.kind = SLUICE_MAP, d_.input.row_type = d_.output.row_type = row_type, *this; }
  Describe& regroup(const char* from, const char* to) { return d_.kind = SLUICE_REGROUP, d_.input.row_type = from, d_.output.row_type = to, *this; }
  Describe& sink(const char* row_type) { return d_.kind = SLUICE_SINK, d_.input.row_type = row_type, *this; }
  Describe& resource(const char* row_type) { return d_.kind = SLUICE_RESOURCE, d_.output.row_type = row_type, *this; }
  // Sources, regroups: takes rows of this type back from sinks that the pipeline names (see sluice_stage.feedback), with these columns.
  Describe& feedback(const char* row_type) { return d_.feedback.row_type = row_type, *this; }
  Describe& feedback_needs(const char* column, const char* type, const char* doc, Needed needed = Needed::always) {
    feedback_needs_.push_back({column, type, static_cast<std::int32_t>(needed), doc});
    return *this;
  }
  Describe& serial() { return d_.traits |= SLUICE_TRAIT_SERIAL, *this; }
  Describe& blocking() { return d_.traits |= SLUICE_TRAIT_BLOCKING, *this; }
  // With blocking(): several calls at once (see SLUICE_TRAIT_SIDE_BY_SIDE).
  Describe& side_by_side() { return d_.traits |= SLUICE_TRAIT_SIDE_BY_SIDE, *this; }
  // One batch at a time, in order, on one lane for a whole run: the instance may keep state between calls (see SLUICE_TRAIT_ORDERED).
  Describe& ordered() { return d_.traits |= SLUICE_TRAIT_ORDERED, *this; }
  // With ordered(): can begin afresh on the CPU when a device is lost with the state on it (see SLUICE_TRAIT_RESTARTABLE).
  Describe& restartable() { return d_.traits |= SLUICE_TRAIT_RESTARTABLE, *this; }
  // Calls on a device find the host form of the columns beside the device's (see SLUICE_TRAIT_HOST_COLUMNS).
  Describe& host_columns() { return d_.traits |= SLUICE_TRAIT_HOST_COLUMNS, *this; }
  Describe& inexact() { return d_.traits |= SLUICE_TRAIT_INEXACT, *this; }
  // Sources: std::string position() says where the next row begins, and Setup::begin_at() is honoured.
  Describe& positions() { return d_.traits |= SLUICE_TRAIT_POSITIONS, *this; }
  // Sources, and regroups that take all rows and give those of a part: Setup::part() and parts() are honoured (see SLUICE_TRAIT_PARTS).
  Describe& parts() { return d_.traits |= SLUICE_TRAIT_PARTS, *this; }
  // Ordered maps, regroups, sinks: see SLUICE_TRAIT_CONCATENATES. Regroups: SLUICE_TRAIT_SUMS.
  Describe& concatenates() { return d_.traits |= SLUICE_TRAIT_CONCATENATES, *this; }
  Describe& sums() { return d_.traits |= SLUICE_TRAIT_SUMS, *this; }
  // Regroups: rows may come out where none went in, see SLUICE_TRAIT_ROWS_WITHOUT_INPUT.
  Describe& rows_without_input() { return d_.traits |= SLUICE_TRAIT_ROWS_WITHOUT_INPUT, *this; }
  // Set for stages that have a member save().
  Describe& saves() { return d_.traits |= SLUICE_TRAIT_SAVES, *this; }

  Describe& needs(const char* column, const char* type, const char* doc, Needed needed = Needed::always) {
    needs_.push_back({column, type, static_cast<std::int32_t>(needed), doc});
    return *this;
  }
  // Needed::optional: made only when somebody downstream wants it (Setup::wanted).
  Describe& gives(const char* column, const char* type, const char* doc, Needed needed = Needed::always) {
    gives_.push_back({column, type, static_cast<std::int32_t>(needed), doc});
    return *this;
  }
  Describe& uses(const char* slot, const char* row_type, const char* doc, Needed needed = Needed::always) {
    resources_.push_back({slot, row_type, static_cast<std::int32_t>(needed), doc});
    return *this;
  }
  // Sources, regroups: what a user calls one of the rows that leave, where that is not the row type: "alignment".
  Describe& rows_are(const char* noun) { return d_.row_noun = noun, *this; }
  // Sources, regroups: the text column that names a row in the account.
  Describe& rows_named_by(const char* column) { return d_.row_name = column, *this; }
  // Sources, maps, regroups: the list or text column whose elements are what a user calls the length of a row: ("bases", "base").
  Describe& row_length(const char* column, const char* unit) { return d_.row_length = column, d_.row_length_unit = unit, *this; }
  // In the order of the stage's Reason enum.
  Describe& reason(const char* code, const char* doc) { return reasons_.push_back({code, doc}), *this; }

  class Option {
   public:
    Option(Describe* home, std::size_t index) : home_(home), index_(index) {}
    Option& range(double minimum, double maximum) { return parameter().minimum = minimum, parameter().maximum = maximum, *this; }
    Option& unit(const char* text) { return parameter().unit = text, *this; }
    Option& required() { return parameter().required = 1, parameter().default_value.is_set = 0, *this; }
    Option& choices(std::initializer_list<const char*> names) {
      auto& list = home_->choices_.emplace_back(names);
      list.push_back(nullptr);
      parameter().type = parameter().default_value.type = SLUICE_CHOICE;
      parameter().choices = list.data();
      return *this;
    }

    // What a path stands for. Without either: an output of a sink, an input of any other stage. A file that is read must exist ("-": standard input).
    Option& reads() { return role(SLUICE_ROLE_READS, nullptr); }
    Option& writes() { return role(SLUICE_ROLE_WRITES, nullptr); }
    // After reads() or writes(): the file PATH + suffix goes with it. Of an input it is used if it is there, and may be made; with an output it is
    // written.
    Option& beside(const char* suffix) {
      const auto use = std::find_if(home_->roles_.rbegin(), home_->roles_.rend(), [](const auto& r) { return r.role != SLUICE_ROLE_SEVERAL; });
      return role(use->role, suffix);
    }
    // After reads(): several files may be named; sluice/input_files.hpp says how, and finds them. In a folder those with these endings count.
    Option& several(const char* endings) { return role(SLUICE_ROLE_SEVERAL, endings); }
    // Names of input columns, separated by commas: the stage needs those, and needs("*", ...) means them.
    Option& columns() { return role(SLUICE_ROLE_COLUMNS, nullptr); }
    // A condition over input columns (sluice/condition.hpp): the stage needs those, and needs("*", ...) means them. The host checks its types.
    Option& condition() { return role(SLUICE_ROLE_CONDITION, nullptr); }

   private:
    Option& role(sluice_role kind, const char* suffix) {
      home_->roles_.push_back({static_cast<std::uint32_t>(index_), kind, suffix});
      return *this;
    }
    sluice_parameter& parameter() { return home_->parameters_[index_]; }
    Describe* home_;
    std::size_t index_;
  };
  // bool, integers, floating point, std::string, Path, Size, or std::optional of one of these (no default: may be left out).
  template <class T, class Owner>
  requires std::is_base_of_v<Owner, Parameters> Option option(const char* name, T Owner::*member, const char* help) {
    sluice_parameter p{};
    p.name = name;
    p.help = help;
    p.unit = "";
    p.type = p.default_value.type = type_of(static_cast<const T*>(nullptr));
    p.default_value.text = "";
    set_default(p.default_value, defaults_.*member);
    parameters_.push_back(p);
    loaders_.push_back([member](Parameters& target, const sluice_value& value) { load(target.*member, value); });
    return {this, parameters_.size() - 1};
  }

  using Process = sluice_status (*)(Stage&, const Call&, const Batch*, Output&);
  // The CPU implementation is Stage::process. Further ones: implementation<&Mine::process_cuda>("cuda", "what it does").
  template <auto Method>
  Describe& implementation(const char* device, const char* doc) {
    implementations_.push_back({device, doc});
    processes_.push_back(
        [](Stage& stage, const Call& call, const Batch* in, Output& out) -> sluice_status { return invoke<Method>(stage, call, in, out); });
    return *this;
  }

  const sluice_stage_descriptor* finish() {
    const auto give = [](const auto& from, auto& items, std::size_t& count, std::size_t& stride) {
      items = from.data();
      count = from.size();
      stride = sizeof from[0];
    };
    give(needs_, d_.input.columns, d_.input.column_count, d_.input.column_stride);
    give(feedback_needs_, d_.feedback.columns, d_.feedback.column_count, d_.feedback.column_stride);
    give(gives_, d_.output.columns, d_.output.column_count, d_.output.column_stride);
    give(parameters_, d_.parameters, d_.parameter_count, d_.parameter_stride);
    give(resources_, d_.resources, d_.resource_count, d_.resource_stride);
    give(reasons_, d_.reasons, d_.reason_count, d_.reason_stride);
    give(implementations_, d_.implementations, d_.implementation_count, d_.implementation_stride);
    give(roles_, d_.roles, d_.role_count, d_.role_stride);
    if (d_.doc == nullptr) d_.doc = "";
    if (d_.work_unit == nullptr) d_.work_unit = "row";
    return &d_;
  }
  void check_with(sluice_status (*check)(const sluice_value*, std::size_t, sluice_error*)) { d_.check = check; }
  const sluice_stage_descriptor& descriptor() const { return d_; }
  Parameters load_parameters(const sluice_value* values, std::size_t stride) const {
    Parameters result;
    for (std::size_t i = 0; i < loaders_.size(); ++i)
      if (const sluice_value& value = *SLUICE_AT(sluice_value, values, stride, i); value.is_set != 0) loaders_[i](result, value);
    return result;
  }
  sluice_status run(Stage& stage, const Call& call, std::uint32_t implementation, const Batch* in, Output& out) const {
    return processes_[implementation](stage, call, in, out);
  }

  template <auto Method>
  static sluice_status invoke(Stage& stage, const Call& call, const Batch* in, Output& out) {
    using M = decltype(Method);
    if constexpr (std::is_invocable_v<M, Stage&, const Call&, Output&>) {
      static_assert(std::is_void_v<std::invoke_result_t<M, Stage&, const Call&, Output&>> ||
                    std::is_same_v<std::invoke_result_t<M, Stage&, const Call&, Output&>, bool>);
      if constexpr (std::is_void_v<std::invoke_result_t<M, Stage&, const Call&, Output&>>)
        return (stage.*Method)(call, out), SLUICE_OK;
      else
        return (stage.*Method)(call, out) ? SLUICE_OK : SLUICE_END;
    } else if constexpr (std::is_same_v<std::invoke_result_t<M, Stage&, const Call&, const Batch&, Output&>, bool>) {
      return (stage.*Method)(call, *in, out) ? SLUICE_OK : SLUICE_END;
    } else {
      return (stage.*Method)(call, *in, out), SLUICE_OK;
    }
  }

 private:
  template <class T>
  static sluice_value_type type_of(const T*) {
    if constexpr (std::is_same_v<T, bool>)
      return SLUICE_BOOL;
    else if constexpr (std::is_integral_v<T>)
      return SLUICE_INT;
    else if constexpr (std::is_floating_point_v<T>)
      return SLUICE_FLOAT;
    else if constexpr (std::is_same_v<T, Path>)
      return SLUICE_PATH;
    else if constexpr (std::is_same_v<T, Size>)
      return SLUICE_SIZE;
    else
      return SLUICE_STRING;
  }
  template <class T>
  static sluice_value_type type_of(const std::optional<T>*) {
    return type_of(static_cast<const T*>(nullptr));
  }

  template <class T>
  void set_default(sluice_value& value, const T& initial) {
    value.is_set = 1;
    if constexpr (std::is_integral_v<T>)
      value.integer = static_cast<std::int64_t>(initial);
    else if constexpr (std::is_floating_point_v<T>)
      value.real = initial;
    else if constexpr (std::is_same_v<T, Size>)
      value.integer = initial.bytes;
    else
      value.text = texts_.emplace_back(initial).c_str();
  }
  template <class T>
  void set_default(sluice_value& value, const std::optional<T>& initial) {
    if (initial) set_default(value, *initial);
  }
  template <class T>
  static void load(T& target, const sluice_value& value) {
    if constexpr (std::is_integral_v<T>)
      target = static_cast<T>(value.integer);
    else if constexpr (std::is_floating_point_v<T>)
      target = static_cast<T>(value.real);
    else if constexpr (std::is_same_v<T, Size>)
      target.bytes = value.integer;
    else
      target = T(value.text);
  }
  template <class T>
  static void load(std::optional<T>& target, const sluice_value& value) {
    load(target.emplace(), value);
  }

  sluice_stage_descriptor d_{};
  Parameters defaults_{};
  std::vector<sluice_column_spec> needs_, gives_, feedback_needs_;
  std::vector<sluice_resource_slot> resources_;
  std::vector<sluice_reason> reasons_;
  std::vector<sluice_parameter> parameters_;
  std::vector<sluice_parameter_role> roles_;
  std::vector<std::function<void(Parameters&, const sluice_value&)>> loaders_;
  std::vector<sluice_implementation> implementations_;
  std::vector<Process> processes_;
  std::deque<std::vector<const char*>> choices_;
  std::deque<std::string> texts_;
};

}  // namespace sluice
