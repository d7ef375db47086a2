// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "plan/plan.hpp"

#include <algorithm>
#include <set>
#include <sluice/condition.hpp>
#include <span>
#include <string_view>

#include "plan/decided_stages.hpp"

namespace sluice {
namespace {

const sluice_stage_descriptor& descriptor(const ResolvedStage& stage) { return *stage.entry.descriptor; }

const PlannedColumn* find(const std::vector<PlannedColumn>& columns, std::string_view name) {
  for (const PlannedColumn& column : columns)
    if (column.name == name) return &column;
  return nullptr;
}

std::vector<std::size_t> topological_order(const std::vector<ResolvedStage>& stages, const std::vector<std::vector<std::size_t>>& consumers) {
  std::vector<std::size_t> waiting(stages.size()), order;
  std::set<std::size_t> ready;  // ordered: ties go by file order
  for (std::size_t i = 0; i < stages.size(); ++i) {
    waiting[i] = stages[i].inputs.size();
    if (waiting[i] == 0) ready.insert(i);
  }
  while (!ready.empty()) {
    const std::size_t i = *ready.begin();
    ready.erase(ready.begin());
    order.push_back(i);
    for (const std::size_t consumer : consumers[i])
      if (--waiting[consumer] == 0) ready.insert(consumer);
  }
  return order;
}

class Planner {
 public:
  Planner(Plan& plan, Diagnostics& diagnostics) : plan_(plan), stages_(plan.pipeline.stages), diagnostics_(diagnostics) {}

  void run(const std::string& device, const std::vector<std::string>& devices) {
    plan_.stages.resize(stages_.size());
    produced_.resize(stages_.size());
    arrived_.resize(stages_.size());
    std::vector<std::vector<std::size_t>> consumers(stages_.size());
    for (std::size_t i = 0; i < stages_.size(); ++i)
      for (const std::size_t input : stages_[i].inputs) consumers[input].push_back(i);
    for (std::size_t i = 0; i < stages_.size(); ++i) {
      plan_.stages[i].stage = &stages_[i];
      plan_.stages[i].consumers = consumers[i];
    }
    plan_.order = topological_order(stages_, consumers);
    if (plan_.order.size() != stages_.size()) return;  // a cycle: reported when the pipeline was resolved
    if (stages_.empty()) diagnostics_.error({plan_.pipeline.file, 0, 0}, "", "the pipeline has no stages");
    for (const std::size_t i : plan_.order) connect(i);
    for (const std::size_t i : plan_.order)
      for (const std::size_t sink : stages_[i].feedback) connect_feedback(i, sink);
    for (const std::size_t i : plan_.order) choose_implementations(i, device, devices);
    for (const ResolvedStage& resource : plan_.pipeline.resources) check_resources(resource);
    for (const ResolvedStage& stage : stages_) check_resources(stage);
    if (diagnostics_.has_errors()) return;
    collect_asked();
    mark_wanted();
    compute_liveness();
    estimate_footprint();
  }

