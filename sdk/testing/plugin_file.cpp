// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
// Stages in a plugin file.
#include <dlfcn.h>

#include <sluice/testing/stage_run.hpp>
#include <stdexcept>

namespace sluice::testing {

StageUnderTest stage_of(const sluice_plugin_info& plugin, std::string_view id) {
  for (std::size_t i = 0; i < plugin.stage_count; ++i)
    if (id == plugin.stage(i)->id)
      return {plugin.stage(i), [&plugin, i](const sluice_create_args* args, sluice_stage* stage, sluice_error* error) {
                return plugin.create(i, args, stage, error);
              }};
  throw std::runtime_error("plugin '" + std::string(plugin.name) + "' has no stage '" + std::string(id) + "'");
}

const sluice_plugin_info* load_plugin(const std::string& path) {
  void* library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) throw std::runtime_error(::dlerror());
  const auto* abi = static_cast<const std::uint32_t*>(::dlsym(library, SLUICE_PLUGIN_ABI_SYMBOL));
  const auto init = reinterpret_cast<sluice_plugin_init_function>(::dlsym(library, SLUICE_PLUGIN_INIT_SYMBOL));
  if (abi == nullptr || init == nullptr) throw std::runtime_error(path + " exports no " SLUICE_PLUGIN_ABI_SYMBOL " and " SLUICE_PLUGIN_INIT_SYMBOL);
  if (*abi >> 16 != SLUICE_ABI_MAJOR || *abi > SLUICE_ABI_NUMBER) throw std::runtime_error(path + " was made for another ABI version");
  const sluice_init_args args{sizeof args, SLUICE_ABI_MAJOR, SLUICE_ABI_MINOR, path.c_str()};
  sluice_error error{};
  const sluice_plugin_info* info = init(&args, &error);
  if (info == nullptr) throw std::runtime_error(path + ": " + error.message);
  return info;
}

}  // namespace sluice::testing
