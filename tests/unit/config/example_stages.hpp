// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A plugin of bare descriptors, enough to resolve pipelines against: reader, lookup, detect, count, hold, write_reads, write_sites; model.

#include <sluice/abi.h>

#include <string>
#include <vector>

#include "config/pipeline.hpp"

namespace example {

inline sluice_parameter parameter(const char* name, sluice_value_type type, const char* help) {
  sluice_parameter p{};
  p.name = name;
  p.type = p.default_value.type = type;
  p.default_value.text = "";
  p.unit = "";
  p.help = help;
  return p;
}
inline sluice_parameter integer(const char* name, std::int64_t initial, double minimum, double maximum) {
  sluice_parameter p = parameter(name, SLUICE_INT, "a number");
  p.default_value.is_set = 1;
  p.default_value.integer = initial;
  p.minimum = minimum;
  p.maximum = maximum;
  return p;
}
inline sluice_parameter required_path(const char* name) {
  sluice_parameter p = parameter(name, SLUICE_PATH, "a file");
  p.required = 1;
  return p;
}

inline const char* const formats[] = {"tsv", "bedmethyl", nullptr};
inline const sluice_implementation on_cpu[] = {{"cpu", "plain"}};
inline const sluice_column_spec read_columns[] = {{"bases", "utf8", 0, "the read"}};
inline const sluice_column_spec event_columns[] = {{"event_mean", "list<f32>", 0, "pA"}};
inline const sluice_column_spec site_columns[] = {{"start", "i64", 0, "0-based"}};
inline const sluice_resource_slot model_slots[] = {{"model", "kmer", 0, "levels"}, {"contigs", "contig", 1, "the reference"}};
inline const sluice_reason reasons[] = {{"too_short", "fewer than ten bases"}};

inline const sluice_plugin_info* plugin(const sluice_init_args*, sluice_error*) {
  static sluice_parameter reader_parameters[] = {required_path("path"), integer("min_mapq", 20, 0, 255)};
  static sluice_parameter detect_parameters[] = {integer("window", 3, 1, 10), parameter("threshold", SLUICE_FLOAT, "a level"),
                                                 parameter("label", SLUICE_STRING, "a text"), parameter("rna", SLUICE_BOOL, "a switch"),
                                                 parameter("cache", SLUICE_SIZE, "bytes")};
  static sluice_parameter write_parameters[] = {required_path("output"), [] {
                                                  sluice_parameter p = parameter("format", SLUICE_CHOICE, "the format");
                                                  p.choices = formats;
                                                  p.default_value.is_set = 1;
                                                  p.default_value.text = "tsv";
                                                  return p;
                                                }()};
  static const auto stage = [](const char* id, sluice_stage_kind kind, sluice_port input, sluice_port output) {
    sluice_stage_descriptor d{};
    d.struct_size = sizeof d;
    d.id = id;
    d.summary = "an example";
    d.doc = "Only for tests.";
    d.kind = kind;
    d.input = input;
    d.output = output;
    d.implementation_count = 1;
    d.implementation_stride = sizeof on_cpu[0];
    d.implementations = on_cpu;
    d.reason_count = 1;
    d.reason_stride = sizeof reasons[0];
    d.reasons = reasons;
    d.parameter_stride = sizeof(sluice_parameter);
    d.resource_stride = sizeof(sluice_resource_slot);
    d.work_unit = "base";
    return d;
  };
  constexpr std::size_t stride = sizeof(sluice_column_spec);
  static const sluice_port none{nullptr, 0, stride, nullptr}, reads{"read", 1, stride, read_columns}, events{"read", 1, stride, event_columns},
      sites{"site", 1, stride, site_columns};
  static sluice_stage_descriptor reader = stage("reader", SLUICE_SOURCE, none, reads),
                                 lookup = stage("lookup", SLUICE_MAP, reads, {"read", 0, stride, nullptr}),
                                 detect = stage("detect", SLUICE_MAP, reads, events), count = stage("count", SLUICE_REGROUP, reads, sites),
                                 hold = stage("hold", SLUICE_REGROUP, reads, reads), write_reads = stage("write_reads", SLUICE_SINK, reads, none),
                                 write_sites = stage("write_sites", SLUICE_SINK, sites, none),
                                 model = stage("model", SLUICE_RESOURCE, none, {"kmer", 0, stride, nullptr}),
                                 genome = stage("genome", SLUICE_RESOURCE, none, {"contig", 0, stride, nullptr});
  static const sluice_stage_descriptor* const all[] = {&reader, &lookup, &detect, &count, &hold, &write_reads, &write_sites, &model, &genome};
  static const sluice_plugin_info info = [] {
    reader.parameters = reader_parameters, reader.parameter_count = std::size(reader_parameters);
    detect.parameters = detect_parameters, detect.parameter_count = std::size(detect_parameters);
    detect.resources = model_slots, detect.resource_count = std::size(model_slots);
    write_reads.parameters = write_sites.parameters = write_parameters;
    write_reads.parameter_count = write_sites.parameter_count = std::size(write_parameters);
    model.resources = model_slots + 1, model.resource_count = 1;
    sluice_plugin_info result{};
    result.struct_size = sizeof result;
    result.name = "example", result.version = "1", result.licence = "MIT", result.origin = "", result.build_id = "test";
    result.stage_count = std::size(all);
    result.stage = [](std::size_t index) { return all[index]; };
    result.create = [](std::size_t, const sluice_create_args*, sluice_stage*, sluice_error*) -> sluice_status { return SLUICE_ERROR_UNSUPPORTED; };
    return result;
  }();
  return &info;
}

inline const sluice::Registry& registry() {
  static const sluice::Registry* const instance = [] {
    auto* made = new sluice::Registry;  // lives as long as the descriptors that it points to
    made->add(plugin, "example");
    return made;
  }();
  return *instance;
}

// A pipeline text resolved, and every diagnostic in words.
struct Outcome {
  sluice::ResolvedPipeline pipeline;
  std::vector<std::string> problems;

  bool says(const std::string& part) const {
    for (const std::string& problem : problems)
      if (problem.find(part) != std::string::npos) return true;
    return false;
  }
  std::vector<std::string> stage_names() const {
    std::vector<std::string> names;
    for (const auto& stage : pipeline.stages) names.push_back(stage.name);
    return names;
  }
  // "detect<-reader" for every edge, in order.
  std::vector<std::string> edges() const {
    std::vector<std::string> result;
    for (const auto& stage : pipeline.stages)
      for (const std::size_t input : stage.inputs) result.push_back(stage.name + "<-" + pipeline.stages[input].name);
    return result;
  }
};

inline Outcome resolve(const std::string& text, const sluice::Overrides& overrides = {}) {
  sluice::Diagnostics diagnostics;
  const sluice::WrittenPipeline written = sluice::parse_pipeline(text, "test.toml", diagnostics);
  Outcome outcome;
  outcome.pipeline = sluice::resolve_pipeline(written, overrides, registry(), diagnostics);
  for (const auto& diagnostic : diagnostics.list()) outcome.problems.push_back(diagnostic.text());
  return outcome;
}

}  // namespace example
