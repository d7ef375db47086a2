// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Map stages whose functions belong to the program that hosts the engine.

#include <sluice.h>

#include <cstdint>
#include <memory>
#include <string>

#include "config/pipeline.hpp"
#include "plugin/registry.hpp"

namespace sluice {

// See sluice_stage_register(). Throws Failure where the description can't be used, or a plugin that an engine has loaded has a stage of this id:
// every later run with that one would find two of them.
void register_stage(const std::string& description, const sluice_stage_functions& functions);
// Changes with every registration; 0: there was none.
std::uint64_t registered_edition();
void add_registered_stages(Registry& registry);
// The stages of plugins that an engine has loaded.
void note_plugin_stages(const Registry& loaded);

// What a stage's input may be kept with beyond the call: the run that its memory belongs to.
void set_owner_of_stages(const ResolvedPipeline& pipeline, const std::weak_ptr<const void>& owner);
void forget_owner_of_stages(const ResolvedPipeline& pipeline);

}  // namespace sluice
