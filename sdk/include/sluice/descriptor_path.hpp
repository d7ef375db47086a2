// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
// Paths that name an open descriptor of a process, not a file that others find: copies of inputs that can be read only once have such, too.

#include <string_view>

namespace sluice {

inline bool names_descriptor(std::string_view path) {
  return path == "-" || path == "/dev/stdin" || path.starts_with("/dev/fd/") ||
         (path.starts_with("/proc/") && path.find("/fd/") != std::string_view::npos);
}

}  // namespace sluice
