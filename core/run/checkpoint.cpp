// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "run/checkpoint.hpp"

#include <algorithm>
#include <sluice/staged_file.hpp>

#include "plan/plan_files.hpp"

namespace sluice {
namespace {

const PlannedFile* first_output(const std::vector<PlannedFile>& files) {
  const auto found = std::find_if(files.begin(), files.end(), [](const PlannedFile& file) { return file.use == FileUse::writes && !file.side; });
  return found == files.end() ? nullptr : &*found;
}

std::string said(const PlannedStage& stage) { return "stage '" + stage.stage->name + "' (" + stage.stage->entry.descriptor->id + ")"; }

}  // namespace

std::string why_not_resumable(const Plan& plan, const Registry& registry, const std::vector<std::uint8_t>& made) {
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    if (!made.empty() && made[i] == 0) continue;
    const PlannedStage& stage = plan.stages[i];
    const sluice_stage_descriptor& d = *stage.stage->entry.descriptor;
    if (!stage.stage->feedback.empty()) return said(stage) + " gets answers from what follows it";
    if (d.kind == SLUICE_SOURCE && (d.traits & SLUICE_TRAIT_POSITIONS) == 0) return said(stage) + " can't begin in the middle of its input";
    const bool keeps_state = d.kind == SLUICE_REGROUP || d.kind == SLUICE_SINK || (d.kind == SLUICE_MAP && (d.traits & SLUICE_TRAIT_ORDERED) != 0);
    if (keeps_state && (d.traits & SLUICE_TRAIT_SAVES) == 0) return said(stage) + " can't save what it has";
  }
  const std::vector<PlannedFile> files = files_of(plan, registry);
  for (const PlannedFile& file : files) {
    if (file.use == FileUse::writes && !file.side && (file.path == "-" || is_special_file(file.path)))
      return file.what + " is " + (file.path == "-" ? "standard output" : "no regular file");
    if (file.use == FileUse::reads && file.path == "-") return file.what + " is standard input";
  }
  return first_output(files) == nullptr ? "there is no output file" : "";
}

std::filesystem::path journal_of(const Plan& plan, const Registry& registry) {
  const std::vector<PlannedFile> files = files_of(plan, registry);
  const std::filesystem::path output = followed(first_output(files)->path);
  return output.parent_path() / ("." + output.filename().string() + ".resume");
}

}  // namespace sluice
