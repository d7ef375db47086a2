// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include <filesystem>
#include <sluice/testing/device.hpp>
#include <sluice/testing/stage_run.hpp>

namespace sluice::testing {

const sluice_device_provider* device_provider(const std::string& plugin_file, std::string& reason) {
  if (!std::filesystem::exists(plugin_file)) {
    reason = plugin_file + " is not there";
    return nullptr;
  }
  const sluice_plugin_info* plugin = load_plugin(plugin_file);
  const void* extension = plugin->get_extension == nullptr ? nullptr : plugin->get_extension(SLUICE_EXTENSION_DEVICE);
  const auto* provider = static_cast<const sluice_device_provider*>(extension);
  if (provider == nullptr) {
    reason = plugin_file + " knows no devices";
    return nullptr;
  }
  if (provider->count() > 0) return provider;
  const char* finding = provider->finding == nullptr ? nullptr : provider->finding(0);
  reason = finding == nullptr ? std::string("there is no device of the kind '") + provider->kind + "'" : finding;
  return nullptr;
}

}  // namespace sluice::testing
