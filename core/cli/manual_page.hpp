// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// sluice(1), and sluice-map(1) and so on of the pipelines, made from what the commands say of their options, so that they can't say anything else.

#include <string>

#include "config/pipeline.hpp"

namespace sluice::cli {

// In the language of man(7).
std::string manual_page(const std::string& version);
std::string manual_page(const std::string& version, const WrittenPipeline& pipeline);

}  // namespace sluice::cli
