// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// What is in a folder. std::filesystem's iterators either throw at a folder that can't be read, or end the process where memory stays away
// (`increment(error)` may not throw, and allocates).

#include <dirent.h>

#include <cerrno>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>

namespace sluice {

// Calls visit(const std::filesystem::path&) for each entry, in no order; what visit throws goes through. Gives the reason where the folder can't be
// opened, or not be read to its end.
template <class Visit>
std::error_code for_each_entry(const std::filesystem::path& folder, const Visit& visit) {
  struct Close {
    void operator()(DIR* directory) const noexcept { ::closedir(directory); }
  };
  const std::unique_ptr<DIR, Close> directory(::opendir(folder.c_str()));
  if (!directory) return {errno, std::generic_category()};
  while (true) {
    errno = 0;
    const dirent* const entry = ::readdir(directory.get());
    if (entry == nullptr) return {errno, std::generic_category()};
    if (const std::string_view name(entry->d_name); name != "." && name != "..") visit(folder / name);
  }
}

}  // namespace sluice