 private:
  // Row type and columns that arrive and leave, in topological order.
  void connect(std::size_t i) {
    ResolvedStage& stage = stages_[i];
    PlannedStage& planned = plan_.stages[i];
    std::vector<PlannedColumn> arriving;
    std::string row_type;
    const sluice_stage_kind kind = descriptor(stage).kind;
    const std::string id = descriptor(stage).id;
    if (kind == SLUICE_RESOURCE) return error(stage, "is a resource, not a stage", "move it to [resources]");
    if (kind == SLUICE_SOURCE) {
      if (!stage.inputs.empty()) return error(stage, "'" + id + "' is a source and reads from no stage", "write inputs = []");
      planned.stream = i;
    } else {
      if (stage.inputs.empty()) return error(stage, "has no input", "name the stages that it reads from in inputs = [...]");
      planned.stream = plan_.stages[stage.inputs.front()].stream;
      for (const std::size_t input : stage.inputs) {
        const PlannedStage& from = plan_.stages[input];
        if (from.row_type.empty()) {
          if (descriptor(stages_[input]).kind == SLUICE_SINK)
            error(stage, "reads from '" + stages_[input].name + "', which is a sink and gives nothing", "");
          return;
        }
        if (row_type.empty()) row_type = from.row_type;
        if (from.stream != planned.stream)
          return error(stage,
                       "joins '" + stages_[stage.inputs.front()].name + "' and '" + stages_[input].name + "', whose rows come from different sources",
                       "join only branches that begin at the same source or regrouping stage");
        for (const PlannedColumn& column : produced_[&from - plan_.stages.data()]) {
          const PlannedColumn* other = find(arriving, column.name);
          if (other == nullptr)
            arriving.push_back(column);
          else if (other->type != column.type)
            error(stage, "gets column '" + column.name + "' as " + other->type + " and as " + column.type, "");
          else if (other->giver != column.giver)
            error(stage,
                  "gets column '" + column.name + "' of stage '" + stages_[other->giver].name + "' and of stage '" + stages_[column.giver].name + "'",
                  "drop one of them on its way");
        }
      }
      if (const std::string wanted = descriptor(stage).input.row_type; wanted != "*" && row_type != wanted)
        return error(
            stage, "'" + id + "' reads rows of type '" + wanted + "', but '" + stages_[stage.inputs.front()].name + "' gives '" + row_type + "'", "");
      if (!decide_columns(i, row_type, arriving)) return;
      const sluice_stage_descriptor& d = descriptor(stage);
      planned.available.assign(d.input.column_count, 0);
      std::vector<const sluice_column_spec*> missing;
      for (std::size_t c = 0; c < d.input.column_count; ++c) {
        const sluice_column_spec& need = d.input.columns[c];
        if (std::string_view(need.name) == "*") {
          if (!take_named_columns(planned, arriving)) planned.needs.push_back(need);
          continue;
        }
        planned.needs.push_back(need);
        const PlannedColumn* column = find(arriving, need.name);
        if (column == nullptr) {
          if (need.optional == 0) missing.push_back(&need);
          continue;
        }
        if (column->type != need.type)
          error(stage, std::string("needs column '") + need.name + "' as " + need.type + ", but gets " + column->type, "");
        planned.available[c] = 1;
      }
      if (!missing.empty()) return refuse_missing(stage, missing);
    }
    const sluice_stage_descriptor& d = descriptor(stage);
    arrived_[i] = arriving;
    std::vector<PlannedColumn> leaving = d.kind == SLUICE_MAP ? arriving : std::vector<PlannedColumn>();
    std::erase_if(leaving, [&](const PlannedColumn& column) { return is_hidden(i, column.name); });
    for (std::size_t c = 0; c < d.output.column_count; ++c) {
      const sluice_column_spec& give = d.output.columns[c];
      const PlannedColumn* there = find(leaving, give.name);
      if (there != nullptr && give.optional != 0 && there->type == give.type) continue;  // taken as it is
      if (there != nullptr)
        error(stage, std::string("gives column '") + give.name + "', which is already there: columns are immutable",
              "leave out one of the stages that give it; a stage of your own that regroups rows into rows of the same type can replace columns: see "
              "'Stages that change reads' in docs/plugin-author/changing-rows.md");
      else
        leaving.push_back({give.name, give.type, i});
    }
    if (d.kind == SLUICE_REGROUP) planned.stream = i;
    if (d.kind != SLUICE_SINK) planned.row_type = d.kind == SLUICE_MAP && std::string_view(d.output.row_type) == "*" ? row_type : d.output.row_type;
    if (d.kind == SLUICE_SINK && !planned.consumers.empty()) planned.row_type.clear();
    if (d.kind != SLUICE_SINK && planned.consumers.empty())
      diagnostics_.warning(stage.where, stage.name, "nobody reads what this stage gives", "remove it, or name it in another stage's inputs");
    produced_.resize(stages_.size());
    produced_[i] = std::move(leaving);
  }

  // Columns that depend on parameters and on what arrives take the place of those of the descriptor. False: there are errors.
  bool decide_columns(std::size_t i, const std::string& row_type, const std::vector<PlannedColumn>& arriving) {
    ResolvedStage& stage = stages_[i];
    if (stage.values.size() != descriptor(stage).parameter_count) return true;  // there are errors already
    try {
      ArrivingColumns in{row_type, {}};
      for (const PlannedColumn& column : arriving) in.columns.push_back({column.name, column.type});
      const DecidedStage* const decided = decided_here(stage, in);
      if (decided == nullptr) return true;
      for (const auto& [parameter, name] : decided->missing) unknown_column(stage, parameter, name, arriving);
      if (!decided->missing.empty()) return false;
      stage.entry.descriptor = &decided->descriptor;
      plan_.stages[i].hidden = decided->hidden;
      return true;
    } catch (const Failure& failure) {
      error(stage, failure.what(), failure.remedy());
      return false;
    }
  }
  bool is_hidden(std::size_t i, std::string_view column) const {
    const std::vector<std::string>& hidden = plan_.stages[i].hidden;
    return std::find(hidden.begin(), hidden.end(), column) != hidden.end();
  }

