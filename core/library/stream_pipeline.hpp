// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// A pipeline with one more sink, which takes the rows of one of its stages.

#include <cstdint>
#include <string>

#include "config/pipeline.hpp"

namespace sluice {

struct StreamWish {
  std::string stage;
  std::string columns;       // separated by commas; "": what is made anyway
  bool and_write = false;    // the pipeline's own sinks stay
  std::int64_t channel = 0;  // see stream_stage.hpp
};

// Unless its sinks stay, required parameters that only they use need not be given. What is wrong goes to `diagnostics`.
WrittenPipeline with_stream(const WrittenPipeline& pipeline, const StreamWish& wish, const Overrides& overrides, const Registry& registry,
                            Diagnostics& diagnostics);

}  // namespace sluice
