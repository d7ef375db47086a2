// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "config/stage_description.hpp"

#include <limits>
#include <nlohmann/json.hpp>
#include <sluice/failure.hpp>
#include <string_view>

#include "config/parameter_value.hpp"

namespace sluice {
namespace {

using Json = nlohmann::ordered_json;

class DescriptionReader {
 public:
  explicit DescriptionReader(DescribedStage& stage) : stage_(stage) {}

  void read(const Json& json) {
    sluice_stage_descriptor& d = stage_.descriptor;
    d.struct_size = sizeof d;
    d.id = text(json, "stage", nullptr);
    d.summary = text(json, "summary", "");
    d.doc = text(json, "doc", "");
    const std::string kind = text(json, "kind", "map");
    if (kind != "map" && kind != "source") throw Failure::usage("a stage is a map or a source, not '" + kind + "'");
    d.kind = kind == "source" ? SLUICE_SOURCE : SLUICE_MAP;
    d.traits = d.kind == SLUICE_SOURCE || flag(json, "parallel") ? 0 : SLUICE_TRAIT_SERIAL;
    d.output.row_type = text(json, "row_type", "*");
    if (d.kind == SLUICE_MAP) d.input.row_type = d.output.row_type;
    if (d.kind == SLUICE_SOURCE && std::string_view(d.output.row_type) == "*") throw Failure::usage("a source has no row type", "name it: read, say");
    if (d.kind == SLUICE_SOURCE && !list(json, "needs").empty()) throw Failure::usage("a source needs no columns", "leave `needs` out");
    for (const Json& column : list(json, "needs")) stage_.needs.push_back(column_spec(column));
    for (const Json& column : list(json, "gives")) stage_.gives.push_back(column_spec(column));
    for (const Json& parameter : list(json, "parameters")) stage_.parameters.push_back(described_parameter(parameter));
    for (const Json& reason : list(json, "reasons")) stage_.reasons.push_back({text(reason, "code", nullptr), text(reason, "meaning", "")});
    stage_.implementation = {"cpu", text(json, "runs_in", "the program that hosts the engine")};
    give(stage_.needs, d.input.columns, d.input.column_count, d.input.column_stride);
    give(stage_.gives, d.output.columns, d.output.column_count, d.output.column_stride);
    give(stage_.parameters, d.parameters, d.parameter_count, d.parameter_stride);
    give(stage_.reasons, d.reasons, d.reason_count, d.reason_stride);
    d.implementations = &stage_.implementation;
    d.implementation_count = 1;
    d.implementation_stride = sizeof stage_.implementation;
    d.work_unit = "row";
  }

 private:
  template <class Items, class Pointer>
  static void give(const Items& from, Pointer& items, std::size_t& count, std::size_t& stride) {
    items = from.data();
    count = from.size();
    stride = sizeof from[0];
  }
  // initial NULL: it must be there.
  const char* text(const Json& json, const char* key, const char* initial) {
    if (!json.contains(key) || json[key].is_null()) {
      if (initial == nullptr) throw Failure::usage("the description of a stage has no '" + std::string(key) + "'");
      return initial;
    }
    return stage_.texts.emplace_back(json[key].get<std::string>()).c_str();
  }
  static const Json& list(const Json& json, const char* key) {
    static const Json nothing = Json::array();
    return json.contains(key) ? json[key] : nothing;
  }
  static bool flag(const Json& json, const char* key) { return json.contains(key) && json[key].get<bool>(); }

  sluice_column_spec column_spec(const Json& json) {
    return {text(json, "name", nullptr), text(json, "type", nullptr), flag(json, "optional") ? 1 : 0, text(json, "meaning", "")};
  }

  sluice_parameter described_parameter(const Json& json) {
    sluice_parameter p{};
    p.name = text(json, "name", nullptr);
    const std::string type = text(json, "type", nullptr);
    const auto known = type_named(type);
    if (!known) throw Failure::usage(std::string("parameter '") + p.name + "' is of the unknown type '" + type + "'", "use one of " + type_names());
    p.type = *known;
    p.help = text(json, "help", "");
    p.unit = text(json, "unit", "");
    p.required = flag(json, "required") ? 1 : 0;
    constexpr double unbounded = std::numeric_limits<double>::infinity();
    if (json.contains("minimum") || json.contains("maximum")) {
      p.minimum = json.contains("minimum") ? json["minimum"].get<double>() : -unbounded;
      p.maximum = json.contains("maximum") ? json["maximum"].get<double>() : unbounded;
    }
    if (json.contains("choices")) {
      std::vector<const char*>& choices = stage_.choices.emplace_back();
      for (const Json& choice : json["choices"]) choices.push_back(stage_.texts.emplace_back(choice.get<std::string>()).c_str());
      choices.push_back(nullptr);
      p.choices = choices.data();
    }
    p.default_value.type = p.type;
    p.default_value.text = "";
    if (json.contains("default") && !json["default"].is_null()) set_default(p, json["default"].get<std::string>());
    return p;
  }

  void set_default(sluice_parameter& p, const std::string& value) {
    const ValueProblem problem = convert_value(value, rule_of(p), p.default_value);
    if (!problem.message.empty()) throw Failure::usage(std::string("parameter '") + p.name + "': default: " + problem.message, problem.remedy);
    p.default_value.text = stage_.texts.emplace_back(value).c_str();
  }

  DescribedStage& stage_;
};

}  // namespace

std::unique_ptr<DescribedStage> described_stage(const std::string& json) {
  auto stage = std::make_unique<DescribedStage>();
  try {
    DescriptionReader(*stage).read(Json::parse(json));
  } catch (const Json::exception& exception) {
    throw Failure::usage(std::string("the description of a stage can't be read: ") + exception.what());
  }
  return stage;
}

std::string parameters_json(const sluice_stage_descriptor& descriptor, const sluice_value* values, std::size_t stride) {
  Json result = Json::object();
  for (std::size_t i = 0; i < descriptor.parameter_count; ++i) {
    const sluice_value& value = *SLUICE_AT(sluice_value, values, stride, i);
    if (value.is_set == 0) continue;
    Json& to = result[descriptor.parameters[i].name];
    switch (value.type) {
      case SLUICE_BOOL:
        to = value.integer != 0;
        break;
      case SLUICE_INT:
      case SLUICE_SIZE:
        to = value.integer;
        break;
      case SLUICE_FLOAT:
        to = value.real;
        break;
      default:
        to = value.text;
        break;
    }
  }
  return result.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace sluice
