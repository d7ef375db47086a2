// SPDX-License-Identifier: MIT
// SPDX-FileCopyrightText: The sluice authors
#pragma once
#include <sys/stat.h>

#include <cstdint>
#include <sluice/descriptor_path.hpp>
#include <string>

namespace sluice::index_file {

// The file that an index was made from, to see later whether it has changed. bytes = 0: not known.
struct Source {
  std::string path;
  std::uint64_t bytes = 0;
  std::int64_t modified_ns = 0;  // since 1970
};

// A file as it is now; not known if it cannot be looked at, or not again: then it has no name ("-").
inline Source source_of(const std::string& path) {
  if (names_descriptor(path)) return {"-", 0, 0};
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return {path, 0, 0};
  return {path, static_cast<std::uint64_t>(status.st_size), std::int64_t{status.st_mtim.tv_sec} * 1000000000 + status.st_mtim.tv_nsec};
}

inline bool has_changed(const Source& source) {
  const Source now = source_of(source.path);
  return now.bytes != 0 && source.bytes != 0 && (now.bytes != source.bytes || now.modified_ns != source.modified_ns);
}

}  // namespace sluice::index_file
