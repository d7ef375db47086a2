// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The sink through which a pipeline's rows leave to the program that hosts the engine.

#include <cstdint>
#include <memory>

#include "library/batch_channel.hpp"
#include "plugin/registry.hpp"

namespace sluice {

constexpr const char* stream_stage_id = "stream_to_program";

// The number by which such a sink's parameter `channel` names a channel, for as long as somebody has it.
std::int64_t number_of_channel(const std::shared_ptr<BatchChannel>& channel);

// Makes the sink known.
void add_stream_stage(Registry& registry);

}  // namespace sluice
