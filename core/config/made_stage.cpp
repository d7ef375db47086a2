// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "config/made_stage.hpp"

#include <sluice/stage_maker.h>

#include <cstdio>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <sluice/failure.hpp>
#include <utility>

#include "config/stage_description.hpp"

namespace sluice {
namespace {

// A stage with all that its entry points to.
struct KeptStage {
  std::unique_ptr<DescribedStage> description;
  MadeStageWords words;
  sluice_plugin_info info{};
  StageEntry entry;
};

struct KeptStages {
  std::mutex mutex;  // guards what follows
  std::map<std::pair<const sluice_stage_maker*, std::size_t>, KeptStage> by_number;
  std::deque<KeptStage> without_code;
};

KeptStages& kept_stages() {
  static auto& all = *new KeptStages;  // never destroyed: descriptors live as long as the process
  return all;
}

struct Said {
  std::string description, build_id;
  bool has_room = true;
  // Nothing that goes wrong here may pass through the plugin.
  static void take(void* to, const char* description, const char* build_id) noexcept {
    Said& said = *static_cast<Said*>(to);
    try {
      said.description = description == nullptr ? "" : description;
      said.build_id = build_id == nullptr ? "" : build_id;
    } catch (const std::bad_alloc&) {
      said.has_room = false;
    }
  }
};

const sluice_stage_maker* maker_of(const sluice_plugin_info& plugin) {
  if (plugin.get_extension == nullptr) return nullptr;
  const auto* const maker = static_cast<const sluice_stage_maker*>(plugin.get_extension(SLUICE_STAGE_MAKER_EXTENSION));
  const bool whole = maker != nullptr && SLUICE_HAS(maker, sluice_stage_maker, create) && maker->sign != nullptr && *maker->sign != '\0';
  return whole ? maker : nullptr;
}

// Fills all but the words, of which it is made.
void describe(KeptStage& stage, const sluice_plugin_info& plugin, decltype(sluice_plugin_info::create) create, std::size_t index) {
  stage.description = described_stage(stage.words.description);
  stage.info = plugin;
  stage.info.build_id = stage.words.build_id.c_str();
  stage.info.stage_count = 0;
  stage.info.stage = nullptr;
  stage.info.create = create;
  stage.info.get_extension = nullptr;
  std::string problem;
  const sluice_stage_descriptor* const descriptor = take_descriptor(&stage.description->descriptor, problem);
  if (descriptor == nullptr) throw Failure::usage(problem);
  stage.entry = {descriptor, &stage.info, index, stage.words.use.c_str(), stage.words.folder.c_str(), stage.words.description.c_str()};
}

sluice_status refuse_to_run(std::size_t, const sluice_create_args*, sluice_stage*, sluice_error* error) {
  std::snprintf(error->message, sizeof error->message, "it is code that a file of data names, which is not run");
  std::snprintf(error->remedy, sizeof error->remedy, "run the pipeline without --shard");
  return SLUICE_ERROR_UNSUPPORTED;
}

}  // namespace

MadeStage made_stage(const Registry& registry, const std::string& use, const std::filesystem::path& folder) {
  for (const LoadedPlugin& plugin : registry.plugins()) {
    const sluice_stage_maker* const maker = maker_of(*plugin.info);
    if (maker == nullptr || use.find(maker->sign) == std::string::npos) continue;
    Said said;
    std::size_t index = 0;
    sluice_error error{};
    if (maker->make(use.c_str(), folder.c_str(), Said::take, &said, &index, &error) != SLUICE_OK) return {nullptr, error.message, error.remedy};
    if (!said.has_room) throw std::bad_alloc();
    KeptStages& kept = kept_stages();
    const std::lock_guard lock(kept.mutex);
    KeptStage& stage = kept.by_number[{maker, index}];
    try {
      if (stage.entry.descriptor == nullptr) {
        const std::string place = std::filesystem::absolute(folder / ".").lexically_normal().string();  // "" has no absolute form
        stage.words = {use, place, said.description, said.build_id};
        describe(stage, *plugin.info, maker->create, index);
      }
    } catch (const Failure& failure) {
      return {nullptr, failure.what(), failure.remedy()};
    }
    return {&stage.entry, {}, {}};
  }
  return {};
}

MadeStage stage_without_code(const Registry& registry, const MadeStageWords& words) {
  for (const LoadedPlugin& plugin : registry.plugins()) {
    const sluice_stage_maker* const maker = maker_of(*plugin.info);
    if (maker == nullptr || words.use.find(maker->sign) == std::string::npos) continue;
    KeptStages& kept = kept_stages();
    const std::lock_guard lock(kept.mutex);
    for (const KeptStage& stage : kept.without_code)
      if (stage.words == words) return {&stage.entry, {}, {}};
    KeptStage& stage = kept.without_code.emplace_back();
    stage.words = words;
    try {
      describe(stage, *plugin.info, refuse_to_run, 0);
    } catch (const Failure& failure) {
      kept.without_code.pop_back();
      return {nullptr, failure.what(), failure.remedy()};
    }
    return {&stage.entry, {}, {}};
  }
  return {};
}

std::vector<std::string> signs_of_made_stages(const Registry& registry) {
  std::vector<std::string> signs;
  for (const LoadedPlugin& plugin : registry.plugins())
    if (const sluice_stage_maker* const maker = maker_of(*plugin.info)) signs.emplace_back(maker->sign);
  return signs;
}

}  // namespace sluice