  // One line for all of a stage, and none for those behind it, which may lack the same.
  void refuse_missing(const ResolvedStage& stage, const std::vector<const sluice_column_spec*>& missing) {
    std::string names;
    for (const sluice_column_spec* need : missing) names += (names.empty() ? "'" : ", '") + std::string(need->name) + "' (" + need->type + ")";
    error(stage, std::string("needs column") + (missing.size() == 1 ? " " : "s ") + names + ", which no stage before it gives",
          giver(missing.front()->name));
  }

  // Columns that a parameter names are needed like declared ones, in the place of "*". False: no parameter does.
  bool take_named_columns(PlannedStage& planned, const std::vector<PlannedColumn>& arriving) {
    const sluice_stage_descriptor& d = descriptor(*planned.stage);
    bool named = false;
    for (const sluice_parameter_role& role : std::span(d.roles, d.role_count)) {
      if (role.role == SLUICE_ROLE_CONDITION && planned.stage->values[role.parameter].is_set != 0) {
        take_condition(planned, role.parameter, arriving);
        named = true;
      }
      if (role.role != SLUICE_ROLE_COLUMNS || planned.stage->values[role.parameter].is_set == 0) continue;
      named = true;
      std::string_view rest = planned.stage->values[role.parameter].text;
      while (!rest.empty()) {
        const std::size_t comma = std::min(rest.find(','), rest.size());
        const std::string name(rest.substr(0, comma));
        rest.remove_prefix(std::min(comma + 1, rest.size()));
        if (name.empty()) continue;  // the stage's own rule says so
        if (const PlannedColumn* column = find(arriving, name))
          need(planned, *column);
        else
          unknown_column(*planned.stage, d.parameters[role.parameter].name, name, arriving);
      }
    }
    return named;
  }

  static void need(PlannedStage& planned, const PlannedColumn& column) {
    const char* name = planned.named_columns.emplace_back(column.name).c_str();
    planned.needs.push_back({name, planned.named_columns.emplace_back(column.type).c_str(), 0, ""});
  }

  // The columns of a condition, whose form and types are checked here, with its place: on the command line or in the file.
  void take_condition(PlannedStage& planned, std::size_t parameter, const std::vector<PlannedColumn>& arriving) {
    const ResolvedStage& stage = *planned.stage;
    const std::string name = descriptor(stage).parameters[parameter].name;
    try {
      const ConditionNode condition = parse_condition(stage.values[parameter].text);
      bool all_there = true;
      for (const std::string& column : columns_of(condition)) {
        const PlannedColumn* found = find(arriving, column);
        if (found == nullptr)
          unknown_column(stage, name, column, arriving), all_there = false;
        else
          need(planned, *found);
      }
      if (all_there) check_condition_types(condition, [&](const std::string& column) { return find(arriving, column)->type; });
    } catch (const Failure& failure) {
      if (const std::string& option = stage.given_by[parameter]; !option.empty())
        diagnostics_.error(stage.given_at[parameter], stage.name, option + ": " + failure.what(), failure.remedy());
      else
        error(stage, "parameter '" + name + "': " + failure.what(), failure.remedy());
    }
  }

  void unknown_column(const ResolvedStage& stage, const std::string& parameter, const std::string& name, const std::vector<PlannedColumn>& arriving) {
    std::vector<std::string> names;
    for (const PlannedColumn& column : arriving) names.push_back(column.name);
    const std::string near = nearest_name(name, names);
    for (std::size_t i = 0; i < stage.given_by.size(); ++i)
      if (parameter == descriptor(stage).parameters[i].name && !stage.given_by[i].empty()) {  // in the words of who gave it
        std::string all;
        for (const std::string& one : names) all += (all.empty() ? "" : ", ") + one;
        return diagnostics_.error(stage.given_at[i], "", stage.given_by[i] + " names column '" + name + "', which no stage before it gives",
                                  near.empty() ? "there are " + all : "did you mean '" + near + "'?");
      }
    error(stage, "parameter '" + parameter + "' names column '" + name + "', which no stage before it gives",
          near.empty() ? giver(name) : "did you mean '" + near + "'?");
  }

