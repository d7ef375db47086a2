// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#include "machine/own_folder.hpp"

#include <dlfcn.h>
#include <link.h>

#include <system_error>

namespace sluice {

std::filesystem::path own_folder() {
  std::error_code error;
  Dl_info info{};
  link_map* map = nullptr;
  const auto* const here = reinterpret_cast<const void*>(&own_folder);
  // The loader has no name for the program itself.
  const bool in_library = ::dladdr1(here, &info, reinterpret_cast<void**>(&map), RTLD_DL_LINKMAP) != 0 && map != nullptr && map->l_name != nullptr &&
                          *map->l_name != '\0';
  const std::filesystem::path file =
      in_library ? std::filesystem::canonical(map->l_name, error) : std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::filesystem::path() : file.parent_path();
}

}  // namespace sluice
