// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// The plugins that a program has loaded, with the stages that it has registered itself.

#include <filesystem>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "plugin/registry.hpp"

namespace sluice {

class Engine {
 public:
  explicit Engine(const std::vector<std::filesystem::path>& plugin_dirs);

  // With the registered stages of now. Lives as long as somebody has it. [thread-safe]
  std::shared_ptr<const Registry> registry();
  // See sluice_engine_describe().
  std::string describe();

 private:
  Registry loaded_;
  std::mutex mutex_;  // guards what follows
  std::shared_ptr<const Registry> current_;
  std::uint64_t edition_ = 0;  // of the registered stages in it
};

}  // namespace sluice