  // What a source or regroup wants of the rows that a sink gives back.
  void connect_feedback(std::size_t source, std::size_t sink) {
    const ResolvedStage& stage = stages_[source];
    const std::string& name = stages_[sink].name;
    const sluice_port port = descriptor(stage).feedback;
    plan_.stages[sink].feeds_back_to.push_back(source);
    if (stages_[sink].inputs.empty()) return;
    if (plan_.stages[sink].stream != source)
      return error(stage, "gets feedback from '" + name + "', which does not write the rows that this stage makes",
                   "name a sink behind it that no regrouping stage separates from it");
    const std::string& row_type = plan_.stages[stages_[sink].inputs.front()].row_type;
    if (row_type != port.row_type)
      return error(stage, "takes back rows of type '" + std::string(port.row_type) + "', but '" + name + "' writes '" + row_type + "'", "");
    for (std::size_t c = 0; c < port.column_count; ++c) {
      const sluice_column_spec& need = port.columns[c];
      const PlannedColumn* column = find(arrived_[sink], need.name);
      if (column == nullptr) {
        if (need.optional == 0)
          error(stage, std::string("needs column '") + need.name + "' (" + need.type + ") in its feedback, which does not reach '" + name + "'",
                giver(need.name));
      } else if (column->type != need.type) {
        error(stage, std::string("needs column '") + need.name + "' as " + need.type + " in its feedback, but gets " + column->type, "");
      }
    }
  }

  std::string giver(std::string_view column) const {
    for (const ResolvedStage& stage : stages_) {
      const sluice_port& output = descriptor(stage).output;
      for (std::size_t c = 0; c < output.column_count; ++c)
        if (column == output.columns[c].name) return "stage '" + stage.name + "' gives it: put it before this one";
    }
    return "add a stage that gives it (sluice plugins --gives " + std::string(column) + ")";
  }

  void choose_implementations(std::size_t i, const std::string& run_device, const std::vector<std::string>& devices) {
    const ResolvedStage& stage = stages_[i];
    const sluice_stage_descriptor& d = descriptor(stage);
    const std::string wish = stage.device.empty() ? run_device : stage.device;
    const std::string kind = wish.substr(0, wish.find(':'));
    PlannedStage& planned = plan_.stages[i];
    for (std::uint32_t k = 0; k < d.implementation_count; ++k) {
      const std::string offered = d.implementations[k].device;
      const bool exists =
          std::any_of(devices.begin(), devices.end(), [&](const std::string& name) { return name.substr(0, name.find(':')) == offered; });
      if (exists && (kind == "auto" || kind == offered)) planned.implementations.push_back(k);
    }
    // A device that the user names for the run leaves stages without such an implementation on the CPU; named for the stage it must exist.
    if (planned.implementations.empty() && d.implementation_count > 0) {
      if (!stage.device.empty() && kind != "auto")
        error(stage,
              "device = \"" + wish + "\" is not available: " +
                  (offers(d, kind) ? "this machine has no such device" : std::string("'") + d.id + "' has no implementation for it"),
              "remove device = ... or use \"auto\"");
      for (std::uint32_t k = 0; k < d.implementation_count; ++k)
        if (std::string_view(d.implementations[k].device) == "cpu") planned.implementations.push_back(k);
      if (planned.implementations.empty()) error(stage, std::string("'") + d.id + "' has no implementation for a device of this machine", "");
    }
    if ((d.traits & SLUICE_TRAIT_INEXACT) != 0 && planned.implementations.size() > 1)
      planned.implementations.erase(planned.implementations.begin() + 1, planned.implementations.end());
  }

  static bool offers(const sluice_stage_descriptor& d, const std::string& kind) {
    for (std::size_t k = 0; k < d.implementation_count; ++k)
      if (kind == d.implementations[k].device) return true;
    return false;
  }

  void check_resources(const ResolvedStage& stage) {
    const sluice_stage_descriptor& d = descriptor(stage);
    for (std::size_t slot = 0; slot < d.resource_count && slot < stage.resources.size(); ++slot) {
      const int index = stage.resources[slot];
      if (index < 0) continue;
      const ResolvedStage& resource = plan_.pipeline.resources[static_cast<std::size_t>(index)];
      const sluice_stage_descriptor& r = descriptor(resource);
      if (r.kind != SLUICE_RESOURCE)
        error(resource, std::string("'") + r.id + "' is not a resource", "move it to [stages]");
      else if (std::string_view(r.output.row_type) != d.resources[slot].row_type)
        error(stage,
              std::string("resource slot '") + d.resources[slot].name + "' wants rows of type '" + d.resources[slot].row_type + "', but '" +
                  resource.name + "' holds '" + r.output.row_type + "'",
              "");
    }
  }

