// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Stages that a pipeline file names by what they are written in, and that a plugin makes of it (sluice/stage_maker.h).

#include <filesystem>
#include <string>
#include <vector>

#include "plugin/registry.hpp"

namespace sluice {

struct MadeStage {
  const StageEntry* entry = nullptr;  // lives as long as the process, as descriptors do; null: see below
  std::string problem, remedy;        // why there is none; empty where no plugin takes such a name for its own
};

// The stage that `use` names where no plugin has one of this id. `folder` is that of the file that says so.
MadeStage made_stage(const Registry& registry, const std::string& use, const std::filesystem::path& folder);
// The same of what has been said of such a stage before: its code is not looked for, and an instance of it can't be made.
struct MadeStageWords {
  std::string use, folder, description, build_id;
  bool operator==(const MadeStageWords&) const = default;
};
MadeStage stage_without_code(const Registry& registry, const MadeStageWords& words);
// What such names have in them: ".py:".
std::vector<std::string> signs_of_made_stages(const Registry& registry);

}  // namespace sluice
