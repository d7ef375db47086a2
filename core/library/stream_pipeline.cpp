// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "library/stream_pipeline.hpp"

#include <algorithm>
#include <set>

#include "library/stream_stage.hpp"

namespace sluice {
namespace {

const Location nowhere{};

bool is_sink(const WrittenStage& stage, const Registry& registry) {
  const StageEntry* entry = registry.find(stage.use);
  return entry != nullptr && entry->descriptor->kind == SLUICE_SINK;
}

// Sinks that give rows back belong to the stages that take them.
std::set<std::string> sinks_with_feedback(const WrittenPipeline& pipeline) {
  std::set<std::string> names;
  for (const WrittenStage& stage : pipeline.stages)
    for (const WrittenValue& sink : stage.feedback) names.insert(sink.text);
  return names;
}

bool mentions(const WrittenStage& stage, const std::string& reference) {
  const auto in = [&](const WrittenValue& value) { return value.text.find(reference) != std::string::npos; };
  const auto in_any = [&](const auto& map) { return std::any_of(map.begin(), map.end(), [&](const auto& entry) { return in(entry.second); }); };
  return in_any(stage.params) || in_any(stage.resources) || (stage.enabled && in(*stage.enabled)) || (stage.device && in(*stage.device)) ||
         (stage.device_max_row_work && in(*stage.device_max_row_work));
}

// Does the run need the parameter's value?
bool is_used(const PipelineParameter& parameter, const WrittenPipeline& pipeline, const ResolvedPipeline& resolved) {
  const std::string reference = "${" + parameter.name + "}";
  const auto uses = [&](const std::vector<WrittenStage>& written, const std::vector<ResolvedStage>& present) {
    return std::any_of(written.begin(), written.end(), [&](const WrittenStage& stage) {
      return mentions(stage, reference) &&
             std::any_of(present.begin(), present.end(), [&](const ResolvedStage& there) { return there.name == stage.name; });
    });
  };
  return uses(pipeline.stages, resolved.stages) || uses(pipeline.resources, resolved.resources) ||
         std::any_of(pipeline.parameters.begin(), pipeline.parameters.end(),
                     [&](const PipelineParameter& other) { return other.default_text && other.default_text->find(reference) != std::string::npos; });
}

std::string joined(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return all;
}

// The stage that is asked for gives rows.
bool check_stage(const WrittenPipeline& pipeline, const std::string& name, const Registry& registry, Diagnostics& diagnostics) {
  std::vector<std::string> names;
  const WrittenStage* found = nullptr;
  for (const WrittenStage& stage : pipeline.stages) {
    if (!is_sink(stage, registry)) names.push_back(stage.name);
    if (stage.name == name) found = &stage;
  }
  if (found != nullptr && !is_sink(*found, registry)) return true;
  const std::string near = found != nullptr ? "" : nearest_name(name, names);
  diagnostics.error({"stream", 0, 0}, "", found != nullptr ? "stage '" + name + "' is a sink: it gives no rows" : "there is no stage '" + name + "'",
                    near.empty() ? "name one of: " + joined(names) : "did you mean '" + near + "'?");
  return false;
}

}  // namespace

WrittenPipeline with_stream(const WrittenPipeline& pipeline, const StreamWish& wish, const Overrides& overrides, const Registry& registry,
                            Diagnostics& diagnostics) {
  WrittenPipeline result = pipeline;
  if (!check_stage(pipeline, wish.stage, registry, diagnostics)) return result;
  const std::set<std::string> stay = sinks_with_feedback(pipeline);
  if (!wish.and_write)
    for (WrittenStage& stage : result.stages)
      if (is_sink(stage, registry) && !stay.contains(stage.name)) stage.enabled = WrittenValue{"false", nowhere, nowhere};
  WrittenStage stream;
  stream.name = "stream";
  const auto taken = [&](const std::string& name) {
    return std::any_of(result.stages.begin(), result.stages.end(), [&](const WrittenStage& stage) { return stage.name == name; });
  };
  while (taken(stream.name)) stream.name += "_";
  stream.use = stream_stage_id;
  stream.inputs = std::vector<WrittenValue>{{wish.stage, nowhere, nowhere}};
  stream.params["channel"] = WrittenValue{std::to_string(wish.channel), nowhere, nowhere};
  if (!wish.columns.empty()) stream.params["columns"] = WrittenValue{wish.columns, nowhere, nowhere};
  result.stages.push_back(std::move(stream));
  if (wish.and_write) return result;

  Overrides assumed = overrides;
  assumed.missing = Missing::assume;
  Diagnostics unheard;  // what is really wrong is found again
  const ResolvedPipeline resolved = resolve_pipeline(result, assumed, registry, unheard);
  for (PipelineParameter& parameter : result.parameters)
    if (parameter.required && !overrides.parameters.contains(parameter.name) && !is_used(parameter, result, resolved)) parameter.required = false;
  return result;
}

}  // namespace sluice
