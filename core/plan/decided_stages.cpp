// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "plan/decided_stages.hpp"

#include <map>
#include <memory>
#include <mutex>
#include <sluice/descriptor_check.hpp>
#include <string>
#include <tuple>

namespace sluice {
namespace {

struct KeptDecisions {
  std::mutex mutex;  // guards what follows
  std::map<std::tuple<const sluice_stage_descriptor*, std::string>, std::unique_ptr<DecidedStage>> decided;
};
KeptDecisions& kept_decisions() {
  static auto& all = *new KeptDecisions;  // never destroyed: descriptors live as long as the process
  return all;
}

std::string text_of(const DecidedStage& stage) {
  std::string text = stage.descriptor.output.row_type != nullptr ? stage.descriptor.output.row_type : "";
  for (const auto* columns : {&stage.needs, &stage.gives}) {
    text += '\n';
    for (const sluice_column_spec& column : *columns) text += std::string(column.name) + ' ' + column.type + ',';
  }
  text += '\n';
  for (const std::string& name : stage.hidden) text += name + ',';
  text += '\n';
  for (const auto& [parameter, name] : stage.missing) text += parameter + ' ' + name + ',';
  return text;
}

}  // namespace

const DecidedStage* decided_here(const ResolvedStage& stage, const ArrivingColumns& in) {
  std::unique_ptr<DecidedStage> decided = decided_stage(*stage.entry.plugin, *stage.entry.descriptor, stage.values.data(), sizeof(sluice_value), in);
  if (!decided) return nullptr;
  if (const std::string problem = descriptor_problem(decided->descriptor); !problem.empty()) throw Failure::usage(problem);
  KeptDecisions& kept = kept_decisions();
  const std::lock_guard lock(kept.mutex);
  return kept.decided.try_emplace({stage.entry.descriptor, text_of(*decided)}, std::move(decided)).first->second.get();
}

}  // namespace sluice
