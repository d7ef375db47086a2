// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// The contract suite over every plugin of the build, or of the folder that SLUICE_CONTRACT_PLUGINS names: descriptors, made-up rows, and whatever
// needs no sample. Stages with samples of their own run the whole suite in tests/unit/FOLDER.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <set>
#include <sluice/testing.hpp>

TEST_CASE("every plugin keeps the contract of all stages") {
  const char* other = std::getenv("SLUICE_CONTRACT_PLUGINS");
  std::set<std::string> ids;
  std::size_t plugins = 0;
  for (const auto& entry : std::filesystem::directory_iterator(other != nullptr ? other : SLUICE_PLUGIN_DIR)) {
    if (entry.path().extension() != ".so") continue;
    CAPTURE(entry.path().filename().string());
    const sluice_plugin_info* plugin = sluice::testing::load_plugin(entry.path().string());
    for (const std::string& problem : sluice::testing::contract_problems(*plugin)) FAIL_CHECK(problem);
    for (std::size_t i = 0; i < plugin->stage_count; ++i) CHECK_MESSAGE(ids.insert(plugin->stages[i]->id).second, plugin->stages[i]->id);
    ++plugins;
  }
  CHECK(plugins > 0);
}