  // An optional output column is made iff no stage before has made it, and one behind asks for it by name (optionally or not): "*" takes what is
  // there.
  void mark_wanted() {
    for (const std::size_t i : plan_.order) {
      const sluice_port& output = descriptor(stages_[i]).output;
      plan_.stages[i].wanted.assign(output.column_count, 1);
      for (std::size_t c = 0; c < output.column_count; ++c)
        if (output.columns[c].optional != 0)
          plan_.stages[i].wanted[c] = !passes(i, output.columns[c].name) && needed_behind(i, output.columns[c].name) ? 1 : 0;
    }
  }

  // Has a stage before this one made the column, which leaves it as it came?
  bool passes(std::size_t i, std::string_view column) const {
    return descriptor(stages_[i]).kind == SLUICE_MAP && find(arrived_[i], column) != nullptr;
  }

  bool needed_behind(std::size_t i, std::string_view column) const {
    return std::any_of(plan_.stages[i].consumers.begin(), plan_.stages[i].consumers.end(),
                       [&](std::size_t consumer) { return asked_[consumer].names.contains(column); });
  }

  void compute_liveness() {
    for (const std::size_t i : plan_.order) {
      PlannedStage& planned = plan_.stages[i];
      std::set<std::string> live;
      for (const std::size_t consumer : planned.consumers) {
        std::vector<std::string> kept;
        for (const PlannedColumn& column : produced_[i])
          if (made(i, column.name) && (asked_[consumer].all || asked_[consumer].names.contains(column.name))) kept.push_back(column.name);
        live.insert(kept.begin(), kept.end());
        planned.kept.push_back(std::move(kept));
      }
      for (const PlannedColumn& column : produced_[i])
        if (live.contains(column.name)) planned.columns.push_back(column);
    }
  }
  // What each stage asks for, and what those behind it ask for through it. From the end on: each is looked at once, however many ways lead to it.
  void collect_asked() {
    asked_.resize(stages_.size());
    for (auto i = plan_.order.rbegin(); i != plan_.order.rend(); ++i) {
      Asked& asked = asked_[*i];
      const auto ask = [&](std::string_view column) {
        column == "*" ? static_cast<void>(asked.all = true) : static_cast<void>(asked.names.insert(column));
      };
      for (const sluice_column_spec& need : plan_.stages[*i].needs) ask(need.name);
      for (const std::size_t source : plan_.stages[*i].feeds_back_to) {
        const sluice_port port = descriptor(stages_[source]).feedback;
        for (std::size_t c = 0; c < port.column_count; ++c) ask(port.columns[c].name);
      }
      if (descriptor(stages_[*i]).kind != SLUICE_MAP) continue;
      for (const std::size_t next : plan_.stages[*i].consumers) {
        for (const std::string_view name : asked_[next].names)
          if (!is_hidden(*i, name)) asked.names.insert(name);
        asked.all = asked.all || asked_[next].all;
      }
    }
  }
  bool made(std::size_t i, std::string_view column) const {
    const sluice_port& output = descriptor(stages_[i]).output;
    for (std::size_t c = 0; c < output.column_count; ++c)
      if (column == output.columns[c].name) return plan_.stages[i].wanted[c] != 0 || passes(i, column);
    return true;
  }

  // Before the first batch has been measured: per unit of source work (a base), a byte for scalars and text, and per list element its
  // width times the ten samples that a base has in the worst common case. Deliberately high; measurements replace it at once.
  void estimate_footprint() {
    double bytes = 0;
    for (const std::vector<PlannedColumn>& columns : produced_)
      for (const PlannedColumn& column : columns) bytes += column.type.starts_with("list<") ? 8 : column.type == "binary" ? 12 : 1;
    plan_.bytes_per_work = std::clamp(bytes, 64.0, 512.0);
  }

  void error(const ResolvedStage& stage, std::string message, std::string remedy) {
    diagnostics_.error(stage.where, stage.name, std::move(message), std::move(remedy));
  }

  Plan& plan_;
  std::vector<ResolvedStage>& stages_;
  Diagnostics& diagnostics_;
  std::vector<std::vector<PlannedColumn>> produced_;  // per stage: all columns that exist behind it
  std::vector<std::vector<PlannedColumn>> arrived_;   // and in front of it
  struct Asked {
    std::set<std::string_view> names;
    bool all = false;  // "*": whatever there is
  };
  std::vector<Asked> asked_;  // per stage
};

}  // namespace

Plan make_plan(ResolvedPipeline pipeline, const std::string& device, const std::vector<std::string>& devices, Diagnostics& diagnostics) {
  Plan plan;
  plan.pipeline = std::move(pipeline);
  Planner(plan, diagnostics).run(device, devices);
  return plan;
}

}  // namespace sluice
